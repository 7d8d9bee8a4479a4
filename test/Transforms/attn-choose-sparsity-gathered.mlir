// RUN: attn-opt %s --attn-choose-sparsity='form=gathered one-per-launch' | FileCheck %s
// RUN: attn-opt %s --attn-choose-sparsity='form=gathered one-per-launch' --attn-online-softmax --attn-hopper-assign-schedule | FileCheck %s --check-prefix=SCHEDULE

// The lists stay; what gathers their keys are tiles with a schedule for them.

// CHECK: attn.attention
// CHECK: sparsity(#attn.sparsity<lists, block = 1x1>
// CHECK: attn.gathered
// SCHEDULE: attn.online_attention
// SCHEDULE-SAME: schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 4, registers = 112, head_swizzle = 1, min_ctas_per_sm = 3>
func.func @lists(%q: tensor<1x1x?x64xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x?x64xbf16>)
  return %r : tensor<1x1x?x64xbf16>
}
