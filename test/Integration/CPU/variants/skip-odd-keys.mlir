// Every other key: no block of keys is full and none is empty.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x65x16 --arg=k=randn:1x2x128x16 \
// RUN:   --arg=v=randn:1x2x128x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x5x16 --arg=k=randn:1x1x1x16 \
// RUN:   --arg=v=randn:1x1x1x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @skip_odd_keys(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c2 = arith.constant 2 : index
        %zero = arith.constant 0 : index
        %r = arith.remui %j, %c2 : index
        %p = arith.cmpi eq, %r, %zero : index
        attn.yield %p : i1
      }
  return %o : !t
}
