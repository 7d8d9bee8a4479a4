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

// Scores in one range, such as those of a soft-cap, need no maximum: it starts
// as the least score, -20 * log2(e) = -28.85, or 2^80 below the largest one, and
// powers do not overflow.

// CHECK-LABEL: func @bounded
// CHECK: %[[BOUND:.*]] = arith.constant -2.88539{{.*}} : f32
// CHECK: linalg.fill ins(%[[BOUND]] : f32)
// CHECK: attn.online_attention scale 1.000000e+00 schedule<{{.*}}> rescale(never)
// EXACT-LABEL: func @bounded
// EXACT: attn.online_attention scale
// EXACT-NOT: rescale
// EXACT: ins(
// TILE-LABEL: func @bounded
// TILE: attn.online_step {{.*}} rescale(never)
func.func @bounded(%q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  %r = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%o : tensor<1x1x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 20.0 : f32
        %x = arith.divf %s, %cap : f32
        %t = math.tanh %x : f32
        %y = arith.mulf %cap, %t : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x16x8xf32>
}

// In f16 powers are from 2^-14 to below 2^16: 40 * log2(e) is too wide a range,
// and 8 * log2(e) is not.

// CHECK-LABEL: func @halves
// CHECK: attn.online_attention {{.*}} rescale(lazy)
// CHECK: attn.online_attention {{.*}} rescale(never)
func.func @halves(%q: tensor<1x1x16x8xf16>, %o: tensor<1x1x16x8xf16>) -> (tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>) {
  %r = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>)
      outs(%o : tensor<1x1x16x8xf16>)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 20.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %cap, %t : f32
        attn.yield %y : f32
      }
  %r2 = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>)
      outs(%o : tensor<1x1x16x8xf16>)
      score(%s, %b, %h, %i, %j) {
        %four = arith.constant 4.0 : f32
        %t = math.cos %s : f32
        %y = arith.mulf %four, %t : f32
        attn.yield %y : f32
      }
  return %r, %r2 : tensor<1x1x16x8xf16>, tensor<1x1x16x8xf16>
}

// A score without a range, though a part of it has one.

// CHECK-LABEL: func @wide
// CHECK: %[[START:.*]] = arith.constant -7.865{{.*}} : f32
// CHECK: linalg.fill ins(%[[START]] : f32)
// CHECK: attn.online_attention {{.*}} rescale(never)
func.func @wide(%q: tensor<1x1x16x8xbf16>, %o: tensor<1x1x16x8xbf16>) -> tensor<1x1x16x8xbf16> {
  %r = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>, tensor<1x1x16x8xbf16>)
      outs(%o : tensor<1x1x16x8xbf16>)
      score(%s, %b, %h, %i, %j) {
        %cap = arith.constant 50.0 : f32
        %t = math.tanh %s : f32
        %y = arith.mulf %cap, %t : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x16x8xbf16>
}

// CHECK-LABEL: func @unbounded
// CHECK: attn.online_attention {{.*}} rescale(lazy)
func.func @unbounded(%q: tensor<1x1x16x8xf32>, %o: tensor<1x1x16x8xf32>) -> tensor<1x1x16x8xf32> {
  %r = attn.attention scale 1.0 schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%o : tensor<1x1x16x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %t = math.tanh %s : f32
        %y = arith.addf %s, %t : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x16x8xf32>
}
