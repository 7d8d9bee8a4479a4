// A captured number that divides positions, which may be 0: the bounds of a tile
// divide by it too, and a quotient by 0 is 0.

// RUN: attn-run %s --check --arg=q=randn:1x2x100x16 --arg=k=randn:1x2x130x16 \
// RUN:   --arg=v=randn:1x2x130x16 '--arg=n=full(0)' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x100x16 --arg=k=randn:1x2x130x16 \
// RUN:   --arg=v=randn:1x2x130x16 '--arg=n=full(40)' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x100x16 --arg=k=randn:1x2x130x16 \
// RUN:   --arg=v=randn:1x2x130x16 '--arg=n=full(-7)' | FileCheck %s
// CHECK: PASS

!t = tensor<?x?x?x16xf32>

func.func @division_by_zero(%q: !t, %k: !t, %v: !t, %n: i32) -> (!t, !t) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  // Bounds, of a quotient that grows with the query or falls.
  %bounds = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : i32) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %hundred = arith.constant 100 : index
        %by = arith.index_cast %w : i32 to index
        %limit = arith.divsi %hundred, %by : index
        %sum = arith.addi %i, %limit : index
        %p = arith.cmpi sle, %j, %sum : index
        attn.yield %p : i1
      }
  // Tiles, by quotients and remainders of both.
  %tiles = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%n : i32) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %two = arith.constant 2 : index
        %by = arith.index_cast %w : i32 to index
        %x = arith.floordivsi %i, %by : index
        %y = arith.floordivsi %j, %by : index
        %same = arith.cmpi eq, %x, %y : index
        %r = arith.remsi %j, %by : index
        %first = arith.cmpi slt, %r, %two : index
        %p = arith.ori %same, %first : i1
        attn.yield %p : i1
      }
  return %bounds, %tiles : !t, !t
}
