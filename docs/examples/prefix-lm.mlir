// Prefix language model: the first tokens of each sequence, its prefix, see
// each other in both directions, and all other tokens see what is before them.
//
//   attn-run docs/examples/prefix-lm.mlir --arg=prefix='randint(0,300)' \
//       --arg=q=randn:4x8x300x64 --check
//
// The length of the prefix differs from one sequence of the batch to the next.

func.func @prefix_lm(%q: tensor<?x8x?x64xbf16>, %k: tensor<?x8x?x64xbf16>,
                     %v: tensor<?x8x?x64xbf16>, %prefix: tensor<?xi32>)
    -> (tensor<?x8x?x64xbf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xbf16>
  %length = tensor.dim %q, %c2 : tensor<?x8x?x64xbf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x64xbf16>, tensor<?x8x?x64xbf16>,
                       tensor<?x8x?x64xbf16>)
      captures(%prefix : tensor<?xi32>)
      outs(%init : tensor<?x8x?x64xbf16>)
      mask(%b, %h, %i, %j, %prefix) {
        %n32 = tensor.extract %prefix[%b] : tensor<?xi32>
        %n = arith.index_cast %n32 : i32 to index
        %causal = arith.cmpi sle, %j, %i : index
        %queryIn = arith.cmpi slt, %i, %n : index
        %keyIn = arith.cmpi slt, %j, %n : index
        %both = arith.andi %queryIn, %keyIn : i1
        %p = arith.ori %causal, %both : i1
        attn.yield %p : i1
      }
  return %o : tensor<?x8x?x64xbf16>
}
