// Three attentions, each with its own regions, where one feeds the next.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x41x16 \
// RUN:   --arg=v=randn:2x2x41x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @chained(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o1 = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i64
        %f = arith.sitofp %di : i64 to f32
        %x = arith.addf %s, %f : f32
        attn.yield %x : f32
      }
  %o2 = attn.attention ins(%o1, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %o3 = attn.attention ins(%o2, %v, %k : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %t = math.tanh %s : f32
        attn.yield %t : f32
      }
  return %o3 : !t
}
