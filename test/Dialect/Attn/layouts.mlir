// The order of dimensions in memory: one permutation for all tensors, or one
// for each. Shapes are checked in the order that the layout says.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic --mlir-print-local-scope | FileCheck %s --check-prefix=GENERIC
// RUN: attn-opt %s --canonicalize | FileCheck %s --check-prefix=CANONICAL

// b = 2, h = 3, s = 5, d = 7 for q and o; s = 11 for k and v.

// CHECK-LABEL: func.func @bshd
// CHECK:         attn.attention layout(bshd)
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<2x5x3x7xf32>, tensor<2x5x3xf32>)
// GENERIC:       layouts = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>]
func.func @bshd(%q: tensor<2x5x3x7xf32>, %k: tensor<2x11x3x7xf32>, %l: tensor<2x5x3xf32>) -> tensor<2x5x3x7xf32> {
  %o, %lse = attn.attention layout(bshd)
      ins(%q, %k, %k : tensor<2x5x3x7xf32>, tensor<2x11x3x7xf32>, tensor<2x11x3x7xf32>)
      outs(%q, %l : tensor<2x5x3x7xf32>, tensor<2x5x3xf32>)
  return %o : tensor<2x5x3x7xf32>
}

// CHECK-LABEL: func.func @sbhd
// CHECK:         attn.attention layout(sbhd)
// GENERIC:       layouts = [affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>
func.func @sbhd(%q: tensor<5x2x3x7xf32>, %k: tensor<11x2x3x7xf32>, %l: tensor<5x2x3xf32>) -> tensor<5x2x3x7xf32> {
  %o, %lse = attn.attention layout(sbhd)
      ins(%q, %k, %k : tensor<5x2x3x7xf32>, tensor<11x2x3x7xf32>, tensor<11x2x3x7xf32>)
      outs(%q, %l : tensor<5x2x3x7xf32>, tensor<5x2x3xf32>)
  return %o : tensor<5x2x3x7xf32>
}

// The head dimension need not be innermost; lse is o without it.
// CHECK-LABEL: func.func @dhsb
// CHECK:         attn.attention layout(dhsb)
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<7x3x5x2xf32>, tensor<3x5x2xf32>)
// GENERIC:       layouts = [affine_map<(d0, d1, d2, d3) -> (d3, d1, d2, d0)>
func.func @dhsb(%q: tensor<7x3x5x2xf32>, %k: tensor<7x3x11x2xf32>, %l: tensor<3x5x2xf32>) -> tensor<7x3x5x2xf32> {
  %o, %lse = attn.attention layout(dhsb)
      ins(%q, %k, %k : tensor<7x3x5x2xf32>, tensor<7x3x11x2xf32>, tensor<7x3x11x2xf32>)
      outs(%q, %l : tensor<7x3x5x2xf32>, tensor<3x5x2xf32>)
  return %o : tensor<7x3x5x2xf32>
}

// CHECK-LABEL: func.func @four
// CHECK:         attn.attention layouts(bhsd, bshd, bhds, sbhd)
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<5x2x3x13xf32>, tensor<5x2x3xf32>)
func.func @four(%q: tensor<2x3x5x7xf32>, %k: tensor<2x11x3x7xf32>, %v: tensor<2x3x13x11xf32>,
    %o: tensor<5x2x3x13xf32>, %l: tensor<5x2x3xf32>) -> tensor<5x2x3x13xf32> {
  %r, %lse = attn.attention layouts(bhsd, bshd, bhds, sbhd)
      ins(%q, %k, %v : tensor<2x3x5x7xf32>, tensor<2x11x3x7xf32>, tensor<2x3x13x11xf32>)
      outs(%o, %l : tensor<5x2x3x13xf32>, tensor<5x2x3xf32>)
  return %r : tensor<5x2x3x13xf32>
}

// Four that are equal are one.
// CHECK-LABEL: func.func @four_equal
// CHECK:         attn.attention layout(hbsd)
func.func @four_equal(%q: tensor<3x2x5x7xf32>) -> tensor<3x2x5x7xf32> {
  %o = attn.attention layouts(hbsd, hbsd, hbsd, hbsd)
      ins(%q, %q, %q : tensor<3x2x5x7xf32>, tensor<3x2x5x7xf32>, tensor<3x2x5x7xf32>)
      outs(%q : tensor<3x2x5x7xf32>)
  return %o : tensor<3x2x5x7xf32>
}

// The default may be said; the canonical form does not say it.
// CHECK-LABEL: func.func @default
// CHECK:         attn.attention layout(bhsd)
// CANONICAL-LABEL: func.func @default
// CANONICAL:       attn.attention{{$}}
func.func @default(%q: tensor<2x3x5x7xf32>) -> tensor<2x3x5x7xf32> {
  %o = attn.attention layout(bhsd)
      ins(%q, %q, %q : tensor<2x3x5x7xf32>, tensor<2x3x5x7xf32>, tensor<2x3x5x7xf32>)
      outs(%q : tensor<2x3x5x7xf32>)
  return %o : tensor<2x3x5x7xf32>
}

// CHECK-LABEL: func.func @finalize
// CHECK:         attn.finalize layout(sbhd) ins(%{{.*}} : tensor<5x2x3x7xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>)
// GENERIC:       layout = affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>
func.func @finalize(%acc: tensor<5x2x3x7xf32>, %l: tensor<5x2x3xf32>) -> tensor<5x2x3x7xf32> {
  %o = attn.finalize layout(sbhd) ins(%acc, %l, %l : tensor<5x2x3x7xf32>, tensor<5x2x3xf32>, tensor<5x2x3xf32>)
      outs(%acc : tensor<5x2x3x7xf32>) -> tensor<5x2x3x7xf32>
  return %o : tensor<5x2x3x7xf32>
}
