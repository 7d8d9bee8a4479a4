// A batch of sequences of different lengths, padded to the longest: `lens` tells
// how many tokens of each are real. Padding neither sees nor is seen: its rows
// have no allowed key, so o is 0 and lse is -inf there.
//
//   attn-run docs/examples/varlen.mlir --arg=lens='randint(0,501)' \
//       --arg=q=randn:6x4x500x64 --check
//
// A length may be 0. Without options all are, since integers are 0 by default,
// and then the whole result is padding.

func.func @varlen(%q: tensor<?x4x?x64xf32>, %k: tensor<?x4x?x64xf32>,
                  %v: tensor<?x4x?x64xf32>, %lens: tensor<?xi64>)
    -> (tensor<?x4x?x64xf32> {attn.name = "o"},
        tensor<?x4x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c2 = arith.constant 2 : index
  %batch = tensor.dim %q, %c0 : tensor<?x4x?x64xf32>
  %length = tensor.dim %q, %c2 : tensor<?x4x?x64xf32>
  %oinit = tensor.empty(%batch, %length) : tensor<?x4x?x64xf32>
  %linit = tensor.empty(%batch, %length) : tensor<?x4x?xf32>
  %o, %lse = attn.attention
      ins(%q, %k, %v : tensor<?x4x?x64xf32>, tensor<?x4x?x64xf32>,
                       tensor<?x4x?x64xf32>)
      captures(%lens : tensor<?xi64>)
      outs(%oinit, %linit : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>)
      mask(%b, %h, %i, %j, %lens) {
        %n64 = tensor.extract %lens[%b] : tensor<?xi64>
        %n = arith.index_cast %n64 : i64 to index
        %query = arith.cmpi slt, %i, %n : index
        %key = arith.cmpi slt, %j, %n : index
        %p = arith.andi %query, %key : i1
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x4x?x64xf32>, tensor<?x4x?xf32>
}
