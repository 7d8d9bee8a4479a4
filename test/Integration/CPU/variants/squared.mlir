// The square of the score.

// RUN: attn-run %s --check --arg=q=randn:2x3x33x16 --arg=k=randn:2x3x47x16 \
// RUN:   --arg=v=randn:2x3x47x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x7x16 --arg=k=randn:1x2x71x16 \
// RUN:   --arg=v=randn:1x2x71x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @squared(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %x = arith.mulf %s, %s : f32
        attn.yield %x : f32
      }
  return %o : !t
}
