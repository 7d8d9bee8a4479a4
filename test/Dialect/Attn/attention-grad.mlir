// Gradients of attention, read and printed again: as they are, from the generic
// form, and through bytecode.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --emit-bytecode | attn-opt | FileCheck %s
// RUN: attn-opt %s --canonicalize | FileCheck %s --check-prefix=CANON

// The least that a gradient needs.
// CHECK-LABEL: func.func @least
// CHECK:         %dk = attn.attention_grad wrt(k)
// CHECK-NEXT:      ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<2x4x16x8xf32>, tensor<2x2x32x8xf32>, tensor<2x2x32x4xf32>, tensor<2x4x16x4xf32>, tensor<2x4x16xf32>, tensor<2x4x16x4xf32>)
// CHECK-NEXT:      outs(%{{.*}} : tensor<2x2x32x8xf32>)
// CHECK-NEXT:    return %dk
func.func @least(%q: tensor<2x4x16x8xf32>, %k: tensor<2x2x32x8xf32>, %v: tensor<2x2x32x4xf32>,
    %o: tensor<2x4x16x4xf32>, %lse: tensor<2x4x16xf32>, %do: tensor<2x4x16x4xf32>,
    %init: tensor<2x2x32x8xf32>) -> tensor<2x2x32x8xf32> {
  %dk = attn.attention_grad wrt(k)
      ins(%q, %k, %v, %o, %lse, %do : tensor<2x4x16x8xf32>, tensor<2x2x32x8xf32>, tensor<2x2x32x4xf32>, tensor<2x4x16x4xf32>, tensor<2x4x16xf32>, tensor<2x4x16x4xf32>)
      outs(%init : tensor<2x2x32x8xf32>)
  return %dk : tensor<2x2x32x8xf32>
}

// All clauses at once.
// CHECK-LABEL: func.func @all_clauses
// CHECK:         %dq, %dk, %dv, %dw0, %dw2 = attn.attention_grad scale 1.250000e-01 layouts(bshd, bhsd, sbhd, bshd) schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6> wrt(q, k, v, 0, 2)
// CHECK-NEXT:      ins(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>, tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>)
// CHECK-NEXT:      captures(%{{.*}}, %{{.*}}, %{{.*}} : tensor<8x?xbf16>, index, f32)
// CHECK-NEXT:      sparsity(#attn.sparsity<bits, block = 64x64> %{{.*}} : tensor<?x?xi1>)
// CHECK-NEXT:      offsets(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT:      outs(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<8x?xbf16>, tensor<f32>) attributes {nondeterministic, note = "kept"}
// CHECK-NEXT:    score(%s, %b, %h, %i, %j, %w0, %w1, %w2) {
// CHECK:         mask(%b, %h, %i, %j, %w0, %w1, %w2) {
// CHECK:         adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1, %w2) {
// CHECK-NEXT:      attn.contribute %ds to %w0[%h, %i] : f32, tensor<8x?xbf16>
// CHECK-NEXT:      attn.contribute %ds to %w2 : f32, f32
// CHECK-NEXT:      attn.yield %ds : f32
// CHECK:         tiles(%b, %h, %i0, %i1, %j0, %j1, %w0, %w1, %w2) {
// CHECK:           attn.yield %{{.*}}, %{{.*}} : i1, i1
func.func @all_clauses(%q: tensor<?x?x8x64xbf16>, %k: tensor<1x2x?x64xbf16>, %v: tensor<?x1x2x128xbf16>,
    %o: tensor<?x?x8x128xbf16>, %lse: tensor<?x?x8xf32>, %do: tensor<?x?x8x128xbf16>, %dlse: tensor<?x?x8xf32>,
    %bias: tensor<8x?xbf16>, %n: index, %c: f32, %bits: tensor<?x?xi1>,
    %qi: tensor<?x?x8x64xbf16>, %ki: tensor<1x2x?x64xbf16>, %vi: tensor<?x1x2x128xbf16>, %bi: tensor<8x?xbf16>, %ci: tensor<f32>)
    -> (tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<8x?xbf16>, tensor<f32>) {
  %r:5 = attn.attention_grad scale 1.250000e-01 layouts(bshd, bhsd, sbhd, bshd)
      schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6> wrt(q, k, v, 0, 2)
      ins(%q, %k, %v, %o, %lse, %do, %dlse : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>, tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>)
      captures(%bias, %n, %c : tensor<8x?xbf16>, index, f32)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<?x?xi1>)
      offsets(%n, %n, %n, %n)
      outs(%qi, %ki, %vi, %bi, %ci : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<8x?xbf16>, tensor<f32>) attributes {nondeterministic, note = "kept"}
      score(%s, %b, %h, %i, %j, %w0, %w1, %w2) {
        %e = tensor.extract %w0[%h, %i] : tensor<8x?xbf16>
        %x = arith.extf %e : bf16 to f32
        %y = arith.addf %s, %x : f32
        %z = arith.addf %y, %w2 : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %w0, %w1, %w2) {
        %p = arith.cmpi sle, %j, %w1 : index
        attn.yield %p : i1
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0, %w1, %w2) {
        attn.contribute %ds to %w0[%h, %i] : f32, tensor<8x?xbf16>
        attn.contribute %ds to %w2 : f32, f32
        attn.yield %ds : f32
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1, %w0, %w1, %w2) {
        %may = arith.cmpi sle, %j0, %w1 : index
        %must = arith.cmpi sle, %j1, %w1 : index
        attn.yield %may, %must : i1, i1
      }
  return %r#0, %r#1, %r#2, %r#3, %r#4 : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>, tensor<8x?xbf16>, tensor<f32>
}

// An identity and its adjoint, a mask that allows everything, and layouts that
// say nothing go. The capture stays, as the gradient is numbered by it.
// CANON-LABEL: func.func @says_nothing
// CANON:         attn.attention_grad wrt(q, 0)
// CANON-NEXT:      ins(
// CANON-NEXT:      captures(%{{.*}} : tensor<8xf32>)
// CANON-NEXT:      outs(
// CANON-NEXT:    return
func.func @says_nothing(%q: tensor<2x4x16x8xf32>, %lse: tensor<2x4x16xf32>, %w: tensor<8xf32>) -> (tensor<2x4x16x8xf32>, tensor<8xf32>) {
  %r:2 = attn.attention_grad layout(bhsd) wrt(q, 0)
      ins(%q, %q, %q, %q, %lse, %q : tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16x8xf32>, tensor<2x4x16xf32>, tensor<2x4x16x8xf32>)
      captures(%w : tensor<8xf32>)
      outs(%q, %w : tensor<2x4x16x8xf32>, tensor<8xf32>)
      score(%s, %b, %h, %i, %j, %w0) {
        attn.yield %s : f32
      }
      mask(%b, %h, %i, %j, %w0) {
        %true = arith.constant true
        attn.yield %true : i1
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0) {
        attn.yield %ds : f32
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1, %w0) {
        %true = arith.constant true
        attn.yield %true, %true : i1, i1
      }
  return %r#0, %r#1 : tensor<2x4x16x8xf32>, tensor<8xf32>
}
