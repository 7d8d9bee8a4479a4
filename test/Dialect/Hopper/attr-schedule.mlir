// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

// CHECK: all = #hopper.schedule<tile_m = 128, tile_n = 80, stages = 4, registers = 240, head_swizzle = 8, head_swizzle_keys = 65536, head_swizzle_least_keys = 4096, longest_first, persistent, ping_pong, q_in_registers, bias_in_product>
// CHECK-SAME: captures = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 232, head_swizzle = 1, capture_stages = 2>
// CHECK-SAME: four = #hopper.schedule<tile_m = 256, tile_n = 256, stages = 1, registers = 112, head_swizzle = 1>
// CHECK-SAME: late = #hopper.schedule<tile_m = 64, tile_n = 16, stages = 2, registers = 240, head_swizzle = 1, longest_first_rows = 1024, longest_first_least_tiles = 64, in_flight = 3>
// CHECK-SAME: one = #hopper.schedule<tile_m = 64, tile_n = 16, stages = 2, registers = 256, head_swizzle = 1>
// CHECK-SAME: order = #hopper.schedule<tile_m = 64, tile_n = 16, stages = 2, registers = 256, head_swizzle = 1, zigzag, short_first>
// CHECK-SAME: packed = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 184, head_swizzle = 1, min_ctas_per_sm = 2, pack_gqa>
// CHECK-SAME: reuse = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 4, registers = 240, head_swizzle = 1, persistent, reuse_q>
// CHECK-SAME: shared = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 112, head_swizzle = 1, min_ctas_per_sm = 3>
// CHECK-SAME: some = #hopper.schedule<tile_m = 192, tile_n = 128, stages = 2, registers = 160, head_swizzle = 1, longest_first, ping_pong>
// CHECK-SAME: split = #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, min_ctas_per_sm = 2, split_kv>
// CHECK-SAME: strides = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 208, head_swizzle = 1, ping_pong, strided>
// CHECK-SAME: written = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1, write_dq>
func.func private @holder() attributes {
  all = #hopper.schedule<tile_m = 128, tile_n = 80, stages = 4, registers = 240, head_swizzle = 8, head_swizzle_keys = 65536, head_swizzle_least_keys = 4096, longest_first, persistent, ping_pong, q_in_registers, bias_in_product>,
  captures = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 232, capture_stages = 2>,
  four = #hopper.schedule<tile_m = 256, tile_n = 256, stages = 1, registers = 112, head_swizzle = 1>,
  late = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, in_flight = 3, longest_first_rows = 1024, longest_first_least_tiles = 64>,
  // Two stages and groups of one head unless something else is written.
  one = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 256>,
  order = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 256, short_first, zigzag>,
  packed = #hopper.schedule<pack_gqa, tile_m = 64, tile_n = 64, registers = 184, min_ctas_per_sm = 2>,
  reuse = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 4, registers = 240, persistent, reuse_q>,
  shared = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 112, min_ctas_per_sm = 3>,
  // Members are in any order.
  some = #hopper.schedule<ping_pong, registers = 160, tile_n = 128, longest_first, tile_m = 192>,
  split = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 208, split_kv, min_ctas_per_sm = 2>,
  strides = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 208, strided, ping_pong>,
  written = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, write_dq>
}
