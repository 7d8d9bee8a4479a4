// Where a launch goes through elements before that of the attention, what is printed
// of kernels is the attention's.

// RUN: env ATTN_PTXAS=off attn-run %s --target=cuda --emit=ptx 2>&1 | FileCheck %s --check-prefix=PTX
// PTX: note: this is variant 0 of
// PTX: wgmma

!t = tensor<1x1x?x64xbf16>
func.func @causal(%q: !t) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %k = math.tanh %q : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention ins(%q, %k, %k : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
