// RUN: not attn-run %s --target=cuda --emit=ptx 2>&1 | FileCheck %s
// CHECK: error: expects the attention of a function for a GPU outside of loops and branches, but it is in 'scf.for'; compile it as a function of its own, and call that there; the target cpu can run it

!t = tensor<1x2x64x16xbf16>
func.func @f(%q: !t, %k: !t, %v: !t) -> (!t {attn.name = "o"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %r = scf.for %layer = %c0 to %c4 step %c1 iter_args(%x = %q) -> (!t) {
    %init = tensor.empty() : !t
    %o = attn.attention ins(%x, %k, %v : !t, !t, !t) outs(%init : !t)
    scf.yield %o : !t
  }
  return %r : !t
}
