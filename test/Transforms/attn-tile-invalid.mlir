// RUN: attn-opt %s --attn-tile --split-input-file --verify-diagnostics

func.func @not_online(%q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  // expected-error @below {{expects no attn.attention: run attn-online-softmax before attn-tile}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%o : tensor<1x1x16x8xf32>)
  return %r : tensor<1x1x16x8xf32>
}

// -----

func.func @no_schedule(%q: tensor<1x1x16x8xf32>, %acc: tensor<1x1x16x8xf32>, %max: tensor<1x1x16xf32>, %sum: tensor<1x1x16xf32>) -> tensor<1x1x16x8xf32> {
  // expected-error @below {{expects a schedule: run attn-assign-schedule before attn-tile}}
  %s:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%acc, %max, %sum : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %s#0 : tensor<1x1x16x8xf32>
}

// -----

func.func @rows_of_a_state(%q: tensor<1x1x16x8xf32>, %acc: tensor<1x1x16x8xf32>, %max: tensor<1x1x16xf32>, %sum: tensor<1x1x16xf32>) -> tensor<1x1x16x8xf32> {
  // expected-error @below {{expects an attention with a rows region to start from a state without a key}}
  %s:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%acc, %max, %sum : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      rows(%b, %h, %i) {
        %x = arith.constant 1.0 : f32
        %p = arith.constant true
        attn.yield %x, %p, %x : f32, i1, f32
      }
  return %s#0 : tensor<1x1x16x8xf32>
}

// -----

func.func @not_canonical(%q: tensor<1x1x16x8xf32>, %acc: tensor<1x1x16x8xf32>, %max: tensor<1x1x16xf32>, %sum: tensor<1x1x16xf32>) -> tensor<1x1x16x8xf32> {
  %s:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%acc, %max, %sum : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      mask(%b, %h, %i, %j) {
        // expected-error @below {{'index.add' has no form on tiles: expects the region to be canonicalized by attn-canonicalize-score}}
        %x = index.add %i, %j
        %p = arith.cmpi sle, %x, %i : index
        attn.yield %p : i1
      }
  return %s#0 : tensor<1x1x16x8xf32>
}

// -----

func.func @sparsity(%q: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<2xi32>, %columns: tensor<?xi32>)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects no sparsity but lists with blocks of 1x1, but got #attn.sparsity<lists, block = 16x16>: attn-expand-sparsity, before attn-tile, makes it a mask, but on a GPU no lists}}
  %acc, %max, %sum = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x16> %rows, %columns : tensor<2xi32>, tensor<?xi32>)
      outs(%q, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}

// -----

func.func @lists_without_schedule(%q: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<17xi32>, %columns: tensor<?xi32>)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects a schedule: run attn-assign-schedule before attn-tile}}
  %acc, %max, %sum = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%q, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}

// -----

func.func @tiles_of_lists(%q: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<17xi32>, %columns: tensor<?xi32>)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects a #attn.row_schedule, as each query has a list of keys, but got #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>; leave it out, and the compiler chooses one}}
  %acc, %max, %sum = attn.online_attention scale 1.0 schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%q, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}

// -----

func.func @lists_together(%q: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<17xi32>, %columns: tensor<?xi32>)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects a schedule without queries, as each query has a list of keys of its own, but got #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8, queries = 2>; leave it out, and the compiler chooses one}}
  %acc, %max, %sum = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8, queries = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%q, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}

// -----

func.func @words_of_gathered(%q: tensor<1x1x16x8xbf16>, %a: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<17xi32>, %columns: tensor<?xi32>)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects tile_n to be a multiple of 32 for gathered keys, but got #hopper.schedule<tile_m = 64, tile_n = 80, stages = 2, registers = 208, head_swizzle = 1>; leave it out, and the compiler chooses one}}
  %acc, %max, %sum = attn.online_attention scale 1.0 schedule #hopper.schedule<tile_m = 64, tile_n = 80, registers = 208>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%a, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}

// -----

func.func @offsets_of_gathered(%q: tensor<1x1x16x8xbf16>, %a: tensor<1x1x16x8xf32>, %r: tensor<1x1x16xf32>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %i: index)
    -> tensor<1x1x16x8xf32> {
  // expected-error@+1 {{expects no offsets with gathered keys: run attn-tile before the attention is cut}}
  %acc, %max, %sum = attn.online_attention scale 1.0 schedule #hopper.schedule<tile_m = 64, tile_n = 64, registers = 208>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      offsets(%i, %i, %i, %i)
      outs(%a, %r, %r : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %acc : tensor<1x1x16x8xf32>
}
