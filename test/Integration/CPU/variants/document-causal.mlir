// Documents of 16 positions each, causal inside of one.

// RUN: attn-run %s --check --arg=q=randn:2x2x71x16 --arg=k=randn:2x2x71x16 \
// RUN:   --arg=v=randn:2x2x71x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x50x16 --arg=k=randn:1x3x90x16 \
// RUN:   --arg=v=randn:1x3x90x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x90x16 --arg=k=randn:1x3x50x16 \
// RUN:   --arg=v=randn:1x3x50x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @document_causal(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      mask(%b, %h, %i, %j) {
        %c16 = arith.constant 16 : index
        %di = arith.divui %i, %c16 : index
        %dj = arith.divui %j, %c16 : index
        %same = arith.cmpi eq, %di, %dj : index
        %causal = arith.cmpi sle, %j, %i : index
        %p = arith.andi %same, %causal : i1
        attn.yield %p : i1
      }
  return %o : !t
}
