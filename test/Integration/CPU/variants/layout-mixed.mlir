// Another layout for each tensor: keys transposed, heads outermost in the
// output.

// RUN: attn-run %s --check --arg=q=randn:2x37x4x16 --arg=k=randn:2x2x16x41 \
// RUN:   --arg=v=randn:41x2x2x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x18x2x16 --arg=k=randn:1x2x16x65 \
// RUN:   --arg=v=randn:65x1x2x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:3x33x1x16 --arg=k=randn:1x1x16x32 \
// RUN:   --arg=v=randn:32x1x1x16 | FileCheck %s
// CHECK: PASS

!e = f32
!q = tensor<?x?x?x16x!e>
!k = tensor<?x?x16x?x!e>
!l = tensor<?x?x?xf32>

func.func @layout_mixed(%q: !q, %k: !k, %v: !q) -> (!q, !l) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !q
  %M = tensor.dim %q, %c1 : !q
  %H = tensor.dim %q, %c2 : !q
  %init = tensor.empty(%H, %B, %M) : !q
  %linit = tensor.empty(%H, %B, %M) : !l
  %o, %lse = attn.attention layouts(bshd, bhds, sbhd, hbsd)
      ins(%q, %k, %v : !q, !k, !q) outs(%init, %linit : !q, !l)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o, %lse : !q, !l
}
