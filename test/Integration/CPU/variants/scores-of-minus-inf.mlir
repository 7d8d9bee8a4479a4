// A score that is -inf for whole rows, without a mask.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x33x16 --arg=k=randn:1x1x65x16 \
// RUN:   --arg=v=randn:1x1x65x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!lse = tensor<?x?x?xf32>

func.func @scores_of_minus_inf(%q: !t, %k: !t, %v: !t) -> (!t, !lse) {
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
      score(%s, %b, %h, %i, %j) {
        %c3 = arith.constant 3 : index
        %zero = arith.constant 0 : index
        %ninf = arith.constant 0xFF800000 : f32
        %r = arith.remui %i, %c3 : index
        %p = arith.cmpi eq, %r, %zero : index
        %x = arith.select %p, %ninf, %s : f32
        attn.yield %x : f32
      }
  return %o, %lse : !t, !lse
}
