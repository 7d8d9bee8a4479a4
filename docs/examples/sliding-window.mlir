// Causal attention within a sliding window: a query sees itself and the keys
// less than `window` positions before it. KV blocks outside of the window
// are never computed.
//
//   attn-run docs/examples/sliding-window.mlir --arg=window=256 \
//       --arg=q=randn:1x2048x8x64 --check --bench
//
// The tensors are in the order batch, sequence, head, dimension. The window is a
// scalar at run time; a window of 0, the default of integers, allows no key, and
// then o is 0 and lse is -inf.

func.func @window(%q: tensor<?x?x8x64xf16>, %k: tensor<?x?x8x64xf16>,
                  %v: tensor<?x?x8x64xf16>, %window: index)
    -> (tensor<?x?x8x64xf16> {attn.name = "o"},
        tensor<?x?x8xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %batch = tensor.dim %q, %c0 : tensor<?x?x8x64xf16>
  %length = tensor.dim %q, %c1 : tensor<?x?x8x64xf16>
  %oinit = tensor.empty(%batch, %length) : tensor<?x?x8x64xf16>
  %linit = tensor.empty(%batch, %length) : tensor<?x?x8xf32>
  %o, %lse = attn.attention layout(bshd)
      ins(%q, %k, %v : tensor<?x?x8x64xf16>, tensor<?x?x8x64xf16>,
                       tensor<?x?x8x64xf16>)
      captures(%window : index)
      outs(%oinit, %linit : tensor<?x?x8x64xf16>, tensor<?x?x8xf32>)
      mask(%b, %h, %i, %j, %window) {
        %causal = arith.cmpi sle, %j, %i : index
        %d = arith.subi %i, %j : index
        %near = arith.cmpi slt, %d, %window : index
        %p = arith.andi %causal, %near : i1
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x?x8x64xf16>, tensor<?x?x8xf32>
}
