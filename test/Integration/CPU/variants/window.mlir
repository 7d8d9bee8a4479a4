// A window from `left` before to `right` behind the position of the query,
// counted from the bottom right corner; a negative size is no bound.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x67x16 \
// RUN:   --arg=v=randn:2x2x67x16 --arg=left=10 --arg=right=0 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x67x16 --arg=k=randn:1x2x37x16 \
// RUN:   --arg=v=randn:1x2x37x16 --arg=left=5 --arg=right=9 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x64x16 --arg=k=randn:1x2x64x16 \
// RUN:   --arg=v=randn:1x2x64x16 --arg=left=-1 --arg=right=0 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x65x16 --arg=k=randn:1x1x66x16 \
// RUN:   --arg=v=randn:1x1x66x16 --arg=left=0 --arg=right=-1 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x50x16 --arg=k=randn:1x1x50x16 \
// RUN:   --arg=v=randn:1x1x50x16 --arg=left=-1 --arg=right=-1 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>

func.func @window(%q: !t, %k: !t, %v: !t, %left: index, %right: index)
    -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %N = tensor.dim %k, %c2 : !t
  %shift = arith.subi %N, %M : index
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%shift, %left, %right : index, index, index)
      outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j, %d, %l, %r) {
        %zero = arith.constant 0 : index
        %mid = arith.addi %i, %d : index
        %lo = arith.subi %mid, %l : index
        %hi = arith.addi %mid, %r : index
        %freel = arith.cmpi slt, %l, %zero : index
        %freer = arith.cmpi slt, %r, %zero : index
        %inl = arith.cmpi sge, %j, %lo : index
        %inr = arith.cmpi sle, %j, %hi : index
        %pl = arith.ori %freel, %inl : i1
        %pr = arith.ori %freer, %inr : i1
        %p = arith.andi %pl, %pr : i1
        attn.yield %p : i1
      }
  return %o, %lse : !t, !l
}
