// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

// CHECK: smallest = #attn.schedule<tile_m = 1, tile_n = 1, lanes = 1, unroll_m = 1, unroll_n = 1>
// CHECK-SAME: unequal = #attn.schedule<tile_m = 96, tile_n = 5, lanes = 16, unroll_m = 3, unroll_n = 7>
func.func private @holder() attributes {
  smallest = #attn.schedule<tile_m = 1, tile_n = 1, lanes = 1, unroll_m = 1, unroll_n = 1>,
  unequal = #attn.schedule<tile_m = 96, tile_n = 5, lanes = 16, unroll_m = 3, unroll_n = 7>
}

// An operation holds the attribute as a clause, or in its dictionary, which is
// the same.
// CHECK-LABEL: func.func @clause
// CHECK-COUNT-2: attn.attention schedule<tile_m = 8, tile_n = 4, lanes = 4, unroll_m = 2, unroll_n = 1>
func.func @clause(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention schedule<tile_m = 8, tile_n = 4, lanes = 4, unroll_m = 2, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  %1 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
      attributes {schedule = #attn.schedule<tile_m = 8, tile_n = 4, lanes = 4, unroll_m = 2, unroll_n = 1>}
  return
}

// Schedules of other dialects are written in full.
// CHECK-LABEL: func.func @other_dialect
// CHECK-COUNT-2: attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 1, registers = 240, head_swizzle = 8, longest_first, q_in_registers>
func.func @other_dialect(%q: tensor<1x1x2x8xbf16>) {
  %0 = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 16, stages = 1, registers = 240, head_swizzle = 8, longest_first, q_in_registers>
      ins(%q, %q, %q : tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>)
      outs(%q : tensor<1x1x2x8xbf16>)
  %1 = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>, tensor<1x1x2x8xbf16>)
      outs(%q : tensor<1x1x2x8xbf16>)
      attributes {schedule = #hopper.schedule<tile_m = 64, tile_n = 16, stages = 1, registers = 240, head_swizzle = 8, longest_first, q_in_registers>}
  return
}

// A schedule of this dialect may be written in full, too.
// CHECK-LABEL: func.func @in_full
// CHECK: attn.attention schedule<tile_m = 8, tile_n = 4, lanes = 4, unroll_m = 2, unroll_n = 1>
func.func @in_full(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention schedule #attn.schedule<tile_m = 8, tile_n = 4, lanes = 4, unroll_m = 2, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}
