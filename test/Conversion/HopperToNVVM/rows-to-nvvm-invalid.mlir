// RUN: attn-opt %s --attn-online-softmax --attn-tile --attn-expand-tile-loops --canonicalize --cse --attn-rows-to-nvvm --split-input-file --verify-diagnostics

func.func @other_step(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  // expected-error @below {{expects a schedule with a tile_n of 32, the threads of a warp, on a GPU, but got #attn.row_schedule<rows = 4, tile_n = 16, lanes = 1>}}
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 16, lanes = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @too_many_rows(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  // expected-error @below {{expects a schedule with at most 32 warps in a CTA on a GPU, each for the queries of rows that it computes together, but got #attn.row_schedule<rows = 33, tile_n = 32, lanes = 1>}}
  %r = attn.attention schedule #attn.row_schedule<rows = 33, tile_n = 32, lanes = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @f64(%q: tensor<1x1x16x8xf64>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xf64>) -> tensor<1x1x16x8xf64> {
  // expected-error @below {{expects keys and values of bf16, f16 or f32 on a GPU, but got 'f64'; convert them; the target cpu can run it}}
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xf64>, tensor<1x1x16x8xf64>, tensor<1x1x16x8xf64>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xf64>)
  return %r : tensor<1x1x16x8xf64>
}

// -----

func.func @other_computation(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>, %x: bf16) -> tensor<1x1x16x8xbf16> {
  // expected-error @below {{expects nothing but one attention in a function for a GPU, but got 'linalg.fill'; the target cpu can run it}}
  %k = linalg.fill ins(%x : bf16) outs(%q : tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16>
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %k, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @sum(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  // expected-error @below {{expects nothing but one attention in a function for a GPU, but got 'arith.addf'; the target cpu can run it}}
  %k = arith.addf %q, %q : tensor<1x1x16x8xbf16>
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %k, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @no_argument(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  %k = tensor.empty() : tensor<1x1x16x8xbf16>
  // expected-error @below {{expects tensors to be arguments of 'no_argument', so that a GPU kernel can read or write them in place; compute them in a function of its own; the target cpu can run it}}
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %k, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @state(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %acc: tensor<1x1x16x8xf32>, %stat: tensor<1x1x16xf32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  // expected-error @below {{expects a loop over a list of keys that starts from the neutral state on a GPU; the target cpu can run it}}
  %s:3 = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%acc, %stat, %stat : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      outs(%o : tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16>
  return %r : tensor<1x1x16x8xbf16>
}

// -----

func.func @no_form(%q: tensor<1x1x16x8xbf16>, %rows: tensor<17xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<17xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x16x8xbf16>)
      score(%s, %b, %h, %i, %j) {
        %x = arith.extf %s : f32 to f64
        // expected-error @below {{'math.exp' on 'vector<32xf64>' has no form in a GPU kernel; the target cpu can run it}}
        %y = math.exp %x : f64
        %z = arith.truncf %y : f64 to f32
        attn.yield %z : f32
      }
  return %r : tensor<1x1x16x8xbf16>
}
