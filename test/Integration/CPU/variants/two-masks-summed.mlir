// Two attentions on the same tensors, and the sum of their outputs.

// RUN: attn-run %s --check --arg=q=randn:2x2x67x16 --arg=k=randn:2x2x67x16 \
// RUN:   --arg=v=randn:2x2x67x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @two_masks_summed(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o1 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %o2 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c8 = arith.constant 8 : index
        %p0 = arith.cmpi sle, %j, %i : index
        %d = arith.subi %i, %j : index
        %p1 = arith.cmpi slt, %d, %c8 : index
        %p = arith.andi %p0, %p1 : i1
        attn.yield %p : i1
      }
  %sum = arith.addf %o1, %o2 : !t
  return %sum : !t
}
