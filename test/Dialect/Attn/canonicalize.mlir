// RUN: attn-opt %s --canonicalize --split-input-file | FileCheck %s

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

// A score that yields its argument says nothing.
// CHECK-LABEL: func.func @identity_score
// CHECK:         attn.attention
// CHECK-NOT:     score
// CHECK:         mask
// CHECK:         return
func.func @identity_score(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %unused = arith.addf %s, %s : f32
        attn.yield %s : f32
      }
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// It may become one by folding.
// CHECK-LABEL: func.func @folded_score
// CHECK-NOT:     score
// CHECK:         return
func.func @folded_score(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        %x = arith.mulf %s, %one : f32
        attn.yield %x : f32
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// An index in place of the score is no identity.
// CHECK-LABEL: func.func @other_score
// CHECK:         score
func.func @other_score(%q: tensor<1x1x2x4xf32>, %c: f32) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%c : f32)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w) {
        attn.yield %w : f32
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// A mask that is true everywhere says nothing, and a capture that only it read
// is read no more.
// CHECK-LABEL: func.func @true_mask
// CHECK:         attn.attention
// CHECK-NOT:     captures
// CHECK-NOT:     mask
// CHECK:         return
func.func @true_mask(%q: tensor<1x1x2x4xf32>, %w: tensor<2xi1>) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%w : tensor<2xi1>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%j] : tensor<2xi1>
        %t = arith.constant true
        %p = arith.ori %x, %t : i1
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// A mask that is false everywhere stays: it is the rule for empty rows.
// CHECK-LABEL: func.func @false_mask
// CHECK:         mask(%b, %h, %i, %j) {
// CHECK-NEXT:      %[[F:.*]] = arith.constant false
// CHECK-NEXT:      attn.yield %[[F]] : i1
func.func @false_mask(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi slt, %i, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// Bounds of blocks go with the mask that they were derived from.
// CHECK-LABEL: func.func @true_mask_blocks
// CHECK:         attn.online_attention
// CHECK-NOT:     mask
// CHECK-NOT:     blocks
// CHECK-NOT:     tiles
// CHECK:         return
func.func @true_mask_blocks(%q: tensor<1x1x?x4xf32>, %r: tensor<1x1x?xf32>) -> tensor<1x1x?x4xf32> {
  %0:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      outs(%q, %r, %r : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      mask(%b, %h, %i, %j) {
        %t = arith.constant true
        attn.yield %t : i1
      }
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %skv, %skv : index, index, index, index
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        %t = arith.constant true
        attn.yield %t, %t : i1, i1
      }
  return %0#0 : tensor<1x1x?x4xf32>
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

// -----

// A capture that no region uses goes; the others keep their arguments.
// CHECK-LABEL: func.func @unused
// CHECK-SAME:    %{{.*}}: tensor<1x1x2x4xf32>, %[[A:.*]]: f32, %{{.*}}: f32, %[[C:.*]]: index
// CHECK:         captures(%[[A]], %[[C]] : f32, index)
// CHECK:         score(%s, %b, %h, %i, %j, %w0, %w1) {
// CHECK-NEXT:      arith.addf %s, %w0 : f32
// CHECK:         mask(%b, %h, %i, %j, %w0, %w1) {
// CHECK-NEXT:      arith.cmpi slt, %j, %w1 : index
func.func @unused(%q: tensor<1x1x2x4xf32>, %a: f32, %b: f32, %c: index) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%a, %b, %c : f32, f32, index)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1, %w2) {
        %x = arith.addf %s, %w0 : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j, %w0, %w1, %w2) {
        %p = arith.cmpi slt, %j, %w2 : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// Without regions no capture is used.
// CHECK-LABEL: func.func @no_regions
// CHECK-NOT:     captures
func.func @no_regions(%q: tensor<1x1x2x4xf32>, %a: f32) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%a, %a : f32, f32)
      outs(%q : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}

// -----

// What is captured twice is captured once.
// CHECK-LABEL: func.func @repeated
// CHECK-SAME:    %{{.*}}: tensor<1x1x2x4xf32>, %[[W:.*]]: tensor<2xf32>
// CHECK:         captures(%[[W]] : tensor<2xf32>)
// CHECK:         score(%s, %b, %h, %i, %j, %w0) {
// CHECK-NEXT:      %[[X:.*]] = tensor.extract %w0[%i] : tensor<2xf32>
// CHECK-NEXT:      %[[Y:.*]] = tensor.extract %w0[%j] : tensor<2xf32>
// CHECK-NEXT:      arith.addf %[[X]], %[[Y]] : f32
func.func @repeated(%q: tensor<1x1x2x4xf32>, %w: tensor<2xf32>) -> tensor<1x1x2x4xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%w, %w : tensor<2xf32>, tensor<2xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %x = tensor.extract %w0[%i] : tensor<2xf32>
        %y = tensor.extract %w1[%j] : tensor<2xf32>
        %z = arith.addf %x, %y : f32
        attn.yield %z : f32
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// Constants move into the regions, where they fold.
// CHECK-LABEL: func.func @constants
// CHECK:         attn.attention
// CHECK-NOT:     captures
// CHECK:         score(%s, %b, %h, %i, %j) {
// CHECK-DAG:       %[[F:.*]] = arith.constant 2.000000e+00 : f32
// CHECK:           arith.mulf %s, %[[F]] : f32
// CHECK:         mask(%b, %h, %i, %j) {
// CHECK-DAG:       %[[N:.*]] = arith.constant 7 : index
// CHECK:           arith.cmpi ult, %j, %[[N]] : index
func.func @constants(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %f = arith.constant 2.0 : f32
  %n = arith.constant 3 : index
  %i = index.constant 4
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%f, %n, %i : f32, index, index)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1, %w2) {
        %x = arith.mulf %s, %w0 : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j, %w0, %w1, %w2) {
        %sum = arith.addi %w1, %w2 : index
        %p = arith.cmpi ult, %j, %sum : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// Constants that no arith.constant can hold, and tensors, stay outside.
// CHECK-LABEL: func.func @constants_outside
// CHECK:         captures(%{{.*}}, %{{.*}} : tensor<2xf32>, f32)
func.func @constants_outside(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %t = arith.constant dense<[1.0, 2.0]> : tensor<2xf32>
  %p = ub.poison : f32
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%t, %p : tensor<2xf32>, f32)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %w0, %w1) {
        %x = tensor.extract %w0[%i] : tensor<2xf32>
        %y = arith.addf %x, %w1 : f32
        attn.yield %y : f32
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// The captures of attn.online_attention reach the bounds of its blocks too.
// CHECK-LABEL: func.func @online_captures
// CHECK-SAME:    %{{.*}}: tensor<1x1x?x4xf32>, %{{.*}}: tensor<1x1x?xf32>, %[[N:.*]]: index
// CHECK:         captures(%[[N]] : index)
// CHECK:         mask(%b, %h, %i, %j, %w0) {
// CHECK:           arith.cmpi slt, %j, %w0 : index
// CHECK:         blocks(%b, %h, %i0, %i1, %skv, %w0) {
// CHECK-NEXT:      %[[ZERO:.*]] = arith.constant 0 : index
// CHECK-NEXT:      attn.yield %[[ZERO]], %[[ZERO]], %w0, %w0 : index, index, index, index
func.func @online_captures(%q: tensor<1x1x?x4xf32>, %r: tensor<1x1x?xf32>, %n: index) -> tensor<1x1x?x4xf32> {
  %c0 = arith.constant 0 : index
  %0:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      captures(%c0, %n, %n : index, index, index)
      outs(%q, %r, %r : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      mask(%b, %h, %i, %j, %w0, %w1, %w2) {
        %p = arith.cmpi slt, %j, %w1 : index
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %skv, %w0, %w1, %w2) {
        attn.yield %w0, %w0, %w2, %w2 : index, index, index, index
      }
  return %0#0 : tensor<1x1x?x4xf32>
}

//===----------------------------------------------------------------------===//
// Casts
//===----------------------------------------------------------------------===//

// -----

// A capture loses its cast, and so do the arguments that stand for it.
// CHECK-LABEL: func.func @cast_capture
// CHECK-SAME:    %{{.*}}: tensor<1x1x2x4xf32>, %[[W:.*]]: tensor<8xi32>
// CHECK-NOT:     tensor.cast
// CHECK:         captures(%[[W]] : tensor<8xi32>)
// CHECK:         score(%s, %b, %h, %i, %j, %w0) {
// CHECK:           tensor.extract %w0[%j] : tensor<8xi32>
// CHECK:         mask(%b, %h, %i, %j, %w0) {
// CHECK-NEXT:      %[[C8:.*]] = arith.constant 8 : index
// CHECK-NEXT:      arith.cmpi ult, %j, %[[C8]] : index
func.func @cast_capture(%q: tensor<1x1x2x4xf32>, %w: tensor<8xi32>) -> tensor<1x1x2x4xf32> {
  %c = tensor.cast %w : tensor<8xi32> to tensor<?xi32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      captures(%c : tensor<?xi32>)
      outs(%q : tensor<1x1x2x4xf32>)
      score(%s, %b, %h, %i, %j, %x) {
        %a = tensor.extract %x[%j] : tensor<?xi32>
        %f = arith.sitofp %a : i32 to f32
        attn.yield %f : f32
      }
      mask(%b, %h, %i, %j, %x) {
        %c0 = arith.constant 0 : index
        %n = tensor.dim %x, %c0 : tensor<?xi32>
        %p = arith.cmpi ult, %j, %n : index
        attn.yield %p : i1
      }
  return %o : tensor<1x1x2x4xf32>
}

// -----

// So do inputs and destinations; the result is cast back.
// CHECK-LABEL: func.func @cast_operands
// CHECK-SAME:    %[[Q:.*]]: tensor<1x2x3x4xf32>
// CHECK:         %[[O:.*]] = attn.attention
// CHECK-NEXT:      ins(%[[Q]], %[[Q]], %[[Q]] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
// CHECK-NEXT:      captures
// CHECK-NEXT:      outs(%[[Q]] : tensor<1x2x3x4xf32>)
// CHECK:         %[[R:.*]] = tensor.cast %[[O]] : tensor<1x2x3x4xf32> to tensor<1x?x?x4xf32>
// CHECK:         return %[[R]]
func.func @cast_operands(%q: tensor<1x2x3x4xf32>, %n: index) -> tensor<1x?x?x4xf32> {
  %c = tensor.cast %q : tensor<1x2x3x4xf32> to tensor<1x?x?x4xf32>
  %o = attn.attention
      ins(%c, %c, %c : tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>)
      captures(%n : index)
      outs(%c : tensor<1x?x?x4xf32>)
      mask(%b, %h, %i, %j, %n) {
        %p = arith.cmpi sle, %j, %n : index
        attn.yield %p : i1
      }
  return %o : tensor<1x?x?x4xf32>
}

// -----

// The same without any region, and for the state of the online level.
// CHECK-LABEL: func.func @cast_online
// CHECK-SAME:    %[[Q:.*]]: tensor<1x2x3x4xf32>, %[[R:.*]]: tensor<1x2x3xf32>, %[[D:.*]]: tensor<1x?x?xf32>
// CHECK:         %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention
// CHECK-NEXT:      ins(%[[Q]], %[[Q]], %[[Q]] : tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>, tensor<1x2x3x4xf32>)
// CHECK-NEXT:      outs(%[[Q]], %[[D]], %[[R]] : tensor<1x2x3x4xf32>, tensor<1x?x?xf32>, tensor<1x2x3xf32>)
// CHECK-DAG:     %[[A:.*]] = tensor.cast %[[ACC]] : tensor<1x2x3x4xf32> to tensor<1x?x?x4xf32>
// CHECK-DAG:     %[[S:.*]] = tensor.cast %[[SUM]] : tensor<1x2x3xf32> to tensor<1x?x?xf32>
// CHECK:         return %[[A]], %[[MAX]], %[[S]]
func.func @cast_online(%q: tensor<1x2x3x4xf32>, %r: tensor<1x2x3xf32>, %d: tensor<1x?x?xf32>)
    -> (tensor<1x?x?x4xf32>, tensor<1x?x?xf32>, tensor<1x?x?xf32>) {
  %c = tensor.cast %q : tensor<1x2x3x4xf32> to tensor<1x?x?x4xf32>
  %e = tensor.cast %r : tensor<1x2x3xf32> to tensor<1x?x?xf32>
  %o:3 = attn.online_attention scale 1.0
      ins(%c, %c, %c : tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>, tensor<1x?x?x4xf32>)
      outs(%c, %d, %e : tensor<1x?x?x4xf32>, tensor<1x?x?xf32>, tensor<1x?x?xf32>)
  return %o#0, %o#1, %o#2 : tensor<1x?x?x4xf32>, tensor<1x?x?xf32>, tensor<1x?x?xf32>
}

// -----

// CHECK-LABEL: func.func @cast_finalize
// CHECK-SAME:    %[[Q:.*]]: tensor<1x2x3x4xf32>, %[[R:.*]]: tensor<1x2x3xf32>
// CHECK:         attn.finalize ins(%[[Q]], %[[R]], %[[R]] : tensor<1x2x3x4xf32>, tensor<1x2x3xf32>, tensor<1x2x3xf32>) outs(%[[Q]] : tensor<1x2x3x4xf32>) -> tensor<1x2x3x4xf32>
func.func @cast_finalize(%q: tensor<1x2x3x4xf32>, %r: tensor<1x2x3xf32>) -> tensor<1x?x?x4xf32> {
  %c = tensor.cast %q : tensor<1x2x3x4xf32> to tensor<1x?x?x4xf32>
  %e = tensor.cast %r : tensor<1x2x3xf32> to tensor<1x?x?xf32>
  %o = attn.finalize ins(%c, %e, %e : tensor<1x?x?x4xf32>, tensor<1x?x?xf32>, tensor<1x?x?xf32>)
      outs(%c : tensor<1x?x?x4xf32>) -> tensor<1x?x?x4xf32>
  return %o : tensor<1x?x?x4xf32>
}

//===----------------------------------------------------------------------===//
// Dead and equal operations
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @dead
// CHECK-NOT:     attn.
func.func @dead(%q: tensor<1x1x2x4xf32>, %r: tensor<1x1x2xf32>, %s: vector<4x4xf32>, %m: vector<4xf32>) {
  %0 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  %1:3 = attn.online_attention scale 1.0
      ins(%0, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q, %r, %r : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
  %2 = attn.finalize ins(%1#0, %1#1, %1#2 : tensor<1x1x2x4xf32>, tensor<1x1x2xf32>, tensor<1x1x2xf32>)
      outs(%q : tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  %3:4 = attn.online_step %s, %s, %m, %m : vector<4x4xf32>, vector<4x4xf32>, vector<4xf32>
  return
}

// -----

// A comparison that is constant: upstream's pattern for converted integers has no
// case for it.

// CHECK-LABEL: func @constant_comparison
// CHECK: mask(
// CHECK-NEXT: %[[P:.*]] = arith.cmpi ult
// CHECK-NEXT: attn.yield %[[P]]
func.func @constant_comparison(%q: tensor<1x1x8x4xf32>, %o: tensor<1x1x8x4xf32>, %x: tensor<8xi8>) -> tensor<1x1x8x4xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>, tensor<1x1x8x4xf32>)
      captures(%x : tensor<8xi8>) outs(%o : tensor<1x1x8x4xf32>)
      mask(%b, %h, %i, %j, %c) {
        %e = tensor.extract %c[%j] : tensor<8xi8>
        %f = arith.sitofp %e : i8 to f32
        %inf = arith.constant 0x7F800000 : f32
        %t = arith.cmpf true, %f, %inf : f32
        %n = arith.cmpf false, %f, %inf : f32
        %p = arith.cmpi ult, %i, %j : index
        %s = arith.select %t, %p, %n : i1
        attn.yield %s : i1
      }
  return %r : tensor<1x1x8x4xf32>
}
