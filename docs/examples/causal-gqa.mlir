// Causal attention in bf16, eight query heads on two KV heads: the program that
// docs/architecture.md shows at every level. The length is free.
//
//   attn-run docs/examples/causal-gqa.mlir --check

func.func @causal(%q: tensor<1x8x?x64xbf16>, %k: tensor<1x2x?x64xbf16>,
                  %v: tensor<1x2x?x64xbf16>) -> tensor<1x8x?x64xbf16> {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : tensor<1x8x?x64xbf16>
  %init = tensor.empty(%n) : tensor<1x8x?x64xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x8x?x64xbf16>, tensor<1x2x?x64xbf16>, tensor<1x2x?x64xbf16>)
      outs(%init : tensor<1x8x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x8x?x64xbf16>
}
