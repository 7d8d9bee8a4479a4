// RUN: attn-opt %s --attn-destination-arguments --split-input-file | FileCheck %s

// An attention computes straight into the destinations, whatever its operands
// were; arguments that are tensors are not written.

// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[Q:.*]]: tensor<1x1x?x8xf32> {bufferization.writable = false},
// CHECK-SAME: %[[L:.*]]: tensor<1x1x?xf32> {bufferization.writable = false},
// CHECK-SAME: %[[O:[^ ]*]]: tensor<1x1x?x8xf32> {attn.name = "o", bufferization.writable = true},
// CHECK-SAME: %[[LSE:[^ ]*]]: tensor<1x1x?xf32> {attn.name = "out1", bufferization.writable = true})
// CHECK-SAME: -> (tensor<1x1x?x8xf32>, tensor<1x1x?xf32>) {
// CHECK: %[[R:.*]], %[[S:.*]] = attn.attention
// CHECK: outs(%[[O]], %[[LSE]] :
// CHECK: %[[A:.*]] = bufferization.materialize_in_destination %[[R]] in %[[O]]
// CHECK: %[[B:.*]] = bufferization.materialize_in_destination %[[S]] in %[[LSE]]
// CHECK: return %[[A]], %[[B]]
func.func @attention(%q: tensor<1x1x?x8xf32>, %l: tensor<1x1x?xf32>)
    -> (tensor<1x1x?x8xf32> {attn.name = "o"}, tensor<1x1x?xf32>) {
  %o, %lse = attn.attention ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      outs(%q, %l : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>)
  return %o, %lse : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>
}

// -----

// Through a chain of destinations and casts.

// CHECK-LABEL: func.func @chain(
// CHECK-SAME: %[[OUT:[^ ]*]]: tensor<4xf32> {attn.name = "out0"
// CHECK: %[[CAST:.*]] = tensor.cast %[[OUT]] : tensor<4xf32> to tensor<?xf32>
// CHECK: linalg.exp {{.*}} outs(%[[CAST]]
func.func @chain(%x: tensor<?xf32>, %n: index) -> tensor<4xf32> {
  %init = tensor.empty(%n) : tensor<?xf32>
  %y = linalg.exp ins(%x : tensor<?xf32>) outs(%init : tensor<?xf32>) -> tensor<?xf32>
  %z = linalg.exp ins(%x : tensor<?xf32>) outs(%y : tensor<?xf32>) -> tensor<?xf32>
  %cast = tensor.cast %z : tensor<?xf32> to tensor<4xf32>
  return %cast : tensor<4xf32>
}

// -----

// Arguments and values that are returned twice are copied; what is computed in
// place is put there last.

// CHECK-LABEL: func.func @copies(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32> {bufferization.writable = false},
// CHECK-SAME: %[[O0:[^ ]*]]: tensor<4xf32> {attn.name = "out0"
// CHECK-SAME: %[[O1:[^ ]*]]: tensor<4xf32> {attn.name = "out1"
// CHECK-SAME: %[[O2:[^ ]*]]: tensor<4xf32> {attn.name = "out2"
// CHECK: %[[Y:.*]] = linalg.exp {{.*}} outs(%[[O0]]
// CHECK: %[[B:.*]] = bufferization.materialize_in_destination %[[Y]] in %[[O1]]
// CHECK: %[[C:.*]] = bufferization.materialize_in_destination %[[X]] in %[[O2]]
// CHECK: %[[A:.*]] = bufferization.materialize_in_destination %[[Y]] in %[[O0]]
// CHECK: return %[[A]], %[[B]], %[[C]]
func.func @copies(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
  %init = tensor.empty() : tensor<4xf32>
  %y = linalg.exp ins(%x : tensor<4xf32>) outs(%init : tensor<4xf32>) -> tensor<4xf32>
  return %y, %y, %x : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
}

// -----

// Scalars go to tensors of rank 0. A name that an argument has is changed.

// CHECK-LABEL: func.func @scalars(
// CHECK-SAME: %[[X:.*]]: f32 {attn.name = "out0"},
// CHECK-SAME: %[[OUT:[^ ]*]]: tensor<f32> {attn.name = "out0_0", bufferization.writable = true}) -> tensor<f32>
// CHECK: %[[T:.*]] = tensor.insert %[[X]] into %[[OUT]][]
// CHECK: bufferization.materialize_in_destination %[[T]] in %[[OUT]]
func.func @scalars(%x: f32 {attn.name = "out0"}) -> f32 {
  return %x : f32
}

// -----

// Shape functions, private functions, and functions without results stay.

// CHECK-LABEL: func.func private @private(
// CHECK-SAME: -> tensor<4xf32>
// CHECK: func.func @nothing()
// CHECK: func.func @f.shapes(%{{.*}}: tensor<4xf32>) -> index
func.func private @private(%x: tensor<4xf32>) -> tensor<4xf32> {
  return %x : tensor<4xf32>
}
func.func @nothing() {
  return
}
func.func @f.shapes(%x: tensor<4xf32>) -> index attributes {attn.constraints = []} {
  %c4 = arith.constant 4 : index
  return %c4 : index
}
