// The distance as a bias, under a causal mask.

// RUN: attn-run %s --check --arg=q=randn:2x3x67x16 --arg=k=randn:2x3x67x16 \
// RUN:   --arg=v=randn:2x3x67x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x33x16 --arg=k=randn:1x2x90x16 \
// RUN:   --arg=v=randn:1x2x90x16 | FileCheck %s
// RUN: attn-run %s --check | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @relative_causal(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i32
        %f = arith.sitofp %di : i32 to f32
        %x = arith.addf %s, %f : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sge, %i, %j : index
        attn.yield %p : i1
      }
  return %o : !t
}
