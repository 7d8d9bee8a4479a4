// Positions innermost in all four tensors.

// RUN: attn-run %s --check --arg=q=randn:2x2x16x37 --arg=k=randn:2x2x16x41 \
// RUN:   --arg=v=randn:2x2x16x41 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x16x18 --arg=k=randn:1x1x16x65 \
// RUN:   --arg=v=randn:1x1x16x65 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x16x?x!e>

func.func @layout_bhds(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c3 = arith.constant 3 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c3 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention layout(bhds) ins(%q, %k, %v : !t, !t, !t)
      outs(%init : !t)
  return %o : !t
}
