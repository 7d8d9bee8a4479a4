// Biases over queries and keys at lengths that no tile divides: no element
// behind the end may be read.

// RUN: attn-run %s --check --arg=q=randn:1x2x63x16 --arg=k=randn:1x2x63x16 \
// RUN:   --arg=v=randn:1x2x63x16 --arg=a=randn:63 --arg=c=randn:63 \
// RUN:   --arg=w=randn:63 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x61x16 --arg=k=randn:1x2x67x16 \
// RUN:   --arg=v=randn:1x2x67x16 --arg=a=randn:61 --arg=c=randn:67 \
// RUN:   --arg=w=randn:61 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x129x16 --arg=k=randn:1x1x127x16 \
// RUN:   --arg=v=randn:1x1x127x16 --arg=a=randn:129 --arg=c=randn:127 \
// RUN:   --arg=w=randn:129 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @ragged_bias(%q: !t, %k: !t, %v: !t, %a: tensor<?xf32>,
                       %c: tensor<?xf32>, %w: tensor<?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%a, %c, %w : tensor<?xf32>, tensor<?xf32>, tensor<?xf32>)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %a, %c, %w) {
        %ai = tensor.extract %a[%i] : tensor<?xf32>
        %cj = tensor.extract %c[%j] : tensor<?xf32>
        %wi = tensor.extract %w[%i] : tensor<?xf32>
        %x0 = arith.mulf %s, %wi : f32
        %x1 = arith.addf %x0, %ai : f32
        %x2 = arith.addf %x1, %cj : f32
        attn.yield %x2 : f32
      }
      mask(%b, %h, %i, %j, %a, %c, %w) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
