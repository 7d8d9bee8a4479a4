// The least that computes something.
func.func @tiny(%q: tensor<1x1x2x4xf32>) -> (tensor<1x1x2x4xf32> {attn.name = "o"}) {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
                       tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}
