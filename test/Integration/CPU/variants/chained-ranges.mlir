// Intervals of keys that a document has, read at the document of the query, and
// a second document of each query: ranges at positions that a capture holds.

// DEFINE: %{qkv} = --arg=q=randn:2x2x288x16 --arg=k=randn:2x2x288x16 --arg=v=randn:2x2x288x16
// RUN: %python -c "import numpy as n; d = n.repeat(n.arange(6), 48); n.save(r'%t.id.npy', n.stack([d, (d + 2) %% 6]).astype('i4')); n.save(r'%t.lo.npy', (n.arange(6) * 48).astype('i4'))"
// RUN: attn-run %s --check %{qkv} --arg=id=%t.id.npy --arg=lo=%t.lo.npy | FileCheck %s
// RUN: attn-run %s --check %{qkv} '--arg=id=randint(0,6):2x288' --arg=lo=%t.lo.npy | FileCheck %s
// RUN: sed 's/^!e = .*/!e = bf16/' %s | attn-run - --check %{qkv} --arg=id=%t.id.npy --arg=lo=%t.lo.npy | FileCheck %s
// RUN: attn-run %s --check --arg=q=randn:1x1x1x16 --arg=k=randn:1x1x1x16 --arg=v=randn:1x1x1x16 '--arg=id=randint(0,6):2x1' --arg=lo=%t.lo.npy | FileCheck %s
// CHECK: PASS
// Tiles of 48 are those of a document: all that are visited are needed, and full.
// RUN: attn-run %s --show-mask --mask-block=schedule --schedule='#attn.schedule<tile_m = 48, tile_n = 48, lanes = 16, unroll_m = 1, unroll_n = 1>' %{qkv} --arg=id=%t.id.npy --arg=lo=%t.lo.npy | FileCheck %s --check-prefix=VISITED
// VISITED: all 4 0.3333 24 0 12 0.3333
// VISITED: the compiler visits 48 of 144 tiles, 48 of them without asking the mask

// REQUIRES: numpy

!e = f32
!t = tensor<?x?x?x16x!e>

func.func @chained(%q: !t, %k: !t, %v: !t, %id: tensor<2x?xi32>, %lo: tensor<6xi32>) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %B = tensor.dim %q, %c0 : !t
  %H = tensor.dim %q, %c1 : !t
  %M = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%B, %H, %M) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t) captures(%id, %lo : tensor<2x?xi32>, tensor<6xi32>) outs(%init : !t)
      mask(%b, %h, %i, %j, %w, %l) {
        %zero = arith.constant 0 : index
        %one = arith.constant 1 : index
        %length = arith.constant 48 : i32
        %key = arith.index_cast %j : index to i32
        %x0 = tensor.extract %w[%zero, %i] : tensor<2x?xi32>
        %d0 = arith.index_cast %x0 : i32 to index
        %lo0 = tensor.extract %l[%d0] : tensor<6xi32>
        %hi0 = arith.addi %lo0, %length : i32
        %a0 = arith.cmpi sge, %key, %lo0 : i32
        %b0 = arith.cmpi slt, %key, %hi0 : i32
        %in0 = arith.andi %a0, %b0 : i1
        %x1 = tensor.extract %w[%one, %i] : tensor<2x?xi32>
        %d1 = arith.index_cast %x1 : i32 to index
        %lo1 = tensor.extract %l[%d1] : tensor<6xi32>
        %hi1 = arith.addi %lo1, %length : i32
        %a1 = arith.cmpi sge, %key, %lo1 : i32
        %b1 = arith.cmpi slt, %key, %hi1 : i32
        %in1 = arith.andi %a1, %b1 : i1
        %p = arith.ori %in0, %in1 : i1
        attn.yield %p : i1
      }
  return %o : !t
}
