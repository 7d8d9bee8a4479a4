func.func private @callee(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
                       tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}
func.func @called(%q: tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32> {
  %o = call @callee(%q) : (tensor<1x1x2x4xf32>) -> tensor<1x1x2x4xf32>
  return %o : tensor<1x1x2x4xf32>
}
