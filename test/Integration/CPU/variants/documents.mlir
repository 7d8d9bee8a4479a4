// Queries see the keys of their document, whose numbers are in no order.

// RUN: attn-run %s --check --arg=q=randn:2x2x300x16 --arg=k=randn:2x2x300x16 \
// RUN:   --arg=v=randn:2x2x300x16 \
// RUN:   '--arg=doc=randint(0,4):2x300' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:3x1x260x16 --arg=k=randn:3x1x260x16 \
// RUN:   --arg=v=randn:3x1x260x16 \
// RUN:   '--arg=doc=randint(0,1):3x260' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 \
// RUN:   --arg=v=randn:1x1x1x16 \
// RUN:   '--arg=doc=randint(0,4):1x1' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:0x2x5x16 --arg=k=randn:0x2x5x16 \
// RUN:   --arg=v=randn:0x2x5x16 \
// RUN:   '--arg=doc=randint(0,4):0x5' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @documents(%q: !t, %k: !t, %v: !t, %doc: tensor<?x?xi32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%doc : tensor<?x?xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%b, %i] : tensor<?x?xi32>
        %y = tensor.extract %w[%b, %j] : tensor<?x?xi32>
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %o : !t
}
