// With a scale of 0 all allowed keys weigh the same.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @zero_scale(%q: !t, %k: !t, %v: !t) -> (!t, !lse) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !lse
  %o, %lse = attn.attention scale 0.0 ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !lse)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
