// Several query heads for each head of keys and values, with and without a
// mask.

// RUN: attn-run %s --check --arg=q=randn:1x8x17x16 --arg=k=randn:1x2x65x16 \
// RUN:   --arg=v=randn:1x2x65x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x6x33x16 --arg=k=randn:2x3x20x16 \
// RUN:   --arg=v=randn:2x3x20x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x5x9x16 --arg=k=randn:1x1x31x16 \
// RUN:   --arg=v=randn:1x1x31x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @grouped_heads(%q: !t, %k: !t, %v: !t) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o0 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  %o1 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o0, %o1 : !t, !t
}
