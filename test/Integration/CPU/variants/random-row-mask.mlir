// Rows that are switched off at random.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 --arg='off=randint(0,2):2x37' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 --arg='off=randint(0,2):1x65' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @random_row_mask(%q: !t, %k: !t, %v: !t, %off: tensor<?x?xi1>)
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
      captures(%off : tensor<?x?xi1>) outs(%init, %linit : !t, !lse)
      mask(%b, %h, %i, %j, %off) {
        %true = arith.constant true
        %r = tensor.extract %off[%b, %i] : tensor<?x?xi1>
        %p = arith.xori %r, %true : i1
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
