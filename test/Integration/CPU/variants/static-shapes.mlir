// All shapes known when compiled.

// RUN: attn-run %s --check --arg=q=randn --arg=k=randn --arg=v=randn \
// RUN:   --arg=bias=randn | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn \
// RUN:   --arg=k=randn --arg=v=randn --arg=bias=randn | FileCheck %s
// CHECK: PASS

!e = f32
!q = tensor<2x3x37x16x!e>
!k = tensor<2x1x41x16x!e>
!v = tensor<2x1x41x8x!e>
!o = tensor<2x3x37x8x!e>

func.func @static_shapes(%q: !q, %k: !k, %v: !v, %bias: tensor<3x37xf32>)
    -> !o {
  %init = tensor.empty() : !o
  %o = attn.attention ins(%q, %k, %v : !q, !k, !v)
      captures(%bias : tensor<3x37xf32>) outs(%init : !o)
      score(%s, %b, %h, %i, %j, %w) {
        %y = tensor.extract %w[%h, %i] : tensor<3x37xf32>
        %x = arith.addf %s, %y : f32
        attn.yield %x : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !o
}
