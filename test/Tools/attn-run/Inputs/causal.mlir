// Causal attention with grouped heads; batch, lengths and head counts are free.
func.func @causal(%q: tensor<?x?x?x16xf32>, %k: tensor<?x?x?x16xf32>,
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
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x?x?x16xf32>, tensor<?x?x?xf32>
}
