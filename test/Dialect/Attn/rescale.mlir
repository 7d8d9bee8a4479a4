// When the softmax rescales is decided where it becomes a reduction, and kept
// from there to the steps.

// RUN: attn-opt %s --verify-roundtrip -o /dev/null
// RUN: attn-opt %s --attn-online-softmax=rescale=lazy | FileCheck %s
// RUN: attn-opt %s --attn-online-softmax | FileCheck %s --check-prefix=EXACT
// RUN: attn-opt %s --attn-online-softmax=rescale=lazy --attn-tile | FileCheck %s --check-prefix=TILE

// CHECK-LABEL: func @attention
// CHECK: attn.online_attention scale 1.000000e+00 schedule<{{.*}}> rescale(lazy)
// EXACT-LABEL: func @attention
// EXACT: attn.online_attention scale
// EXACT-NOT: rescale
// EXACT: ins(
// TILE-LABEL: func @attention
// TILE: attn.online_step {{.*}} rescale(lazy)
func.func @attention(%q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  %r = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%o : tensor<1x1x16x8xf32>)
  return %r : tensor<1x1x16x8xf32>
}

// EXACT-LABEL: func @online
// EXACT: attn.online_attention scale 1.000000e+00 schedule<{{.*}}> rescale(lazy)
// TILE-LABEL: func @online
// TILE: attn.online_step {{.*}} rescale(lazy)
func.func @online(%q: tensor<1x1x16x8xf32>, %m: tensor<1x1x16xf32>) -> tensor<1x1x16x8xf32> {
  %r:3 = attn.online_attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2> rescale(lazy)
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%q, %m, %m : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %r#0 : tensor<1x1x16x8xf32>
}
