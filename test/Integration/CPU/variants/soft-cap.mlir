// A soft-cap, whose size is an argument, under a causal mask.

// RUN: attn-run %s --check --arg=q=randn:2x2x67x16 --arg=k=randn:2x2x67x16 \
// RUN:   --arg=v=randn:2x2x67x16 --arg=cap=15.0 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x3x33x16 --arg=k=randn:1x3x40x16 \
// RUN:   --arg=v=randn:1x3x40x16 --arg=cap=30.0 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = f16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x1x40x16 --arg=k=randn:1x1x33x16 \
// RUN:   --arg=v=randn:1x1x33x16 --arg=cap=50.0 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @soft_cap(%q: !t, %k: !t, %v: !t, %cap: f32) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention scale 4.0 ins(%q, %k, %v : !t, !t, !t)
      captures(%cap : f32) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %cap) {
        %x = arith.divf %s, %cap : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %t, %cap : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %cap) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
