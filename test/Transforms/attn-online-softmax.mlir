// RUN: attn-opt %s --attn-online-softmax --split-input-file | FileCheck %s

// The example of the pass's documentation.

// CHECK-LABEL: func @plain
// CHECK-SAME: %[[Q:.*]]: tensor<2x4x16x8xf32>, %[[K:.*]]: tensor<2x4x16x8xf32>, %[[V:.*]]: tensor<2x4x16x8xf32>, %[[O:.*]]: tensor<2x4x16x8xf32>
// CHECK: %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK: %[[ACC:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%{{.*}} : tensor<2x4x16x8xf32>)
// CHECK: %[[NEG_INF:.*]] = arith.constant 0xFF800000 : f32
// CHECK: %[[MAX:.*]] = linalg.fill ins(%[[NEG_INF]] : f32) outs(%{{.*}} : tensor<2x4x16xf32>)
// CHECK: %[[SUM:.*]] = linalg.fill ins(%{{.*}} : f32) outs(%{{.*}} : tensor<2x4x16xf32>)
// CHECK: %[[A:.*]], %[[M:.*]], %[[L:.*]] = attn.online_attention scale 0.35355339059327373
// CHECK-NEXT: ins(%[[Q]], %[[K]], %[[V]] :
// CHECK-NEXT: outs(%[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK: %[[R:.*]] = attn.finalize ins(%[[A]], %[[M]], %[[L]] : {{.*}}) outs(%[[O]] : tensor<2x4x16x8xf32>)
// CHECK: return %[[R]]
func.func @plain(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x16x8xf32>, %v: tensor<2x4x16x8xf32>,
                 %o: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %r = attn.attention ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>)
      outs(%o : tensor<2x4x16x8xf32>)
  return %r : tensor<2x4x16x8xf32>
}

// -----

// Regions, captures, layouts and lse come along; the state of bf16 is f32, and
// dynamic extents are those of the destination.

// CHECK-LABEL: func @variant
// CHECK-SAME: %[[O:[^ ]*]]: tensor<2x?x4x8xbf16>, %[[L:[^ ]*]]: tensor<2x?x4xf32>
// CHECK: %[[LEN:.*]] = tensor.dim %[[O]], %c1
// CHECK: tensor.empty(%[[LEN]]) : tensor<2x?x4x8xf32>
// CHECK: tensor.empty(%[[LEN]]) : tensor<2x?x4xf32>
// CHECK: attn.online_attention scale 5.000000e-01 layout(bshd)
// CHECK: captures(%{{.*}} : tensor<4xf32>)
// CHECK: score(%[[S:.*]], %{{.*}}, %[[H:.*]], %{{.*}}, %{{.*}}, %[[W:.*]]) {
// CHECK: tensor.extract %[[W]][%[[H]]]
// CHECK: mask(
// CHECK: arith.cmpi sle
// CHECK: attn.finalize layout(bshd)
// CHECK-SAME: outs(%[[O]], %[[L]] :
func.func @variant(%q: tensor<2x?x4x8xbf16>, %k: tensor<2x?x2x8xbf16>, %v: tensor<2x?x2x8xbf16>, %w: tensor<4xf32>,
                   %o: tensor<2x?x4x8xbf16>, %l: tensor<2x?x4xf32>) -> (tensor<2x?x4x8xbf16>, tensor<2x?x4xf32>) {
  %r, %lse = attn.attention scale 0.5 layout(bshd)
      ins(%q, %k, %v : tensor<2x?x4x8xbf16>, tensor<2x?x2x8xbf16>, tensor<2x?x2x8xbf16>)
      captures(%w : tensor<4xf32>)
      outs(%o, %l : tensor<2x?x4x8xbf16>, tensor<2x?x4xf32>)
      score(%s, %b, %h, %i, %j, %c) {
        %x = tensor.extract %c[%h] : tensor<4xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %c) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r, %lse : tensor<2x?x4x8xbf16>, tensor<2x?x4xf32>
}

// -----

// The state of f64 is f64.

// CHECK-LABEL: func @double
// CHECK: linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<1x1x3x2xf64>)
// CHECK: linalg.fill ins(%{{.*}} : f64) outs(%{{.*}} : tensor<1x1x3xf64>)
func.func @double(%q: tensor<1x1x3x2xf64>, %o: tensor<1x1x3x2xf64>) -> tensor<1x1x3x2xf64> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x3x2xf64>, tensor<1x1x3x2xf64>, tensor<1x1x3x2xf64>)
      outs(%o : tensor<1x1x3x2xf64>)
  return %r : tensor<1x1x3x2xf64>
}
