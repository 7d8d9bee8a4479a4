// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got 0}}
#s = #hopper.schedule<tile_m = 0, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got 32}}
#s = #hopper.schedule<tile_m = 32, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got 100}}
#s = #hopper.schedule<tile_m = 100, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got 320}}
#s = #hopper.schedule<tile_m = 320, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got -64}}
#s = #hopper.schedule<tile_m = -64, tile_n = 128, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_n to be a multiple of 16 up to 256, but got 0}}
#s = #hopper.schedule<tile_m = 128, tile_n = 0, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_n to be a multiple of 16 up to 256, but got 8}}
#s = #hopper.schedule<tile_m = 128, tile_n = 8, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_n to be a multiple of 16 up to 256, but got 100}}
#s = #hopper.schedule<tile_m = 128, tile_n = 100, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects tile_n to be a multiple of 16 up to 256, but got 272}}
#s = #hopper.schedule<tile_m = 128, tile_n = 272, stages = 2, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects 1, 2 or 4 stages, but got 0}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 0, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects 1, 2 or 4 stages, but got 3}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 3, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects 1, 2 or 4 stages, but got 8}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 8, registers = 240, head_swizzle = 1>

// -----

// expected-error@+1 {{expects registers to be a multiple of 8 from 24 to 256, but got 16}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 16, head_swizzle = 1>

// -----

// expected-error@+1 {{expects registers to be a multiple of 8 from 24 to 256, but got 100}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 100, head_swizzle = 1>

// -----

// expected-error@+1 {{expects registers to be a multiple of 8 from 24 to 256, but got 264}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 264, head_swizzle = 1>

// -----

// expected-error@+1 {{expects min_ctas_per_sm to be from 1 to 4, but got 0}}
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 112, min_ctas_per_sm = 0>

// -----

// expected-error@+1 {{expects min_ctas_per_sm to be from 1 to 4, but got 5}}
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 112, min_ctas_per_sm = 5>

// -----

// expected-error@+1 {{expects head_swizzle to be positive, but got 0}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, stages = 2, registers = 240, head_swizzle = 0>

// -----

// expected-error@+1 {{expects a member of a schedule, but got 'lanes'}}
#s = #hopper.schedule<tile_m = 64, lanes = 8>

// -----

// expected-error@+1 {{expected valid keyword}}
#s = #hopper.schedule<tile_m = 64, 8>

// -----

// expected-error@+1 {{expected '='}}
#s = #hopper.schedule<tile_m 64>

// -----

// expected-error@+1 {{expected integer value}}
#s = #hopper.schedule<tile_m = longest_first>

// -----

// expected-error@+1 {{integer value too large}}
#s = #hopper.schedule<tile_m = 99999999999999999999>

// -----

// expected-error@+1 {{unknown attribute `plan` in dialect `hopper`}}
#s = #hopper.plan<1>

// -----

// expected-error@+1 {{expects in_flight to be from 0 to 8, but got 9}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, in_flight = 9>

// -----

// expected-error@+1 {{expects capture_stages to be 0, 1, 2 or 4, but got 3}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, capture_stages = 3>

// -----

// expected-error@+1 {{expects head_swizzle_keys to be from 0 to 1073741824, but got -1}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, head_swizzle_keys = -1>

// -----

// expected-error@+1 {{expects head_swizzle_least_keys to be from 0 to 1073741824, but got -1}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, head_swizzle_least_keys = -1>

// -----

// expected-error@+1 {{expects longest_first_rows to be from 0 to 1073741824, but got -1}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first_rows = -1>

// -----

// expected-error@+1 {{expects longest_first_least_tiles to be from 0 to 1073741824, but got -1}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first, longest_first_least_tiles = -1>

// -----

// expected-error@+1 {{expects longest_first_least_tiles together with longest_first or longest_first_rows}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first_least_tiles = 64>

// -----

// expected-error@+1 {{expects longest_first_rows to be without zigzag}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first_rows = 1024, zigzag>

// -----

// expected-error@+1 {{expects longest_first_rows to be without longest_first}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first_rows = 1024, longest_first>

// -----

// expected-error@+1 {{expects a strided schedule to be without persistent}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, persistent, strided>

// -----

// expected-error@+1 {{expects a strided schedule to be without capture_stages}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, capture_stages = 1, strided>

// -----

// expected-error@+1 {{expects pack_gqa to be without strided}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, strided, pack_gqa>

// -----

// expected-error@+1 {{expects pack_gqa to be without capture_stages}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, capture_stages = 1, pack_gqa>

// -----

// expected-error@+1 {{expects longest_first or zigzag, not both}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, longest_first, zigzag>

// -----

// expected-error@+1 {{expects a schedule with split_kv to be without persistent}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, persistent, split_kv>

// -----

// expected-error@+1 {{expects a schedule with split_kv to be without strided}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 208, strided, split_kv>

// -----

// expected-error@+1 {{expects partitions together with an order}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, partitions = {pv = second}>

// -----

// expected-error@+1 {{expects one partition of 'pv'}}
#s = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240, order = [pv], partitions = {pv = second, pv = third}>

// -----

// expected-error@+1 {{expects a schedule with reuse_q to be persistent}}
#s = #hopper.schedule<tile_m = 128, tile_n = 128, registers = 240, reuse_q>

// -----

// expected-error@+1 {{expects a schedule with reuse_q to be without q_in_registers}}
#s = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 240, persistent, reuse_q, q_in_registers>

// -----

// expected-error@+1 {{expects write_dq without strided}}
#s = #hopper.schedule<tile_m = 128, tile_n = 64, registers = 240, write_dq, strided>
