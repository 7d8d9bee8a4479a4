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

// Other errors are reported the same way, wherever they are found.

// CHECK-LABEL: func @report
// CHECK-SAME: %[[X:.*]]: index, %[[P:.*]]: i1, %[[STATUS:.*]]: memref<?xi64> {attn.status}
// CHECK: scf.forall
// CHECK-NEXT: scf.if %[[P]] {
// CHECK-NEXT: %[[FIRST:.*]] = arith.index_cast %{{.*}} : index to i64
// CHECK-NEXT: %[[SECOND:.*]] = arith.index_cast %[[X]] : index to i64
// CHECK: memref.store %[[FIRST]], %[[STATUS]][%c6]
// CHECK: memref.store %[[SECOND]], %[[STATUS]][%c7]
// CHECK-NOT: attn.report
func.func @report(%x: index, %p: i1, %status: memref<?xi64> {attn.status}) {
  scf.forall (%t) in (4) {
    attn.report site 3 (%t, %x) if %p
  }
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

// -----

// A loop whose state a branch continues or leaves alone: it stays in one buffer.

// CHECK-LABEL: func @branch
// CHECK:      %[[STATE:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK:      vector.store %{{.*}}, %[[STATE]]
// CHECK:      scf.for %[[I:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT:   %[[TAKE:.*]] = memref.load %{{.*}}[%[[I]]] : memref<4xi1>
// CHECK-NEXT:   scf.if %[[TAKE]] {
// CHECK:          %[[OLD:.*]] = vector.load %[[STATE]]
// CHECK:          arith.addf %[[OLD]]
// CHECK:          vector.store %{{.*}}, %[[STATE]]
// CHECK-NOT:    else
// CHECK:      memref.load %[[STATE]]
func.func @branch(%a: memref<4x8xf32>, %c: memref<4xi1>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%t) in (1) {
    %end = scf.for %i = %c0 to %c4 step %c1 iter_args(%state = %zero) -> (vector<8xf32>) {
      %take = memref.load %c[%i] : memref<4xi1>
      %next = scf.if %take -> (vector<8xf32>) {
        %x = vector.transfer_read %a[%i, %c0], %pad {in_bounds = [true]} : memref<4x8xf32>, vector<8xf32>
        %sum = arith.addf %state, %x : vector<8xf32>
        scf.yield %sum : vector<8xf32>
      } else {
        scf.yield %state : vector<8xf32>
      }
      scf.yield %next : vector<8xf32>
    }
    vector.transfer_write %end, %out[%t, %c0] {in_bounds = [true]} : vector<8xf32>, memref<4x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// A side, or a step of the loop, that exchanges two tiles takes other buffers
// for them on the way. A scalar is yielded as ever.

// CHECK-LABEL: func @exchange
// CHECK:      %[[A:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK:      %[[B:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4xf32>
// CHECK:      scf.for
// CHECK:        %[[N:.*]] = arith.select %{{.*}}, %c1, %c0 : index
// CHECK:        scf.if %{{.*}} {
// CHECK-NEXT:   } else {
// CHECK-NEXT:     %[[X:.*]] = vector.load %[[A]]
// CHECK-NEXT:     vector.store %[[X]], [[X1:%[a-z_0-9]+]]
// CHECK-NEXT:     %[[Y:.*]] = vector.load %[[B]]
// CHECK-NEXT:     vector.store %[[Y]], [[Y1:%[a-z_0-9]+]]
// CHECK-NEXT:     %[[X2:.*]] = vector.load [[X1]]
// CHECK-NEXT:     vector.store %[[X2]], %[[B]]
// CHECK-NEXT:     %[[Y2:.*]] = vector.load [[Y1]]
// CHECK-NEXT:     vector.store %[[Y2]], %[[A]]
// CHECK-NEXT:   }
// CHECK-NEXT:   %[[Z0:.*]] = vector.load %[[B]]
// CHECK-NEXT:   %[[U:.*]] = vector.load %{{.*}}[%[[N]], %c0]
// CHECK-NEXT:   %[[V:.*]] = arith.addf %[[Z0]], %[[U]]
// CHECK-NEXT:   vector.store %[[V]], [[V1:%[a-z_0-9]+]]
// CHECK-NEXT:   %[[Z1:.*]] = vector.load %[[A]]
// CHECK-NEXT:   vector.store %[[Z1]], [[W1:%[a-z_0-9]+]]
// CHECK-NEXT:   %[[V2:.*]] = vector.load [[V1]]
// CHECK-NEXT:   vector.store %[[V2]], %[[A]]
// CHECK-NEXT:   %[[W2:.*]] = vector.load [[W1]]
// CHECK-NEXT:   vector.store %[[W2]], %[[B]]
// CHECK-NEXT: }
func.func @exchange(%c: i1, %a: memref<2x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%t) in (1) {
    %s:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%x = %zero, %y = %zero) -> (vector<4xf32>, vector<4xf32>) {
      %z:3 = scf.if %c -> (vector<4xf32>, vector<4xf32>, index) {
        scf.yield %y, %x, %c1 : vector<4xf32>, vector<4xf32>, index
      } else {
        scf.yield %x, %y, %c0 : vector<4xf32>, vector<4xf32>, index
      }
      %u = vector.transfer_read %a[%z#2, %c0], %pad {in_bounds = [true]} : memref<2x4xf32>, vector<4xf32>
      %v = arith.addf %z#0, %u : vector<4xf32>
      scf.yield %v, %z#1 : vector<4xf32>, vector<4xf32>
    }
    vector.transfer_write %s#0, %out[%c0, %c0] {in_bounds = [true]} : vector<4xf32>, memref<4x4xf32>
    vector.transfer_write %s#1, %out[%c1, %c0] {in_bounds = [true]} : vector<4xf32>, memref<4x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// Numbers of rows that may be past the end are read as elements once, so that a tile of them is vectors.

// CHECK-LABEL: func @past_the_end
// CHECK-DAG: %[[N:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c8 step %c1 {
// CHECK: %[[X:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: memref.store %[[X]], %[[N]][%[[I]]] : memref<8xf32>
// CHECK: scf.for %[[R:.*]] = %c0 to %c4 step %c1 {
// CHECK-NEXT: scf.for %[[C:.*]] = %c0 to %c8 step %c4 {
// CHECK: vector.load %[[N]][%[[C]]] : memref<8xf32>, vector<4xf32>
// CHECK: arith.mulf %{{.*}} : vector<4xf32>
func.func @past_the_end(%a: memref<4x4xf32>, %b: memref<4x8xf32>, %n: memref<?xf32>, %out: memref<4x8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4x8xf32>
  scf.forall (%t) in (1) {
    %numbers = vector.transfer_read %n[%t], %pad : memref<?xf32>, vector<8xf32>
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %y = vector.transfer_read %b[%t, %c0], %pad {in_bounds = [true, true]} : memref<4x8xf32>, vector<4x8xf32>
    %wide = vector.broadcast %numbers : vector<8xf32> to vector<4x8xf32>
    %scaled = arith.mulf %y, %wide : vector<4x8xf32>
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (k, q)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %scaled, %zero
        : vector<4x4xf32>, vector<4x8xf32> into vector<4x8xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [true, true]} : vector<4x8xf32>, memref<4x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 2>}
  return
}

// -----

// Columns that are no multiple of those of the schedule: fewer vectors of more rows. What is added to is read where it lies, with rows past the
// end, and a tile that lies in memory as it is is written by vectors, as far as there are rows.

// CHECK-LABEL: func @add_rows
// CHECK-SAME: %[[OUT:[^ ]*]]: memref<?x4xf32>
// CHECK: scf.for {{.*}} -> (vector<4xf32>, vector<4xf32>, vector<4xf32>, vector<4xf32>)
// CHECK: %[[OLD:.*]] = vector.load %[[OUT]][%{{.*}}, %{{.*}}] : memref<?x4xf32>, vector<4xf32>
// CHECK: %[[BEFORE:.*]] = arith.select %{{.*}}, %[[OLD]], %{{.*}} : vector<4xf32>
// CHECK: arith.addf %[[BEFORE]]
// CHECK: %[[REST:.*]] = arith.subi %{{.*}}, %{{.*}} : index
// CHECK: %[[END:.*]] = arith.minsi %[[REST]], %c8 : index
// CHECK: scf.for %[[R:.*]] = %c0 to %[[END]] step %c1 {
// CHECK-NEXT: %[[SUM:.*]] = vector.load
// CHECK-NEXT: arith.addi
// CHECK-NEXT: vector.store %[[SUM]], %[[OUT]][%{{.*}}, %c0] : memref<?x4xf32>, vector<4xf32>
func.func @add_rows(%out: memref<?x4xf32>, %a: memref<8x8xf32>, %b: memref<8x4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  scf.forall (%t) in (2) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x8xf32>, vector<8x8xf32>
    %y = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<8x4xf32>, vector<8x4xf32>
    %before = vector.transfer_read %out[%t, %c0], %pad {in_bounds = [false, true]} : memref<?x4xf32>, vector<8x4xf32>
    %z = vector.contract {indexing_maps = [affine_map<(r, q, k) -> (r, k)>, affine_map<(r, q, k) -> (k, q)>, affine_map<(r, q, k) -> (r, q)>],
        iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %y, %before
        : vector<8x8xf32>, vector<8x4xf32> into vector<8x4xf32>
    vector.transfer_write %z, %out[%t, %c0] {in_bounds = [false, true]} : vector<8x4xf32>, memref<?x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 2>}
  return
}

// -----

// What is read within a branch that gives no tiles.

// CHECK-LABEL: func @read_in_branch
// CHECK: scf.if
// CHECK: memref.load
// CHECK-NOT: attn.gather
// CHECK: return
func.func @read_in_branch(%src: memref<?xf32>, %c: i1, %out: memref<f32>) {
  %zero = arith.constant 0.0 : f32
  scf.forall (%t) in (4) {
    %true = arith.constant true
    %x = scf.if %c -> (f32) {
      %read = attn.gather %src[%t] mask %true : memref<?xf32>, (index), i1 -> f32
      scf.yield %read : f32
    } else {
      scf.yield %zero : f32
    }
    memref.store %x, %out[] : memref<f32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 8, unroll_m = 1, unroll_n = 1>}
  return
}

// -----

// A tile that does not belong to a loop is computed in front of it: the second
// loop reads it even if the first one never runs.

// CHECK-LABEL: func @before
// CHECK: %[[ONES:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6x8xf32>
// CHECK: scf.for %[[I:.*]] = %c0 to %c6
// CHECK-NEXT: scf.for %[[J:.*]] = %c0 to %c8
// CHECK-NEXT: vector.store %{{.*}}, %[[ONES]][%[[I]], %[[J]]]
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c6
// CHECK-NOT: vector.store %{{.*}}, %[[ONES]]
// CHECK: vector.load %[[ONES]]
// CHECK: scf.for %{{.*}} = %{{.*}} to %{{.*}} step %c6
// CHECK-NOT: vector.store %{{.*}}, %[[ONES]]
// CHECK: vector.load %[[ONES]]
#l = affine_map<(r, q, k) -> (r, k)>
#r = affine_map<(r, q, k) -> (k, q)>
#s = affine_map<(r, q, k) -> (r, q)>
func.func @before(%a: memref<3x?xf32>, %first: index, %end: index, %out: memref<3x8xf32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<3x8xf32>
  %ones = arith.constant dense<1.0> : vector<6x8xf32>
  scf.forall (%t) in (1) {
    %part = scf.for %k = %c0 to %first step %c6 iter_args(%sum = %zero) -> (vector<3x8xf32>) {
      %x = vector.transfer_read %a[%t, %k], %pad {in_bounds = [true, true]} : memref<3x?xf32>, vector<3x6xf32>
      %z = vector.contract {indexing_maps = [#l, #r, #s], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %ones, %sum
          : vector<3x6xf32>, vector<6x8xf32> into vector<3x8xf32>
      scf.yield %z : vector<3x8xf32>
    }
    %y = scf.for %k = %first to %end step %c6 iter_args(%sum = %part) -> (vector<3x8xf32>) {
      %x = vector.transfer_read %a[%t, %k], %pad {in_bounds = [true, true]} : memref<3x?xf32>, vector<3x6xf32>
      %z = vector.contract {indexing_maps = [#l, #r, #s], iterator_types = ["parallel", "parallel", "reduction"], kind = #vector.kind<add>} %x, %ones, %sum
          : vector<3x6xf32>, vector<6x8xf32> into vector<3x8xf32>
      scf.yield %z : vector<3x8xf32>
    }
    vector.transfer_write %y, %out[%t, %c0] {in_bounds = [true, true]} : vector<3x8xf32>, memref<3x8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 2>}
  return
}
