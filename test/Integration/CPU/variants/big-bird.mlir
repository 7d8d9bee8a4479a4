// A union of a window of blocks, global blocks and blocks at random, causal.

// RUN: attn-run %s --check --arg=q=randn:1x2x320x16 --arg=k=randn:1x2x320x16 \
// RUN:   --arg=v=randn:1x2x320x16 \
// RUN:   '--arg=layout=randint(0,2):10x10' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:2x1x101x16 --arg=k=randn:2x1x101x16 \
// RUN:   --arg=v=randn:2x1x101x16 \
// RUN:   '--arg=layout=full(0):4x4' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @big_bird(%q: !t, %k: !t, %v: !t, %layout: tensor<?x?xi1>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%layout : tensor<?x?xi1>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %c32 = arith.constant 32 : index
        %one = arith.constant 1 : index
        %x = arith.divui %i, %c32 : index
        %y = arith.divui %j, %c32 : index
        %d = arith.subi %x, %y : index
        %near = arith.cmpi sle, %d, %one : index
        %first = arith.cmpi slt, %y, %one : index
        %chance = tensor.extract %w[%x, %y] : tensor<?x?xi1>
        %a = arith.ori %near, %first : i1
        %u = arith.ori %a, %chance : i1
        %past = arith.cmpi sle, %j, %i : index
        %p = arith.andi %u, %past : i1
        attn.yield %p : i1
      }
  return %o : !t
}
