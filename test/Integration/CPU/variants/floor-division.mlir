// A division by a value that depends on the key.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x37x16 \
// RUN:   --arg=v=randn:2x2x37x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x65x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @floor_division(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %c1 = arith.constant 1 : index
        %j1 = arith.addi %j, %c1 : index
        %d = arith.floordivsi %i, %j1 : index
        %di = arith.index_cast %d : index to i64
        %df = arith.sitofp %di : i64 to f32
        %x = arith.subf %s, %df : f32
        attn.yield %x : f32
      }
  return %o : !t
}
