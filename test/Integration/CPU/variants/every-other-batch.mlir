// Causal in even batches, all masked in odd ones.

// RUN: attn-run %s --check --arg=q=randn:3x2x37x16 --arg=k=randn:3x2x37x16 \
// RUN:   --arg=v=randn:3x2x37x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:4x1x33x16 --arg=k=randn:4x1x20x16 \
// RUN:   --arg=v=randn:4x1x20x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @every_other_batch(%q: !t, %k: !t, %v: !t) -> (!t, !lse) {
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
        %c2 = arith.constant 2 : index
        %zero = arith.constant 0 : index
        %r = arith.remui %b, %c2 : index
        %even = arith.cmpi eq, %r, %zero : index
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %even, %causal : i1
        attn.yield %p : i1
      }
  return %o, %lse : !t, !lse
}
