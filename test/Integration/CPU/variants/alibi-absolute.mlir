// ALiBi with slopes for each batch and head and the distance to the bottom
// right diagonal.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x61x16 \
// RUN:   --arg=v=randn:2x3x61x16 --arg='slopes=uniform(0,1):2x3' \
// RUN:   --arg=shift=24 | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x65x16 --arg=k=randn:1x2x40x16 \
// RUN:   --arg=v=randn:1x2x40x16 --arg='slopes=uniform(0,1):1x2' \
// RUN:   --arg=shift=-25 | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @alibi_absolute(%q: !t, %k: !t, %v: !t, %slopes: tensor<?x?xf32>,
                          %shift: index) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%slopes, %shift : tensor<?x?xf32>, index) outs(%init : !t)
      score(%s, %b, %h, %i, %j, %slopes, %shift) {
        %d = arith.addi %i, %shift : index
        %r = arith.subi %d, %j : index
        %a = math.absi %r : index
        %ai = arith.index_cast %a : index to i64
        %af = arith.sitofp %ai : i64 to f32
        %w = tensor.extract %slopes[%b, %h] : tensor<?x?xf32>
        %y = arith.mulf %w, %af : f32
        %x = arith.subf %s, %y : f32
        attn.yield %x : f32
      }
  return %o : !t
}
