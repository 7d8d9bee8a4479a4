// Head 0 sees nothing, the others causally; also a single query.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x37x16 \
// RUN:   --arg=v=randn:2x3x37x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x4x1x16 --arg=k=randn:2x4x53x16 \
// RUN:   --arg=v=randn:2x4x53x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @head_dependent(%q: !t, %k: !t, %v: !t) -> (!t, !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !lse
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !lse)
      mask(%b, %h, %i, %j) {
        %zero = arith.constant 0 : index
        %on = arith.cmpi ne, %h, %zero : index
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %on, %causal : i1
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
