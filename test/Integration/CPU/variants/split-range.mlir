// Two ranges of keys with a gap between them.

// RUN: attn-run %s --check --arg=q=randn:2x2x17x16 --arg=k=randn:2x2x131x16 \
// RUN:   --arg=v=randn:2x2x131x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x33x16 --arg=k=randn:1x2x64x16 \
// RUN:   --arg=v=randn:1x2x64x16 | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x3x16 --arg=k=randn:1x1x7x16 \
// RUN:   --arg=v=randn:1x1x7x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @split_range(%q: !t, %k: !t, %v: !t) -> !t {
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
        %c80 = arith.constant 80 : index
        %p0 = arith.cmpi ult, %j, %c16 : index
        %p1 = arith.cmpi uge, %j, %c80 : index
        %p = arith.ori %p0, %p1 : i1
        attn.yield %p : i1
      }
  return %o : !t
}
