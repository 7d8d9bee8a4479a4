// RUN: attn-opt %s --attn-canonicalize-score --split-input-file | FileCheck %s

// A tensor that holds one constant, a constant scalar and a capture without
// use all leave the captures; the factor that remains joins the scale.

// CHECK-LABEL: func @constants
// CHECK:      attn.attention scale 3.000000e+00
// CHECK-NOT:  captures
// CHECK-NOT:  score
// CHECK:      return
func.func @constants(%q: tensor<1x2x4x8xf32>, %unused: tensor<4xf32>, %o: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %heads = arith.constant dense<2.000000e+00> : tensor<2xf32>
  %rank0 = arith.constant dense<1.500000e+00> : tensor<f32>
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      captures(%heads, %rank0, %unused : tensor<2xf32>, tensor<f32>, tensor<4xf32>)
      outs(%o : tensor<1x2x4x8xf32>)
      score(%s, %b, %h, %i, %j, %c0, %c1, %c2) {
        %x = tensor.extract %c0[%h] : tensor<2xf32>
        %y = tensor.extract %c1[] : tensor<f32>
        %a = arith.mulf %s, %x : f32
        %c = arith.mulf %a, %y : f32
        attn.yield %c : f32
      }
  return %r : tensor<1x2x4x8xf32>
}

// -----

// A mask that is always true goes, one that is always false stays.

// CHECK-LABEL: func @constant_masks
// CHECK:      attn.attention
// CHECK-NEXT:   ins(
// CHECK-NEXT:   outs(
// CHECK-NEXT: attn.attention
// CHECK-NEXT:   ins(
// CHECK-NEXT:   outs(
// CHECK-NEXT:   mask(
// CHECK-NEXT:     %[[NO:.*]] = arith.constant false
// CHECK-NEXT:     attn.yield %[[NO]] : i1
func.func @constant_masks(%q: tensor<1x2x4x8xf32>, %o: tensor<1x2x4x8xf32>) -> tensor<1x2x4x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%o : tensor<1x2x4x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = index.cmp sle(%j, %j)
        attn.yield %p : i1
      }
  %t = attn.attention ins(%r, %r, %r : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%o : tensor<1x2x4x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = index.cmp slt(%j, %j)
        attn.yield %p : i1
      }
  return %t : tensor<1x2x4x8xf32>
}

// -----

// Bounds that promise keys which a stronger mask forbids are dropped; others
// stay.

// CHECK-LABEL: func @bounds
// CHECK:      attn.online_attention
// CHECK:        mask
// CHECK-NOT:    blocks
// CHECK:      attn.online_attention
// CHECK:        mask
// CHECK:        blocks
func.func @bounds(%q: tensor<1x2x4x8xf32>, %m: tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32> {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%q, %m, %m : tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
      score(%s, %b, %h, %i, %j) {
        %inf = arith.constant 0xFF800000 : f32
        %p = arith.cmpi sle, %j, %i : index
        %y = arith.select %p, %s, %inf : f32
        attn.yield %y : f32
      }
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %skv, %skv : index, index, index, index
      }
  %t:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>)
      outs(%r#0, %r#1, %r#2 : tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4xf32>)
      mask(%b, %h, %i, %j) {
        %p = index.cmp sle(%j, %i)
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %c0, %i1 : index, index, index, index
      }
  return %t#0 : tensor<1x2x4x8xf32>
}
