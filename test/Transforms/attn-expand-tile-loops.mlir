// RUN: attn-opt %s --attn-expand-tile-loops --canonicalize --cse --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-expand-tile-loops=key-lists --split-input-file | FileCheck %s --check-prefix=LISTS

// An interval of full tiles: three loops, the second without a predicate, whose
// reads are in bounds.

// CHECK-LABEL: func @interval
// CHECK-SAME: %[[S:[^ ]*]]: tensor<?xf32>, %[[LO:[^ ]*]]: index, %[[HI:[^ ]*]]: index, %[[A:[^ ]*]]: index, %[[B:[^ ]*]]: index
// The first tile from A on, but none behind the loop.
// CHECK: %[[UP:.*]] = arith.addi %[[A]], %c3 : index
// CHECK: %[[BEFORE:.*]] = arith.subi %[[UP]], %[[LO]] : index
// CHECK: %[[LENGTH:.*]] = arith.maxsi %[[BEFORE]], %c0 : index
// CHECK: %[[NUMBER:.*]] = arith.divui %[[LENGTH]], %c4 : index
// CHECK: %[[DISTANCE:.*]] = arith.muli %[[NUMBER]], %c4 : index
// CHECK: %[[START:.*]] = arith.addi %[[LO]], %[[DISTANCE]] : index
// CHECK: %[[FIRST:.*]] = arith.minsi %[[START]], %[[HI]] : index
// CHECK: %[[R0:.*]] = scf.for %{{.*}} = %[[LO]] to %[[FIRST]] step %c4 iter_args(%{{.*}} = %{{.*}}) -> (vector<4xf32>) {
// CHECK:   vector.transfer_read {{.*}} : tensor<?xf32>
// CHECK:   arith.cmpi slt
// CHECK:   arith.select %{{.*}}, %{{.*}}, %cst{{.*}} : vector<4xi1>, vector<4xf32>
// CHECK: }
// CHECK: arith.subi %[[B]], %[[LO]] : index
// CHECK: %[[STOP:.*]] = arith.minsi %{{.*}}, %[[HI]] : index
// CHECK: %[[END:.*]] = arith.maxsi %[[STOP]], %[[FIRST]] : index
// CHECK: %[[R1:.*]] = scf.for %[[J:.*]] = %[[FIRST]] to %[[END]] step %c4 iter_args(%[[ACC:.*]] = %[[R0]]) -> (vector<4xf32>) {
// CHECK-NEXT: %[[X:.*]] = vector.transfer_read %[[S]][%[[J]]], %{{.*}} {in_bounds = [true]} : tensor<?xf32>, vector<4xf32>
// CHECK-NEXT: %[[M:.*]] = arith.maximumf %[[ACC]], %[[X]]
// CHECK-NEXT: scf.yield %[[M]]
// CHECK-NEXT: }
// CHECK: scf.for %{{.*}} = %[[END]] to %[[HI]] step %c4 iter_args(%{{.*}} = %[[R1]]) -> (vector<4xf32>) {
// CHECK:   arith.select
// LISTS-LABEL: func @interval
// LISTS: attn.tile_loop
func.func @interval(%s: tensor<?xf32>, %lo: index, %hi: index, %a: index, %b: index, %init: vector<4xf32>) -> vector<4xf32> {
  %c4 = arith.constant 4 : index
  %pad = arith.constant 0.0 : f32
  %r = attn.tile_loop %j = %lo to %hi step 4 iter_args(%acc = %init)
      full(%first) within %a to %b {
        %end = arith.addi %first, %c4 : index
        %x = arith.cmpi sge, %first, %a : index
        %y = arith.cmpi sle, %end, %b : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      } : vector<4xf32> {
    %x = attn.step @load -> (vector<4xf32>) {
      %t = vector.transfer_read %s[%j], %pad : tensor<?xf32>, vector<4xf32>
      attn.yield %t : vector<4xf32>
    }
    %m = attn.step @max -> (vector<4xf32>) {
      %masked = attn.mask_tile %x : vector<4xf32> {
        %step = vector.step : vector<4xindex>
        %start = vector.broadcast %j : index to vector<4xindex>
        %position = arith.addi %start, %step : vector<4xindex>
        %end = vector.broadcast %b : index to vector<4xindex>
        %p = arith.cmpi slt, %position, %end : vector<4xindex>
        attn.yield %p : vector<4xi1>
      }
      %t = arith.maximumf %acc, %masked : vector<4xf32>
      attn.yield %t : vector<4xf32>
    }
    attn.yield %m : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// Classes of tiles: one loop with branches. A mask stands in the body itself.

// CHECK-LABEL: func @classes
// CHECK: scf.for %[[J:.*]] = %{{.*}} to %{{.*}} step %c4 iter_args(%[[ACC:.*]] = %{{.*}}) -> (vector<4xf32>) {
// CHECK:   %[[NEEDED:.*]] = arith.cmpi sge, %[[J]]
// CHECK:   %[[FULL:.*]] = arith.cmpi slt, %[[J]]
// CHECK:   %[[R:.*]] = scf.if %[[NEEDED]] -> (vector<4xf32>) {
// CHECK:     %[[T:.*]] = scf.if %[[FULL]] -> (vector<4xf32>) {
// CHECK-NOT:   arith.select
// CHECK:       scf.yield
// CHECK:     } else {
// CHECK:       arith.select
// CHECK:       scf.yield
// CHECK:     }
// CHECK:     scf.yield %[[T]]
// CHECK:   } else {
// CHECK:     scf.yield %[[ACC]]
// CHECK:   }
// CHECK:   scf.yield %[[R]]
func.func @classes(%lo: index, %hi: index, %a: index, %b: index, %init: vector<4xf32>, %p: vector<4xi1>) -> vector<4xf32> {
  %r = attn.tile_loop %j = %lo to %hi step 4 iter_args(%acc = %init)
      needed(%first) {
        %x = arith.cmpi sge, %first, %a : index
        attn.yield %x : i1
      }
      full(%first) {
        %x = arith.cmpi slt, %first, %b : index
        attn.yield %x : i1
      } : vector<4xf32> {
    %x = arith.addf %acc, %acc : vector<4xf32>
    %m = attn.mask_tile %x : vector<4xf32> {
      attn.yield %p : vector<4xi1>
    }
    attn.yield %m : vector<4xf32>
  }
  return %r : vector<4xf32>
}

// -----

// With one of the classes, or none, and nothing that is carried.

// CHECK-LABEL: func @one_class
// CHECK: scf.for
// CHECK:   scf.if
// CHECK-NEXT: memref.store
// CHECK-NEXT: }
// CHECK: scf.for
// CHECK-NEXT: memref.store
func.func @one_class(%lo: index, %hi: index, %m: memref<?xindex>) {
  attn.tile_loop %j = %lo to %hi step 4
      needed(%first) {
        %x = arith.cmpi sge, %first, %hi : index
        attn.yield %x : i1
      } {
    memref.store %j, %m[%j] : memref<?xindex>
    attn.yield
  }
  attn.tile_loop %j = %lo to %hi step 4 {
    attn.step @store {
      memref.store %j, %m[%j] : memref<?xindex>
      attn.yield
    }
    attn.yield
  }
  return
}

// -----

// Steps and masks around a loop, and a loop in a loop.

// CHECK-LABEL: func @around
// CHECK-NOT: attn.
// CHECK: scf.for
// CHECK-NOT: attn.
// CHECK:   scf.for
// CHECK-NOT: attn.
// CHECK: arith.select
// CHECK-NOT: attn.
// CHECK: return
func.func @around(%lo: index, %hi: index, %init: vector<4xf32>, %p: vector<4xi1>) -> vector<4xf32> {
  %r = attn.tile_loop %i = %lo to %hi step 4 iter_args(%a = %init) : vector<4xf32> {
    %s = attn.tile_loop %j = %lo to %i step 4 iter_args(%b = %a) : vector<4xf32> {
      %x = arith.addf %b, %a : vector<4xf32>
      attn.yield %x : vector<4xf32>
    }
    attn.yield %s : vector<4xf32>
  }
  %t = attn.step @end -> (vector<4xf32>) {
    %m = attn.mask_tile %r : vector<4xf32> {
      attn.yield %p : vector<4xi1>
    }
    attn.yield %m : vector<4xf32>
  }
  return %t : vector<4xf32>
}

// -----

// With key-lists, those of workers with lists alone.

// LISTS-LABEL: func @lists
// LISTS: scf.forall
// LISTS-NOT: attn.tile_loop
// LISTS: scf.for
// LISTS: scf.forall
// LISTS: attn.tile_loop
func.func @lists(%n: index, %m: memref<?xindex>) {
  scf.forall (%i) in (%n) {
    attn.tile_loop %j = %i to %n step 4 {
      memref.store %j, %m[%j] : memref<?xindex>
      attn.yield
    }
  } {attn.schedule = #attn.row_schedule<rows = 16, tile_n = 32, lanes = 16>}
  scf.forall (%i) in (%n) {
    attn.tile_loop %j = %i to %n step 4 {
      memref.store %j, %m[%j] : memref<?xindex>
      attn.yield
    }
  } {attn.schedule = #attn.schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>}
  return
}
