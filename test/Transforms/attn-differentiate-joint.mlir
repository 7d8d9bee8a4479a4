// Gradients next to results, and nothing but those that are asked for.

// RUN: attn-opt %s '--attn-differentiate=wrt=w,n joint' | FileCheck %s

// CHECK-LABEL: func.func @f_grad(
// CHECK-SAME:    %[[Q:[^ ]+]]: tensor<1x2x?x8xf32>, %[[W:[^ ]+]]: tensor<2xf32> {attn.name = "w"}, %{{[^ ]+}}: f32 {attn.name = "n"}, %[[OI:[^ ]+]]: tensor<1x2x?x8xf32>, %[[LI:[^ ]+]]: tensor<1x2x?xf32>,
// CHECK-SAME:    %[[DO:[^ ]+]]: tensor<1x2x?x8xf32> {attn.name = "dout0"}, %[[DLSE:[^ ]+]]: tensor<1x2x?xf32> {attn.name = "dout1"})
// CHECK-SAME:    -> (tensor<1x2x?x8xf32> {attn.name = "out0"}, tensor<1x2x?xf32> {attn.name = "out1"}, tensor<2xf32> {attn.name = "dw"}, f32 {attn.name = "dn"})
// CHECK:         %[[O:.+]], %[[LSE:.+]] = attn.attention
// CHECK:         %dw0 = attn.attention_grad wrt(0)
// CHECK-NEXT:      ins(%[[Q]], %[[Q]], %[[Q]], %[[O]], %[[LSE]], %[[DO]], %[[DLSE]] :
// CHECK:         adjoint(%s, %ds, %b, %h, %i, %j, %w0) {
// CHECK-NEXT:      %[[ZERO:.+]] = arith.constant 0.000000e+00 : f32
// CHECK-NEXT:      %[[X:.+]] = arith.mulf %ds, %s : f32
// CHECK-NEXT:      attn.contribute %[[X]] to %w0[%h] : f32, tensor<2xf32>
// CHECK-NEXT:      attn.yield %[[ZERO]] : f32
// CHECK:         %[[NONE:.+]] = arith.constant 0.000000e+00 : f32
// CHECK:         return %[[O]], %[[LSE]], %dw0, %[[NONE]]
func.func @f(%q: tensor<1x2x?x8xf32>, %w: tensor<2xf32> {attn.name = "w"}, %n: f32 {attn.name = "n"},
    %oi: tensor<1x2x?x8xf32>, %li: tensor<1x2x?xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?xf32>) {
  %o, %lse = attn.attention ins(%q, %q, %q : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
    captures(%w : tensor<2xf32>)
    outs(%oi, %li : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>)
    score(%s, %b, %h, %i, %j, %w0) {
      %e = tensor.extract %w0[%h] : tensor<2xf32>
      %y = arith.mulf %s, %e : f32
      attn.yield %y : f32
    }
  return %o, %lse : tensor<1x2x?x8xf32>, tensor<1x2x?xf32>
}
