// RUN: attn-opt %s --attn-choose-sparsity --remarks-filter=attn 2>&1 | FileCheck %s

// CHECK: sparsity{{.*}}lists and dense: lists cost less below some {{[0-9.]+}} % of all pairs (of 4096 keys), and a dense attention with a predicate from there; a call takes one by the extents of the lists
func.func @lists(%q: tensor<1x1x?x64xf32>, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%q : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}

// CHECK: sparsity{{.*}}blocks: the class of a tile costs next to nothing, and tiles that no block needs are passed over at any density
func.func @blocks(%q: tensor<1x1x256x8xf32>, %bits: tensor<4x8xi1>) -> tensor<1x1x256x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x32> %bits : tensor<4x8xi1>)
      outs(%q : tensor<1x1x256x8xf32>)
  return %r : tensor<1x1x256x8xf32>
}
