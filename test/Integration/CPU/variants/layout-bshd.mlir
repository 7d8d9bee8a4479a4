// Lengths before heads: the layout of all four tensors, and of the log-sum-exp.

// RUN: attn-run %s --check --arg=q=randn:2x37x4x16 --arg=k=randn:2x41x2x16 \
// RUN:   --arg=v=randn:2x41x2x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x18x2x16 --arg=k=randn:1x65x2x16 \
// RUN:   --arg=v=randn:1x65x2x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x1x16 --arg=k=randn:1x7x1x16 --arg=v=randn:1x7x1x16 \
// RUN:   | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>

func.func @layout_bshd(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %M = tensor.dim %q, %c1 : !t
  %H = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %M, %H) : !t
  %linit = tensor.empty(%B, %M, %H) : !l
  %o, %lse = attn.attention layout(bshd) ins(%q, %k, %v : !t, !t, !t)
      outs(%init, %linit : !t, !l)
      score(%s, %b, %h, %i, %j) {
        %hi = arith.index_cast %h : index to i64
        %hf = arith.sitofp %hi : i64 to f32
        %x = arith.addf %s, %hf : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j) {
        %last = arith.addi %i, %b : index
        %p = arith.cmpi sle, %j, %last : index
        attn.yield %p : i1
      }
  return %o, %lse : !t, !l
}
