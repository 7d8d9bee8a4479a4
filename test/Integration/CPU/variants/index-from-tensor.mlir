// An index that is itself read from a tensor.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=bias=randn:2x3x3x37 --arg=which=2 \
// RUN:   | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x18x16 --arg=k=randn:1x1x65x16 \
// RUN:   --arg=v=randn:1x1x65x16 --arg=bias=randn:1x1x3x18 --arg=which=0 \
// RUN:   | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @index_from_tensor(%q: !t, %k: !t, %v: !t, %bias: tensor<?x?x3x?xf32>,
                             %which: tensor<i32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%bias, %which : tensor<?x?x3x?xf32>, tensor<i32>)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %bias, %which) {
        %wi = tensor.extract %which[] : tensor<i32>
        %w = arith.index_cast %wi : i32 to index
        %t = tensor.extract %bias[%b, %h, %w, %i] : tensor<?x?x3x?xf32>
        %x = arith.addf %s, %t : f32
        attn.yield %x : f32
      }
  return %o : !t
}
