// One batch of keys and values for all batches of queries.

// RUN: attn-run %s --check --arg=q=randn:3x4x17x16 --arg=k=randn:1x2x35x16 \
// RUN:   --arg=v=randn:1x2x35x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:5x4x33x16 --arg=k=randn:1x1x20x16 \
// RUN:   --arg=v=randn:1x1x20x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:4x4x9x16 --arg=k=randn:4x2x20x16 \
// RUN:   --arg=v=randn:4x2x20x16 | FileCheck %s
// RUN: not attn-run %s --arg=q=randn:3x2x9x16 --arg=k=randn:1x2x20x16 \
// RUN:   --arg=v=randn:3x2x20x16 2>&1 | FileCheck %s --check-prefix=MIXED
// CHECK: PASS
// MIXED: expects k and v to have the same batch, but got 1 and 3

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @broadcast_keys(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %bi = arith.index_cast %b : index to i64
        %bf = arith.sitofp %bi : i64 to f32
        %x = arith.mulf %s, %bf : f32
        attn.yield %x : f32
      }
  return %o : !t
}
