// RUN: attn-opt %s --convert-attn-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// With fewer queries than lanes, vectors lie along keys and columns: scores of
// a query follow each other in memory.

// Four keys at a time have a vector of partial sums each. Of five columns one
// is left for a vector of its own, with zeros.

// CHECK-LABEL: func @products
// CHECK-DAG: %[[SCORES:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x8xf32>
// CHECK-DAG: %[[QUERY:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x5xf32>
// CHECK: scf.for %[[KEY:.*]] = %c0 to %c8 step %c4 {
// CHECK: scf.for %[[M:.*]] = %c0 to %c2 step %c1 {
// CHECK-NEXT: %[[Q:.*]] = vector.load %[[QUERY]][%[[M]], %c0] : memref<2x5xf32>, vector<4xf32>
// CHECK-NEXT: %[[K:.*]] = vector.load %arg0[%[[KEY]], %c0] : memref<8x5xf32>, vector<4xf32>
// CHECK-NEXT: %[[SUM:.*]] = vector.fma %[[K]], %[[Q]], %{{.*}} : vector<4xf32>
// CHECK-COUNT-3: vector.fma
// CHECK: %[[ONE:.*]] = vector.constant_mask [1]
// CHECK: vector.maskedload %[[QUERY]][%[[M]], %c4], %[[ONE]], %{{.*}} : memref<2x5xf32>, vector<4xi1>, vector<4xf32> into vector<4xf32>
// CHECK: vector.maskedload %arg0[%[[KEY]], %c4], %[[ONE]]
// CHECK-NEXT: vector.fma %{{.*}}, %{{.*}}, %[[SUM]]
// CHECK-COUNT-2: arith.addf
// CHECK: %[[TOTAL:[0-9]+]] = arith.addf {{.*}} : vector<4xf32>
// CHECK-NEXT: vector.store %[[TOTAL]], %[[SCORES]][%[[M]], %[[KEY]]]
func.func @products(%k: memref<8x5xf32>, %q: memref<2x5xf32>, %out: memref<2x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8x2xf32>
  scf.forall (%t) in (1) {
    %keys = vector.transfer_read %k[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x5xf32>, vector<8x5xf32>
    %query = vector.transfer_read %q[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<2x5xf32>, vector<5x2xf32>
    %s = vector.contract {indexing_maps = [affine_map<(n, m, d) -> (n, d)>, affine_map<(n, m, d) -> (d, m)>, affine_map<(n, m, d) -> (n, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %keys, %query, %zero : vector<8x5xf32>, vector<5x2xf32> into vector<8x2xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<8x2xf32>, memref<2x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 2, tile_n = 8, lanes = 4, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// Both queries read a vector of values once. Two sums are too few to be
// independent, so that four keys have their own.

// CHECK-LABEL: func @values
// CHECK: %[[WEIGHTS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<2x8xf32>
// CHECK: %[[SUMS:.*]]:8 = scf.for %[[KEY:.*]] = %c0 to %c8 step %c4
// CHECK: memref.load %[[WEIGHTS]][%c0, %[[KEY]]]
// CHECK: memref.load %[[WEIGHTS]][%c1, %[[KEY]]]
// CHECK: %[[V:.*]] = vector.load %arg0[%[[KEY]], %{{.*}}] : memref<8x4xf32>, vector<4xf32>
// CHECK-NEXT: vector.fma %[[V]],
// CHECK-NEXT: vector.fma %[[V]],
// CHECK: scf.yield
// CHECK: arith.addf %[[SUMS]]#0, %[[SUMS]]#4
// CHECK: vector.store
func.func @values(%v: memref<8x4xf32>, %p: memref<2x8xf32>, %out: memref<2x4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x2xf32>
  scf.forall (%t) in (1) {
    %values = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x4xf32>, vector<8x4xf32>
    %weights = vector.transfer_read %p[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<2x8xf32>, vector<8x2xf32>
    %o = vector.contract {indexing_maps = [affine_map<(d, m, n) -> (n, d)>, affine_map<(d, m, n) -> (n, m)>, affine_map<(d, m, n) -> (d, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %values, %weights, %zero : vector<8x4xf32>, vector<8x2xf32> into vector<4x2xf32>
    vector.transfer_write %o, %out[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<4x2xf32>, memref<2x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 2, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 1>}
  return
}

// -----

// A reduction is one over the vectors of a query, and then over the lanes.

// CHECK-LABEL: func @rows
// CHECK: scf.for %[[M:.*]] = %c0 to %c2 step %c1
// CHECK: %[[FIRST:.*]] = vector.load %arg0[%[[M]], %c0] : memref<2x12xf32>, vector<4xf32>
// CHECK: %[[SUM:.*]] = scf.for %[[ROW:.*]] = %c4 to %c12 step %c4 iter_args(%[[S:.*]] = %[[FIRST]]) -> (vector<4xf32>)
// CHECK: vector.load %arg0[%[[M]], %[[ROW]]]
// CHECK: vector.extract_strided_slice %[[SUM]] {offsets = [0], sizes = [2]
// CHECK: vector.extract_strided_slice %[[SUM]] {offsets = [2], sizes = [2]
// CHECK: vector.extract %{{.*}}[0]
// CHECK: memref.store
func.func @rows(%a: memref<2x12xf32>, %out: memref<2xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<2xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<2x12xf32>, vector<12x2xf32>
    %s = vector.multi_reduction <add>, %x, %zero [0] : vector<12x2xf32> to vector<2xf32>
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<2xf32>, memref<2xf32>
  } {attn.schedule = #attn.schedule<tile_m = 2, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// Of the queries that there are, those that are left are computed one by one.

// CHECK-LABEL: func @some
// CHECK-SAME: %[[COUNT:[^:,]*]]: index
// CHECK: scf.for %{{.*}} = %c0 to %[[COUNT]] step %c1
// CHECK: %[[LEFT:.*]] = arith.remui %[[COUNT]], %c2
// CHECK: %[[TOGETHER:.*]] = arith.subi %[[COUNT]], %[[LEFT]]
// CHECK: scf.for %{{.*}} = %c0 to %[[TOGETHER]] step %c2
// CHECK: %{{.*}}:8 = scf.for
// CHECK: scf.for %{{.*}} = %[[TOGETHER]] to %[[COUNT]] step %c1
// CHECK: vector.maskedload
func.func @some(%count: index, %v: memref<8x4xf32>, %p: memref<4x8xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x4xf32>
  scf.forall (%t) in (1) {
    attn.tile_queries %count
    %values = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x4xf32>, vector<8x4xf32>
    %weights = vector.transfer_read %p[%c0, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : memref<4x8xf32>, vector<8x4xf32>
    %o = vector.contract {indexing_maps = [affine_map<(d, m, n) -> (n, d)>, affine_map<(d, m, n) -> (n, m)>, affine_map<(d, m, n) -> (d, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %values, %weights, %zero : vector<8x4xf32>, vector<8x4xf32> into vector<4x4xf32>
    vector.transfer_write %o, %out[%c0, %c0] {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>} : vector<4x4xf32>, memref<4x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 1>}
  return
}

// -----

// With queries as lanes, vectors without a query are passed over.

// CHECK-LABEL: func @vectors
// CHECK-SAME: %[[COUNT:[^:,]*]]: index
// CHECK: %[[BLOCKS:.*]] = arith.ceildivui %[[COUNT]], %c8
// CHECK: %[[END:.*]] = arith.muli %[[BLOCKS]], %c8
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c8
// CHECK: vector.fma
// CHECK: scf.for %{{.*}} = %c0 to %[[END]] step %c8
// CHECK: arith.addf
func.func @vectors(%count: index, %v: memref<8x4xf32>, %p: memref<8x16xf32>, %out: memref<16xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x16xf32>
  %zeros = arith.constant dense<0.0> : vector<16xf32>
  scf.forall (%t) in (1) {
    attn.tile_queries %count
    %values = vector.transfer_read %v[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x4xf32>, vector<8x4xf32>
    %weights = vector.transfer_read %p[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x16xf32>, vector<8x16xf32>
    %o = vector.contract {indexing_maps = [affine_map<(d, m, n) -> (n, d)>, affine_map<(d, m, n) -> (n, m)>, affine_map<(d, m, n) -> (d, m)>], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %values, %weights, %zero : vector<8x4xf32>, vector<8x16xf32> into vector<4x16xf32>
    %s = vector.multi_reduction <add>, %o, %zeros [0] : vector<4x16xf32> to vector<16xf32>
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<16xf32>, memref<16xf32>
  } {attn.schedule = #attn.schedule<tile_m = 16, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 1>}
  return
}
