// A layout of blocks for each head, 32 queries by 64 keys.

// RUN: attn-run %s --check --arg=q=randn:2x2x300x16 --arg=k=randn:2x2x300x16 \
// RUN:   --arg=v=randn:2x2x300x16 \
// RUN:   '--arg=layout=randint(0,2):2x10x5' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:1x3x64x16 --arg=k=randn:1x3x128x16 \
// RUN:   --arg=v=randn:1x3x128x16 \
// RUN:   '--arg=layout=randint(0,2):3x2x2' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 \
// RUN:   --arg=v=randn:1x1x1x16 \
// RUN:   '--arg=layout=full(0):1x1x1' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @block_layout(%q: !t, %k: !t, %v: !t, %layout: tensor<?x?x?xi1>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%layout : tensor<?x?x?xi1>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %c32 = arith.constant 32 : index
        %c64 = arith.constant 64 : index
        %x = arith.divui %i, %c32 : index
        %y = arith.divui %j, %c64 : index
        %p = tensor.extract %w[%h, %x, %y] : tensor<?x?x?xi1>
        attn.yield %p : i1
      }
  return %o : !t
}
