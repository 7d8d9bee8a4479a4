// A constant index next to variable ones.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=bias=randn:4x2x3x37 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x1x18x16 --arg=k=randn:3x1x65x16 \
// RUN:   --arg=v=randn:3x1x65x16 --arg=bias=randn:4x3x1x18 | FileCheck %s
// CHECK: PASS

!e = bf16
!t = tensor<?x?x?x16x!e>

func.func @index_4d(%q: !t, %k: !t, %v: !t, %bias: tensor<4x?x?x?x!e>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bias : tensor<4x?x?x?x!e>) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %bias) {
        %c0 = arith.constant 0 : index
        %w = tensor.extract %bias[%c0, %b, %h, %i] : tensor<4x?x?x?x!e>
        %wf = arith.extf %w : !e to f32
        %x = arith.addf %s, %wf : f32
        attn.yield %x : f32
      }
  return %o : !t
}
