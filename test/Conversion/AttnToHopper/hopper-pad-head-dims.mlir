// RUN: attn-opt %s --attn-hopper-pad-head-dims --split-input-file | FileCheck %s

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

// -----

// Forward: of o the first columns are left, and what else it gives as it is.
// Tensors whose columns are enough are left alone.

// CHECK-LABEL: func.func @forward(
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<1x?x2x64xf16>, %[[V:[^ ]*]]: tensor<1x?x2x5xf16>
// CHECK: %[[V8:.*]] = tensor.insert_slice %[[V]] into %{{.*}}[0, 0, 0, 0] [1, %{{.*}}, 2, 5] [1, 1, 1, 1]
// CHECK: %[[INIT:.*]] = tensor.empty(%{{.*}}) : tensor<1x?x2x8xf16>
// CHECK: %[[O:.*]], %[[L:.*]] = attn.attention scale 1.250000e-01 layout(bshd)
// CHECK-NEXT: ins(%[[Q]], %[[Q]], %[[V8]] :
// CHECK-NEXT: outs(%[[INIT]], %{{.*}} : tensor<1x?x2x8xf16>, tensor<1x?x2xf32>)
// CHECK: %[[OWN:.*]] = tensor.extract_slice %[[O]][0, 0, 0, 0] [1, %{{.*}}, 2, 5] [1, 1, 1, 1]
// CHECK: return %[[OWN]], %[[L]]
!q = tensor<1x?x2x64xf16>
!v = tensor<1x?x2x5xf16>
!l = tensor<1x?x2xf32>
func.func @forward(%q: !q, %v: !v, %n: index) -> (!v, !l) {
  %init = tensor.empty(%n) : !v
  %linit = tensor.empty(%n) : !l
  %o, %l = attn.attention layout(bshd) ins(%q, %q, %v : !q, !q, !v) outs(%init, %linit : !v, !l)
  return %o, %l : !v, !l
}

// -----

// Not what has a warp for each query, by its schedule.

// CHECK-LABEL: func.func @rows(
// CHECK-NOT: tensor.insert_slice
!t = tensor<1x2x?x20xbf16>
func.func @rows(%q: !t) -> !t {
  %o = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 32> ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
  return %o : !t
}

// -----

// Nor where the target has no instructions for tiles.

// CHECK-LABEL: func.func @target(
// CHECK-NOT: tensor.insert_slice
!t = tensor<1x2x?x20xbf16>
module attributes {attn.target = #attn.target<"sm_old", sms = 1, sm_shared = 233472, cta_shared = 232448, reserved_shared = 1024,
    sm_registers = 65536, thread_registers = 255, sm_threads = 2048, cta_threads = 1024, sm_ctas = 32, ptx = 80, wgmma = false, tma = true>} {
  func.func @target(%q: !t) -> !t {
    %o = attn.attention ins(%q, %q, %q : !t, !t, !t) outs(%q : !t)
    return %o : !t
  }
}

// -----

// Of tensors that are known to be empty there are no slices, which upstream refuses.

// CHECK-LABEL: func.func @no_keys(
// CHECK: %[[ZEROS:.*]] = tensor.splat %{{.*}} : tensor<1x2x0x24xbf16>
// CHECK-NOT: tensor<1x2x0x20xbf16> into
// CHECK: attn.attention
// CHECK-NEXT: ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<1x2x?x24xbf16>, tensor<1x2x0x24xbf16>, tensor<1x2x0x24xbf16>)
!t = tensor<1x2x?x20xbf16>
!none = tensor<1x2x0x20xbf16>
func.func @no_keys(%q: !t, %k: !none) -> !t {
  %o = attn.attention ins(%q, %k, %k : !t, !none, !none) outs(%q : !t)
  return %o : !t
}

// What has no element is zeros, for a program to have a launch.

// CHECK-LABEL: func.func @no_queries(
// CHECK-NOT: tensor.extract_slice
// CHECK: %[[NONE:.*]] = tensor.splat %{{.*}} : tensor<1x2x0x20xbf16>
// CHECK: return %[[NONE]]
func.func @no_queries(%q: !none, %k: !t) -> !none {
  %o = attn.attention ins(%q, %k, %k : !none, !t, !t) outs(%q : !none)
  return %o : !none
}
