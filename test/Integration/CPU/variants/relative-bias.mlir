// The distance between query and key as a bias.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x53x16 \
// RUN:   --arg=v=randn:2x3x53x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x31x16 --arg=k=randn:1x2x64x16 \
// RUN:   --arg=v=randn:1x2x64x16 | FileCheck %s
// RUN: attn-run %s --check | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @relative_bias(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %d = arith.subi %i, %j : index
        %di = arith.index_cast %d : index to i64
        %f = arith.sitofp %di : i64 to f32
        %x = arith.addf %s, %f : f32
        attn.yield %x : f32
      }
  return %o : !t
}
