// RUN: attn-opt %s --attn-expand-sparsity --verify-diagnostics

func.func @offsets(%rows: tensor<5xi32>, %columns: tensor<?xi32>, %at: index, %q: tensor<2x4x64x8xf32>) -> tensor<2x4x64x8xf32> {
  // expected-error@+1 {{expects no offsets with lists of blocks: run attn-expand-sparsity before the attention is cut}}
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<5xi32>, tensor<?xi32>)
      offsets(%at, %at, %at, %at)
      outs(%q : tensor<2x4x64x8xf32>)
  return %o : tensor<2x4x64x8xf32>
}
