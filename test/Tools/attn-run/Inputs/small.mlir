func.func @small(%q: tensor<1x2x128x16xf32>) -> tensor<1x2x128x16xf32> {
  %init = tensor.empty() : tensor<1x2x128x16xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x2x128x16xf32>, tensor<1x2x128x16xf32>, tensor<1x2x128x16xf32>)
      outs(%init : tensor<1x2x128x16xf32>)
  return %o : tensor<1x2x128x16xf32>
}
