// Causal from the bottom right corner, for fewer queries than keys and for
// more, where the first rows have no key.

// RUN: attn-run %s --check --arg=q=randn:2x2x37x16 --arg=k=randn:2x2x67x16 \
// RUN:   --arg=v=randn:2x2x67x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x67x16 --arg=k=randn:1x2x37x16 \
// RUN:   --arg=v=randn:1x2x37x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x64x16 --arg=k=randn:1x2x64x16 \
// RUN:   --arg=v=randn:1x2x64x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x3x16 --arg=k=randn:1x3x79x16 \
// RUN:   --arg=v=randn:1x3x79x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x79x16 --arg=k=randn:1x1x3x16 \
// RUN:   --arg=v=randn:1x1x3x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>
!l = tensor<?x?x?xf32>

func.func @bottom_right_causal(%q: !t, %k: !t, %v: !t) -> (!t, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %N = tensor.dim %k, %c2 : !t
  %shift = arith.subi %N, %M : index
  %init = tensor.empty(%B, %H, %M) : !t
  %linit = tensor.empty(%B, %H, %M) : !l
  %o, %lse = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%shift : index) outs(%init, %linit : !t, !l)
      mask(%b, %h, %i, %j, %d) {
        %last = arith.addi %i, %d : index
        %p = arith.cmpi sle, %j, %last : index
        attn.yield %p : i1
      }
  return %o, %lse : !t, !l
}
