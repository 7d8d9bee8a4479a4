// Plain attention. With a single key of ones the output is the value.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x53x16 \
// RUN:   --arg=v=randn:2x3x53x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x65x16 --arg=k=randn:1x2x31x16 \
// RUN:   --arg=v=randn:1x2x31x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f64/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x1x17x16 --arg=k=randn:2x1x97x16 \
// RUN:   --arg=v=randn:2x1x97x16 | FileCheck %s
// RUN: attn-run %s --check --arg='q=full(1):1x1x1x16' \
// RUN:   --arg='k=full(1):1x1x1x16' --arg='v=full(1):1x1x1x16' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @identity(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
