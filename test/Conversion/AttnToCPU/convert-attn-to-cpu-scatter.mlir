// Sums into the gradient of a capture: values and mask on vectors, sums one by
// one, in order, and inside of the tensor.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --convert-attn-to-cpu | FileCheck %s

// CHECK-LABEL: func.func @scatter(
// CHECK-SAME:    %[[X:.+]]: memref<16x8xf32>, %[[INTO:.+]]: memref<?xf32>
// CHECK:         scf.forall
// CHECK:           scf.for %[[ROW:.+]] = %{{.+}} to %c16
// CHECK:             scf.for %[[COLUMN:.+]] = %{{.+}} to %c8{{.*}} step %c1
// CHECK:               scf.if %{{.+}} {
// CHECK:                 %[[AT:.+]] = arith.addi
// CHECK:                 %[[INSIDE:.+]] = arith.cmpi ult, %[[AT]], %{{.+}} : index
// CHECK:                 scf.if %[[INSIDE]] {
// CHECK-NEXT:              %[[OLD:.+]] = memref.load %[[INTO]][%[[AT]]]
// CHECK-NEXT:              %[[NEW:.+]] = arith.addf %[[OLD]], %{{.+}} : f32
// CHECK-NEXT:              memref.store %[[NEW]], %[[INTO]][%[[AT]]]
// CHECK-NOT:       attn.scatter
func.func @scatter(%x: memref<16x8xf32>, %into: memref<?xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<16x8xf32>
  scf.forall (%w) in (1) {
    %t = vector.transfer_read %x[%c0, %c0], %zero {in_bounds = [true, true]} : memref<16x8xf32>, vector<16x8xf32>
    %p = arith.cmpf ogt, %t, %zeros : vector<16x8xf32>
    %step = vector.step : vector<8xindex>
    %first = vector.broadcast %w : index to vector<8xindex>
    %columns = arith.addi %step, %first : vector<8xindex>
    %at = vector.broadcast %columns : vector<8xindex> to vector<16x8xindex>
    attn.scatter %t into %into[%at] mask %p : vector<16x8xf32>, memref<?xf32>, (vector<16x8xindex>), vector<16x8xi1>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 4>}
  return
}

// -----

func.func @rank(%x: vector<4xf32>, %p: vector<4xi1>, %into: memref<f32>) {
  scf.forall (%w) in (1) {
    // expected-error @below {{expects a tile of two dimensions, but got 'vector<4xf32>'}}
    attn.scatter %x into %into[] mask %p : vector<4xf32>, memref<f32>, vector<4xi1>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 4>}
  return
}

// -----

// Exact sums, which CPUs need not, and reads of them.

func.func @exact(%x: vector<16x8xf32>, %p: vector<16x8xi1>, %at: vector<16x8xindex>, %words: memref<10x?xi64>) {
  scf.forall (%w) in (1) {
    // expected-error @below {{expects sums in order, but got exact ones, which are for a GPU}}
    attn.scatter exact %x into %words[%at] mask %p : vector<16x8xf32>, memref<10x?xi64>, (vector<16x8xindex>), vector<16x8xi1>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 16, lanes = 8, unroll_m = 1, unroll_n = 4>}
  return
}

// -----

func.func @exact_sum(%words: memref<10x?xi64>, %i: index) -> f32 {
  // expected-error @below {{expects sums in order, but got exact ones, which are for a GPU}}
  %x = attn.exact_sum %words[%i] : memref<10x?xi64>
  return %x : f32
}
