// Biases for each query and key, with and without batch and head, in one sum.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=p2=randn:37x41 --arg=p3=randn:2x37x41 \
// RUN:   --arg=p4=randn:2x3x37x41 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f64/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x17x16 --arg=k=randn:1x2x66x16 \
// RUN:   --arg=v=randn:1x2x66x16 --arg=p2=randn:17x66 --arg=p3=randn:1x17x66 \
// RUN:   --arg=p4=randn:1x2x17x66 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!p2 = tensor<?x?x!e>
!p3 = tensor<?x?x?x!e>
!p4 = tensor<?x?x?x?x!e>

func.func @dense_bias(%q: !t, %k: !t, %v: !t, %p2: !p2, %p3: !p3, %p4: !p4)
    -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%p2, %p3, %p4 : !p2, !p3, !p4) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %w2, %w3, %w4) {
        %x2 = tensor.extract %w2[%i, %j] : !p2
        %x3 = tensor.extract %w3[%b, %i, %j] : !p3
        %x4 = tensor.extract %w4[%b, %h, %i, %j] : !p4
        %y2 = arith.addf %s, %x2 : !e
        %y3 = arith.addf %y2, %x3 : !e
        %y4 = arith.addf %y3, %x4 : !e
        attn.yield %y4 : !e
      }
  return %o : !t
}
