// RUN: attn-opt %s --attn-tile --attn-expand-tile-loops --attn-decompose-online-step --canonicalize --cse --attn-hoist-invariants --attn-bufferize --convert-attn-to-cpu --canonicalize --cse | FileCheck %s

// Queries with lists of keys: a task has `rows` of them. Keys of a step stay a
// vector; what has an element for each column is in a buffer.

// CHECK-LABEL: func @lists
// CHECK-SAME: %[[Q:[^ ]*]]: memref<1x2x?x40xbf16, {{[^ ]* [^ ]* [^ ]* [^ ]* [^ ]* [^ ]*}}, %[[K:[^ ]*]]: memref<
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %[[T:.*]]) = (0, 0, 0) to (1, 2, %[[S:.*]]) step (1, 1, 16) {
// CHECK-DAG: %[[QUERY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<40xf32>
// CHECK-DAG: %[[ROWS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<32xindex>
// CHECK: %[[PAST:.*]] = arith.addi %[[T]], %c16
// CHECK: %[[END:.*]] = arith.minsi %[[PAST]], %[[S]]
// CHECK: scf.for %[[I:.*]] = %[[T]] to %[[END]] step %c1 {

// The query, converted: whole vectors, then the rest.
// CHECK: scf.for %[[C:.*]] = %c0 to %c32 step %c16 {
// CHECK:   %[[X:.*]] = vector.load %[[Q]][%c0, %[[H]], %[[I]], %[[C]]] : {{.*}}, vector<16xbf16>
// CHECK:   arith.extf %[[X]] : vector<16xbf16> to vector<16xf32>
// CHECK: scf.for %[[C:.*]] = %c32 to %c40 step %c1 {
// CHECK:   memref.load %[[Q]]

// CHECK: scf.for %{{.*}} iter_args(%[[MAX:.*]] = %{{.*}}, %[[SUM:.*]] = %{{.*}}) -> (vector<1xf32>, vector<1xf32>) {
// CHECK:   vector.maskedload {{.*}} : {{.*}} into vector<32xi32>

// How many keys of the step there are.
// CHECK:   %[[EXIST:.*]] = arith.andi %{{.*}} : vector<32xi1>
// CHECK:   %[[SAFE:.*]] = arith.select %[[EXIST]], %{{.*}}, %{{.*}} : vector<32xi1>, vector<32xindex>
// CHECK:   vector.store %[[SAFE]], %[[ROWS]]
// CHECK:   vector.bitcast %[[EXIST]] : vector<32xi1> to vector<1xi32>
// CHECK:   math.ctlz
// CHECK:   %[[COUNT:.*]] = arith.subi %c32

// Sixteen keys at a time, and the sums of their vectors in four rounds.
// CHECK:   scf.for %{{.*}} = %c0 to %[[COUNT]] step %c16 {
// CHECK-COUNT-16: memref.load %[[ROWS]]
// CHECK-COUNT-32: vector.fma %{{.*}} : vector<16xf32>
// CHECK-COUNT-30: vector.shuffle
// CHECK-NOT: vector.shuffle
// CHECK:   }

// CHECK:   arith.select %[[EXIST]], %{{.*}} : vector<32xi1>, vector<32xf32>
// CHECK:   arith.cmpf ogt, %{{.*}}, %[[MAX]] : vector<1xf32>

// Values: the accumulator in registers over the keys that there are, two at a
// time, so that their sums do not wait for each other.
// CHECK:   %[[EVEN:.*]] = arith.andi %[[COUNT]], %c-2
// CHECK:   scf.for %{{.*}} = %c0 to %[[EVEN]] step %c2 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-8: vector.fma %{{.*}} : vector<16xf32>
// CHECK:   scf.for %{{.*}} = %[[EVEN]] to %[[COUNT]] step %c1 iter_args({{.*}}) -> (vector<16xf32>, vector<16xf32>, vector<16xf32>, vector<16xf32>) {
// CHECK-COUNT-4: vector.fma %{{.*}} : vector<16xf32>
// CHECK:   scf.for %{{.*}} = %c0 to %[[EVEN]] step %c2 iter_args({{.*}}) -> (f32, f32) {
// CHECK:     math.fma
// CHECK: arith.truncf %{{.*}} : vector<16xf32> to vector<16xbf16>
func.func @lists(%q: tensor<1x2x?x40xbf16>, %k: tensor<1x2x?x40xbf16>, %v: tensor<1x2x?x72xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>, %acc: tensor<1x2x?x72xf32>, %stat: tensor<1x2x?xf32>, %o: tensor<1x2x?x72xbf16>) -> tensor<1x2x?x72xbf16> {
  %zero = arith.constant 0.0 : f32
  %low = arith.constant 0xFF800000 : f32
  %a = linalg.fill ins(%zero : f32) outs(%acc : tensor<1x2x?x72xf32>) -> tensor<1x2x?x72xf32>
  %m = linalg.fill ins(%low : f32) outs(%stat : tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  %l = linalg.fill ins(%zero : f32) outs(%stat : tensor<1x2x?xf32>) -> tensor<1x2x?xf32>
  %s:3 = attn.online_attention scale 2.500000e-01 schedule #attn.row_schedule<rows = 16, tile_n = 32, lanes = 16>
      ins(%q, %k, %v : tensor<1x2x?x40xbf16>, tensor<1x2x?x40xbf16>, tensor<1x2x?x72xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%a, %m, %l : tensor<1x2x?x72xf32>, tensor<1x2x?xf32>, tensor<1x2x?xf32>)
  %r = attn.finalize ins(%s#0, %s#1, %s#2 : tensor<1x2x?x72xf32>, tensor<1x2x?xf32>, tensor<1x2x?xf32>)
      outs(%o : tensor<1x2x?x72xbf16>) -> tensor<1x2x?x72xbf16>
  return %r : tensor<1x2x?x72xbf16>
}
