// Sparse blocks as lists: for each batch and head (or one for all), and each row of 64 queries, the blocks of 64 keys
// that take part, in ascending order. `rows` says where the list of a row starts in `columns`, and where the next one does.
// Within the blocks attention is causal. Lists may be made anew for each call: those of the highest scores, say.
//
//   attn-run docs/examples/block-sparse.mlir --arg=q=randn:2x8x1000x64 --arg=rows='blocks(0.2)' --check
//   attn-run docs/examples/block-sparse.mlir --arg=q=randn:2x8x1000x64 --arg=rows='blocks(0.2):1x8x17' --check
//
// python/attn/layouts.py and include/attn/Builder/BlockLayout.h make lists, those of BigBird, Longformer and others too.
// By default each block takes part with a probability of 0.5.

func.func @blocks(%q: tensor<?x8x?x64xf16>, %k: tensor<?x8x?x64xf16>, %v: tensor<?x8x?x64xf16>,
                  %rows: tensor<?x?x?xi32>, %columns: tensor<?xi32>)
    -> (tensor<?x8x?x64xf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xf16>
  %length = tensor.dim %q, %c2 : tensor<?x8x?x64xf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<?x?x?xi32>, tensor<?xi32>)
      outs(%init : tensor<?x8x?x64xf16>)
      mask(%b, %h, %i, %j) {
        %causal = arith.cmpi sle, %j, %i : index
        attn.yield %causal : i1
      }
  return %o : tensor<?x8x?x64xf16>
}
