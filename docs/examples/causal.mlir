// Causal attention in float32, small enough to read at every level.
//
//   attn-run docs/examples/causal.mlir --check

func.func @causal(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>,
                  %v: tensor<1x2x?x8xf32>) -> tensor<1x2x?x8xf32> {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %q, %c2 : tensor<1x2x?x8xf32>
  %init = tensor.empty(%length) : tensor<1x2x?x8xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>,
                       tensor<1x2x?x8xf32>)
      outs(%init : tensor<1x2x?x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<1x2x?x8xf32>
}
