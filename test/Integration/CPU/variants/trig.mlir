// Transcendental functions of the score and of the batch.

// RUN: attn-run %s --check --arg=q=randn:3x2x29x16 --arg=k=randn:3x2x43x16 \
// RUN:   --arg=v=randn:3x2x43x16 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x2x31x16 --arg=k=randn:2x2x64x16 \
// RUN:   --arg=v=randn:2x2x64x16 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @trig(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
      score(%s, %b, %h, %i, %j) {
        %c = math.cos %s : f32
        %sc = math.sin %c : f32
        %bi = arith.index_cast %b : index to i64
        %bf = arith.sitofp %bi : i64 to f32
        %t = math.tan %bf : f32
        %x = arith.addf %sc, %t : f32
        attn.yield %x : f32
      }
  return %o : !t
}
