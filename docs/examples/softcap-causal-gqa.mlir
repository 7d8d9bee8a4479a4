// Soft-capped causal attention with grouped heads, in bfloat16.
//
//   attn-run docs/examples/softcap-causal-gqa.mlir --check --bench
//
// Eight query heads share two key/value heads. Scores are capped smoothly to
// (-20, 20), and then a query i sees the keys up to its own position. The cap
// is part of the score and the mask acts after it, so that a masked key stays
// masked. The sequence has 1000 tokens, which is no multiple of any tile. The
// batch is free and 1 if nothing tells it; --arg=q=randn:4x8x1000x64 makes
// it 4.

func.func @softcap(%q: tensor<?x8x1000x64xbf16>, %k: tensor<?x2x1000x64xbf16>,
                   %v: tensor<?x2x1000x64xbf16>)
    -> (tensor<?x8x1000x64xbf16> {attn.name = "o"},
        tensor<?x8x1000xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %batch = tensor.dim %q, %c0 : tensor<?x8x1000x64xbf16>
  %oinit = tensor.empty(%batch) : tensor<?x8x1000x64xbf16>
  %linit = tensor.empty(%batch) : tensor<?x8x1000xf32>
  %o, %lse = attn.attention scale 1.250000e-01
      ins(%q, %k, %v : tensor<?x8x1000x64xbf16>, tensor<?x2x1000x64xbf16>,
                       tensor<?x2x1000x64xbf16>)
      outs(%oinit, %linit : tensor<?x8x1000x64xbf16>, tensor<?x8x1000xf32>)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 2.000000e+01 : f32
        %x = arith.divf %s, %cap : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %cap : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x8x1000x64xbf16>, tensor<?x8x1000xf32>
}
