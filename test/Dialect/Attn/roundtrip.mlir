// Every operation with every clause, read and printed again: as it is, from
// the generic form, and through bytecode.

// RUN: attn-opt %s --verify-roundtrip | FileCheck %s
// RUN: attn-opt %s | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic | attn-opt | FileCheck %s
// RUN: attn-opt %s --mlir-print-op-generic --mlir-print-local-scope | FileCheck %s --check-prefix=GENERIC

//===----------------------------------------------------------------------===//
// attn.attention
//===----------------------------------------------------------------------===//

// The least that an attention needs.
// CHECK-LABEL: func.func @least
// CHECK-SAME:    %[[Q:.*]]: tensor<2x4x16x8xf32>, %[[K:.*]]: tensor<2x4x32x8xf32>, %[[V:.*]]: tensor<2x4x32x8xf32>, %[[I:.*]]: tensor<2x4x16x8xf32>)
// CHECK:         %[[O:.*]] = attn.attention
// CHECK-NEXT:      ins(%[[Q]], %[[K]], %[[V]] : tensor<2x4x16x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>)
// CHECK-NEXT:      outs(%[[I]] : tensor<2x4x16x8xf32>)
// CHECK-NEXT:    return %[[O]]
// GENERIC-LABEL: sym_name = "least"
// GENERIC:       "attn.attention"({{.*}}) <{operandSegmentSizes = array<i32: 1, 1, 1, 0, 0, 0, 1>}> ({
// GENERIC-NEXT:  }, {
// GENERIC-NEXT:  }) : (tensor<2x4x16x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32>
func.func @least(%q: tensor<2x4x16x8xf32>, %k: tensor<2x4x32x8xf32>,
    %v: tensor<2x4x32x8xf32>, %init: tensor<2x4x16x8xf32>) -> tensor<2x4x16x8xf32> {
  %o = attn.attention
      ins(%q, %k, %v : tensor<2x4x16x8xf32>, tensor<2x4x32x8xf32>, tensor<2x4x32x8xf32>)
      outs(%init : tensor<2x4x16x8xf32>)
  return %o : tensor<2x4x16x8xf32>
}

// All clauses at once. Dynamic lengths and batch, grouped heads, Dv != Dqk, a
// batch of 1 for k and v.
// CHECK-LABEL: func.func @all_clauses
// CHECK:         %[[O:.*]], %[[LSE:.*]] = attn.attention scale 1.250000e-01 layouts(bshd, bhsd, sbhd, bshd) schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6>
// CHECK-NEXT:      ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>)
// CHECK-NEXT:      captures(%[[BIAS:.*]], %[[N:.*]], %[[C:.*]] : tensor<8x?xf32>, index, f32)
// CHECK-NEXT:      offsets(%[[OB:.*]], %[[OH:.*]], %[[OI:.*]], %[[OJ:.*]])
// CHECK-NEXT:      outs(%{{.*}}, %{{.*}} : tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>) attributes {note = "kept"}
// CHECK-NEXT:    score(%s, %b, %h, %i, %j, %w0, %w1, %w2) {
// CHECK-NEXT:      %[[X:.*]] = tensor.extract %w0[%h, %j] : tensor<8x?xf32>
// CHECK-NEXT:      %[[Y:.*]] = arith.addf %s, %[[X]] : f32
// CHECK-NEXT:      %[[Z:.*]] = math.tanh %[[Y]] : f32
// CHECK-NEXT:      attn.yield %[[Z]] : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    mask(%b, %h, %i, %j, %w0, %w1, %w2) {
// CHECK:           scf.if
// CHECK:           attn.yield %{{.*}} : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    return %[[O]], %[[LSE]]
// GENERIC-LABEL: sym_name = "all_clauses"
// GENERIC:       "attn.attention"
// GENERIC-SAME:  layouts = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d2, d0, d1, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>]
// GENERIC-SAME:  operandSegmentSizes = array<i32: 1, 1, 1, 3, 0, 4, 2>
// GENERIC-SAME:  scale = 1.250000e-01 : f64
// GENERIC-SAME:  schedule = #attn.schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6>
// GENERIC-NEXT:  ^bb0(%{{.*}}: f32, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: index, %{{.*}}: tensor<8x?xf32>, %{{.*}}: index, %{{.*}}: f32):
func.func @all_clauses(%q: tensor<?x?x8x64xbf16>, %k: tensor<1x2x?x64xbf16>,
    %v: tensor<?x1x2x128xbf16>, %bias: tensor<8x?xf32>, %n: index, %c: f32,
    %ob: index, %oh: index, %oi: index, %oj: index,
    %init: tensor<?x?x8x128xbf16>, %linit: tensor<?x?x8xf32>)
    -> (tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>) {
  %o, %lse = attn.attention scale 0.125 layouts(bshd, bhsd, sbhd, bshd)
      schedule<tile_m = 64, tile_n = 32, lanes = 16, unroll_m = 4, unroll_n = 6>
      ins(%q, %k, %v : tensor<?x?x8x64xbf16>, tensor<1x2x?x64xbf16>, tensor<?x1x2x128xbf16>)
      captures(%bias, %n, %c : tensor<8x?xf32>, index, f32)
      offsets(%ob, %oh, %oi, %oj)
      outs(%init, %linit : tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>)
      attributes {note = "kept"}
      score(%s, %b, %h, %i, %j, %bias, %n, %c) {
        %x = tensor.extract %bias[%h, %j] : tensor<8x?xf32>
        %y = arith.addf %s, %x : f32
        %z = math.tanh %y : f32
        attn.yield %z : f32
      }
      mask(%b, %h, %i, %j, %bias, %n, %c) {
        %even = index.constant 2
        %r = index.remu %j, %even
        %zero = arith.constant 0 : index
        %is = index.cmp eq(%r, %zero)
        %dim = tensor.dim %bias, %even : tensor<8x?xf32>
        %p = scf.if %is -> (i1) {
          %a = arith.cmpi ult, %j, %n : index
          scf.yield %a : i1
        } else {
          %a = arith.cmpi ult, %j, %dim : index
          scf.yield %a : i1
        }
        attn.yield %p : i1
      }
  return %o, %lse : tensor<?x?x8x128xbf16>, tensor<?x?x8xf32>
}

// A region may be there alone, and its arguments may have the names of values
// outside, because it sees none of them.
// CHECK-LABEL: func.func @names
// CHECK:         captures(%[[W:.*]], %[[W]] : tensor<4xf32>, tensor<4xf32>)
// CHECK-NOT:     score
// CHECK:         mask(%b, %h, %i, %j, %w0, %w1) {
// CHECK-NEXT:      %[[E:.*]] = tensor.extract %w1[%h] : tensor<4xf32>
func.func @names(%q: tensor<1x4x3x8xf32>, %b: tensor<4xf32>) -> tensor<1x4x3x8xf32> {
  %i = arith.constant 3.0 : f32
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>)
      captures(%b, %b : tensor<4xf32>, tensor<4xf32>)
      outs(%q : tensor<1x4x3x8xf32>)
      mask(%o, %h, %i, %j, %v, %q) {
        %b = tensor.extract %q[%h] : tensor<4xf32>
        %0 = arith.constant 1.0 : f32
        %p = arith.cmpf ogt, %b, %0 : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x4x3x8xf32>
}

// Only a score.
// CHECK-LABEL: func.func @only_score
// CHECK:         score(%s, %b, %h, %i, %j) {
// CHECK-NOT:     mask
func.func @only_score(%q: tensor<1x4x3x8xf32>) -> tensor<1x4x3x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>)
      outs(%q : tensor<1x4x3x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %n = arith.negf %s : f32
        attn.yield %n : f32
      }
  return %o : tensor<1x4x3x8xf32>
}

// Captures of any rank and of any scalar type.
// CHECK-LABEL: func.func @captures
// CHECK:         captures({{.*}} : tensor<f16>, tensor<1x2x3x4x5xi8>, tensor<?xi1>, index, i64, i1, bf16, f64)
// CHECK-NEXT:    outs
// CHECK-NEXT:    mask(%b, %h, %i, %j, %w0, %w1, %w2, %w3, %w4, %w5, %w6, %w7) {
func.func @captures(%q: tensor<1x4x3x8xf32>, %a: tensor<f16>, %b: tensor<1x2x3x4x5xi8>,
    %c: tensor<?xi1>, %d: index, %e: i64, %f: i1, %g: bf16, %h: f64) -> tensor<1x4x3x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>, tensor<1x4x3x8xf32>)
      captures(%a, %b, %c, %d, %e, %f, %g, %h
          : tensor<f16>, tensor<1x2x3x4x5xi8>, tensor<?xi1>, index, i64, i1, bf16, f64)
      outs(%q : tensor<1x4x3x8xf32>)
      mask(%b, %h, %i, %j, %0, %1, %2, %3, %4, %5, %6, %7) {
        %x = tensor.extract %0[] : tensor<f16>
        %y = tensor.extract %1[%b, %h, %i, %j, %3] : tensor<1x2x3x4x5xi8>
        %z = tensor.extract %2[%i] : tensor<?xi1>
        %p = arith.andi %z, %5 : i1
        attn.yield %p : i1
      }
  return %o : tensor<1x4x3x8xf32>
}

// Element types: statistics are f32, or f64 for f64.
// CHECK-LABEL: func.func @f64
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>)
// CHECK:         score(%s, %b, %h, %i, %j) {
// CHECK-NEXT:      arith.negf %s : f64
func.func @f64(%q: tensor<1x1x2x4xf64>, %l: tensor<1x1x2xf64>) -> tensor<1x1x2xf64> {
  %o, %lse = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf64>, tensor<1x1x2x4xf64>, tensor<1x1x2x4xf64>)
      outs(%q, %l : tensor<1x1x2x4xf64>, tensor<1x1x2xf64>)
      score(%s, %b, %h, %i, %j) {
        %n = arith.negf %s : f64
        attn.yield %n : f64
      }
  return %lse : tensor<1x1x2xf64>
}

// CHECK-LABEL: func.func @f16
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<1x1x2x4xf16>, tensor<1x1x2xf32>)
// CHECK:         score(%s, %b, %h, %i, %j) {
// CHECK-NEXT:      arith.negf %s : f32
func.func @f16(%q: tensor<1x1x2x4xf16>, %l: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %o, %lse = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>, tensor<1x1x2x4xf16>)
      outs(%q, %l : tensor<1x1x2x4xf16>, tensor<1x1x2xf32>)
      score(%s, %b, %h, %i, %j) {
        %n = arith.negf %s : f32
        attn.yield %n : f32
      }
  return %lse : tensor<1x1x2xf32>
}

// CHECK-LABEL: func.func @bf16
// CHECK:         outs(%{{.*}}, %{{.*}} : tensor<1x1x2x4xbf16>, tensor<1x1x2xf32>)
func.func @bf16(%q: tensor<1x1x2x4xbf16>, %l: tensor<1x1x2xf32>) -> tensor<1x1x2xf32> {
  %o, %lse = attn.attention
      ins(%q, %q, %q : tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>, tensor<1x1x2x4xbf16>)
      outs(%q, %l : tensor<1x1x2x4xbf16>, tensor<1x1x2xf32>)
  return %lse : tensor<1x1x2xf32>
}

// Empty lengths, batches and heads.
// CHECK-LABEL: func.func @empty
// CHECK:         ins(%{{.*}} : tensor<2x4x0x8xf32>, tensor<2x4x0x8xf32>, tensor<2x4x0x8xf32>)
// CHECK:         ins(%{{.*}} : tensor<0x0x3x8xf32>, tensor<0x0x0x8xf32>, tensor<0x0x0x8xf32>)
func.func @empty(%a: tensor<2x4x0x8xf32>, %b: tensor<0x0x3x8xf32>, %c: tensor<0x0x0x8xf32>)
    -> (tensor<2x4x0x8xf32>, tensor<0x0x3x8xf32>) {
  %0 = attn.attention
      ins(%a, %a, %a : tensor<2x4x0x8xf32>, tensor<2x4x0x8xf32>, tensor<2x4x0x8xf32>)
      outs(%a : tensor<2x4x0x8xf32>)
  %1 = attn.attention
      ins(%b, %c, %c : tensor<0x0x3x8xf32>, tensor<0x0x0x8xf32>, tensor<0x0x0x8xf32>)
      outs(%b : tensor<0x0x3x8xf32>)
  return %0, %1 : tensor<2x4x0x8xf32>, tensor<0x0x3x8xf32>
}

// Everything dynamic but the head dimensions; a batch of k and v that is not
// known may be 1 or that of q.
// CHECK-LABEL: func.func @dynamic
// CHECK:         ins(%{{.*}} : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x4xf32>)
func.func @dynamic(%q: tensor<?x?x?x8xf32>, %v: tensor<?x?x?x4xf32>) -> tensor<?x?x?x4xf32> {
  %o = attn.attention
      ins(%q, %q, %v : tensor<?x?x?x8xf32>, tensor<?x?x?x8xf32>, tensor<?x?x?x4xf32>)
      outs(%v : tensor<?x?x?x4xf32>)
  return %o : tensor<?x?x?x4xf32>
}

// Scales that decimal digits are too few for.
// CHECK-LABEL: func.func @scales
// CHECK:         attn.attention scale 0.10206207261596577
// CHECK:         attn.attention scale -1.000000e+00
// CHECK:         attn.attention scale 0.000000e+00
func.func @scales(%q: tensor<1x1x2x4xf32>) {
  %0 = attn.attention scale 0.10206207261596577
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  %1 = attn.attention scale -1.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  %2 = attn.attention scale 0.0
      ins(%q, %q, %q : tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>, tensor<1x1x2x4xf32>)
      outs(%q : tensor<1x1x2x4xf32>)
  return
}

// Names of arguments and results, for tools.
// CHECK-LABEL: func.func @arguments
// CHECK-SAME:    {attn.name = "q"}
// CHECK-SAME:    {attn.name = "k"}
// CHECK-SAME:    -> (tensor<1x1x2x4xf32> {attn.name = "q"})
func.func @arguments(%q: tensor<1x1x2x4xf32> {attn.name = "q"},
    %k: tensor<1x1x2x4xf32> {attn.name = "k"}) -> (tensor<1x1x2x4xf32> {attn.name = "q"}) {
  return %q : tensor<1x1x2x4xf32>
}

//===----------------------------------------------------------------------===//
// attn.online_attention and attn.finalize
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @online
// CHECK:         %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention scale 1.250000e-01 layout(bshd) schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>
// CHECK-NEXT:      ins(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x32xbf16>)
// CHECK-NEXT:      captures(%{{.*}} : index)
// CHECK-NEXT:      offsets(%{{.*}}, %{{.*}}, %{{.*}}, %{{.*}})
// CHECK-NEXT:      outs(%{{.*}}, %{{.*}}, %{{.*}} : tensor<2x?x8x32xf32>, tensor<2x?x8xf32>, tensor<2x?x8xf32>)
// CHECK-NEXT:    score(%s, %b, %h, %i, %j, %w0) {
// CHECK-NEXT:      attn.yield %s : f32
// CHECK-NEXT:    }
// CHECK-NEXT:    mask(%b, %h, %i, %j, %w0) {
// CHECK-NEXT:      %[[P:.*]] = arith.cmpi sle, %j, %i : index
// CHECK-NEXT:      attn.yield %[[P]] : i1
// CHECK-NEXT:    }
// CHECK-NEXT:    blocks(%b, %h, %i0, %i1, %skv, %w0) {
// CHECK-NEXT:      attn.yield %w0, %w0, %i0, %i1 : index, index, index, index
// CHECK-NEXT:    }
// CHECK:         attn.finalize layout(bshd) ins(%[[ACC]], %[[MAX]], %[[SUM]] : tensor<2x?x8x32xf32>, tensor<2x?x8xf32>, tensor<2x?x8xf32>) outs(%{{.*}}, %{{.*}} : tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>) -> tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>
// GENERIC-LABEL: sym_name = "online"
// GENERIC:       "attn.online_attention"({{.*}}) <{
// GENERIC-SAME:  operandSegmentSizes = array<i32: 1, 1, 1, 1, 0, 4, 3>
// GENERIC:       "attn.finalize"({{.*}}) <{layout = affine_map<(d0, d1, d2, d3) -> (d0, d2, d1, d3)>}>
func.func @online(%q: tensor<2x?x8x64xbf16>, %k: tensor<2x?x2x64xbf16>,
    %v: tensor<2x?x2x32xbf16>, %x: index, %acc: tensor<2x?x8x32xf32>,
    %row: tensor<2x?x8xf32>, %oi: tensor<2x?x8x32xbf16>)
    -> (tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>) {
  %r:3 = attn.online_attention scale 0.125 layout(bshd)
      schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>
      ins(%q, %k, %v : tensor<2x?x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x32xbf16>)
      captures(%x : index)
      offsets(%x, %x, %x, %x)
      outs(%acc, %row, %row : tensor<2x?x8x32xf32>, tensor<2x?x8xf32>, tensor<2x?x8xf32>)
      score(%s, %b, %h, %i, %j, %x) {
        attn.yield %s : f32
      }
      mask(%b, %h, %i, %j, %x) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %skv, %x) {
        attn.yield %x, %x, %i0, %i1 : index, index, index, index
      }
  %o, %lse = attn.finalize layout(bshd)
      ins(%r#0, %r#1, %r#2 : tensor<2x?x8x32xf32>, tensor<2x?x8xf32>, tensor<2x?x8xf32>)
      outs(%oi, %row : tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>)
      -> tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>
  return %o, %lse : tensor<2x?x8x32xbf16>, tensor<2x?x8xf32>
}

// Without regions, layouts and lse.
// CHECK-LABEL: func.func @online_least
// CHECK:         %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention scale 5.000000e-01
// CHECK-NEXT:      ins(
// CHECK-NEXT:      outs(
// CHECK-NEXT:    %{{.*}} = attn.finalize ins(%[[ACC]], %[[MAX]], %[[SUM]] : tensor<1x1x?x4xf64>, tensor<1x1x?xf64>, tensor<1x1x?xf64>) outs(%{{.*}} : tensor<1x1x?x4xf64>) -> tensor<1x1x?x4xf64>
func.func @online_least(%q: tensor<1x1x?x4xf64>, %row: tensor<1x1x?xf64>) -> tensor<1x1x?x4xf64> {
  %r:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf64>, tensor<1x1x?x4xf64>, tensor<1x1x?x4xf64>)
      outs(%q, %row, %row : tensor<1x1x?x4xf64>, tensor<1x1x?xf64>, tensor<1x1x?xf64>)
  %o = attn.finalize
      ins(%r#0, %r#1, %r#2 : tensor<1x1x?x4xf64>, tensor<1x1x?xf64>, tensor<1x1x?xf64>)
      outs(%q : tensor<1x1x?x4xf64>) -> tensor<1x1x?x4xf64>
  return %o : tensor<1x1x?x4xf64>
}

// Blocks without a mask.
// CHECK-LABEL: func.func @online_blocks
// CHECK-NOT:     mask
// CHECK:         blocks(%b, %h, %i0, %i1, %skv) {
func.func @online_blocks(%q: tensor<1x1x?x4xf32>, %row: tensor<1x1x?xf32>) -> tensor<1x1x?x4xf32> {
  %r:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      outs(%q, %row, %row : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %skv, %skv : index, index, index, index
      }
  return %r#0 : tensor<1x1x?x4xf32>
}

// What is known of tiles, with ranges of captures of several types and ranks.
// CHECK-LABEL: func.func @online_tiles
// CHECK:         tiles(%b, %h, %i0, %i1, %j0, %j1, %w0, %w1, %w2) {
// CHECK:           %{{.*}}, %{{.*}} = attn.range %w0[%b, %j0] to [%i1, %j1] : tensor<2x?xi1>
// CHECK:           %{{.*}}, %{{.*}} = attn.range %w1[] to [] : tensor<i32>
// CHECK:           %{{.*}}, %{{.*}} = attn.range %w2[%i0] to [%i1] {note} : tensor<?xindex>
// CHECK:           attn.yield %{{.*}}, %{{.*}} : i1, i1
func.func @online_tiles(%q: tensor<1x1x?x4xf32>, %row: tensor<1x1x?xf32>, %x: tensor<2x?xi1>,
    %y: tensor<i32>, %z: tensor<?xindex>) -> tensor<1x1x?x4xf32> {
  %r:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      captures(%x, %y, %z : tensor<2x?xi1>, tensor<i32>, tensor<?xindex>)
      outs(%q, %row, %row : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1, %x, %y, %z) {
        %all, %any = attn.range %x[%b, %j0] to [%i1, %j1] : tensor<2x?xi1>
        %0, %1 = attn.range %y[] to [] : tensor<i32>
        %2, %3 = attn.range %z[%i0] to [%i1] {note} : tensor<?xindex>
        attn.yield %any, %all : i1, i1
      }
  return %r#0 : tensor<1x1x?x4xf32>
}

// Ranges over queries, and over pairs of queries and keys.
// CHECK-LABEL: func.func @online_positions
// CHECK:         %{{.*}}, %{{.*}} = attn.range_over (%{{.*}} = %i0 to %i1) : i32 {
// CHECK:           attn.yield %{{.*}} : i32
// CHECK:         }
// CHECK:         %{{.*}}, %{{.*}} = attn.range_over (%{{.*}} = %i0 to %i1, %{{.*}} = %j0 to %j1) : i1 {
// CHECK:           attn.yield %{{.*}} : i1
// CHECK:         } {note}
func.func @online_positions(%q: tensor<1x1x?x4xf32>, %row: tensor<1x1x?xf32>, %x: tensor<?xi32>) -> tensor<1x1x?x4xf32> {
  %r:3 = attn.online_attention scale 0.5
      ins(%q, %q, %q : tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>, tensor<1x1x?x4xf32>)
      captures(%x : tensor<?xi32>)
      outs(%q, %row, %row : tensor<1x1x?x4xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      tiles(%b, %h, %i0, %i1, %j0, %j1, %x) {
        %0, %1 = attn.range_over (%i = %i0 to %i1) : i32 {
          %2 = tensor.extract %x[%i] : tensor<?xi32>
          attn.yield %2 : i32
        }
        %all, %any = attn.range_over (%i = %i0 to %i1, %j = %j0 to %j1) : i1 {
          %2 = tensor.extract %x[%i] : tensor<?xi32>
          %3 = tensor.extract %x[%j] : tensor<?xi32>
          %4 = arith.cmpi sle, %2, %3 : i32
          attn.yield %4 : i1
        } {note}
        attn.yield %any, %all : i1, i1
      }
  return %r#0 : tensor<1x1x?x4xf32>
}

//===----------------------------------------------------------------------===//
// attn.online_step
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @step
// CHECK:         %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} = attn.online_step %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
// CHECK:         attn.online_step %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}} {note = 1 : i64} : vector<1x1xf64>, vector<3x1xf64>, vector<1xf64>
func.func @step(%s: vector<64x32xf32>, %acc: vector<128x32xf32>, %m: vector<32xf32>,
    %ds: vector<1x1xf64>, %da: vector<3x1xf64>, %dm: vector<1xf64>) -> vector<64x32xf32> {
  %p:4 = attn.online_step %s, %acc, %m, %m
      : vector<64x32xf32>, vector<128x32xf32>, vector<32xf32>
  %d:4 = attn.online_step %ds, %da, %dm, %dm {note = 1 : i64}
      : vector<1x1xf64>, vector<3x1xf64>, vector<1xf64>
  return %p#0 : vector<64x32xf32>
}

//===----------------------------------------------------------------------===//
// attn.report
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @report
// CHECK-SAME:    %[[X:.*]]: index, %[[Y:.*]]: index, %[[P:.*]]: i1
// CHECK:         attn.report site 2(%[[X]], %[[Y]]) if %[[P]] {note = "kept"}
func.func @report(%x: index, %y: index, %p: i1) {
  attn.report site 2 (%x, %y) if %p {note = "kept"}
  return
}

//===----------------------------------------------------------------------===//
// attn.gather
//===----------------------------------------------------------------------===//

// CHECK-LABEL: func.func @gather
// CHECK-SAME:    %[[T:.*]]: tensor<8x?xf32>, %[[S:.*]]: tensor<f16>, %[[M:.*]]: memref<?xi8, strided<[?]>>, %[[I:.*]]: index, %[[J:.*]]: vector<4x2xindex>, %[[P:.*]]: vector<4x2xi1>, %[[B:.*]]: i1)
// CHECK:         attn.gather %[[T]][%[[I]], %[[J]]] mask %[[P]] : tensor<8x?xf32>, (index, vector<4x2xindex>), vector<4x2xi1> -> vector<4x2xf32>
// CHECK:         attn.gather %[[M]][%[[J]]] mask %[[P]] site 3 {note = "kept"} : memref<?xi8, strided<[?]>>, (vector<4x2xindex>), vector<4x2xi1> -> vector<4x2xi8>
// CHECK:         attn.gather %[[S]][] mask %[[B]] : tensor<f16>, i1 -> f16
// CHECK:         attn.gather %[[M]][%[[I]]] mask %[[B]] : memref<?xi8, strided<[?]>>, (index), i1 -> i8
func.func @gather(%t: tensor<8x?xf32>, %s: tensor<f16>, %m: memref<?xi8, strided<[?]>>, %i: index,
    %j: vector<4x2xindex>, %p: vector<4x2xi1>, %b: i1) {
  %0 = attn.gather %t[%i, %j] mask %p : tensor<8x?xf32>, (index, vector<4x2xindex>), vector<4x2xi1> -> vector<4x2xf32>
  %1 = attn.gather %m[%j] mask %p site 3 {note = "kept"}
      : memref<?xi8, strided<[?]>>, (vector<4x2xindex>), vector<4x2xi1> -> vector<4x2xi8>
  %2 = attn.gather %s[] mask %b : tensor<f16>, i1 -> f16
  %3 = attn.gather %m[%i] mask %b : memref<?xi8, strided<[?]>>, (index), i1 -> i8
  return
}
