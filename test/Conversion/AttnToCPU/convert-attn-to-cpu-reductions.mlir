// RUN: attn-opt %s --attn-decompose-online-step --convert-attn-to-cpu --canonicalize --cse --split-input-file | FileCheck %s

// A reduction keeps unroll_m vectors of columns in registers, and computes what
// the columns alone decide before its rows. What it reduces is not stored, as
// nobody else reads it.

// CHECK-LABEL: func @rows
// CHECK: %[[OUT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<8xf32>
// CHECK: %[[B0:.*]] = vector.load %{{.*}} : memref<8xf32>, vector<4xf32>
// CHECK: %[[N0:.*]] = arith.negf %[[B0]]
// CHECK: %[[B1:.*]] = vector.load %{{.*}} : memref<8xf32>, vector<4xf32>
// CHECK: %[[N1:.*]] = arith.negf %[[B1]]
// CHECK: %[[SUMS:.*]]:2 = scf.for %[[ROW:.*]] = %c0 to %c6 step %c1 iter_args(%[[S0:.*]] = %{{.*}}, %[[S1:.*]] = %{{.*}}) -> (vector<4xf32>, vector<4xf32>) {
// CHECK-NEXT: %[[X0:.*]] = vector.load %{{.*}}[%[[ROW]],
// CHECK-NEXT: %[[Y0:.*]] = arith.mulf %[[X0]], %[[N0]]
// CHECK-NEXT: %[[T0:.*]] = arith.addf %[[Y0]], %[[S0]]
// CHECK-NEXT: %[[X1:.*]] = vector.load %{{.*}}[%[[ROW]],
// CHECK-NEXT: %[[Y1:.*]] = arith.mulf %[[X1]], %[[N1]]
// CHECK-NEXT: %[[T1:.*]] = arith.addf %[[Y1]], %[[S1]]
// CHECK-NEXT: scf.yield %[[T0]], %[[T1]]
// CHECK: vector.store %[[SUMS]]#0, %[[OUT]]
// CHECK: vector.store %[[SUMS]]#1, %[[OUT]]
func.func @rows(%a: memref<6x8xf32>, %b: memref<8xf32>, %out: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<8xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<6x8xf32>, vector<6x8xf32>
    %y = vector.transfer_read %b[%c0], %pad {in_bounds = [true]} : memref<8xf32>, vector<8xf32>
    %n = arith.negf %y : vector<8xf32>
    %ns = vector.broadcast %n : vector<8xf32> to vector<6x8xf32>
    %m = arith.mulf %x, %ns : vector<6x8xf32>
    %s = vector.multi_reduction <add>, %m, %zero [0] : vector<6x8xf32> to vector<8xf32>
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<8xf32>, memref<8xf32>
  } {attn.schedule = #attn.schedule<tile_m = 8, tile_n = 8, lanes = 4, unroll_m = 2, unroll_n = 2>}
  return
}

// -----

// A maximum that starts from a number is a comparison; from any other value it
// is the operation that says what becomes of NaN. A minimum is reduced as well.

// CHECK-LABEL: func @extremes
// CHECK: scf.for
// CHECK: arith.cmpf ogt
// CHECK-NEXT: arith.select
// CHECK: scf.for
// CHECK: arith.maxnumf
// CHECK: scf.for
// CHECK: arith.minimumf
func.func @extremes(%a: memref<6x4xf32>, %b: memref<4xf32>, %out: memref<3x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %low = arith.constant dense<0xFF800000> : vector<4xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<6x4xf32>, vector<6x4xf32>
    %y = vector.transfer_read %b[%c0], %pad {in_bounds = [true]} : memref<4xf32>, vector<4xf32>
    %s = vector.multi_reduction <maxnumf>, %x, %low [0] : vector<6x4xf32> to vector<4xf32>
    %u = vector.multi_reduction <maxnumf>, %x, %y [0] : vector<6x4xf32> to vector<4xf32>
    %v = vector.multi_reduction <minimumf>, %x, %y [0] : vector<6x4xf32> to vector<4xf32>
    vector.transfer_write %s, %out[%c0, %c0] {in_bounds = [true]} : vector<4xf32>, memref<3x4xf32>
    vector.transfer_write %u, %out[%c1, %c0] {in_bounds = [true]} : vector<4xf32>, memref<3x4xf32>
    vector.transfer_write %v, %out[%c2, %c0] {in_bounds = [true]} : vector<4xf32>, memref<3x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 2>}
  return
}

// -----

// A softmax: scores are stored while their maximum is looked for, as they are
// read again, and powers take their place while they are summed. The product
// adds to the accumulator, rescaled, where that lies.

#rows = affine_map<(r, q, k) -> (k, r)>
#columns = affine_map<(r, q, k) -> (k, q)>
#result = affine_map<(r, q, k) -> (r, q)>
// CHECK-LABEL: func @step
// CHECK-SAME: %[[IN:[^ ]*]]: memref<4x4xf32>, %[[V:[^ ]*]]: memref<4x4xf32>
// CHECK-DAG: %[[ACC:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK: scf.for %{{.*}} = %c0 to %c2 step %c1 {
// CHECK: %[[MAX:.*]] = scf.for %[[ROW:.*]] = %c0 to %c4 step %c1 iter_args(%[[RUNNING:.*]] = %{{.*}}) -> (vector<4xf32>) {
// CHECK: %[[S:.*]] = arith.addf
// CHECK: vector.store %[[S]], %[[P:.*]][%[[ROW]],
// CHECK: %[[ABOVE:.*]] = arith.cmpf ogt, %[[S]], %[[RUNNING]]
// CHECK: arith.select %[[ABOVE]], %[[S]], %[[RUNNING]]
// CHECK: arith.cmpf oeq
// CHECK: %[[ADDED:.*]] = scf.for %[[ROW:.*]] = %c0 to %c4 step %c1 iter_args(%[[RUNNING:.*]] = %{{.*}}) -> (vector<4xf32>) {
// CHECK-NEXT: %[[X:.*]] = vector.load %[[P]][%[[ROW]],
// CHECK-NEXT: %[[E:.*]] = arith.subf %[[X]],
// CHECK-NEXT: %[[POWER:.*]] = math.exp2 %[[E]] fastmath<afn>
// CHECK-NEXT: vector.store %[[POWER]], %[[P]][%[[ROW]],
// CHECK-NEXT: arith.addf %[[POWER]], %[[RUNNING]]
// CHECK: %[[RESCALE:.*]] = math.exp2 {{.*}} : vector<4xf32>
// CHECK-NEXT: vector.store %[[RESCALE]], %[[R:[a-z_0-9]+]][
// CHECK: scf.for
// CHECK: vector.load %[[P]]
// CHECK: vector.fma
// CHECK: %[[OLD:.*]] = vector.load %[[ACC]]
// CHECK: %[[FACTOR:.*]] = vector.load %[[R]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[OLD]], %[[FACTOR]]
// CHECK: %[[NEW:.*]] = arith.addf %[[SCALED]]
// CHECK: vector.store %[[NEW]], %[[ACC]]
// CHECK-NOT: attn.online_step
func.func @step(%in: memref<4x4xf32>, %values: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4x4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  %low = arith.constant dense<0xFF800000> : vector<4xf32>
  scf.forall (%t) in (1) {
    %state:3 = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %zeros, %max = %low, %sum = %zero)
        -> (vector<4x4xf32>, vector<4xf32>, vector<4xf32>) {
      %s = vector.transfer_read %in[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
      %scores = arith.addf %s, %s : vector<4x4xf32>
      %p, %acc1, %max1, %sum1 = attn.online_step %scores, %acc, %max, %sum : vector<4x4xf32>, vector<4x4xf32>, vector<4xf32>
      %v = vector.transfer_read %values[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
      %acc2 = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
          %v, %p, %acc1 : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>
      scf.yield %acc2, %max1, %sum1 : vector<4x4xf32>, vector<4xf32>, vector<4xf32>
    }
    vector.transfer_write %state#0, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
    vector.transfer_write %state#2, %out[%t, %c0] {in_bounds = [true]} : vector<4xf32>, memref<4x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 4>}
  return
}

// -----

#rows = affine_map<(r, q, k) -> (k, r)>
#columns = affine_map<(r, q, k) -> (k, q)>
#result = affine_map<(r, q, k) -> (r, q)>
// A tile that a loop reads again is not overwritten by what is computed of it.

// CHECK-LABEL: func @again
// CHECK-SAME: %{{.*}}, %{{.*}}, %[[OUT:[^ ]*]]: memref
// CHECK: %[[KEPT:.*]] = memref.alloc() {alignment = 64 : i64} : memref<4x4xf32>
// CHECK: vector.store %{{.*}}, %[[KEPT]]
// CHECK: scf.for
// CHECK: scf.for
// CHECK: vector.load %[[KEPT]]
// CHECK: math.exp2
// CHECK-NOT: vector.store %{{.*}}, %[[KEPT]][
// CHECK: memref.dealloc
func.func @again(%a: memref<4x4xf32>, %b: memref<4x4xf32>, %out: memref<4x4xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %pad = arith.constant 0.0 : f32
  %zeros = arith.constant dense<0.0> : vector<4x4xf32>
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %y = vector.transfer_read %b[%c0, %c0], %pad {in_bounds = [true, true]} : memref<4x4xf32>, vector<4x4xf32>
    %kept = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
        %x, %y, %zeros : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>
    %s:2 = scf.for %i = %c0 to %c2 step %c1 iter_args(%acc = %zeros, %sum = %zero) -> (vector<4x4xf32>, vector<4xf32>) {
      %p = math.exp2 %kept : vector<4x4xf32>
      %sum1 = vector.multi_reduction <add>, %p, %sum [0] : vector<4x4xf32> to vector<4xf32>
      %acc1 = vector.contract {indexing_maps = [#rows, #columns, #result], iterator_types = ["parallel", "parallel", "reduction"]}
          %x, %p, %acc : vector<4x4xf32>, vector<4x4xf32> into vector<4x4xf32>
      scf.yield %acc1, %sum1 : vector<4x4xf32>, vector<4xf32>
    }
    vector.transfer_write %s#0, %out[%c0, %c0] {in_bounds = [true, true]} : vector<4x4xf32>, memref<4x4xf32>
    vector.transfer_write %s#1, %out[%t, %c0] {in_bounds = [true]} : vector<4xf32>, memref<4x4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 4>}
  return
}

// -----

// What each row has by itself, as a mask has of keys, is the same for a vector
// of columns.

// CHECK-LABEL: func @column
// CHECK: scf.for %[[ROW:.*]] = %c0 to %c6 step %c1 iter_args
// CHECK-NEXT: %[[X:.*]] = vector.load %{{.*}}[%[[ROW]], %{{.*}}] : memref<6x4xf32>, vector<4xf32>
// CHECK-NEXT: %[[F:.*]] = memref.load %{{.*}}[%[[ROW]]] : memref<6xf32>
// CHECK-NEXT: %[[FS:.*]] = vector.broadcast %[[F]] : f32 to vector<4xf32>
// CHECK-NEXT: arith.mulf %[[X]], %[[FS]]
func.func @column(%a: memref<6x4xf32>, %b: memref<6xf32>, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<6x4xf32>, vector<6x4xf32>
    %f = vector.transfer_read %b[%c0], %pad {in_bounds = [true]} : memref<6xf32>, vector<6xf32>
    %column = vector.shape_cast %f : vector<6xf32> to vector<6x1xf32>
    %fs = vector.broadcast %column : vector<6x1xf32> to vector<6x4xf32>
    %m = arith.mulf %x, %fs : vector<6x4xf32>
    %s = vector.multi_reduction <add>, %m, %zero [0] : vector<6x4xf32> to vector<4xf32>
    vector.transfer_write %s, %out[%c0] {in_bounds = [true]} : vector<4xf32>, memref<4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 4, lanes = 4, unroll_m = 1, unroll_n = 2>}
  return
}

// -----

// What a loop reduces and reads again, but does not compute, is stored in front
// of it.

// CHECK-LABEL: func @outside
// CHECK: %[[TILE:.*]] = memref.alloc() {alignment = 64 : i64} : memref<6x4xf32>
// CHECK: arith.mulf
// CHECK-NEXT: vector.store %{{.*}}, %[[TILE]]
// CHECK: scf.for %{{.*}} = %c0 to %{{.*}} step %c6
// CHECK-NOT: vector.store %{{.*}}, %[[TILE]]
// CHECK: return
func.func @outside(%a: memref<6x4xf32>, %end: index, %out: memref<4xf32>) {
  %c0 = arith.constant 0 : index
  %c6 = arith.constant 6 : index
  %pad = arith.constant 0.0 : f32
  %zero = arith.constant dense<0.0> : vector<4xf32>
  scf.forall (%t) in (1) {
    %x = vector.transfer_read %a[%t, %c0], %pad {in_bounds = [true, true]} : memref<6x4xf32>, vector<6x4xf32>
    %y = arith.mulf %x, %x : vector<6x4xf32>
    %r = scf.for %k = %c0 to %end step %c6 iter_args(%sum = %zero) -> (vector<4xf32>) {
      %s = vector.multi_reduction <add>, %y, %sum [0] : vector<6x4xf32> to vector<4xf32>
      %ss = vector.broadcast %s : vector<4xf32> to vector<6x4xf32>
      %z = arith.subf %y, %ss : vector<6x4xf32>
      %n = vector.multi_reduction <add>, %z, %zero [0] : vector<6x4xf32> to vector<4xf32>
      scf.yield %n : vector<4xf32>
    }
    vector.transfer_write %r, %out[%c0] {in_bounds = [true]} : vector<4xf32>, memref<4xf32>
  } {attn.schedule = #attn.schedule<tile_m = 4, tile_n = 8, lanes = 4, unroll_m = 1, unroll_n = 2>}
  return
}
