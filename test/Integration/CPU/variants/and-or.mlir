// Masks of several comparisons: a window, nothing at all, and everything.

// RUN: attn-run %s --check --arg=q=randn:1x2x67x16 --arg=k=randn:1x2x67x16 \
// RUN:   --arg=v=randn:1x2x67x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>

func.func @and_or(%q: !t, %k: !t, %v: !t) -> (!t, !t, !l, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !l
  %o1 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c12 = arith.constant 12 : index
        %d = arith.subi %i, %j : index
        %p0 = arith.cmpi sge, %i, %j : index
        %p1 = arith.cmpi sle, %d, %c12 : index
        %p = arith.andi %p0, %p1 : i1
        attn.yield %p : i1
      }
  %o2, %lse2 = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j) {
        %p0 = arith.cmpi sgt, %i, %j : index
        %p1 = arith.cmpi slt, %i, %j : index
        %p = arith.andi %p0, %p1 : i1
        attn.yield %p : i1
      }
  %o3 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p0 = arith.cmpi sge, %i, %j : index
        %p1 = arith.cmpi slt, %i, %j : index
        %p = arith.ori %p0, %p1 : i1
        attn.yield %p : i1
      }
  return %o1, %o2, %lse2, %o3 : !t, !t, !l, !t
}
