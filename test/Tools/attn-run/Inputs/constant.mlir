func.func @constant() -> tensor<1x1x2x4xf32> {
  %q = arith.constant dense<1.000000e+00> : tensor<1x1x2x4xf32>
  %init = tensor.empty() : tensor<1x1x2x4xf32>
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>,
                       tensor<1x1x2x4xf32>)
      outs(%init : tensor<1x1x2x4xf32>)
  return %o : tensor<1x1x2x4xf32>
}
