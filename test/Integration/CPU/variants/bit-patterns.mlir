// Keys by the bits of their position: blocks of 32 that a number has a bit for,
// and those whose block differs from that of the query in the lowest bits alone.

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

func.func @bit_patterns(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %pattern = arith.constant 45 : index
        %c7 = arith.constant 7 : index
        %c5 = arith.constant 5 : index
        %one = arith.constant 1 : index
        %zero = arith.constant 0 : index
        %high = arith.constant 4032 : index
        %y = arith.shrui %j, %c5 : index
        %m = arith.andi %y, %c7 : index
        %s = arith.shrui %pattern, %m : index
        %bit = arith.andi %s, %one : index
        %on = arith.cmpi eq, %bit, %one : index
        %x = arith.xori %i, %j : index
        %far = arith.andi %x, %high : index
        %same = arith.cmpi eq, %far, %zero : index
        %p = arith.ori %on, %same : i1
        attn.yield %p : i1
      }
  return %o : !t
}
