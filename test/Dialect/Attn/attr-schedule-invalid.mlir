// RUN: attn-opt %s --split-input-file --verify-diagnostics

// expected-error@+1 {{expects tile_m to be positive, but got 0}}
#s = #attn.schedule<tile_m = 0, tile_n = 1, lanes = 1, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expects tile_n to be positive, but got -64}}
#s = #attn.schedule<tile_m = 1, tile_n = -64, lanes = 1, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expects lanes to be positive, but got 0}}
#s = #attn.schedule<tile_m = 1, tile_n = 1, lanes = 0, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expects unroll_m to be positive, but got 0}}
#s = #attn.schedule<tile_m = 1, tile_n = 1, lanes = 1, unroll_m = 0, unroll_n = 1>

// -----

// expected-error@+1 {{expects unroll_n to be positive, but got 0}}
#s = #attn.schedule<tile_m = 1, tile_n = 1, lanes = 1, unroll_m = 1, unroll_n = 0>

// -----

// expected-error@+1 {{expects tile_m to be a multiple of lanes * unroll_m, which are 16 and 4, or less than lanes, but got 96}}
#s = #attn.schedule<tile_m = 96, tile_n = 1, lanes = 16, unroll_m = 4, unroll_n = 1>

// -----

// expected-error@+1 {{expects lanes to be a power of two that divides tile_n, which is 24, as tile_m is smaller, but got 16}}
#s = #attn.schedule<tile_m = 2, tile_n = 24, lanes = 16, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expects lanes to be a power of two that divides tile_n, which is 24, as tile_m is smaller, but got 12}}
#s = #attn.schedule<tile_m = 2, tile_n = 24, lanes = 12, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expects unroll_m to divide tile_m, which is 3, but got 2}}
#s = #attn.schedule<tile_m = 3, tile_n = 32, lanes = 16, unroll_m = 2, unroll_n = 1>

// -----

// The product of lanes and unroll_m may be more than 64 bits hold.
// expected-error@+1 {{expects tile_m to be a multiple of lanes * unroll_m, which are 4611686018427387904 and 4, or less than lanes, but got 4611686018427387904}}
#s = #attn.schedule<tile_m = 4611686018427387904, tile_n = 1, lanes = 4611686018427387904, unroll_m = 4, unroll_n = 1>

// -----

// expected-error@+2 {{integer value too large}}
// expected-error@+1 {{failed to parse Attn_ScheduleAttr parameter 'tileM'}}
#s = #attn.schedule<tile_m = 99999999999999999999, tile_n = 1, lanes = 1, unroll_m = 1, unroll_n = 1>

// -----

// expected-error@+1 {{expected ','}}
#s = #attn.schedule<tile_m = 1, tile_n = 1>

// -----

// expected-error@+1 {{unknown attribute `tiles` in dialect `attn`}}
#s = #attn.tiles<1>

// -----

func.func @clause(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects lanes to be positive, but got -1}}
  %0 = attn.attention schedule<tile_m = 8, tile_n = 4, lanes = -1, unroll_m = 2, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @other_attribute(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{Invalid attribute `schedule` in property conversion: 64 : i64}}
  %0 = "attn.attention"(%q, %q, %q, %q) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>, schedule = 64 : i64}> ({}, {})
      : (tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return
}

// -----

func.func @clause_other_attribute(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects a schedule, but got 64 : i64}}
  %0 = attn.attention schedule 64 : i64
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

func.func @clause_other_dialect(%q: tensor<1x1x2x4xf32>) {
  // expected-error@+1 {{expects tile_m to be 64, 128, 192 or 256, but got 8}}
  %0 = attn.attention schedule #hopper.schedule<tile_m = 8, tile_n = 16, registers = 240>
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// -----

// expected-error@+1 {{expects rows to be positive, but got 0}}
#s = #attn.row_schedule<rows = 0, tile_n = 32, lanes = 8>

// -----

// expected-error@+1 {{expects tile_n to be at least 2, but got 1}}
#s = #attn.row_schedule<rows = 1, tile_n = 1, lanes = 1>

// -----

// expected-error@+1 {{expects lanes to be positive, but got 0}}
#s = #attn.row_schedule<rows = 1, tile_n = 32, lanes = 0>

// -----

// expected-error@+1 {{expects lanes to be a power of two that divides tile_n, which is 24, but got 12}}
#s = #attn.row_schedule<rows = 1, tile_n = 24, lanes = 12>

// -----

// expected-error@+1 {{expects lanes to be a power of two that divides tile_n, which is 24, but got 16}}
#s = #attn.row_schedule<rows = 1, tile_n = 24, lanes = 16>

// -----

// expected-error@+1 {{expects queries to be positive, but got 0}}
#s = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8, queries = 0>

// -----

// expected-error@+1 {{expects queries to divide rows, which is 4, but got 3}}
#s = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8, queries = 3>

// -----

// expected-error@+1 {{expects a dimension of 0 or more, but got -1}}
func.func private @no_dimension() attributes {test = #attn.worker<-1>}
