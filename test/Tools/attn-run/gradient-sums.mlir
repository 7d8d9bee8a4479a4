// The gradient of what is read twice is a sum of tensors: on a GPU a launch of its
// own, behind those of the attention and of its gradients.

// RUN: attn-run %s --grad --check --target=cpu --arg=q=randn:2x3x5x8 | FileCheck %s
// RUN: rm -rf %t && env ATTN_PTXAS=off attn-run %s --grad --target=cuda --emit=package --emit-to=%t.package --dump-ir=%t
// RUN: ls %t | FileCheck %s --check-prefix=PARTS
// RUN: FileCheck %s --check-prefix=GPU < %t/launch-2-schedule-0/kernel.ptx
// CHECK: PASS
// PARTS-DAG: launch-1-program
// PARTS-DAG: launch-1-schedule-0
// PARTS-DAG: launch-2-program
// PARTS-DAG: launch-2-schedule-0
// PARTS-DAG: {{^}}program
// PARTS-DAG: {{^}}schedule-0
// PARTS-NOT: launch-3
// GPU: .visible .entry twice_grad_before0(
// GPU-NOT: .entry
// GPU-COUNT-2: add.rn.f32
// GPU: st.global.b16

func.func @twice(%q: tensor<2x3x?x8xbf16>) -> tensor<2x3x?x8xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<2x3x?x8xbf16>
  %init = tensor.empty(%n) : tensor<2x3x?x8xbf16>
  %o = attn.attention ins(%q, %q, %q : tensor<2x3x?x8xbf16>, tensor<2x3x?x8xbf16>, tensor<2x3x?x8xbf16>)
      outs(%init : tensor<2x3x?x8xbf16>)
  return %o : tensor<2x3x?x8xbf16>
}
