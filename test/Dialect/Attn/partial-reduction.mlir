// Keys that are split into parts with a state each, and the merge of the
// states into the one that the attention started from.

// RUN: attn-opt %s --transform-interpreter --canonicalize --cse --split-input-file --mlir-print-local-scope | FileCheck %s

// Parts in parallel, one for each thread. The layout puts d in the middle, so
// that the maps of rows must leave it out there.
// CHECK-LABEL: func.func @threads
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<2x64x6x5xbf16>, %[[K:[^:]*]]: tensor<2x64x3x?xbf16>, %[[V:[^:]*]]: tensor<2x16x3x?xbf16>, %[[A0:[^:]*]]: tensor<2x16x6x5xf32>, %[[M0:[^:]*]]: tensor<2x6x5xf32>, %[[S0:[^:]*]]: tensor<2x6x5xf32>
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[NINF:.*]] = arith.constant 0xFF800000 : f32
// CHECK-DAG:     %[[ZERO:.*]] = arith.constant 0.000000e+00 : f32
// CHECK-DAG:     %[[SKV:.*]] = tensor.dim %[[K]]
// CHECK-DAG:     %[[AE:.*]] = tensor.empty() : tensor<4x2x16x6x5xf32>
// CHECK-DAG:     %[[RE:.*]] = tensor.empty() : tensor<4x2x6x5xf32>
// CHECK-DAG:     %[[AI:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[AE]]
// CHECK-DAG:     %[[MI:.*]] = linalg.fill ins(%[[NINF]] : f32) outs(%[[RE]]
// CHECK-DAG:     %[[SI:.*]] = linalg.fill ins(%[[ZERO]] : f32) outs(%[[RE]]
// CHECK:         %[[P:.*]]:3 = scf.forall (%[[T:.*]]) in (4) shared_outs(%[[AT:.*]] = %[[AI]], %[[MT:.*]] = %[[MI]], %[[ST:.*]] = %[[SI]])
// CHECK-DAG:       %[[J:.*]] = affine.apply affine_map<(d0)[s0] -> (d0 * (s0 ceildiv 4))>(%[[T]])[%[[SKV]]]
// CHECK-DAG:       %[[KS:.*]] = tensor.extract_slice %[[K]][0, 0, 0, %[[J]]] [2, 64, 3, %[[N:.*]]] [1, 1, 1, 1]
// CHECK-DAG:       %[[VS:.*]] = tensor.extract_slice %[[V]][0, 0, 0, %[[J]]] [2, 16, 3, %[[N]]] [1, 1, 1, 1]
// CHECK-DAG:       %[[AS:.*]] = tensor.extract_slice %[[AT]][%[[T]], 0, 0, 0, 0] [1, 2, 16, 6, 5] [1, 1, 1, 1, 1] : tensor<4x2x16x6x5xf32> to tensor<2x16x6x5xf32>
// CHECK-DAG:       %[[MS:.*]] = tensor.extract_slice %[[MT]][%[[T]], 0, 0, 0] [1, 2, 6, 5] [1, 1, 1, 1] : tensor<4x2x6x5xf32> to tensor<2x6x5xf32>
// CHECK-DAG:       %[[SS:.*]] = tensor.extract_slice %[[ST]][%[[T]], 0, 0, 0] [1, 2, 6, 5] [1, 1, 1, 1] : tensor<4x2x6x5xf32> to tensor<2x6x5xf32>
// CHECK:           %[[ACC:.*]], %[[MAX:.*]], %[[SUM:.*]] = attn.online_attention scale 1.000000e+00 layout(bdhs)
// CHECK-NEXT:        ins(%[[Q]], %[[KS]], %[[VS]] : tensor<2x64x6x5xbf16>, tensor<2x64x3x?xbf16>, tensor<2x16x3x?xbf16>)
// CHECK-NEXT:        offsets(%[[C0]], %[[C0]], %[[C0]], %[[J]])
// CHECK-NEXT:        outs(%[[AS]], %[[MS]], %[[SS]]
// CHECK-NEXT:      mask
// CHECK:           tensor.parallel_insert_slice %[[ACC]] into %[[AT]][%[[T]], 0, 0, 0, 0] [1, 2, 16, 6, 5] [1, 1, 1, 1, 1]
// CHECK:           tensor.parallel_insert_slice %[[MAX]] into %[[MT]][%[[T]], 0, 0, 0] [1, 2, 6, 5] [1, 1, 1, 1]
// CHECK:           tensor.parallel_insert_slice %[[SUM]] into %[[ST]][%[[T]], 0, 0, 0] [1, 2, 6, 5] [1, 1, 1, 1]
//
// The maximum of all.
// CHECK:         %[[MN:.*]] = linalg.generic
// CHECK-SAME:      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>], iterator_types = ["reduction", "parallel", "parallel", "parallel"]
// CHECK-SAME:      ins(%[[P]]#1 : {{.*}}) outs(%[[M0]] :
// CHECK:           arith.maximumf
//
// What each part, and the state to start from, weighs.
// CHECK:         %[[WN:.*]] = linalg.generic
// CHECK-SAME:      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d1, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>], iterator_types = ["parallel", "parallel", "parallel", "parallel"]
// CHECK-SAME:      ins(%[[MN]] : {{.*}}) outs(%[[P]]#1 :
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32):
// CHECK-NEXT:      %[[IS:.*]] = arith.cmpf oeq, %[[X]], %[[NINF]] : f32
// CHECK-NEXT:      %[[SHIFT:.*]] = arith.select %[[IS]], %[[ZERO]], %[[X]] : f32
// CHECK-NEXT:      %[[DIFF:.*]] = arith.subf %[[Y]], %[[SHIFT]] : f32
// CHECK-NEXT:      %[[EXP:.*]] = math.exp2 %[[DIFF]] : f32
// CHECK-NEXT:      linalg.yield %[[EXP]] : f32
// CHECK:         %[[W0:.*]] = linalg.generic
// CHECK-SAME:      ins(%[[MN]] : {{.*}}) outs(%[[M0]] :
// CHECK:           math.exp2
//
// The weighted sums.
// CHECK:         %[[SW:.*]] = linalg.generic
// CHECK-SAME:      ins(%[[W0]] : {{.*}}) outs(%[[S0]] :
// CHECK:           arith.mulf
// CHECK:         %[[SN:.*]] = linalg.generic
// CHECK-SAME:      iterator_types = ["reduction", "parallel", "parallel", "parallel"]
// CHECK-SAME:      ins(%[[P]]#2, %[[WN]] : {{.*}}) outs(%[[SW]] :
// CHECK-NEXT:    ^bb0(%[[X:.*]]: f32, %[[Y:.*]]: f32, %[[Z:.*]]: f32):
// CHECK-NEXT:      %[[PROD:.*]] = arith.mulf %[[X]], %[[Y]] : f32
// CHECK-NEXT:      arith.addf %[[Z]], %[[PROD]] : f32
// CHECK:         %[[AW:.*]] = linalg.generic
// CHECK-SAME:      indexing_maps = [affine_map<(d0, d1, d2, d3) -> (d0, d2, d3)>, affine_map<(d0, d1, d2, d3) -> (d0, d1, d2, d3)>]
// CHECK-SAME:      ins(%[[W0]] : {{.*}}) outs(%[[A0]] :
// CHECK:         %[[AN:.*]] = linalg.generic
// CHECK-SAME:      indexing_maps = [affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d2, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d0, d1, d3, d4)>, affine_map<(d0, d1, d2, d3, d4) -> (d1, d2, d3, d4)>], iterator_types = ["reduction", "parallel", "parallel", "parallel", "parallel"]
// CHECK-SAME:      ins(%[[P]]#0, %[[WN]] : {{.*}}) outs(%[[AW]] :
// CHECK:         return %[[AN]], %[[MN]], %[[SN]]
func.func @threads(%q: tensor<2x64x6x5xbf16>, %k: tensor<2x64x3x?xbf16>, %v: tensor<2x16x3x?xbf16>,
    %a: tensor<2x16x6x5xf32>, %m: tensor<2x6x5xf32>, %s: tensor<2x6x5xf32>)
    -> (tensor<2x16x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>) {
  %r:3 = attn.online_attention scale 1.0 layout(bdhs)
      ins(%q, %k, %v : tensor<2x64x6x5xbf16>, tensor<2x64x3x?xbf16>, tensor<2x16x3x?xbf16>)
      outs(%a, %m, %s : tensor<2x16x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>)
      mask(%b, %h, %i, %j) {
        %y = arith.cmpi sle, %j, %i : index
        attn.yield %y : i1
      }
  return %r#0, %r#1, %r#2 : tensor<2x16x6x5xf32>, tensor<2x6x5xf32>, tensor<2x6x5xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by num_threads = [0, 0, 0, 4]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    // The handles are what their names say.
    transform.structured.match ops{["attn.online_attention"]} in %loop : (!transform.any_op) -> !transform.any_op
    transform.annotate %part "is_part" : !transform.any_op
    transform.annotate %merge "is_merge" : !transform.any_op
    transform.yield
  }
}

// -----

// Parts of a fixed size: how many there are depends on the keys.
// CHECK-LABEL: func.func @parts
// CHECK-SAME:    %[[Q:[^:]*]]: tensor<1x1x1x8xf64>, %[[K:[^:]*]]: tensor<1x1x?x8xf64>
// CHECK-DAG:     %[[NINF:.*]] = arith.constant 0xFFF0000000000000 : f64
// CHECK-DAG:     %[[SKV:.*]] = tensor.dim %[[K]]
// CHECK-DAG:     %[[N:.*]] = affine.apply affine_map<()[s0] -> (s0 ceildiv 256)>()[%[[SKV]]]
// CHECK-DAG:     tensor.empty(%[[N]]) : tensor<?x1x1x1x8xf64>
// CHECK:         scf.forall (%[[J:.*]]) = (0) to (%[[SKV]]) step (256)
// CHECK:           %[[PART:.*]] = affine.apply affine_map<()[s0] -> (s0 floordiv 256)>()[%[[J]]]
// CHECK:           tensor.extract_slice %{{.*}}[%[[PART]], 0, 0, 0, 0] [1, 1, 1, 1, 8]
// CHECK:           attn.online_attention
// CHECK:             attributes {is_part}
// CHECK:         linalg.generic
// CHECK:         iterator_types = ["reduction", "parallel", "parallel", "parallel", "parallel"]{{.*}} attrs = {is_merge}
func.func @parts(%q: tensor<1x1x1x8xf64>, %k: tensor<1x1x?x8xf64>, %r: tensor<1x1x1xf64>) -> tensor<1x1x1x8xf64> {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<1x1x1x8xf64>, tensor<1x1x?x8xf64>, tensor<1x1x?x8xf64>)
      outs(%q, %r, %r : tensor<1x1x1x8xf64>, tensor<1x1x1xf64>, tensor<1x1x1xf64>)
  return %0#0 : tensor<1x1x1x8xf64>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %op by tile_sizes = [0, 0, 0, 256]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.annotate %part "is_part" : !transform.any_op
    transform.annotate %merge "is_merge" : !transform.any_op
    transform.yield
  }
}

// -----

// Batches and queries in parallel first, then the keys of each tile.
// CHECK-LABEL: func.func @tiles
// CHECK:         scf.forall (%[[B:.*]], %[[T:.*]]) in (2, 4)
// CHECK:           scf.forall (%[[P:.*]]) in (8)
// CHECK:             attn.online_attention
// CHECK:               ins({{.*}} : tensor<1x4x8x16xf16>, tensor<1x2x128x16xf16>, tensor<1x2x128x16xf16>)
// CHECK:               offsets(%[[B]], %c0, %{{.*}}, %{{.*}})
// CHECK:           linalg.generic
func.func @tiles(%q: tensor<2x4x32x16xf16>, %k: tensor<2x2x1024x16xf16>, %a: tensor<2x4x32x16xf32>, %r: tensor<2x4x32xf32>) -> tensor<2x4x32x16xf32> {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<2x4x32x16xf16>, tensor<2x2x1024x16xf16>, tensor<2x2x1024x16xf16>)
      outs(%a, %r, %r : tensor<2x4x32x16xf32>, tensor<2x4x32xf32>, tensor<2x4x32xf32>)
      mask(%b, %h, %i, %j) {
        %y = arith.cmpi sle, %j, %i : index
        attn.yield %y : i1
      }
  return %0#0 : tensor<2x4x32x16xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    %tile, %tiles = transform.structured.tile_using_forall %op tile_sizes [1, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op)
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_forall %tile by num_threads = [0, 0, 0, 8]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}

// -----

// Parts one after the other: the first state is carried, the others that
// upstream asks for stay neutral.
// CHECK-LABEL: func.func @sequence
// CHECK:         tensor.empty() : tensor<16x1x2x5x8xf32>
// CHECK:         scf.for %[[J:[a-z0-9]*]] = {{.*}} iter_args(%[[A:[a-z0-9]*]] =
// CHECK:           %[[AS:.*]] = tensor.extract_slice %[[A]][0, 0, 0, 0, 0] [1, 1, 2, 5, 8] [1, 1, 1, 1, 1] : tensor<16x1x2x5x8xf32> to tensor<1x2x5x8xf32>
// CHECK:           %[[ACC:.*]], %{{.*}}, %{{.*}} = attn.online_attention
// CHECK:             outs(%[[AS]],
// CHECK:           tensor.insert_slice %[[ACC]] into %[[A]][0, 0, 0, 0, 0] [1, 1, 2, 5, 8] [1, 1, 1, 1, 1] : tensor<1x2x5x8xf32> into tensor<16x1x2x5x8xf32>
// CHECK:         linalg.generic
func.func @sequence(%q: tensor<1x2x5x8xf32>, %k: tensor<1x2x50x8xf32>, %r: tensor<1x2x5xf32>) -> tensor<1x2x5x8xf32> {
  %0:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<1x2x5x8xf32>, tensor<1x2x50x8xf32>, tensor<1x2x50x8xf32>)
      outs(%q, %r, %r : tensor<1x2x5x8xf32>, tensor<1x2x5xf32>, tensor<1x2x5xf32>)
  return %0#0 : tensor<1x2x5x8xf32>
}
module attributes {transform.with_named_sequence} {
  transform.named_sequence @__transform_main(%m: !transform.any_op {transform.readonly}) {
    %op = transform.structured.match ops{["attn.online_attention"]} in %m : (!transform.any_op) -> !transform.any_op
    %fills:3, %part, %merge, %loop = transform.structured.tile_reduction_using_for %op by tile_sizes = [0, 0, 0, 16]
        : (!transform.any_op) -> (!transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op, !transform.any_op)
    transform.yield
  }
}
