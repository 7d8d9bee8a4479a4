// A score that does not depend on queries and keys: the mean of the values that
// the mask allows, and gradients of zeros for what has no part in it. There are
// fewer keys than a tile has, and more.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x5x16 \
// RUN:   --arg=v=randn:2x3x5x16 | FileCheck %s
// RUN: attn-run %s --check --grad --arg=q=randn:1x2x5x16 --arg=k=randn:1x2x200x16 \
// RUN:   --arg=v=randn:1x2x200x16 | FileCheck %s
// RUN: sed 's/x16x!e/x3x!e/' %s | attn-run - --check --grad --seed=1 \
// RUN:   --arg=q=randn:1x2x7x3 --arg=k=randn:1x1x5x3 --arg=v=randn:1x1x5x3 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @constant_score(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %one = arith.constant 1.0 : f32
        attn.yield %one : f32
      }
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
