// Attention with linear biases (ALiBi): each head lowers the score of a key by
// its distance times a slope of its own, here under a causal mask.
//
//   attn-run docs/examples/alibi.mlir --arg=slopes='uniform(0.01,0.5)' --check
//
// The slopes are a captured tensor, so one kernel serves any slopes. Batch and
// length are free:
//
//   attn-run docs/examples/alibi.mlir --arg=slopes=0.25 \
//       --arg=q=randn:2x8x777x64 --check

func.func @alibi(%q: tensor<?x8x?x64xf32>, %k: tensor<?x8x?x64xf32>,
                 %v: tensor<?x8x?x64xf32>, %slopes: tensor<8xf32>)
    -> (tensor<?x8x?x64xf32> {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x?x64xf32>
  %length = tensor.dim %q, %c2 : tensor<?x8x?x64xf32>
  %init = tensor.empty(%batch, %length) : tensor<?x8x?x64xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>,
                       tensor<?x8x?x64xf32>)
      captures(%slopes : tensor<8xf32>)
      outs(%init : tensor<?x8x?x64xf32>)
      score(%s, %b, %h, %i, %j, %slopes) {
        %slope = tensor.extract %slopes[%h] : tensor<8xf32>
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i32
        %df = arith.sitofp %di : i32 to f32
        %bias = arith.mulf %slope, %df : f32
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %slopes) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : tensor<?x8x?x64xf32>
}
