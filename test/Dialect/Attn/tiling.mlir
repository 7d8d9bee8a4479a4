// Tiles through the transform dialect and scf. The numbers of each example
// differ, so that a mix-up of dimensions shows.

// RUN: attn-opt %s --transform-interpreter --canonicalize --cse --split-input-file --mlir-print-local-scope | FileCheck %s

//===----------------------------------------------------------------------===//
// attn.attention
//===----------------------------------------------------------------------===//

// Q blocks: k and v are whole. Regions see the positions of the whole.
// CHECK-LABEL: func.func @queries
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x8x?x64xbf16>, %[[K:[^:]*]]: tensor<2x8x?x64xbf16>, %[[O:[^:]*]]: tensor<2x8x?x64xbf16>, %[[L:[^:]*]]: tensor<2x8x?xf32>, %[[W:[^:]*]]: tensor<8xf32>
// CHECK:         %[[C0:.*]] = arith.constant 0 : index
// CHECK:         %[[S:.*]] = tensor.dim %[[Q]], %{{.*}}
// CHECK:         %[[R:.*]]:2 = scf.forall (%[[T:.*]]) in (%{{.*}}) shared_outs(%[[OT:.*]] = %[[O]], %[[LT:.*]] = %[[L]])
// CHECK:           %[[I:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%[[T]])
// CHECK:           %[[N:.*]] = affine.min affine_map<(d0)[s0] -> (d0 * -32 + s0, 32)>(%[[T]])[%[[S]]]
// CHECK:           %[[QS:.*]] = tensor.extract_slice %[[Q]][0, 0, %[[I]], 0] [2, 8, %[[N]], 64] [1, 1, 1, 1]
// CHECK:           %[[OS:.*]] = tensor.extract_slice %[[OT]][0, 0, %[[I]], 0] [2, 8, %[[N]], 64] [1, 1, 1, 1]
// CHECK:           %[[LS:.*]] = tensor.extract_slice %[[LT]][0, 0, %[[I]]] [2, 8, %[[N]]] [1, 1, 1]
// CHECK:           %[[RO:.*]], %[[RL:.*]] = attn.attention scale 5.000000e-01 schedule<{{.*}}>
// CHECK-NEXT:        ins(%[[QS]], %[[K]], %[[K]] : tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>)
// CHECK-NEXT:        captures(%[[W]] : tensor<8xf32>)
// CHECK-NEXT:        offsets(%[[C0]], %[[C0]], %[[I]], %[[C0]])
// CHECK-NEXT:        outs(%[[OS]], %[[LS]] : tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>) attributes {note = "kept"}
// CHECK-NEXT:      score(%s, %b, %h, %i, %j, %w0) {
// CHECK:           mask(%b, %h, %i, %j, %w0) {
// CHECK:           tensor.parallel_insert_slice %[[RO]] into %[[OT]][0, 0, %[[I]], 0] [2, 8, %[[N]], 64] [1, 1, 1, 1]
// CHECK:           tensor.parallel_insert_slice %[[RL]] into %[[LT]][0, 0, %[[I]]] [2, 8, %[[N]]] [1, 1, 1]
// CHECK:         return %[[R]]#0, %[[R]]#1
func.func @queries(%q: tensor<2x8x?x64xbf16>, %k: tensor<2x8x?x64xbf16>,
    %o: tensor<2x8x?x64xbf16>, %l: tensor<2x8x?xf32>, %w: tensor<8xf32>)
    -> (tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>) {
  %r:2 = attn.attention scale 0.5
      schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>
      ins(%q, %k, %k : tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>, tensor<2x8x?x64xbf16>)
      captures(%w : tensor<8xf32>)
      outs(%o, %l : tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>) attributes {note = "kept"}
      score(%s, %b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%h] : tensor<8xf32>
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %w) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r#0, %r#1 : tensor<2x8x?x64xbf16>, tensor<2x8x?xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Groups of heads that share heads of k and v, in a layout of their own for
// each tensor. Without regions there are no offsets.
// CHECK-LABEL: func.func @groups
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x12x5x64xbf16>, %[[K:[^:]*]]: tensor<2x7x6x64xbf16>, %[[V:[^:]*]]: tensor<6x2x32x7xbf16>, %[[O:[^:]*]]: tensor<5x2x12x32xbf16>
// CHECK:         scf.forall (%[[B:.*]], %[[T:.*]]) in (2, 3) shared_outs(%[[OT:.*]] = %[[O]])
// CHECK-DAG:       %[[H:.*]] = affine.apply affine_map<(d0) -> (d0 * 4)>(%[[T]])
// CHECK-DAG:       %[[HK:.*]] = affine.apply affine_map<(d0) -> (d0 * 2)>(%[[T]])
// CHECK-DAG:       %[[QS:.*]] = tensor.extract_slice %[[Q]][%[[B]], %[[H]], 0, 0] [1, 4, 5, 64] [1, 1, 1, 1]
// CHECK-DAG:       %[[KS:.*]] = tensor.extract_slice %[[K]][%[[B]], 0, %[[HK]], 0] [1, 7, 2, 64] [1, 1, 1, 1]
// CHECK-DAG:       %[[VS:.*]] = tensor.extract_slice %[[V]][%[[HK]], %[[B]], 0, 0] [2, 1, 32, 7] [1, 1, 1, 1]
// CHECK-DAG:       %[[OS:.*]] = tensor.extract_slice %[[OT]][0, %[[B]], %[[H]], 0] [5, 1, 4, 32] [1, 1, 1, 1]
// CHECK:           attn.attention layouts(bhsd, bshd, hbds, sbhd)
// CHECK-NEXT:        ins(%[[QS]], %[[KS]], %[[VS]] : tensor<1x4x5x64xbf16>, tensor<1x7x2x64xbf16>, tensor<2x1x32x7xbf16>)
// CHECK-NEXT:        outs(%[[OS]] : tensor<5x1x4x32xbf16>)
func.func @groups(%q: tensor<2x12x5x64xbf16>, %k: tensor<2x7x6x64xbf16>,
    %v: tensor<6x2x32x7xbf16>, %o: tensor<5x2x12x32xbf16>) -> tensor<5x2x12x32xbf16> {
  %r = attn.attention layouts(bhsd, bshd, hbds, sbhd)
      ins(%q, %k, %v : tensor<2x12x5x64xbf16>, tensor<2x7x6x64xbf16>, tensor<6x2x32x7xbf16>)
      outs(%o : tensor<5x2x12x32xbf16>)
  return %r : tensor<5x2x12x32xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// One head at a time, of a group of three.
// CHECK-LABEL: func.func @one_head
// CHECK:         scf.for %[[H:[a-z0-9]*]] =
// CHECK:           %[[HK:.*]] = affine.apply affine_map<(d0) -> (d0 floordiv 3)>(%[[H]])
// CHECK:           tensor.extract_slice %{{.*}}[0, %[[HK]], 0, 0] [1, 1, 7, 64] [1, 1, 1, 1]
// CHECK:           attn.attention
// CHECK-NEXT:        ins({{.*}} : tensor<1x1x5x64xf16>, tensor<1x1x7x64xf16>, tensor<1x1x7x64xf16>)
func.func @one_head(%q: tensor<1x12x5x64xf16>, %k: tensor<1x4x7x64xf16>) -> tensor<1x12x5x64xf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x12x5x64xf16>, tensor<1x4x7x64xf16>, tensor<1x4x7x64xf16>)
      outs(%q : tensor<1x12x5x64xf16>)
  return %r : tensor<1x12x5x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 1, 0]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Any tile of heads where they share none, or all share one; the last tile is
// smaller.
// CHECK-LABEL: func.func @no_groups
// CHECK:         scf.forall (%[[T:.*]]) in (3)
// CHECK-DAG:       %[[H:.*]] = affine.apply affine_map<(d0) -> (d0 * 3)>(%[[T]])
// CHECK-DAG:       %[[N:.*]] = affine.min affine_map<(d0) -> (d0 * -3 + 8, 3)>(%[[T]])
// CHECK:           %[[KS:.*]] = tensor.extract_slice %{{.*}}[0, %[[H]], 0, 0] [1, %[[N]], 7, 64] [1, 1, 1, 1]
// CHECK:           attn.attention
// CHECK:         scf.forall (%[[T2:.*]]) in (3)
// CHECK:           %[[QS:.*]] = tensor.extract_slice
// CHECK:           attn.attention
// CHECK-NEXT:        ins(%[[QS]], %[[K1:.*]], %[[K1]] : tensor<1x?x5x64xf16>, tensor<1x1x7x64xf16>, tensor<1x1x7x64xf16>)
func.func @no_groups(%q: tensor<1x8x5x64xf16>, %k: tensor<1x8x7x64xf16>, %k1: tensor<1x1x7x64xf16>)
    -> (tensor<1x8x5x64xf16>, tensor<1x8x5x64xf16>) {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x8x5x64xf16>, tensor<1x8x7x64xf16>, tensor<1x8x7x64xf16>)
      outs(%q : tensor<1x8x5x64xf16>)
  %r1 = attn.attention
      ins(%q, %k1, %k1 : tensor<1x8x5x64xf16>, tensor<1x1x7x64xf16>, tensor<1x1x7x64xf16>)
      outs(%q : tensor<1x8x5x64xf16>)
  return %r, %r1 : tensor<1x8x5x64xf16>, tensor<1x8x5x64xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 3]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Numbers of heads and batches that are known only when the program runs. The
// batch of k and v may be 1 or that of q.
// CHECK-LABEL: func.func @dynamic
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<?x?x5x64xf32>, %[[K:[^:]*]]: tensor<?x?x7x64xf32>
// CHECK-DAG:     %[[HQ:.*]] = tensor.dim %[[Q]], %c1
// CHECK:         scf.forall (%[[T:.*]], %[[H:.*]]) in (%{{.*}}, %[[HQ]])
// CHECK-DAG:       %[[B:.*]] = affine.apply affine_map<(d0) -> (d0 * 2)>(%[[T]])
// CHECK-DAG:       %[[HK:.*]] = tensor.dim %[[K]], %c1
// CHECK-DAG:       %[[SCALED:.*]] = arith.muli %[[H]], %[[HK]]
// CHECK-DAG:       %[[KH:.*]] = arith.divui %[[SCALED]], %[[HQ]]
// CHECK-DAG:       %[[BK:.*]] = tensor.dim %[[K]], %c0
// CHECK-DAG:       %[[KB:.*]] = affine.min affine_map<(d0)[s0] -> (s0 - 1, d0 * 2)>(%[[T]])[%[[BK]]]
// CHECK-DAG:       %[[KN:.*]] = affine.min affine_map<(d0)[s0, s1] -> (d0 * -2 + s1, 2, s0)>(%[[T]])[%[[BK]], %{{.*}}]
// CHECK:           tensor.extract_slice %[[K]][%[[KB]], %[[KH]], 0, 0] [%[[KN]], 1, 7, 64] [1, 1, 1, 1]
func.func @dynamic(%q: tensor<?x?x5x64xf32>, %k: tensor<?x?x7x64xf32>) -> tensor<?x?x5x64xf32> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<?x?x5x64xf32>, tensor<?x?x7x64xf32>, tensor<?x?x7x64xf32>)
      outs(%q : tensor<?x?x5x64xf32>)
  return %r : tensor<?x?x5x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [2, 1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// A batch of 1 for k and v is the same for all; the type of v tells it of k.
// CHECK-LABEL: func.func @broadcast
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<4x2x5x64xf32>, %[[K:[^:]*]]: tensor<?x2x7x64xf32>, %[[V:[^:]*]]: tensor<1x2x7x64xf32>
// CHECK:         scf.forall (%[[B:.*]]) in (4)
// CHECK:           attn.attention
// CHECK-NEXT:        ins(%{{.*}}, %[[K]], %[[V]] : tensor<1x2x5x64xf32>, tensor<?x2x7x64xf32>, tensor<1x2x7x64xf32>)
func.func @broadcast(%q: tensor<4x2x5x64xf32>, %k: tensor<?x2x7x64xf32>, %v: tensor<1x2x7x64xf32>) -> tensor<4x2x5x64xf32> {
  %r = attn.attention
      ins(%q, %k, %v : tensor<4x2x5x64xf32>, tensor<?x2x7x64xf32>, tensor<1x2x7x64xf32>)
      outs(%q : tensor<4x2x5x64xf32>)
  return %r : tensor<4x2x5x64xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [1]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Tiles of tiles: offsets add up.
// CHECK-LABEL: func.func @twice
// CHECK-SAME:    %[[X:[a-z0-9]*]]: index)
// CHECK:         scf.for %[[I:[a-z0-9]*]] =
// CHECK:           scf.for %[[J:[a-z0-9]*]] =
// CHECK:             %[[SUM:.*]] = affine.apply affine_map<(d0, d1)[s0] -> (d0 + d1 + s0)>(%[[J]], %[[I]])[%[[X]]]
// CHECK:             attn.attention
// CHECK:             offsets(%[[X]], %[[X]], %[[SUM]], %[[X]])
func.func @twice(%q: tensor<1x1x64x8xf32>, %x: index) -> tensor<1x1x64x8xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x64x8xf32>, tensor<1x1x64x8xf32>, tensor<1x1x64x8xf32>)
      offsets(%x, %x, %x, %x)
      outs(%q : tensor<1x1x64x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x64x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    %tile, %loop = transform.structured.tile_using_for %op tile_sizes [0, 0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.structured.tile_using_for %tile tile_sizes [0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

//===----------------------------------------------------------------------===//
// attn.online_attention
//===----------------------------------------------------------------------===//

// -----

// KV blocks continue the state, which is not sliced.
// CHECK-LABEL: func.func @keys
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<1x2x5x8xf32>, %[[K:[^:]*]]: tensor<1x2x?x8xf32>, %[[V:[^:]*]]: tensor<1x2x?x4xf32>, %[[A:[^:]*]]: tensor<1x2x5x4xf32>, %[[R:[^:]*]]: tensor<1x2x5xf32>
// CHECK:         %[[C0:.*]] = arith.constant 0 : index
// CHECK:         %[[SKV:.*]] = tensor.dim %[[K]]
// CHECK:         %[[RES:.*]]:3 = scf.for %[[J:.*]] = %[[C0]] to %[[SKV]] step %{{.*}} iter_args(%[[AT:.*]] = %[[A]], %[[MT:.*]] = %[[R]], %[[ST:.*]] = %[[R]])
// CHECK:           %[[N:.*]] = affine.min affine_map<(d0)[s0] -> (-d0 + s0, 16)>(%[[J]])[%[[SKV]]]
// CHECK:           %[[KS:.*]] = tensor.extract_slice %[[K]][0, 0, %[[J]], 0] [1, 2, %[[N]], 8] [1, 1, 1, 1]
// CHECK:           %[[VS:.*]] = tensor.extract_slice %[[V]][0, 0, %[[J]], 0] [1, 2, %[[N]], 4] [1, 1, 1, 1]
// CHECK:           %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention scale 5.000000e-01
// CHECK-NEXT:        ins(%[[Q]], %[[KS]], %[[VS]] : tensor<1x2x5x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x4xf32>)
// CHECK-NEXT:        offsets(%[[C0]], %[[C0]], %[[C0]], %[[J]])
// CHECK-NEXT:        outs(%[[AT]], %[[MT]], %[[ST]]
// CHECK-NEXT:      mask
// CHECK-NOT:       blocks
// CHECK:           scf.yield %[[ACC]], %[[MAX]], %[[SUM]]
// CHECK:         return %[[RES]]#0, %[[RES]]#1, %[[RES]]#2
func.func @keys(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x?x8xf32>, %v: tensor<1x2x?x4xf32>,
    %a: tensor<1x2x5x4xf32>, %r: tensor<1x2x5xf32>) -> (tensor<1x2x5x4xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>) {
  %0:3 = attn.online_attention scale 0.5
      ins(%q, %k, %v : tensor<1x2x5x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x4xf32>)
      outs(%a, %r, %r : tensor<1x2x5x4xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %skv) {
        attn.yield %i0, %i0, %i1, %i1 : index, index, index, index
      }
  return %0#0, %0#1, %0#2 : tensor<1x2x5x4xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [0, 0, 0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// All four loops.
// CHECK-LABEL: func.func @all_loops
// CHECK:         scf.for %[[B:[a-z0-9]*]] =
// CHECK:           scf.for %[[H:[a-z0-9]*]] =
// CHECK:             scf.for %[[I:[a-z0-9]*]] =
// CHECK:               scf.for %[[J:[a-z0-9]*]] =
// CHECK-DAG:             %[[HK:.*]] = affine.apply affine_map<(d0) -> (d0 floordiv 3)>(%[[H]])
// CHECK-DAG:             %[[QS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[I]], %[[H]], 0] [1, 8, 3, 64] [1, 1, 1, 1]
// CHECK-DAG:             %[[KS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[J]], %[[HK]], 0] [1, 32, 1, 64] [1, 1, 1, 1]
// CHECK-DAG:             %[[VS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[J]], %[[HK]], 0] [1, 32, 1, 16] [1, 1, 1, 1]
// CHECK-DAG:             %[[AS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[I]], %[[H]], 0] [1, 8, 3, 16] [1, 1, 1, 1]
// CHECK-DAG:             %[[MS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[I]], %[[H]]] [1, 8, 3] [1, 1, 1]
// CHECK-DAG:             %[[SS:.*]] = tensor.extract_slice %{{.*}}[%[[B]], %[[I]], %[[H]]] [1, 8, 3] [1, 1, 1]
// CHECK:                 attn.online_attention scale 1.000000e+00 layout(bshd)
// CHECK-NEXT:              ins(%[[QS]], %[[KS]], %[[VS]] : tensor<1x8x3x64xf64>, tensor<1x32x1x64xf64>, tensor<1x32x1x16xf64>)
// CHECK-NEXT:              offsets(%[[B]], %[[H]], %[[I]], %[[J]])
func.func @all_loops(%q: tensor<2x16x6x64xf64>, %k: tensor<2x128x2x64xf64>, %v: tensor<2x128x2x16xf64>,
    %a: tensor<2x16x6x16xf64>, %m: tensor<2x16x6xf64>, %s: tensor<2x16x6xf64>) -> tensor<2x16x6x16xf64> {
  %0:3 = attn.online_attention scale 1.0 layout(bshd)
      ins(%q, %k, %v : tensor<2x16x6x64xf64>, tensor<2x128x2x64xf64>, tensor<2x128x2x16xf64>)
      outs(%a, %m, %s : tensor<2x16x6x16xf64>, tensor<2x16x6xf64>, tensor<2x16x6xf64>)
      score(%s, %b, %h, %i, %j) {
        %n = arith.negf %s : f64
        attn.yield %n : f64
      }
  return %0#0 : tensor<2x16x6x16xf64>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_for %op tile_sizes [1, 3, 8, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

//===----------------------------------------------------------------------===//
// attn.finalize
//===----------------------------------------------------------------------===//

// -----

// CHECK-LABEL: func.func @finalize_lse
// CHECK:         scf.forall (%[[H:.*]], %[[T:.*]]) in (3, 2)
// CHECK:           %[[I:.*]] = affine.apply affine_map<(d0) -> (d0 * 4)>(%[[T]])
// CHECK-DAG:       %[[A:.*]] = tensor.extract_slice %{{.*}}[%[[I]], 0, %[[H]], 0] [4, 2, 1, 16] [1, 1, 1, 1]
// CHECK-DAG:       tensor.extract_slice %{{.*}}[%[[I]], 0, %[[H]]] [4, 2, 1] [1, 1, 1]
// CHECK:           %[[O:.*]], %[[L:.*]] = attn.finalize layout(sbhd) ins(%[[A]], %{{.*}}, %{{.*}} : tensor<4x2x1x16xf32>, tensor<4x2x1xf32>, tensor<4x2x1xf32>)
// CHECK:           tensor.parallel_insert_slice %[[O]] into %{{.*}}[%[[I]], 0, %[[H]], 0] [4, 2, 1, 16]
// CHECK:           tensor.parallel_insert_slice %[[L]] into %{{.*}}[%[[I]], 0, %[[H]]] [4, 2, 1]
func.func @finalize_lse(%a: tensor<8x2x3x16xf32>, %m: tensor<8x2x3xf32>, %o: tensor<8x2x3x16xf16>) -> (tensor<8x2x3x16xf16>, tensor<8x2x3xf32>) {
  %0:2 = attn.finalize layout(sbhd) ins(%a, %m, %m : tensor<8x2x3x16xf32>, tensor<8x2x3xf32>, tensor<8x2x3xf32>)
      outs(%o, %m : tensor<8x2x3x16xf16>, tensor<8x2x3xf32>) -> tensor<8x2x3x16xf16>, tensor<8x2x3xf32>
  return %0#0, %0#1 : tensor<8x2x3x16xf16>, tensor<8x2x3xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.finalize"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 1, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Without lse the head dimension is a loop too.
// CHECK-LABEL: func.func @finalize_d
// CHECK-SAME:    %{{.*}}: tensor<2x3x8x16xf32>, %[[M:.*]]: tensor<2x3x8xf32>
// CHECK:         scf.forall (%[[T:.*]]) in (2)
// CHECK:           %[[D:.*]] = affine.apply affine_map<(d0) -> (d0 * 8)>(%[[T]])
// CHECK:           attn.finalize ins(%{{.*}}, %[[M]], %[[M]] : tensor<2x3x8x8xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>)
func.func @finalize_d(%a: tensor<2x3x8x16xf32>, %m: tensor<2x3x8xf32>, %o: tensor<2x3x8x16xf16>) -> tensor<2x3x8x16xf16> {
  %0 = attn.finalize ins(%a, %m, %m : tensor<2x3x8x16xf32>, tensor<2x3x8xf32>, tensor<2x3x8xf32>)
      outs(%o : tensor<2x3x8x16xf16>) -> tensor<2x3x8x16xf16>
  return %0 : tensor<2x3x8x16xf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.finalize"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

//===----------------------------------------------------------------------===//
// Fusion
//===----------------------------------------------------------------------===//

// -----

// From the results upwards: each tile is made, reduced over all keys and
// finalized at once.
// CHECK-LABEL: func.func @fuse_producers
// CHECK:         scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) = (0, 0, 0) to (2, 8, 16) step (1, 1, 8)
// CHECK:           %[[A:.*]] = linalg.fill {{.*}} -> tensor<1x8x1x64xf32>
// CHECK:           %[[M:.*]] = linalg.fill {{.*}} -> tensor<1x8x1xf32>
// CHECK:           %[[S:.*]] = linalg.fill {{.*}} -> tensor<1x8x1xf32>
// CHECK:           %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention
// CHECK:             outs(%[[A]], %[[M]], %[[S]] :
// CHECK:           attn.finalize layout(bshd) ins(%[[ACC]], %[[MAX]], %[[SUM]] :
// CHECK-NOT:     attn.online_attention
func.func @fuse_producers(%q: tensor<2x16x8x64xbf16>, %k: tensor<2x?x2x64xbf16>, %v: tensor<2x?x2x64xbf16>,
    %o: tensor<2x16x8x64xbf16>, %l: tensor<2x16x8xf32>) -> (tensor<2x16x8x64xbf16>, tensor<2x16x8xf32>) {
  %zero = arith.constant 0.0 : f32
  %ninf = arith.constant 0xFF800000 : f32
  %ea = tensor.empty() : tensor<2x16x8x64xf32>
  %er = tensor.empty() : tensor<2x16x8xf32>
  %a = linalg.fill ins(%zero : f32) outs(%ea : tensor<2x16x8x64xf32>) -> tensor<2x16x8x64xf32>
  %m = linalg.fill ins(%ninf : f32) outs(%er : tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  %s = linalg.fill ins(%zero : f32) outs(%er : tensor<2x16x8xf32>) -> tensor<2x16x8xf32>
  %r:3 = attn.online_attention scale 1.0 layout(bshd)
      ins(%q, %k, %v : tensor<2x16x8x64xbf16>, tensor<2x?x2x64xbf16>, tensor<2x?x2x64xbf16>)
      outs(%a, %m, %s : tensor<2x16x8x64xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
  %f:2 = attn.finalize layout(bshd) ins(%r#0, %r#1, %r#2 : tensor<2x16x8x64xf32>, tensor<2x16x8xf32>, tensor<2x16x8xf32>)
      outs(%o, %l : tensor<2x16x8x64xbf16>, tensor<2x16x8xf32>) -> tensor<2x16x8x64xbf16>, tensor<2x16x8xf32>
  return %f#0, %f#1 : tensor<2x16x8x64xbf16>, tensor<2x16x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.finalize"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.fuse %op tile_sizes [1, 1, 8] {use_forall, apply_cleanup}
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// An attention whose result another operation reads in tiles. A tile of d
// alone is not what an attention makes: it stays as it is.
// CHECK-LABEL: func.func @fuse_into_consumer
// CHECK:         scf.for
// CHECK:           %[[T:.*]] = attn.attention
// CHECK:           linalg.generic {{.*}} ins(%[[T]] :
// CHECK:         }
// CHECK:         %[[W:.*]] = attn.attention
// CHECK:         scf.for
// CHECK-NOT:       attn.attention
// CHECK:           %[[S:.*]] = tensor.extract_slice %[[W]]
// CHECK:           linalg.generic {{.*}} ins(%[[S]] :
func.func @fuse_into_consumer(%q: tensor<1x2x16x8xf32>) -> (tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>) {
  %o = attn.attention
      ins(%q, %q, %q : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%q : tensor<1x2x16x8xf32>)
  %0 = linalg.generic {indexing_maps = [affine_map<(b, h, s, d) -> (b, h, s, d)>, affine_map<(b, h, s, d) -> (b, h, s, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%o : tensor<1x2x16x8xf32>) outs(%q : tensor<1x2x16x8xf32>) attrs = {along_s} {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %x : f32
      linalg.yield %z : f32
  } -> tensor<1x2x16x8xf32>
  %p = attn.attention scale 2.0
      ins(%q, %q, %q : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>)
      outs(%q : tensor<1x2x16x8xf32>)
  %1 = linalg.generic {indexing_maps = [affine_map<(b, h, s, d) -> (b, h, s, d)>, affine_map<(b, h, s, d) -> (b, h, s, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%p : tensor<1x2x16x8xf32>) outs(%q : tensor<1x2x16x8xf32>) attrs = {along_d} {
    ^bb0(%x: f32, %y: f32):
      %z = arith.mulf %x, %x : f32
      linalg.yield %z : f32
  } -> tensor<1x2x16x8xf32>
  return %0, %1 : tensor<1x2x16x8xf32>, tensor<1x2x16x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %s = transform.structured.match ops{["linalg.generic"]} attributes{along_s} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.fuse %s tile_sizes [0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %d = transform.structured.match ops{["linalg.generic"]} attributes{along_d} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.fuse %d tile_sizes [0, 0, 0, 4] : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Blocks of a sparsity count from the start of the whole, so tiles have offsets, regions or not.
// CHECK-LABEL: func.func @blocks
// CHECK-SAME:    %{{[^:]*}}: tensor<2x8x256x64xbf16>, %[[BITS:[^:]*]]: tensor<8x4x4xi1>
// CHECK:         scf.forall (%[[T:.*]]) in (8)
// CHECK:           %[[I:.*]] = affine.apply affine_map<(d0) -> (d0 * 32)>(%[[T]])
// CHECK:           attn.attention
// CHECK-NEXT:        ins(%{{.*}} : tensor<2x8x32x64xbf16>, tensor<2x8x256x64xbf16>, tensor<2x8x256x64xbf16>)
// CHECK-NEXT:        sparsity(#attn.sparsity<bits, block = 64x64> %[[BITS]] : tensor<8x4x4xi1>)
// CHECK-NEXT:        offsets(%{{.*}}, %{{.*}}, %[[I]], %{{.*}})
func.func @blocks(%q: tensor<2x8x256x64xbf16>, %bits: tensor<8x4x4xi1>) -> tensor<2x8x256x64xbf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<2x8x256x64xbf16>, tensor<2x8x256x64xbf16>, tensor<2x8x256x64xbf16>)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<8x4x4xi1>)
      outs(%q : tensor<2x8x256x64xbf16>)
  return %r : tensor<2x8x256x64xbf16>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.attention"]} in %m : (!transform.any_op) -> !transform.any_op
    transform.structured.tile_using_forall %op tile_sizes [0, 0, 32]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    transform.yield
  }
}
