// Keys whose score is above a bound of the batch are left out, which only a
// score can do; and causal.

// RUN: attn-run %s --check --arg=q=randn:3x2x37x16 --arg=k=randn:3x2x41x16 \
// RUN:   --arg=v=randn:3x2x41x16 --arg=bound=arange:3 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:2x1x41x16 --arg=k=randn:2x1x37x16 \
// RUN:   --arg=v=randn:2x1x37x16 --arg='bound=full(-2):2' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @score_dependent(%q: !t, %k: !t, %v: !t, %bound: tensor<?xf32>)
    -> (!t, !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !lse
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bound : tensor<?xf32>) outs(%init, %linit : !t, !lse)
      score(%s, %b, %h, %i, %j, %bound) {
        %ninf = arith.constant 0xFF800000 : f32
        %w = tensor.extract %bound[%b] : tensor<?xf32>
        %p = arith.cmpf ole, %s, %w : f32
        %x = arith.select %p, %s, %ninf : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j, %bound) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
