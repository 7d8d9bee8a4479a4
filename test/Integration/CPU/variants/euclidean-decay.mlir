// A decay by the distance of points in space, a small reduction in the score.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x37x16 \
// RUN:   --arg=v=randn:2x3x37x16 --arg=points=randn:37x3 \
// RUN:   --arg='length=uniform(0.5,3):3' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x20x16 --arg=k=randn:1x2x66x16 \
// RUN:   --arg=v=randn:1x2x66x16 --arg=points=randn:66x3 \
// RUN:   --arg='length=uniform(0.5,3):2' | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @euclidean_decay(%q: !t, %k: !t, %v: !t, %points: tensor<?x3xf32>,
                           %length: tensor<?xf32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%points, %length : tensor<?x3xf32>, tensor<?xf32>)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %points, %length) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %c2 = arith.constant 2 : index
        %xi = tensor.extract %points[%i, %c0] : tensor<?x3xf32>
        %yi = tensor.extract %points[%i, %c1] : tensor<?x3xf32>
        %zi = tensor.extract %points[%i, %c2] : tensor<?x3xf32>
        %xj = tensor.extract %points[%j, %c0] : tensor<?x3xf32>
        %yj = tensor.extract %points[%j, %c1] : tensor<?x3xf32>
        %zj = tensor.extract %points[%j, %c2] : tensor<?x3xf32>
        %dx = arith.subf %xi, %xj : f32
        %dy = arith.subf %yi, %yj : f32
        %dz = arith.subf %zi, %zj : f32
        %xx = arith.mulf %dx, %dx : f32
        %yy = math.fma %dy, %dy, %xx : f32
        %zz = math.fma %dz, %dz, %yy : f32
        %r = math.sqrt %zz : f32
        %l = tensor.extract %length[%h] : tensor<?xf32>
        %q = arith.divf %r, %l : f32
        %n = arith.negf %q : f32
        %f = math.exp %n : f32
        %x = arith.mulf %s, %f : f32
        attn.yield %x : f32
      }
  return %o : !t
}
