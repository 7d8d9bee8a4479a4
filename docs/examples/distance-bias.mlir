// A sliding window with a learned bias for each head and distance, in float32.
//
//   attn-run docs/examples/distance-bias.mlir --check
//
// A query sees its last 128 keys. The table has one row for each head and one
// column for each distance. The tutorial builds this program step by step.

func.func @window(%q: tensor<2x4x?x64xf32>, %k: tensor<2x4x?x64xf32>,
                  %v: tensor<2x4x?x64xf32>, %table: tensor<4x128xf32>)
    -> (tensor<2x4x?x64xf32> {attn.name = "o"}) {
  %c2 = arith.constant 2 : index
  %length = tensor.dim %q, %c2 : tensor<2x4x?x64xf32>
  %init = tensor.empty(%length) : tensor<2x4x?x64xf32>
  %o = attn.attention
      ins(%q, %k, %v : tensor<2x4x?x64xf32>, tensor<2x4x?x64xf32>,
                       tensor<2x4x?x64xf32>)
      captures(%table : tensor<4x128xf32>)
      outs(%init : tensor<2x4x?x64xf32>)
      score(%s, %b, %h, %i, %j, %t) {
        %distance = arith.subi %i, %j : index
        %bias = tensor.extract %t[%h, %distance] : tensor<4x128xf32>
        %y = arith.addf %s, %bias : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %t) {
        %c128 = arith.constant 128 : index
        %distance = arith.subi %i, %j : index
        %past = arith.cmpi sle, %j, %i : index
        %near = arith.cmpi slt, %distance, %c128 : index
        %p = arith.andi %past, %near : i1
        attn.yield %p : i1
      }
  return %o : tensor<2x4x?x64xf32>
}
