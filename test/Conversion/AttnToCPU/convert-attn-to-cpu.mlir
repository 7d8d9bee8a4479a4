// RUN: attn-opt %s --convert-attn-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// The example of the pass's documentation: a tile that is used once is never
// stored.

// CHECK-LABEL: func @square
// CHECK: scf.forall (%[[T:.*]]) in (4) {
// CHECK-NEXT: scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK-NEXT: %[[X:.*]] = memref.load %{{.*}}[%[[T]], %[[I]]] : memref<4x8xf32>
// CHECK-NEXT: %[[Y:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK-NEXT: memref.store %[[Y]], %{{.*}}[%[[T]], %[[I]]] : memref<4x8xf32>
// CHECK-NOT: attn.schedule
func.func @square(%in: memref<4x8xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%t) in (4) {
    %x = vector.transfer_read %in[%t, %c0], %pad {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32>
    %y = arith.mulf %x, %x : vector<8xf32>
    vector.transfer_write %y, %out[%t, %c0] {in_bounds = [true]} : vector<8xf32>, memref<4x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// A contraction keeps unroll_n x unroll_m vectors in registers; the left-hand
// side is read where it lies, with a last, short block of rows.

// CHECK-LABEL: func @contract
// CHECK-SAME: %[[A:[^ ]*]]: memref<3x6xf32>, %[[B:[^ ]*]]: memref<6x8xf32>
// CHECK: %[[RHS:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6x8xf32>
// CHECK: %[[SUM:.*]]:4 = scf.for %[[K:.*]] = %c0 to %c6 step %c1 iter_args({{.*}}) -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK: %[[R0:.*]] = vector.load %{{.*}}[%[[K]], %{{.*}}] : memref<6x8xf32>, vector<4xf32>
// CHECK: %[[R1:.*]] = vector.load
// CHECK: %[[E:.*]] = memref.load %[[A]][%{{.*}}, %[[K]]]
// CHECK: %[[L:.*]] = vector.broadcast %[[E]] : f32 to vector<4xf32>
// CHECK: vector.fma %[[L]], %[[R0]], %{{.*}} : vector<4xf32>
// CHECK: vector.fma %[[L]], %[[R1]], %{{.*}} : vector<4xf32>
// CHECK-COUNT-4: vector.store
// The third row.
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>)
// CHECK-COUNT-2: vector.store
// CHECK: memref.dealloc
func.func @contract(%a: memref<3x6xf32>, %b: memref<6x8xf32>, %out: memref<3x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<3x8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<3x6xf32>, vector<3x6xf32>
    %y = vector.transfer_read %b[%t, %c0], %pad {in_bounds = [true, true]} : memref<6x8xf32>, vector<6x8xf32>
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (k, q)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %zero
        : vector<3x6xf32>, vector<6x8xf32> into vector<3x8xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [true, true]} : vector<3x8xf32>, memref<3x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 2>}
  return
}

// -----

// The step of the online softmax: scores and maxima in one pass, powers and
// sums in a second, then the rescaling; the state is updated in place.

// CHECK-LABEL: func @step
// CHECK-DAG: %[[P:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK: scf.for
// CHECK: %[[MAX:.*]] = scf.for {{.*}} -> (vector<4xf32>)
// CHECK: arith.cmpf ogt
// CHECK: arith.select
// CHECK: arith.cmpf oeq, %[[MAX]], %{{.*}} : vector<4xf32>
// CHECK: vector.fma
// CHECK: arith.bitcast
// CHECK: scf.for {{.*}} -> (vector<4xf32>)
// CHECK: arith.subf
// CHECK: arith.addf
// CHECK: scf.for
// CHECK: arith.mulf
// CHECK-NOT: attn.online_step
func.func @step(%s: memref<4x4xf32>, %out: memref<4x4xf32>, %state: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%t) in (1) {
    %scores = vector.transfer_read %s[%t, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %acc = vector.transfer_read %out[%t, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %max = vector.transfer_read %state[%t], %pad {in_bounds = [true]} : memref<4xf32>, vector<4xf32>
    %p, %acc1, %max1, %sum1 = attn.online_step %scores, %acc, %max, %max : vector<4x4xf32>, vector<4x4xf32>, vector<4xf32>
    vector.transfer_write %acc1, %out[%t, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
    vector.transfer_write %sum1, %state[%t] {in_bounds = [true]} : vector<4xf32>, memref<4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 2>}
  return
}

// -----

// Reads of captures: an index out of range reads 0, and with a site number is
// reported.

// CHECK-LABEL: func @gather
// CHECK-SAME: %[[SRC:[^ ]*]]: memref<?xf32>, %{{.*}}, %[[STATUS:[^ ]*]]: memref<?xi64> {attn.status}
// CHECK: %[[DIM:.*]] = memref.dim %[[SRC]], %c0
// CHECK: %[[IN0:.*]] = arith.cmpi ugt, %[[DIM]], %c0 : index
// CHECK: %[[OUT0:.*]] = arith.cmpi ule, %[[DIM]], %c0 : index
// CHECK: scf.if %[[OUT0]] {
// CHECK: memref.store %{{.*}}, %[[STATUS]][%c0]
// CHECK: memref.store %{{.*}}, %[[STATUS]][%c1]
// CHECK: scf.if %[[IN0]] -> (f32)
// CHECK: memref.load %[[SRC]]
// CHECK: %[[IN1:.*]] = arith.cmpi ult, %{{.*}} : vector<8xindex>
// CHECK: %[[ANY:.*]] = vector.reduction <or>
// CHECK: scf.if %[[ANY]] {
// CHECK: memref.store %{{.*}}, %[[STATUS]][%c2]
// CHECK: memref.store %{{.*}}, %[[STATUS]][%c3]
// A gather of consecutive elements is a masked load.
// CHECK: vector.maskedload %{{.*}}, %[[IN1]]
func.func @gather(%src: memref<?xf32>, %out: memref<8xf32>, %status: memref<?xi64> {attn.status}) {
  %c0 = arith.constant 0 : index
  %true = arith.constant true
  %trues = arith.constant dense<true> : vector<8xi1>
  scf.forall (%t) in (1) {
    %x = attn.gather %src[%t] mask %true site 0 : memref<?xf32>, (index), i1 -> f32
    %step = vector.step : vector<8xindex>
    %y = attn.gather %src[%step] mask %trues site 1 : memref<?xf32>, (vector<8xindex>), vector<8xi1> -> vector<8xf32>
    %z = vector.broadcast %x : f32 to vector<8xf32>
    %sum = arith.addf %y, %z : vector<8xf32>
    vector.transfer_write %sum, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// A tile that is read along its rows and used along its columns is transposed
// in registers, in blocks of lanes x lanes.

// CHECK-LABEL: func @transpose
// CHECK: vector.load %{{.*}} : memref<4x4xf32, strided<[?, 1]>>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 1, 4, 5] : vector<4xf32>, vector<4xf32>
// CHECK: vector.shuffle %{{.*}}, %{{.*}} [0, 4, 2, 6] : vector<4xf32>, vector<4xf32>
// CHECK: vector.store
func.func @transpose(%in: memref<4x4xf32, strided<[?, 1]>>, %b: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x4xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %b[%t, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %y = vector.transfer_read %in[%t, %c0], %pad {in_bounds = [true, true], permutation_map = affine_map<(d0, d1) -> (d1, d0)>}
        : memref<4x4xf32, strided<[?, 1]>>, vector<4x4xf32>
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (k, q)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %zero
        : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 4>}
  return
}
