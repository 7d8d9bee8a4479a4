// Memory for intermediate results that there is not: an error, and no file. The
// number of bytes may be more than 64 bits hold, of which the rest would be had,
// and an extent may be less than 0.

// RUN: rm -rf %t && mkdir %t
// RUN: attn-run %s --target=cpu --arg=n=4 --check | FileCheck %s --check-prefix=SOME
// SOME: PASS
// RUN: not attn-run %s --target=cpu --arg=n=300000000 --out=o=%t/o.npy 2>&1 | FileCheck %s
// RUN: not attn-run %s --target=cpu --arg=n=4294967296 --out=o=%t/o.npy 2>&1 | FileCheck %s
// RUN: not attn-run %s --target=cpu --arg=n=-5 --out=o=%t/o.npy 2>&1 | FileCheck %s
// CHECK: {{^}}attn-run: error: kernel 'f' expects more memory for intermediate results than there is{{$}}
// RUN: not attn-run %s --target=cpu --grad --arg=n=4294967296 --out=dq=%t/o.npy 2>&1 | FileCheck %s --check-prefix=GRAD
// GRAD: {{^}}attn-run: error: kernel 'f_grad' expects more memory for intermediate results than there is{{$}}
// RUN: not ls %t/o.npy

!q = tensor<1x1x4x8xf32>
!t = tensor<?x?xf32>
func.func @f(%q: !q {attn.name = "q"}, %n: index {attn.name = "n"}) -> (!q {attn.name = "o"}) {
  %none = tensor.empty(%n, %n) : !t
  %two = arith.constant 2.0 : f32
  %table = linalg.fill ins(%two : f32) outs(%none : !t) -> !t
  %init = tensor.empty() : !q
  %o = attn.attention ins(%q, %q, %q : !q, !q, !q) captures(%table : !t) outs(%init : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%i, %j] : !t
        %y = arith.mulf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}
