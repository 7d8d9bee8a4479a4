// A row of booleans for queries and keys, which must agree.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x37x16 \
// RUN:   --arg=v=randn:2x3x37x16 --arg='half=randint(0,2):37' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x20x16 --arg=k=randn:1x2x66x16 \
// RUN:   --arg=v=randn:1x2x66x16 --arg='half=randint(0,2):66' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @half_half(%q: !t, %k: !t, %v: !t, %half: tensor<?xi1>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%half : tensor<?xi1>) outs(%init : !t)
      mask(%b, %h, %i, %j, %half) {
        %x = tensor.extract %half[%i] : tensor<?xi1>
        %y = tensor.extract %half[%j] : tensor<?xi1>
        %p = arith.cmpi eq, %x, %y : i1
        attn.yield %p : i1
      }
  return %o : !t
}
