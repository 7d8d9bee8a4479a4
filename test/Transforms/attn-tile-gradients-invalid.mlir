// RUN: attn-opt %s --split-input-file --attn-tile-gradients --verify-diagnostics

func.func @schedule(%x: tensor<1x2x4x8xf32>, %l: tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32> {
  // expected-error @below {{expects a schedule: run attn-assign-schedule before attn-tile-gradients}}
  %d = attn.attention_grad wrt(q)
      ins(%x, %x, %x, %x, %l, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
      outs(%x : tensor<1x2x4x8xf32>)
  return %d : tensor<1x2x4x8xf32>
}

// -----

func.func @sparsity(%x: tensor<1x2x4x8xf32>, %l: tensor<1x2x4xf32>, %b: tensor<1x1xi1>) -> tensor<1x2x4x8xf32> {
  // expected-error @below {{expects no sparsity, but got #attn.sparsity<bits, block = 64x64>: attn-choose-sparsity and attn-expand-sparsity make it a mask}}
  %d = attn.attention_grad schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6> wrt(q)
      ins(%x, %x, %x, %x, %l, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x64> %b : tensor<1x1xi1>)
      outs(%x : tensor<1x2x4x8xf32>)
  return %d : tensor<1x2x4x8xf32>
}

// -----

func.func @few(%x: tensor<1x2x4x8xf32>, %l: tensor<1x2x4xf32>) -> tensor<1x2x4x8xf32> {
  // expected-error @below {{expects tile_m to be at least lanes for a gradient, but got #attn.schedule<tile_m = 4, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6>; leave it out, and the compiler chooses one}}
  %d = attn.attention_grad schedule<tile_m = 4, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6> wrt(q)
      ins(%x, %x, %x, %x, %l, %x : tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4x8xf32>, tensor<1x2x4xf32>, tensor<1x2x4x8xf32>)
      outs(%x : tensor<1x2x4x8xf32>)
  return %d : tensor<1x2x4x8xf32>
}
