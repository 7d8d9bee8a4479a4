// The first 5 keys are for all queries, the first 3 queries see all keys, and
// the others a window: KV blocks in two intervals.

// RUN: attn-run %s --check --arg=q=randn:2x2x300x16 --arg=k=randn:2x2x300x16 \
// RUN:   --arg=v=randn:2x2x300x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:1x3x77x16 --arg=k=randn:1x3x413x16 \
// RUN:   --arg=v=randn:1x3x413x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 \
// RUN:   --arg=v=randn:1x1x1x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x5x16 --arg=k=randn:1x2x0x16 \
// RUN:   --arg=v=randn:1x2x0x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @global_window(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c5 = arith.constant 5 : index
        %c3 = arith.constant 3 : index
        %c40 = arith.constant 40 : index
        %d = arith.subi %i, %j : index
        %a = math.absi %d : index
        %near = arith.cmpi sle, %a, %c40 : index
        %key = arith.cmpi slt, %j, %c5 : index
        %query = arith.cmpi slt, %i, %c3 : index
        %global = arith.ori %key, %query : i1
        %p = arith.ori %global, %near : i1
        attn.yield %p : i1
      }
  return %o : !t
}
