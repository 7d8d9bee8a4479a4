// RUN: attn-opt %s --attn-assign-schedule="vector-bits=512 vector-registers=32 l1-bytes=49152" | FileCheck %s --check-prefixes=CHECK,WIDE
// RUN: attn-opt %s --attn-assign-schedule="vector-bits=256 vector-registers=16 l1-bytes=32768" | FileCheck %s --check-prefixes=CHECK,NARROW
// RUN: not attn-opt %s --attn-assign-schedule="vector-bits=32" 2>&1 | FileCheck %s --check-prefix=BAD

// BAD: error: expects vector-bits of at least 64, and vector-registers and l1-bytes of at least 1

// CHECK-LABEL: func @f32
// WIDE: schedule<tile_m = 96, tile_n = 64, lanes = 16, unroll_m = 3, unroll_n = 8>
// NARROW: schedule<tile_m = 48, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 4>
func.func @f32(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}

// Doubles are twice as wide, and wide heads leave less room in the cache.

// CHECK-LABEL: func @f64
// WIDE: schedule<tile_m = 24, tile_n = 64, lanes = 8, unroll_m = 3, unroll_n = 8>
// NARROW: schedule<tile_m = 12, tile_n = 64, lanes = 4, unroll_m = 3, unroll_n = 4>
func.func @f64(%q: tensor<1x1x?x512xf64>, %o: tensor<1x1x?x512xf64>) -> tensor<1x1x?x512xf64> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x?x512xf64>, tensor<1x1x?x512xf64>, tensor<1x1x?x512xf64>)
      outs(%o : tensor<1x1x?x512xf64>)
  return %r : tensor<1x1x?x512xf64>
}

// A schedule that is there stays.

// CHECK-LABEL: func @kept
// CHECK: schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
func.func @kept(%q: tensor<1x1x?x64xf32>, %o: tensor<1x1x?x64xf32>) -> tensor<1x1x?x64xf32> {
  %r = attn.attention schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>, tensor<1x1x?x64xf32>)
      outs(%o : tensor<1x1x?x64xf32>)
  return %r : tensor<1x1x?x64xf32>
}
