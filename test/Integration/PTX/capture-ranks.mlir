// Captures of more dimensions than (batch, head, query, key), computed by element
// loops: their loops and those that write their gradients have as many.

// REQUIRES: numpy
// UNSUPPORTED: sanitizer

// RUN: %python %S/Inputs/run_kernel.py %s --launches --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x40x64 --arg=w=randn:1x2x70x5x2 | FileCheck %s
// RUN: %python %S/Inputs/run_kernel.py %s --grad=q,w --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x40x64 --arg=w=randn:1x2x70x5x2 | FileCheck %s --check-prefixes=CHECK,GRAD
// RUN: attn-run %s --grad --check --arg=q=randn:1x2x70x64 --arg=k=randn:1x2x40x64 --arg=w=randn:1x2x70x5x2 | FileCheck %s --check-prefix=CPU
// CHECK: o: max error
// CHECK: lse: max error
// GRAD: dw: max error
// CPU: dw   max
// CPU: PASS

!t = tensor<?x?x?x64xbf16>
!w = tensor<?x?x?x?x2xf32>
func.func @f(%q: !t {attn.name = "q"}, %k: !t {attn.name = "k"}, %v: !t {attn.name = "v"}, %w: !w {attn.name = "w"}) -> (!t {attn.name = "o"}, tensor<?x?x?xf32> {attn.name = "lse"}) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %n0 = tensor.dim %q, %c0 : !t
  %n1 = tensor.dim %q, %c1 : !t
  %n2 = tensor.dim %q, %c2 : !t
  %w2 = arith.negf %w : !w
  %init = tensor.empty(%n0, %n1, %n2) : !t
  %l = tensor.empty(%n0, %n1, %n2) : tensor<?x?x?xf32>
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%w2 : !w) outs(%init, %l : !t, tensor<?x?x?xf32>)
      score(%s, %b, %h, %i, %j, %t) {
        %d8 = arith.constant 8 : index
        %d2 = arith.constant 2 : index
        %x = arith.divui %j, %d8 : index
        %y = arith.remui %j, %d2 : index
        %e = tensor.extract %t[%b, %h, %i, %x, %y] : !w
        %z = arith.addf %s, %e : f32
        attn.yield %z : f32
      }
  return %o, %lse : !t, tensor<?x?x?xf32>
}
