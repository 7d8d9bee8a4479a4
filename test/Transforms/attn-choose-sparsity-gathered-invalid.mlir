// RUN: attn-opt %s --attn-choose-sparsity='form=gathered one-per-launch' --split-input-file --verify-diagnostics
// RUN: not attn-opt %s --attn-choose-sparsity='form=gathered' --split-input-file 2>&1 | FileCheck %s

// CHECK: error: expects dense or lists for lists of single keys on a CPU, but got gathered, which is for the tensor cores of a GPU; leave the choice to the compiler with auto
func.func @elements(%q: tensor<1x1x4x8xf32>, %rows: tensor<5xi32>, %columns: tensor<?xi32>) -> tensor<1x1x4x8xf32> {
  // expected-error@+1 {{expects queries of bf16 or f16 for gathered keys, but got 'f32'; leave the choice to the compiler with auto}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<5xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x4x8xf32>)
  return %r : tensor<1x1x4x8xf32>
}

// -----

func.func @rows(%q: tensor<1x1x4x8xbf16>, %rows: tensor<5xi32>, %columns: tensor<?xi32>) -> tensor<1x1x4x8xbf16> {
  // expected-error@+1 {{expects a schedule of tiles for gathered keys, but got #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1>; leave the choice to the compiler with auto}}
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 1> ins(%q, %q, %q : tensor<1x1x4x8xbf16>, tensor<1x1x4x8xbf16>, tensor<1x1x4x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<5xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x4x8xbf16>)
  return %r : tensor<1x1x4x8xbf16>
}

// -----

func.func @blocks(%q: tensor<1x1x64x8xbf16>, %rows: tensor<5xi32>, %columns: tensor<?xi32>) -> tensor<1x1x64x8xbf16> {
  // expected-error@+1 {{expects dense or blocks for a sparsity with blocks of 16x16, but got gathered; leave the choice to the compiler with auto}}
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x64x8xbf16>, tensor<1x1x64x8xbf16>, tensor<1x1x64x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 16x16> %rows, %columns : tensor<5xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x64x8xbf16>)
  return %r : tensor<1x1x64x8xbf16>
}
