// RUN: attn-opt %s --attn-bufferize --split-input-file | FileCheck %s

// Strides are free but for the innermost; what is in its destination is not
// copied.

// CHECK-LABEL: func.func @in_place(
// CHECK-SAME: %[[X:.*]]: memref<?x4xf32, strided<[?, 1], offset: ?>>,
// CHECK-SAME: %[[OUT:.*]]: memref<?x4xf32, strided<[?, 1], offset: ?>>) {
// CHECK-NEXT: linalg.exp ins(%[[X]] : {{.*}}) outs(%[[OUT]] :
// CHECK-NEXT: return
func.func @in_place(%x: tensor<?x4xf32> {bufferization.writable = false},
                    %out: tensor<?x4xf32> {bufferization.writable = true}) -> tensor<?x4xf32> {
  %y = linalg.exp ins(%x : tensor<?x4xf32>) outs(%out : tensor<?x4xf32>) -> tensor<?x4xf32>
  %r = bufferization.materialize_in_destination %y in %out : (tensor<?x4xf32>, tensor<?x4xf32>) -> tensor<?x4xf32>
  return %r : tensor<?x4xf32>
}

// -----

// Tiles are written straight into the destination.

// CHECK-LABEL: func.func @tiles(
// CHECK-SAME: %{{.*}}: memref<1x1x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>,
// CHECK-SAME: %[[OUT:.*]]: memref<1x1x?x8xf32, strided<[?, ?, ?, 1], offset: ?>>
// CHECK-NOT: memref.alloc
// CHECK-NOT: linalg.copy
// CHECK: scf.forall
// CHECK: %[[TILE:.*]] = memref.subview %[[OUT]]
// CHECK: vector.transfer_write %{{.*}}, %[[TILE]]
// CHECK-NOT: linalg.copy
// CHECK: return
func.func @tiles(%x: tensor<1x1x?x8xf32> {bufferization.writable = false},
                 %out: tensor<1x1x?x8xf32> {bufferization.writable = true}) -> tensor<1x1x?x8xf32> {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %f0 = arith.constant 0.0 : f32
  %n = tensor.dim %x, %c2 : tensor<1x1x?x8xf32>
  %y = scf.forall (%i) in (%n) shared_outs(%o = %out) -> tensor<1x1x?x8xf32> {
    %v = vector.transfer_read %x[%c0, %c0, %i, %c0], %f0 {in_bounds = [true]} : tensor<1x1x?x8xf32>, vector<8xf32>
    %slice = tensor.extract_slice %o[0, 0, %i, 0] [1, 1, 1, 8] [1, 1, 1, 1] : tensor<1x1x?x8xf32> to tensor<1x1x1x8xf32>
    %w = vector.transfer_write %v, %slice[%c0, %c0, %c0, %c0] {in_bounds = [true]} : vector<8xf32>, tensor<1x1x1x8xf32>
    scf.forall.in_parallel {
      tensor.parallel_insert_slice %w into %o[0, 0, %i, 0] [1, 1, 1, 8] [1, 1, 1, 1] : tensor<1x1x1x8xf32> into tensor<1x1x?x8xf32>
    }
  }
  %r = bufferization.materialize_in_destination %y in %out : (tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32>
  return %r : tensor<1x1x?x8xf32>
}

// -----

// Other copies are linalg operations. Rank 0 has no strides.

// CHECK-LABEL: func.func @copies(
// CHECK-SAME: %[[X:.*]]: memref<?xf32, strided<[1], offset: ?>>, %[[S:.*]]: f32,
// CHECK-SAME: %[[OUT:.*]]: memref<?xf32, strided<[1], offset: ?>>, %[[R0:.*]]: memref<f32>) {
// CHECK-DAG: linalg.copy ins(%[[X]] : {{.*}}) outs(%[[OUT]] :
// CHECK-DAG: memref.store %[[S]], %[[R0]][]
// CHECK-NOT: linalg.copy
// CHECK: return
func.func @copies(%x: tensor<?xf32> {bufferization.writable = false}, %s: f32,
                  %out: tensor<?xf32> {bufferization.writable = true},
                  %r0: tensor<f32> {bufferization.writable = true}) -> (tensor<?xf32>, tensor<f32>) {
  %a = bufferization.materialize_in_destination %x in %out : (tensor<?xf32>, tensor<?xf32>) -> tensor<?xf32>
  %t = tensor.insert %s into %r0[] : tensor<f32>
  %b = bufferization.materialize_in_destination %t in %r0 : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %a, %b : tensor<?xf32>, tensor<f32>
}

// -----

// Checked reads report to an argument of their own.

// CHECK-LABEL: func.func @checked(
// CHECK-SAME: %[[X:.*]]: memref<?xf32, strided<[1], offset: ?>>,
// CHECK-SAME: %{{.*}}: memref<f32>, %{{.*}}: memref<?xi64> {attn.status}) {
// CHECK: attn.gather %[[X]]{{.*}} site 0
func.func @checked(%x: tensor<?xf32> {bufferization.writable = false}, %i: index, %p: i1,
                   %out: tensor<f32> {bufferization.writable = true}) -> tensor<f32> {
  %v = attn.gather %x[%i] mask %p site 0 : tensor<?xf32>, (index), i1 -> f32
  %t = tensor.insert %v into %out[] : tensor<f32>
  %r = bufferization.materialize_in_destination %t in %out : (tensor<f32>, tensor<f32>) -> tensor<f32>
  return %r : tensor<f32>
}

// -----

// CHECK-LABEL: func.func @reported(
// CHECK-SAME: %{{.*}}: memref<?xi64> {attn.status}) {
// CHECK: attn.report site 0
func.func @reported(%x: index, %p: i1) {
  attn.report site 0 (%x, %x) if %p
  return
}

// -----

// What is not a tensor stays, as in shape functions.

// CHECK-LABEL: func.func @f.shapes(
// CHECK-SAME: %{{.*}}: memref<?xf32, strided<[1], offset: ?>>) -> index
func.func @f.shapes(%x: tensor<?xf32>) -> index attributes {attn.constraints = []} {
  %c0 = arith.constant 0 : index
  %n = tensor.dim %x, %c0 : tensor<?xf32>
  return %n : index
}

// Rows that a vector names are read from the buffer.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME: %[[X:[^ ]*]]: memref<?x8xf32,
// CHECK: attn.gather_rows %[[X]][] rows
func.func @rows(%x: tensor<?x8xf32>, %rows: vector<4xindex>, %mask: vector<4xi1>) -> vector<4x8xf32> {
  %v = attn.gather_rows %x[] rows %rows along 0 columns along 1 mask %mask : tensor<?x8xf32>, vector<4xindex> -> vector<4x8xf32>
  return %v : vector<4x8xf32>
}
