// ALiBi: a bias linear in the distance, with a slope 2^(-8 (h + 1) / H).

// RUN: attn-run %s --check --arg=q=randn:1x8x37x16 --arg=k=randn:1x8x41x16 \
// RUN:   --arg=v=randn:1x8x41x16 --arg=heads=8 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:2x4x64x16 --arg=k=randn:2x4x33x16 \
// RUN:   --arg=v=randn:2x4x33x16 --arg=heads=4 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @alibi(%q: !t, %k: !t, %v: !t, %heads: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%heads : index) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %heads) {
        %c1 = arith.constant 1 : index
        %c8 = arith.constant 8 : index
        %h1 = arith.addi %h, %c1 : index
        %e = arith.muli %h1, %c8 : index
        %ei = arith.index_cast %e : index to i64
        %ef = arith.sitofp %ei : i64 to f32
        %n = arith.index_cast %heads : index to i64
        %nf = arith.sitofp %n : i64 to f32
        %r = arith.divf %ef, %nf : f32
        %m = arith.negf %r : f32
        %slope = math.exp2 %m : f32
        %d = arith.subi %j, %i : index
        %di = arith.index_cast %d : index to i64
        %df = arith.sitofp %di : i64 to f32
        %bias = arith.mulf %df, %slope : f32
        %x = arith.addf %s, %bias : f32
        attn.yield %x : f32
      }
  return %o : !t
}
