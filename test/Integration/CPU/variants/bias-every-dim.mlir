// A bias along each dimension, each of another type.

// RUN: attn-run %s --check --arg=q=randn:2x3x37x16 --arg=k=randn:2x3x41x16 \
// RUN:   --arg=v=randn:2x3x41x16 --arg=t=randn:37 --arg=u=randn:2 \
// RUN:   --arg='w=randint(-4,4):3' --arg=y=randn:41 --arg=z=randn:41 \
// RUN:   | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check \
// RUN:   --arg=q=randn:1x2x18x16 --arg=k=randn:1x2x65x16 \
// RUN:   --arg=v=randn:1x2x65x16 --arg=t=randn:18 --arg=u=randn:1 \
// RUN:   --arg='w=randint(-4,4):2' --arg=y=randn:65 --arg=z=randn:65 \
// RUN:   | FileCheck %s
// CHECK: PASS

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @bias_every_dim(%q: !t, %k: !t, %v: !t, %t: tensor<?xf32>,
                          %u: tensor<?xf64>, %w: tensor<?xi8>,
                          %y: tensor<?xbf16>, %z: tensor<?xf16>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      captures(%t, %u, %w, %y, %z
          : tensor<?xf32>, tensor<?xf64>, tensor<?xi8>, tensor<?xbf16>,
            tensor<?xf16>)
      outs(%init : !t)
      score(%s, %b, %h, %i, %j, %t, %u, %w, %y, %z) {
        %ti = tensor.extract %t[%i] : tensor<?xf32>
        %ub = tensor.extract %u[%b] : tensor<?xf64>
        %wh = tensor.extract %w[%h] : tensor<?xi8>
        %yj = tensor.extract %y[%j] : tensor<?xbf16>
        %zj = tensor.extract %z[%j] : tensor<?xf16>
        %u32 = arith.truncf %ub : f64 to f32
        %w32 = arith.sitofp %wh : i8 to f32
        %y32 = arith.extf %yj : bf16 to f32
        %z32 = arith.extf %zj : f16 to f32
        %x0 = arith.addf %s, %ti : f32
        %x1 = arith.addf %x0, %u32 : f32
        %x2 = arith.addf %x1, %w32 : f32
        %x3 = arith.addf %x2, %y32 : f32
        %x4 = arith.addf %x3, %z32 : f32
        attn.yield %x4 : f32
      }
  return %o : !t
}
