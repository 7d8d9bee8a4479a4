// An explicit layout of sparse blocks: `layout` tells for each head which blocks
// of 64 queries and 64 keys take part. Within them attention is causal.
//
//   attn-run docs/examples/block-layout.mlir --arg=layout='randint(0,2):8x5x5' \
//       --arg=q=randn:2x8x300x64 --check
//
// python/attn/layouts.py and include/attn/Builder/BlockLayout.h make the layouts
// of BigBird, Longformer and others. By default all bits are 0, and then o is 0.

func.func @blocks(%q: tensor<?x8x?x64xf16>, %k: tensor<?x8x?x64xf16>,
                  %v: tensor<?x8x?x64xf16>, %layout: tensor<8x?x?xi1>)
    -> (tensor<?x8x?x64xf16> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xf16>
  %length = tensor.dim %q, %c2 : tensor<?x8x?x64xf16>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x64xf16>, tensor<?x8x?x64xf16>,
                       tensor<?x8x?x64xf16>)
      captures(%layout : tensor<8x?x?xi1>)
      outs(%init : tensor<?x8x?x64xf16>)
      mask(%b, %h, %i, %j, %bits) {
        %block = arith.constant 64 : index
        %row = arith.divui %i, %block : index
        %column = arith.divui %j, %block : index
        %bit = tensor.extract %bits[%h, %row, %column] : tensor<8x?x?xi1>
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %bit, %causal : i1
        attn.yield %p : i1
      }
  return %o : tensor<?x8x?x64xf16>
}
