// What upstream passes do to loops over tiles: nothing that is not right for
// any number of tiles.

// RUN: attn-opt %s --canonicalize --cse --sccp --int-range-optimizations --canonicalize | FileCheck %s
// RUN: attn-opt %s --loop-invariant-code-motion | FileCheck %s --check-prefix=LICM

// A loop that is known to have one tile stays a loop, and so does one without.
// CHECK-LABEL: @few_tiles
// CHECK: attn.tile_loop
// CHECK:   attn.step @add
// CHECK: attn.tile_loop
// CHECK:   attn.step @add
func.func @few_tiles(%a: vector<4xf32>) -> (vector<4xf32>, vector<4xf32>) {
  %c0 = arith.constant 0 : index
  %c64 = arith.constant 64 : index
  %one = attn.tile_loop %j = %c0 to %c64 step 64 iter_args(%acc = %a) : vector<4xf32> {
    %x = attn.step @add -> (vector<4xf32>) {
      %y = arith.addf %acc, %acc : vector<4xf32>
      attn.yield %y : vector<4xf32>
    }
    attn.yield %x : vector<4xf32>
  }
  %none = attn.tile_loop %j = %c0 to %c0 step 64 iter_args(%acc = %a) : vector<4xf32> {
    %x = attn.step @add -> (vector<4xf32>) {
      %y = arith.mulf %acc, %acc : vector<4xf32>
      attn.yield %y : vector<4xf32>
    }
    attn.yield %x : vector<4xf32>
  }
  return %one, %none : vector<4xf32>, vector<4xf32>
}

// The start of a tile is not the first position alone, and what is carried is
// not what is carried in.
// CHECK-LABEL: @not_constant
// CHECK: attn.tile_loop %[[J:.+]] = %{{.+}} to %{{.+}} step 64 iter_args(%[[N:.+]] = %{{.+}})
// CHECK-NEXT: needed(%[[FIRST:.+]]) {
// CHECK: arith.cmpi eq, %[[FIRST]]
// CHECK: arith.addi %[[N]], %[[J]]
func.func @not_constant(%hi: index) -> index {
  %c0 = arith.constant 0 : index
  %r = attn.tile_loop %j = %c0 to %hi step 64 iter_args(%n = %c0)
      needed(%first) {
        %p = arith.cmpi eq, %first, %c0 : index
        attn.yield %p : i1
      } : index {
    %next = arith.addi %n, %j : index
    attn.yield %next : index
  }
  return %r : index
}

// A constant class is kept: only some targets can leave a loop out.
// CHECK-LABEL: @never_needed
// CHECK: attn.tile_loop
// CHECK: needed(%{{.+}}) {
// CHECK: attn.yield %false
func.func @never_needed(%hi: index, %a: index) -> index {
  %c0 = arith.constant 0 : index
  %r = attn.tile_loop %j = %c0 to %hi step 64 iter_args(%n = %a)
      needed(%first) {
        %p = arith.constant false
        attn.yield %p : i1
      } : index {
    %next = arith.addi %n, %j : index
    attn.yield %next : index
  }
  return %r : index
}

// Pure code that is the same for all tiles goes in front of the loop, out of
// classes, too; a read does not, as there may be no tile.
// LICM-LABEL: @invariants
// LICM: arith.addi %{{.+}}, %{{.+}} : index
// LICM: arith.muli
// LICM: attn.tile_loop
// LICM: needed
// LICM: arith.cmpi
// LICM: memref.load
func.func @invariants(%hi: index, %n: index, %m: memref<?xindex>) -> index {
  %c0 = arith.constant 0 : index
  %r = attn.tile_loop %j = %c0 to %hi step 64 iter_args(%sum = %c0)
      needed(%first) {
        %limit = arith.addi %n, %hi : index
        %p = arith.cmpi slt, %first, %limit : index
        attn.yield %p : i1
      } : index {
    %twice = arith.muli %n, %n : index
    %element = memref.load %m[%twice] : memref<?xindex>
    %a = arith.addi %sum, %element : index
    %b = arith.addi %a, %twice : index
    attn.yield %b : index
  }
  return %r : index
}

// A loop whose results nobody needs is gone if it writes nothing.
// CHECK-LABEL: @dead
// CHECK-NOT: attn.step @pure
// CHECK: attn.step @store
func.func @dead(%hi: index, %m: memref<?xindex>, %a: vector<4xf32>) {
  %c0 = arith.constant 0 : index
  %r = attn.tile_loop %j = %c0 to %hi step 64 iter_args(%acc = %a) : vector<4xf32> {
    %x = attn.step @pure -> (vector<4xf32>) {
      %y = arith.addf %acc, %acc : vector<4xf32>
      attn.yield %y : vector<4xf32>
    }
    attn.yield %x : vector<4xf32>
  }
  attn.tile_loop %j = %c0 to %hi step 64 {
    attn.step @store {
      memref.store %j, %m[%j] : memref<?xindex>
      attn.yield
    }
    attn.yield
  }
  return
}
