// A factor for each head, from a buffer.

// RUN: attn-run %s --check --arg=q=randn:2x5x31x16 --arg=k=randn:2x5x37x16 \
// RUN:   --arg=v=randn:2x5x37x16 --arg=scale=randn:5 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x17x16 --arg=k=randn:1x2x80x16 \
// RUN:   --arg=v=randn:1x2x80x16 --arg=scale=randn:2 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @head_scale(%q: !t, %k: !t, %v: !t, %scale: tensor<?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%scale : tensor<?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %scale) {
        %w = tensor.extract %scale[%h] : tensor<?xf32>
        %x = arith.mulf %s, %w : f32
        attn.yield %x : f32
      }
  return %o : !t
}
