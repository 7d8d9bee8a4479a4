// Positions on a grid of rows of 8: a cross of half width 2.

// RUN: attn-run %s --check --arg=q=randn:2x2x64x16 --arg=k=randn:2x2x64x16 \
// RUN:   --arg=v=randn:2x2x64x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x45x16 --arg=k=randn:1x3x83x16 \
// RUN:   --arg=v=randn:1x3x83x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @window_2d(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c8 = arith.constant 8 : index
        %c2 = arith.constant 2 : index
        %xi = arith.floordivsi %i, %c8 : index
        %xj = arith.floordivsi %j, %c8 : index
        %yi = arith.remsi %i, %c8 : index
        %yj = arith.remsi %j, %c8 : index
        %dx = arith.subi %xi, %xj : index
        %dy = arith.subi %yi, %yj : index
        %ax = math.absi %dx : index
        %ay = math.absi %dy : index
        %px = arith.cmpi sle, %ax, %c2 : index
        %py = arith.cmpi sle, %ay, %c2 : index
        %p = arith.ori %px, %py : i1
        attn.yield %p : i1
      }
  return %o : !t
}
