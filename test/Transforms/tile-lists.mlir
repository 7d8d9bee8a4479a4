// RUN: attn-opt %s --attn-tile --attn-expand-tile-loops --canonicalize --cse | FileCheck %s

// A query with a list of keys is a tile of one column: a loop over the list in
// steps of tile_n keys, whose rows of k and v are gathered. Positions of keys,
// scores and what the mask says are vectors of one element for each key.

// CHECK-LABEL: func @lists
// CHECK-SAME: %[[Q:[^ ]*]]: tensor<2x4x?x16xbf16>, %[[K:[^ ]*]]: tensor<?x2x?x16xbf16>, %[[V:[^ ]*]]: tensor<?x2x?x24xbf16>, %[[ROWS:[^ ]*]]: tensor<4x?xi32>, %[[COLUMNS:[^ ]*]]: tensor<?xi64>
// CHECK: scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (2, 4, %{{.*}})
// CHECK: %[[C:.*]] = arith.select %{{.*}}, %c0, %[[B]]
// CHECK: %[[G:.*]] = arith.divui %[[H]], %c2
// CHECK: %[[QUERY:.*]] = vector.transfer_read %[[Q]][%[[B]], %[[H]], %[[I]], %c0], %{{.*}} {in_bounds = [true]} : tensor<2x4x?x16xbf16>, vector<16xbf16>

// Whatever the rows hold, the loop ends, and reads what there is.
// CHECK: %[[FIRST:.*]] = attn.gather %[[ROWS]][%[[H]], %[[I]]] mask %true
// CHECK: %[[BEGIN:.*]] = arith.maxsi
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %[[N:.*]] = %[[BEGIN]] to %[[END]] step %c32 iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (vector<24x1xf32>, vector<1xf32>, vector<1xf32>) {
// CHECK:   %[[IN:.*]] = arith.cmpi slt, %{{.*}} : vector<32xindex>
// CHECK:   %[[LIST:.*]] = attn.gather %[[COLUMNS]][%[[N]]] rows along 0 mask %[[IN]] : tensor<?xi64>, (index), vector<32xi1> -> vector<32xi64>
// CHECK:   %[[J:.*]] = arith.index_cast %[[LIST]] : vector<32xi64> to vector<32xindex>
// CHECK:   %[[THERE:.*]] = arith.cmpi ult, %[[J]], %{{.*}} : vector<32xindex>
// CHECK:   %[[EXIST:.*]] = arith.andi %[[IN]], %[[THERE]] : vector<32xi1>
// CHECK:   %[[KEYS:.*]] = attn.gather_rows %[[K]][%[[C]], %[[G]]] rows %[[J]] along 2 columns along 3 mask %[[EXIST]] : tensor<?x2x?x16xbf16>, vector<32xindex> -> vector<32x16xbf16>
// CHECK:   %[[PRODUCTS:.*]] = vector.contract {{.*}} : vector<32x16xf32>, vector<16x1xf32> into vector<32x1xf32>
// CHECK:   %[[S:.*]] = vector.shape_cast %[[PRODUCTS]] : vector<32x1xf32> to vector<32xf32>
// CHECK:   %[[CAUSAL:.*]] = arith.cmpi sle, %[[J]], %{{.*}} : vector<32xindex>
// CHECK:   %[[ALLOWED:.*]] = arith.andi %[[EXIST]], %[[CAUSAL]]
// CHECK:   arith.select %[[ALLOWED]], %{{.*}}, %{{.*}} : vector<32xi1>, vector<32xf32>
// CHECK:   attn.online_step %{{.*}}, %[[ACC]], %[[MAX]], %[[SUM]] factor 0.36{{.*}} : vector<32x1xf32>, vector<24x1xf32>, vector<1xf32>
// CHECK:   attn.gather_rows %[[V]]
// CHECK:   vector.contract {{.*}} : vector<32x24xf32>, vector<32x1xf32> into vector<24x1xf32>
// CHECK: } {attn.schedule = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
func.func @lists(%q: tensor<2x4x?x16xbf16>, %k: tensor<?x2x?x16xbf16>, %v: tensor<?x2x?x24xbf16>, %rows: tensor<4x?xi32>, %columns: tensor<?xi64>, %acc: tensor<2x4x?x24xf32>, %stat: tensor<2x4x?xf32>, %o: tensor<2x4x?x24xbf16>) -> tensor<2x4x?x24xbf16> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %a = linalg.fill ins(%zero : f32) outs(%acc : tensor<2x4x?x24xf32>) -> tensor<2x4x?x24xf32>
  %m = linalg.fill ins(%low : f32) outs(%stat : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %l = linalg.fill ins(%zero : f32) outs(%stat : tensor<2x4x?xf32>) -> tensor<2x4x?xf32>
  %s:3 = attn.online_attention scale 2.500000e-01 schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %k, %v : tensor<2x4x?x16xbf16>, tensor<?x2x?x16xbf16>, tensor<?x2x?x24xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi32>, tensor<?xi64>)
      outs(%a, %m, %l : tensor<2x4x?x24xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<2x4x?x24xf32>, tensor<2x4x?xf32>, tensor<2x4x?xf32>)
      outs(%o : tensor<2x4x?x24xbf16>) -> tensor<2x4x?x24xbf16>
  return %r : tensor<2x4x?x24xbf16>
}

// A part of an attention counts in the whole: keys of other parts are not its.

// CHECK-LABEL: func @part
// CHECK-SAME: %[[OB:[^ ]*]]: index, %[[OH:[^ ]*]]: index, %[[OI:[^ ]*]]: index, %[[OJ:[^ ]*]]: index
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]]) in
// CHECK: %[[AT:.*]] = arith.addi %[[I]], %[[OI]]
// CHECK: attn.gather %{{.*}}[%[[AT]]] mask
// CHECK: %[[J:.*]] = arith.index_cast %{{.*}} : vector<8xi32> to vector<8xindex>
// CHECK: %[[START:.*]] = vector.broadcast %[[OJ]]
// CHECK: %[[LOCAL:.*]] = arith.subi %[[J]], %[[START]]
// CHECK: arith.cmpi ult, %[[LOCAL]], %{{.*}} : vector<8xindex>
func.func @part(%ob: index, %oh: index, %oi: index, %oj: index, %q: tensor<1x1x16x8xf32>, %stat: tensor<1x1x16xf32>, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> tensor<1x1x16x8xf32> {
  %s:3 = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      offsets(%ob, %oh, %oi, %oj)
      outs(%q, %stat, %stat : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %s#0 : tensor<1x1x16x8xf32>
}

// Without lists a query on its own has all keys, in order.

// CHECK-LABEL: func @all
// CHECK: scf.for %[[N:.*]] = %c0 to %[[KEYS:[^ ]*]] step %c8
// CHECK: %[[J:.*]] = arith.addi %{{.*}} : vector<8xindex>
// CHECK: %[[EXIST:.*]] = arith.cmpi slt, %[[J]], %{{.*}} : vector<8xindex>
// CHECK: attn.gather_rows %{{.*}} rows %[[J]] along 2 columns along 3 mask %[[EXIST]]
// CHECK-NOT: index_cast
func.func @all(%q: tensor<1x1x16x20xf32>, %k: tensor<1x1x?x20xf32>, %stat: tensor<1x1x16xf32>) -> tensor<1x1x16x20xf32> {
  %s:3 = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>
      ins(%q, %k, %k : tensor<1x1x16x20xf32>, tensor<1x1x?x20xf32>, tensor<1x1x?x20xf32>)
      outs(%q, %stat, %stat : tensor<1x1x16x20xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
  return %s#0 : tensor<1x1x16x20xf32>
}

// Without a list, the keys are those between the bounds of the mask, of which
// it asks for each.

// CHECK-LABEL: func @bounded
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %[[I:.*]]) in
// CHECK: %[[END:.*]] = arith.minsi
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c8
// CHECK-NOT: scf.if
// CHECK: arith.cmpi sle, %{{.*}} : vector<8xindex>
func.func @bounded(%q: tensor<1x1x16x8xf32>, %stat: tensor<1x1x16xf32>) -> tensor<1x1x16x8xf32> {
  %s:3 = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      outs(%q, %stat, %stat : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
      blocks(%b, %h, %i0, %i1, %n) {
        %c0 = arith.constant 0 : index
        %end = arith.minsi %i1, %n : index
        attn.yield %c0, %c0, %i0, %end : index, index, index, index
      }
  return %s#0 : tensor<1x1x16x8xf32>
}

// Where bounds do not say all, a step without an allowed key is passed over.

// CHECK-LABEL: func @asked
// CHECK: scf.for %{{.*}} iter_args(%[[ACC:.*]] = %{{.*}}, %[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (vector<8x1xf32>, vector<1xf32>, vector<1xf32>) {
// CHECK:   %[[ALLOWED:.*]] = arith.andi %{{.*}} : vector<8xi1>
// CHECK:   %[[ANY:.*]] = vector.reduction <or>, %[[ALLOWED]] : vector<8xi1> into i1
// CHECK:   scf.if %[[ANY]] -> (vector<8x1xf32>, vector<1xf32>, vector<1xf32>) {
// CHECK:     attn.gather_rows
// CHECK:   } else {
// CHECK:     scf.yield %[[ACC]], %[[MAX]], %[[SUM]]
func.func @asked(%q: tensor<1x1x16x8xf32>, %stat: tensor<1x1x16xf32>, %own: tensor<16xi32>) -> tensor<1x1x16x8xf32> {
  %s:3 = attn.online_attention scale 1.0 schedule #attn.row_schedule<rows = 4, tile_n = 8, lanes = 8>
      ins(%q, %q, %q : tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>, tensor<1x1x16x8xf32>)
      captures(%own : tensor<16xi32>)
      outs(%q, %stat, %stat : tensor<1x1x16x8xf32>, tensor<1x1x16xf32>, tensor<1x1x16xf32>)
      mask(%b, %h, %i, %j, %of) {
        %row = tensor.extract %of[%i] : tensor<16xi32>
        %key = tensor.extract %of[%j] : tensor<16xi32>
        %m = arith.cmpi eq, %row, %key : i32
        attn.yield %m : i1
      }
  return %s#0 : tensor<1x1x16x8xf32>
}
