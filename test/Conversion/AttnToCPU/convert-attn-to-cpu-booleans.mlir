// RUN: attn-opt %s --convert-attn-to-cpu --canonicalize --cse | FileCheck %s

// A vector of i1 in memory would be a string of bits, while a captured boolean
// is a byte: booleans are gathered and kept as bytes.

// CHECK-LABEL: func @gather
// CHECK: %[[KEPT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xi8>
// CHECK: builtin.unrealized_conversion_cast %{{.*}} : memref<{{.*}}xi1> to memref<{{.*}}xi8>
// Bytes are read one by one: under one branch, lanes that are not active as an
// active one.
// CHECK: %[[ANY:.*]] = vector.reduction <or>, %[[ACTIVE:.*]] : vector<8xi1> into i1
// CHECK: %[[BYTES:.*]] = scf.if %[[ANY]] -> (vector<8xi8>) {
// CHECK: %[[ONE:.*]] = vector.reduction <maxsi>
// CHECK: %[[OTHERS:.*]] = vector.broadcast %[[ONE]]
// CHECK: arith.select %[[ACTIVE]], %{{.*}}, %[[OTHERS]]
// CHECK: %[[READ:.*]] = vector.gather %{{.*}}, %[[ALL:cst[_0-9]*]], %{{.*}} into vector<8xi8>
// CHECK: arith.select %[[ACTIVE]], %[[READ]]
// CHECK: %[[BITS:.*]] = arith.trunci %[[BYTES]] : vector<8xi8> to vector<8xi1>
// CHECK: %[[OUT:.*]] = arith.extui %[[BITS]] : vector<8xi1> to vector<8xi8>
// CHECK: vector.store %[[OUT]], %[[KEPT]]
// CHECK: %[[IN:.*]] = memref.load %[[KEPT]]
// CHECK: arith.trunci %[[IN]] : i8 to i1
func.func @gather(%src: memref<?x?xi1>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %trues = arith.constant dense<true> : vector<8xi1>
  %a = arith.constant dense<1.0> : vector<8xf32>
  %b = arith.constant dense<2.0> : vector<8xf32>
  scf.forall (%t) in (1) {
    %step = vector.step : vector<8xindex>
    %x = attn.gather %src[%step, %t] mask %trues : memref<?x?xi1>, (vector<8xindex>, index), vector<8xi1> -> vector<8xi1>
    %y = arith.select %x, %a, %b : vector<8xi1>, vector<8xf32>
    vector.transfer_write %y, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}
