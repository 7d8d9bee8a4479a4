// Every 100th key before the query, which most KV blocks have none of.

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

func.func @strided(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c100 = arith.constant 100 : index
        %zero = arith.constant 0 : index
        %d = arith.subi %i, %j : index
        %r = arith.remsi %d, %c100 : index
        %on = arith.cmpi eq, %r, %zero : index
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %on, %past : i1
        attn.yield %p : i1
      }
  return %o : !t
}
