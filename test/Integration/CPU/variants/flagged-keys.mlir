// Some keys of each batch are not to be seen, and some queries see none.

// RUN: attn-run %s --check --arg=q=randn:2x2x150x16 --arg=k=randn:2x2x300x16 \
// RUN:   --arg=v=randn:2x2x300x16 \
// RUN:   '--arg=keys=randint(0,2):2x300' '--arg=rows=randint(0,2):2x2x150' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check --arg=q=randn:2x1x97x16 --arg=k=randn:2x1x97x16 \
// RUN:   --arg=v=randn:2x1x97x16 \
// RUN:   '--arg=keys=full(1):2x97' '--arg=rows=full(0):2x1x97' | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x130x16 --arg=k=randn:1x1x130x16 \
// RUN:   --arg=v=randn:1x1x130x16 \
// RUN:   '--arg=keys=full(0):1x130' '--arg=rows=full(0):1x1x130' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @flagged_keys(%q: !t, %k: !t, %v: !t, %keys: tensor<?x?xi1>, %rows: tensor<?x?x?xi1>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%keys, %rows : tensor<?x?xi1>, tensor<?x?x?xi1>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w0, %w1) {
        %keys = tensor.extract %w0[%b, %j] : tensor<?x?xi1>
        %rows = tensor.extract %w1[%b, %h, %i] : tensor<?x?x?xi1>
        %true = arith.constant true
        %others = arith.xori %rows, %true : i1
        %p = arith.andi %keys, %others : i1
        attn.yield %p : i1
      }
  return %o : !t
}
