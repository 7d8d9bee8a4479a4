// RUN: attn-opt %s --attn-tile --canonicalize --cse | FileCheck %s

// The keys of each Q block are found before the loop over tiles. In it,
// numbers say which rows of keys and values are gathered, words say which pairs
// take part, by the place of a key among those of the tile, and regions see its
// position.

// CHECK-LABEL: func.func @gathered
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<2x4x?x8xbf16>, %[[K:[^ ]*]]: tensor<2x2x?x8xbf16>, %[[V:[^ ]*]]: tensor<2x2x?x8xbf16>, %[[ROWS:[^ ]*]]: tensor<4x?xi32>, %[[COLUMNS:[^ ]*]]: tensor<?xi32>
// CHECK: %[[U:.*]]:3 = attn.key_union %[[ROWS]], %[[COLUMNS]] queries %{{.*}} keys %{{.*}} tile[64, 96] : tensor<4x?xi32>, tensor<?xi32> -> tensor<1x4x?x2xi32>, tensor<?x96xi32>, tensor<?x3x64xi32>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[T:.*]]) in
// CHECK: %[[PLACE:.*]] = tensor.extract %[[U]]#0[%c0, %[[H]], %{{.*}}, %c0] : tensor<1x4x?x2xi32>
// CHECK: %[[FIRST:.*]] = arith.index_cast %[[PLACE]]
// CHECK: %[[NUMBER:.*]] = tensor.extract %[[U]]#0[%c0, %[[H]], %{{.*}}, %c1] : tensor<1x4x?x2xi32>
// CHECK: %[[COUNT:.*]] = arith.index_cast %[[NUMBER]]
// CHECK: %[[LOOP:.*]]:3 = attn.tile_loop %[[KEY:.*]] = %c0 to %[[COUNT]] step 96
// CHECK:   %[[BEFORE:.*]] = arith.divui %[[KEY]], %c96
// CHECK:   %[[PAGE:.*]] = arith.addi %[[FIRST]], %[[BEFORE]]
// CHECK:   %[[ROWIDS:.*]] = attn.step @positions -> (vector<96xindex>) {
// CHECK:   %[[NUMBERS:.*]] = attn.gather %[[U]]#1[%[[PAGE]], %{{.*}}] mask %true : tensor<?x96xi32>, (index, vector<96xindex>), i1 -> vector<96xi32>
// CHECK:   arith.index_cast %[[NUMBERS]]
// CHECK:   attn.step @load_k
// CHECK:   attn.gather_rows %[[K]][%[[B]], %{{.*}}] rows %[[ROWIDS]] along 2 columns along 3 mask %{{.*}} : tensor<2x2x?x8xbf16>, vector<96xindex> -> vector<96x8xbf16>
// CHECK:   vector.contract
// CHECK:   %[[POSITIONS:.*]] = arith.andi %[[ROWIDS]], %{{.*}} : vector<96xindex>
// CHECK:   attn.gather %[[U]]#2[%[[PAGE]], %{{.*}}, %{{.*}}] mask %true : tensor<?x3x64xi32>, (index, vector<96x64xindex>, vector<96x64xindex>), i1 -> vector<96x64xi32>
// CHECK:   %[[BIT:.*]] = arith.cmpi ne
// CHECK:   vector.shape_cast %[[POSITIONS]]
// CHECK:   %[[IN:.*]] = arith.cmpi sle
// CHECK:   %[[BOTH:.*]] = arith.andi %[[IN]], %[[BIT]]
// CHECK:   attn.mask_tile
// CHECK-NEXT: attn.yield %[[BOTH]]
// CHECK:   attn.online_step
// CHECK:   attn.step @load_v
// CHECK:   attn.gather_rows %[[V]][
// A tile whose keys are not known gives NaN.
// CHECK: %[[UNKNOWN:.*]] = arith.cmpi slt, %[[COUNT]], %c0
// CHECK: %[[ALL:.*]] = vector.broadcast %[[UNKNOWN]] : i1 to vector<64xi1>
// CHECK: arith.select %[[ALL]], %{{.*}}, %[[LOOP]]#2
func.func @gathered(%q: tensor<2x4x?x8xbf16>, %k: tensor<2x2x?x8xbf16>, %v: tensor<2x2x?x8xbf16>,
                    %rows: tensor<4x?xi32>, %columns: tensor<?xi32>, %acc: tensor<2x4x?x8xf32>,
                    %max: tensor<2x4x?xf32>, %sum: tensor<2x4x?xf32>, %o: tensor<2x4x?x8xbf16>) -> tensor<2x4x?x8xbf16> {
  %s:3 = attn.online_attention scale 1.0
      schedule #hopper.schedule<tile_m = 64, tile_n = 96, registers = 208>
      ins(%q, %k, %v : tensor<2x4x?x8xbf16>, tensor<2x2x?x8xbf16>, tensor<2x2x?x8xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi32>, tensor<?xi32>)
      outs(%acc, %max, %sum : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<2x4x?x8xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      outs(%o : tensor<2x4x?x8xbf16>) -> tensor<2x4x?x8xbf16>
  return %r : tensor<2x4x?x8xbf16>
}
