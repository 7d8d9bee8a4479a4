// RUN: attn-opt %s --attn-hopper-pad-gradients --split-input-file | FileCheck %s

// What a gradient reads has columns of zeros behind its own, and of what it gives
// the first ones are left. The scale is that of 20 columns. Heads are before rows.

// CHECK-LABEL: func.func @padded(
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<1x2x?x20xbf16>, %[[LSE:[^ ]*]]: tensor<1x2x?xf32>
// CHECK: %[[ZEROS:.*]] = tensor.splat %{{.*}} : tensor<1x2x?x24xbf16>
// CHECK: %[[Q24:.*]] = tensor.insert_slice %[[Q]] into %[[ZEROS]][0, 0, 0, 0] [1, 2, %{{.*}}, 20] [1, 1, 1, 1]
// CHECK: %[[DQ:.*]], %[[DW:.*]] = attn.attention_grad scale 0.22360{{[0-9]*}} wrt(q, 0)
// CHECK: ins(%[[Q24]], %{{.*}}, %{{.*}}, %{{.*}}, %[[LSE]], %{{.*}} : tensor<1x2x?x24xbf16>,
// CHECK: outs(%{{.*}}, %{{.*}} : tensor<1x2x?x24xbf16>, tensor<f32>)
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[DQ]][0, 0, 0, 0] [1, 2, %{{.*}}, 20] [1, 1, 1, 1]
// CHECK: return %[[OWN]], %[[DW]]
!t = tensor<1x2x?x20xbf16>
func.func @padded(%q: !t, %lse: tensor<1x2x?xf32>, %w: tensor<f32>, %n: index) -> (!t, tensor<f32>) {
  %init = tensor.empty(%n) : !t
  %sum = tensor.empty() : tensor<f32>
  %dq, %dw = attn.attention_grad wrt(q, 0) ins(%q, %q, %q, %q, %lse, %q : !t, !t, !t, !t, tensor<1x2x?xf32>, !t)
      captures(%w : tensor<f32>) outs(%init, %sum : !t, tensor<f32>)
      score(%s, %b, %h, %i, %j, %a) {
        %x = tensor.extract %a[] : tensor<f32>
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %a) {
        %x = tensor.extract %a[] : tensor<f32>
        %y = arith.mulf %ds, %x : f32
        %z = arith.mulf %ds, %s : f32
        attn.contribute %z to %a : f32, tensor<f32>
        attn.yield %y : f32
      }
  return %dq, %dw : !t, tensor<f32>
}

// -----

// Those that tiles take are left alone, and those that no tile takes.

// CHECK-LABEL: func.func @others(
// CHECK-NOT: tensor.insert_slice
!a = tensor<2x4x?x24xf16>
!b = tensor<2x4x?x264xf16>
!c = tensor<2x4x?x20xf32>
!l = tensor<2x4x?xf32>
func.func @others(%a: !a, %b: !b, %c: !c, %l: !l) -> (!a, !b, !c) {
  %da = attn.attention_grad wrt(v) ins(%a, %a, %a, %a, %l, %a : !a, !a, !a, !a, !l, !a) outs(%a : !a)
  %db = attn.attention_grad wrt(v) ins(%b, %b, %b, %b, %l, %b : !b, !b, !b, !b, !l, !b) outs(%b : !b)
  %dc = attn.attention_grad wrt(v) ins(%c, %c, %c, %c, %l, %c : !c, !c, !c, !c, !l, !c) outs(%c : !c)
  return %da, %db, %dc : !a, !b, !c
}
