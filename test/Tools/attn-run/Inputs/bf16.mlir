func.func @bf16(%q: tensor<1x1x?x8xbf16>, %k: tensor<1x1x?x8xbf16>,
                %v: tensor<1x1x?x8xbf16>)
    -> (tensor<1x1x?x8xbf16> {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %q, %c2 : tensor<1x1x?x8xbf16>
  %init = tensor.empty(%length) : tensor<1x1x?x8xbf16>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x1x?x8xbf16>, tensor<1x1x?x8xbf16>,
                       tensor<1x1x?x8xbf16>)
      outs(%init : tensor<1x1x?x8xbf16>)
  return %o : tensor<1x1x?x8xbf16>
}
