// RUN: attn-opt %s --attn-online-softmax --attn-tile --canonicalize | FileCheck %s

// A worker that may have fewer queries than its tile says how many.

// CHECK-LABEL: func @some
// CHECK: scf.forall
// CHECK: %[[COUNT:.*]] = affine.min
// CHECK-NEXT: attn.tile_queries %[[COUNT]]
func.func @some(%q: tensor<1x1x?x8xf32>, %o: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %r = attn.attention schedule<tile_m = 4, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      outs(%o : tensor<1x1x?x8xf32>)
  return %r : tensor<1x1x?x8xf32>
}

// All tiles are full.

// CHECK-LABEL: func @all
// CHECK-NOT: attn.tile_queries
func.func @all(%q: tensor<1x1x8x8xf32>, %o: tensor<1x1x8x8xf32>) -> tensor<1x1x8x8xf32> {
  %r = attn.attention schedule<tile_m = 4, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>, tensor<1x1x8x8xf32>)
      outs(%o : tensor<1x1x8x8xf32>)
  return %r : tensor<1x1x8x8xf32>
}

// CHECK-LABEL: func @lanes
// CHECK: attn.tile_queries
func.func @lanes(%q: tensor<1x1x?x8xf32>, %o: tensor<1x1x?x8xf32>) -> tensor<1x1x?x8xf32> {
  %r = attn.attention schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 1>
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      outs(%o : tensor<1x1x?x8xf32>)
  return %r : tensor<1x1x?x8xf32>
}
