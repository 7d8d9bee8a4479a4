// Documents packed into one sequence: `ids` has the number of the document that
// each token belongs to, and a query sees the earlier tokens of its own document
// only.
//
//   attn-run docs/examples/document-mask.mlir --arg=ids='randint(0,4)' \
//       --arg=q=randn:2x8x600x64 --check
//
// Documents are usually contiguous, as in numpy.repeat([0, 1, 2], [300, 100,
// 200]) saved to a file for --arg=ids=ids.npy, but any numbers will do. By default
// all are 0, which is one document.

func.func @documents(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x2x?x64xbf16>,
                     %v: tensor<?x2x?x64xbf16>, %ids: tensor<?x?xi32>)
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xbf16>
  %length = tensor.dim %q, %c2 : tensor<?x8x?x64xbf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x2x?x64xbf16>,
                       tensor<?x2x?x64xbf16>)
      captures(%ids : tensor<?x?xi32>)
      outs(%init : tensor<?x8x?x64xbf16>)
      mask(%b, %h, %i, %j, %ids) {
        %mine = tensor.extract %ids[%b, %i] : tensor<?x?xi32>
        %other = tensor.extract %ids[%b, %j] : tensor<?x?xi32>
        %same = arith.cmpi eq, %mine, %other : i32
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %same, %causal : i1
        attn.yield %p : i1
      }
  return %o : tensor<?x8x?x64xbf16>
}
