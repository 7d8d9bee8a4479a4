// The same as causal.mlir without a mask.
func.func @full(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
                  %v: tensor<?x?x?x16xf32>)
    -> (tensor<?x?x?x16xf32> {attn.name = "o"},
        tensor<?x?x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x?x16xf32>
  %heads = tensor.dim %q, %c1 : tensor<?x?x?x16xf32>
  %length = tensor.dim %q, %c2 : tensor<?x?x?x16xf32>
  %oinit = tensor.empty(%batch, %heads, %length) : tensor<?x?x?x16xf32>
  %linit = tensor.empty(%batch, %heads, %length) : tensor<?x?x?xf32>
  %o, %lse = attn.attention
      ins(%q, %k, %v : tensor<?x?x?x16xf32>, tensor<?x?x?x16xf32>,
                       tensor<?x?x?x16xf32>)
      outs(%oinit, %linit : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>)
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
