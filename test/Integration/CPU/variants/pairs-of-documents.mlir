// Which documents see which, by a table read at the documents of both: for tiles
// the mask is evaluated, once for all heads.

// DEFINE: %{qkv} = --arg=q=randn:2x3x288x16 --arg=k=randn:2x3x288x16 --arg=v=randn:2x3x288x16
// RUN: %python -c "import numpy as n; n.save(r'%t.id.npy', n.repeat(n.arange(6), 48).astype('i4')); n.save(r'%t.see.npy', n.eye(6, k=-2, dtype=bool) | n.eye(6, dtype=bool))"
// RUN: attn-run %s --check %{qkv} --arg=id=%t.id.npy --arg=see=%t.see.npy | FileCheck %s
// RUN: attn-run %s --check %{qkv} '--arg=id=randint(0,6):288' '--arg=see=randint(0,2):6x6' | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check %{qkv} --arg=id=%t.id.npy --arg=see=%t.see.npy | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 --arg=v=randn:1x1x1x16 '--arg=id=randint(0,6):1' --arg=see=%t.see.npy | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x2x0x16 --arg=k=randn:1x2x5x16 --arg=v=randn:1x2x5x16 '--arg=id=randint(0,6):5' --arg=see=%t.see.npy | FileCheck %s
// CHECK: PASS
// RUN: attn-run %s --show-mask --mask-block=schedule --schedule='#attn.schedule<tile_m = 48, tile_n = 48, lanes = 16, unroll_m = 1, unroll_n = 1>' %{qkv} --arg=id=%t.id.npy --arg=see=%t.see.npy | FileCheck %s --check-prefix=VISITED
// VISITED: all 6 0.2778 26 0 10 0.2778
// VISITED: the compiler visits 60 of 216 tiles, 60 of them without asking the mask

// REQUIRES: numpy

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @pairs(%q: !t, %k: !t, %v: !t, %id: tensor<?xi32>, %see: tensor<6x6xi1>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%id, %see : tensor<?xi32>, tensor<6x6xi1>) outs(%init : !t)
      mask(%b, %h, %i, %j, %d, %w) {
        %x = tensor.extract %d[%i] : tensor<?xi32>
        %mine = arith.index_cast %x : i32 to index
        %y = tensor.extract %d[%j] : tensor<?xi32>
        %other = arith.index_cast %y : i32 to index
        %p = tensor.extract %w[%mine, %other] : tensor<6x6xi1>
        attn.yield %p : i1
      }
  return %o : !t
}
