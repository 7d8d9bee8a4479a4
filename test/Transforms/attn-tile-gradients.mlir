// The loops over tiles of gradients.

// RUN: attn-opt %s --split-input-file --attn-tile-gradients --canonicalize --cse | FileCheck %s

// Rows of keys are no whole vectors here. The difference that each query subtracts is computed once. Work Q blocks give dq, those of keys dk and dv, with a loop over the heads of a
// group.
// CHECK-LABEL: func.func @identity(
// CHECK-SAME:    %[[Q:[^ ]+]]: tensor<2x4x?x8xbf16>, %[[K:[^ ]+]]: tensor<2x2x?x8xbf16>
// CHECK:         %[[DELTA:.+]] = linalg.generic {{.*}} iterator_types = ["parallel", "parallel", "parallel", "reduction"]
// CHECK:         %[[DQ:.+]] = scf.forall
// CHECK-NOT:       scf.for
// CHECK:           %[[ACC:.+]] = attn.tile_loop %{{.+}} = %c0 to %[[KEYS:.+]] step 16 iter_args(%[[BEFORE:.+]] = %{{.+}})
// CHECK-NEXT:          full(%{{.+}}) within %c0 to %[[KEYS]] {
// CHECK:             %[[KT:.+]] = attn.step @load_k
// CHECK:             attn.step @load_v
// CHECK:             attn.step @qk
// CHECK:             %[[P:.+]]:2 = attn.step @exp -> (vector<16x32xf32>, vector<16x32xf32>)
// CHECK:               attn.mask_tile
// CHECK:               math.exp2
// CHECK:             attn.step @dp
// CHECK:             %[[DS:.+]] = attn.step @ds
// CHECK:             %[[NEXT:.+]] = attn.step @dq
// CHECK:               vector.contract {{.*}} %[[KT]], %[[DS]], %[[BEFORE]]
// CHECK:             attn.yield %[[NEXT]]
// CHECK:           arith.mulf %[[ACC]]
// CHECK:           arith.truncf
// CHECK:         scf.forall
// CHECK:           %[[LOOP:.+]]:2 = scf.for %[[H:.+]] = {{.*}} iter_args(%[[DK0:.+]] = %{{.+}}, %[[DV0:.+]] = %{{.+}}) -> (vector<8x32xf32>, vector<8x32xf32>)
// CHECK:             attn.tile_loop
// CHECK:               attn.step @load_q
// CHECK:               attn.step @load_do
// CHECK:               attn.step @exp
// CHECK:               attn.step @dv
// CHECK:               attn.step @ds
// CHECK:               attn.step @dk
func.func @identity(%q: tensor<2x4x?x8xbf16>, %k: tensor<2x2x?x8xbf16>, %lse: tensor<2x4x?xf32>)
    -> (tensor<2x4x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x2x?x8xbf16>) {
  %d:3 = attn.attention_grad scale 5.000000e-01 schedule<tile_m = 32, tile_n = 16, lanes = 16, unroll_m = 2, unroll_n = 4> wrt(q, k, v)
      ins(%q, %k, %k, %q, %lse, %q : tensor<2x4x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x4x?x8xbf16>, tensor<2x4x?xf32>, tensor<2x4x?x8xbf16>)
      outs(%q, %k, %k : tensor<2x4x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x2x?x8xbf16>)
  return %d#0, %d#1, %d#2 : tensor<2x4x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x2x?x8xbf16>
}

// -----

// The mask bounds the keys of queries, and the queries of keys: with j <= i, KV blocks from j0 to j1 meet the queries from j0 on, and all of them from j1 - 1
// on.
// CHECK-LABEL: func.func @causal(
// CHECK:         scf.forall (
// CHECK:           %[[ROW:.+]] = affine.apply
// CHECK:           %[[END:.+]] = arith.addi %[[ROW]], %{{.+}} : index
// CHECK:           %[[HI:.+]] = arith.minsi %[[END]], %{{.+}} : index
// CHECK:           attn.tile_loop %{{.+}} = %c0 to %[[HI]] step 16
// CHECK:         scf.forall (
// CHECK:           %[[KEY:.+]] = affine.apply
// CHECK:           %[[KEYEND:.+]] = arith.addi %[[KEY]], %{{.+}} : index
// CHECK:           %[[LAST:.+]] = arith.addi %[[KEYEND]], %c-1 : index
// CHECK:           %[[LO:.+]] = arith.minsi %[[KEY]], %{{.+}} : index
// CHECK:           %[[FULL:.+]] = arith.minsi %[[LAST]], %{{.+}} : index
// CHECK:           %[[ROUNDED:.+]] = arith.muli %{{.+}}, %c16 : index
// CHECK:           %[[FIRST:.+]] = arith.select %{{.+}}, %{{.+}}, %[[ROUNDED]] : index
// CHECK:           attn.tile_loop %{{.+}} = %[[FIRST]] to %{{.+}} step 16
// CHECK-NEXT:          full(%{{.+}}) within %[[FULL]] to
// CHECK:         return
func.func @causal(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>, %lse: tensor<1x2x?xf32>)
    -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) {
  %d:2 = attn.attention_grad schedule<tile_m = 32, tile_n = 16, lanes = 16, unroll_m = 2, unroll_n = 4> wrt(q, k)
      ins(%q, %k, %k, %q, %lse, %q : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?xf32>, tensor<1x2x?x8xf32>)
      outs(%q, %k : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %d#0, %d#1 : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>
}

// -----

// Nothing but values: no gradient of scores is computed.
// CHECK-LABEL: func.func @values_only(
// CHECK-NOT:     @dp
// CHECK-NOT:     @ds
// CHECK:         attn.step @dv
// CHECK-NOT:     @d
// CHECK:         return
func.func @values_only(%q: tensor<1x2x?x8xf32>, %lse: tensor<1x2x?xf32>) -> tensor<1x2x?x8xf32> {
  %dv = attn.attention_grad schedule<tile_m = 32, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 4> wrt(v)
      ins(%q, %q, %q, %q, %lse, %q : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?xf32>, tensor<1x2x?x8xf32>)
      outs(%q : tensor<1x2x?x8xf32>)
  return %dv : tensor<1x2x?x8xf32>
}

// -----

// Work tiles of a bias by heads and queries have parts of it of their own; over
// batches they share out copies.
// CHECK-LABEL: func.func @capture(
// CHECK:         %[[SUMS:.+]] = scf.forall (%[[COPY:.+]], %[[H:.+]], %[[I:.+]]) in (%{{.+}}, 4, %{{.+}}) shared_outs(%[[SHARED:.+]] = %{{.+}}) -> (tensor<?x4x?xf32>)
// CHECK:           %[[PART:.+]] = tensor.extract_slice %[[SHARED]][%[[COPY]], %{{.+}}, %{{.+}}] [1, %{{.+}}, %{{.+}}] [1, 1, 1] : tensor<?x4x?xf32> to tensor<?x?xf32>
// CHECK:           scf.for %{{.+}} iter_args(%{{.+}} = %[[PART]])
// CHECK:             attn.tile_loop %{{.+}} iter_args(%[[INTO:.+]] = %{{.+}})
// CHECK:               attn.step @ds
// CHECK:                 attn.scatter %{{.+}} into %[[INTO]][%{{.+}}, %{{.+}}] mask %{{.+}} : vector<16x32xf32>, tensor<?x?xf32>, (index, vector<16x32xindex>), vector<16x32xi1> -> tensor<?x?xf32>
// CHECK-NOT:           @dq
// CHECK:         linalg.generic {{.*}} iterator_types = ["reduction", "parallel", "parallel"]
// CHECK:         arith.truncf
func.func @capture(%q: tensor<2x4x?x8xf32>, %lse: tensor<2x4x?xf32>, %w: tensor<4x?xbf16>) -> tensor<4x?xbf16> {
  %dw = attn.attention_grad schedule<tile_m = 32, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 4> wrt(0)
      ins(%q, %q, %q, %q, %lse, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?x8xf32>)
      captures(%w : tensor<4x?xbf16>)
      outs(%w : tensor<4x?xbf16>)
      score(%s, %b, %h, %i, %j, %w0) {
        %e = tensor.extract %w0[%h, %i] : tensor<4x?xbf16>
        %x = arith.extf %e : bf16 to f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
      adjoint(%s, %ds, %b, %h, %i, %j, %w0) {
        attn.contribute %ds to %w0[%h, %i] : f32, tensor<4x?xbf16>
        attn.yield %ds : f32
      }
  return %dw : tensor<4x?xbf16>
}

// -----

// Rows of keys are whole vectors: workers have parts of the keys, here of 4 blocks of 32 each, and compute all gradients. What a KV block gives
// the queries of a group is added to sums of the part, which a second loop adds up.
// CHECK-LABEL: func.func @parts(
// CHECK-SAME:    %[[Q:[^ ]+]]: tensor<2x4x200x8xf32>, %[[K:[^ ]+]]: tensor<2x2x300x8xf32>
// CHECK:         %[[SUMS:.+]] = tensor.empty() : tensor<3x2x4x200x8xf32>
// CHECK:         %[[ALL:.+]]:3 = scf.forall (%[[B:.+]], %[[H:.+]], %[[PART:.+]]) in (2, 2, 3) shared_outs({{.*}}, {{.*}}, %[[SHARED:.+]] = %[[SUMS]])
// CHECK:           %[[FIRST:.+]] = arith.muli %[[PART]], %c128 : index
// CHECK:           %[[OWN:.+]] = tensor.extract_slice %[[SHARED]][%[[PART]], %[[B]], %{{.+}}, 0, 0] [1, 1, 2, 200, 8]
// CHECK:           %[[ZEROS:.+]] = linalg.fill ins(%{{.+}} : f32) outs(%[[OWN]]
// CHECK:           scf.for %[[KEY:.+]] = %[[FIRST]] to %{{.+}} step %c32 iter_args({{.*}}, {{.*}}, %{{.+}} = %[[ZEROS]])
// CHECK:             %[[ROWS:.+]] = vector.transfer_read %[[K]][%[[B]], %[[H]], %[[KEY]], %c0], {{.*}} : tensor<2x2x300x8xf32>, vector<32x8xf32>
// CHECK:             scf.for %[[HEAD:.+]] = %c0 to %c2
// CHECK:               attn.tile_loop %[[I:.+]] = %{{.+}} to %{{.+}} step 16 iter_args({{.*}}, {{.*}}, %[[INTO:.+]] = %{{.+}})
// CHECK:                 attn.step @dv
// CHECK:                 %[[DS:.+]] = attn.step @ds
// CHECK:                 attn.step @dk
// CHECK:                 attn.step @dq
// CHECK:                   %[[BEFORE:.+]] = vector.transfer_read %[[INTO]][%{{.+}}, %[[HEAD]], %[[I]], %c0]
// CHECK:                   %[[NEXT:.+]] = vector.contract {{.*}} %[[DS]], %[[ROWS]], %[[BEFORE]]
// CHECK:                   vector.transfer_write %[[NEXT]], %[[INTO]]
// CHECK:             vector.transfer_write
// CHECK:             vector.transfer_write
// CHECK:         scf.forall ({{.*}}) in (2, 4, 13)
// CHECK:           %[[TOTAL:.+]] = scf.for %[[P:.+]] = %c0 to %c3 step %c1
// CHECK:             vector.transfer_read %[[ALL]]#2[%[[P]]
// CHECK:           %[[SCALED:.+]] = arith.mulf %[[TOTAL]]
// CHECK:           vector.transfer_write %[[SCALED]]
func.func @parts(%q: tensor<2x4x200x8xf32>, %k: tensor<2x2x300x8xf32>, %lse: tensor<2x4x200xf32>)
    -> (tensor<2x4x200x8xf32>, tensor<2x2x300x8xf32>, tensor<2x2x300x8xf32>) {
  %d:3 = attn.attention_grad scale 5.000000e-01 schedule<tile_m = 32, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 4> wrt(q, k, v)
      ins(%q, %k, %k, %q, %lse, %q : tensor<2x4x200x8xf32>, tensor<2x2x300x8xf32>, tensor<2x2x300x8xf32>, tensor<2x4x200x8xf32>, tensor<2x4x200xf32>, tensor<2x4x200x8xf32>)
      outs(%q, %k, %k : tensor<2x4x200x8xf32>, tensor<2x2x300x8xf32>, tensor<2x2x300x8xf32>)
  return %d#0, %d#1, %d#2 : tensor<2x4x200x8xf32>, tensor<2x2x300x8xf32>, tensor<2x2x300x8xf32>
}

// -----

// Lengths of a call: a head has as many parts as make 16 of all heads, of 4 blocks at least, and no more than 4 where the sums would be large.
// CHECK-LABEL: func.func @lengths_of_a_call(
// CHECK:         %[[ELEMENTS:.+]] = arith.muli %{{.+}}, %c16 : index
// CHECK:         %[[SOME:.+]] = arith.maxsi %[[ELEMENTS]], %c1 : index
// CHECK:         %[[MOST:.+]] = arith.divui %c67108864, %[[SOME]] : index
// CHECK:         arith.maxsi %[[MOST]], %c4 : index
// CHECK:         tensor.empty(%{{.+}}, %{{.+}}) : tensor<?x1x2x?x8xf32>
func.func @lengths_of_a_call(%q: tensor<1x2x?x8xf32>, %k: tensor<1x2x?x8xf32>, %lse: tensor<1x2x?xf32>) -> (tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>) {
  %d:2 = attn.attention_grad schedule<tile_m = 32, tile_n = 16, lanes = 8, unroll_m = 2, unroll_n = 4> wrt(q, v)
      ins(%q, %k, %k, %q, %lse, %q : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>, tensor<1x2x?xf32>, tensor<1x2x?x8xf32>)
      outs(%q, %k : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>)
  return %d#0, %d#1 : tensor<1x2x?x8xf32>, tensor<1x2x?x8xf32>
}
