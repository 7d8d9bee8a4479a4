// A bias for each batch and query.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=bias=randn:2x37 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x1x18x16 --arg=k=randn:3x1x65x16 \
// RUN:   --arg=v=randn:3x1x65x16 --arg=bias=randn:3x18 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @row_bias(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<?x?xf32>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %bias) {
        %w = tensor.extract %bias[%b, %i] : tensor<?x?xf32>
        %x = arith.addf %s, %w : f32
        attn.yield %x : f32
      }
  return %o : !t
}
