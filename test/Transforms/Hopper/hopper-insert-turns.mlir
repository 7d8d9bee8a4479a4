// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-insert-turns)))' | FileCheck %s

!sums = memref<?x5120xf32>
!counters = memref<?x2xi32>

// What tells which CTA comes before, and whether none comes behind, is read while the turn of the block before is taken: holding and passing on are of
// stage 1. Places of counters are computed again, in the other partition.

// CHECK-LABEL: gpu.func @table
// CHECK: %[[TURNS:.*]] = hopper.create_turns : !hopper.turns
// CHECK: hopper.pipelined_for %[[J:.*]] = %{{.*}} to %{{.*}} step 80
// CHECK-NEXT: schedule [#hopper.place<"hold_red", 1>, #hopper.place<"read_red", 0>, #hopper.place<"take_red", 1>, #hopper.place<"red", 1>, #hopper.place<"pass_red", 1>]
// CHECK: %[[BEFORE:.*]]:2 = hopper.step "read_red" in "compute_turns" -> index, i1 {
// CHECK: %[[AT:.*]] = arith.divui %[[J]]
// CHECK: %[[READ:.*]] = attn.gather %{{.*}}[%[[AT]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[READ]]
// CHECK: %[[LAST:.*]] = arith.cmpi slt, %[[READ]]
// CHECK: hopper.end %[[INDEX]], %[[LAST]]
// CHECK: hopper.step "hold_red" in "compute_turns" {
// CHECK-DAG: %[[AT:.*]] = arith.divui %[[J]]
// CHECK-DAG: %[[WG:.*]] = hopper.warpgroup_id
// CHECK-NOT: attn.gather
// CHECK: %[[N:.*]] = hopper.next_use %[[TURNS]] : !hopper.turns
// CHECK: hopper.hold_turn %[[TURNS]][%[[N]]] after %[[BEFORE]]#0 last %[[BEFORE]]#1 in %{{.*}}[%[[AT]], %[[WG]]] : memref<?x2xi32>
// CHECK: hopper.step "pass_red" in "compute_turns" {
// CHECK: %[[N:.*]] = hopper.next_use %[[TURNS]]
// CHECK: hopper.pass_turn %[[TURNS]][%[[N]]] as %{{.*}} in %{{.*}}[%{{.*}}, %{{.*}}] : memref<?x2xi32>
// CHECK: %[[FLAGS:.*]]:2 = hopper.step "take_red" in "compute" -> i1, i1 {
// CHECK: %[[N:.*]] = hopper.next_use %[[TURNS]]
// CHECK: %[[IS:.*]], %[[ISLAST:.*]] = hopper.take_turn %[[TURNS]][%[[N]]]
// CHECK: hopper.end %[[IS]], %[[ISLAST]]
// CHECK: hopper.step "red" in "compute" {
// CHECK: hopper.reduce_add %{{.*}}, %{{.*}}[%{{.*}}] first %[[FLAGS]]#0 last %[[FLAGS]]#1 to %{{.*}}[%{{.*}}, %{{.*}}] m 1 n 0 : vector<80x64xf32>, memref<?x5120xf32> to memref<?x128xbf16>
// CHECK: hopper.give_turn %[[TURNS]]
gpu.module @m {
  gpu.func @table(%v: vector<80x64xf32>, %sums: !sums, %counters: !counters, %out: memref<?x128xbf16>, %table: memref<?xi32>, %own: index, %lo: index, %hi: index) kernel {
    hopper.pipelined_for %j = %lo to %hi step 80 schedule [#hopper.place<"red", 1>] {
      hopper.step "red" in "compute" {
        %c80 = arith.constant 80 : index
        %true = arith.constant true
        %t = arith.divui %j, %c80 : index
        %read = attn.gather %table[%t] mask %true : memref<?xi32>, (index), i1 -> i32
        %before = arith.index_cast %read : i32 to index
        %c0 = arith.constant 0 : i32
        %last = arith.cmpi slt, %read, %c0 : i32
        %wg = hopper.warpgroup_id
        hopper.reduce_add %v, %sums[%t] after %before as %own in %counters[%t, %wg] last %last to %out[%j, %own] m 1 n 0
            : vector<80x64xf32>, !sums, !counters to memref<?x128xbf16>
        hopper.end
      }
      hopper.end
    }
    gpu.return
  }
}

// -----

// Two steps behind CTAs that differ: both turns are held before the first one is passed on. Numbers that are there need not be read.

// CHECK-LABEL: gpu.func @two
// CHECK: %[[A:.*]] = hopper.create_turns
// CHECK: %[[B:.*]] = hopper.create_turns
// CHECK: [#hopper.place<"hold_a", 0>, #hopper.place<"hold_b", 0>, #hopper.place<"take_a", 0>, #hopper.place<"a", 0>, #hopper.place<"take_b", 0>, #hopper.place<"b", 0>, #hopper.place<"pass_a", 0>, #hopper.place<"pass_b", 0>]
// CHECK-NOT: "read_
// CHECK: hopper.hold_turn %[[A]]
// CHECK: hopper.pass_turn %[[A]]
// CHECK: hopper.take_turn %[[A]]
// CHECK: hopper.give_turn %[[A]]
// CHECK: hopper.hold_turn %[[B]]
// CHECK: hopper.take_turn %[[B]]
// CHECK: hopper.give_turn %[[B]]
gpu.module @m {
  gpu.func @two(%v: vector<64x64xf32>, %sums: memref<?x4096xf32>, %counters: memref<?xi32>, %p: index, %own: index, %lo: index, %hi: index) kernel {
    hopper.pipelined_for %j = %lo to %hi step 80 schedule [#hopper.place<"a", 0>, #hopper.place<"b", 0>] {
      hopper.step "a" in "compute" {
        hopper.reduce_add %v, %sums[%j] after %p as %own in %counters[%j] : vector<64x64xf32>, memref<?x4096xf32>, memref<?xi32>
        hopper.end
      }
      hopper.step "b" in "compute" {
        hopper.reduce_add %v, %sums[%p] after %own as %p in %counters[%p] : vector<64x64xf32>, memref<?x4096xf32>, memref<?xi32>
        hopper.end
      }
      hopper.end
    }
    gpu.return
  }
}

// -----

// Parts of the columns, which a partition adds behind the same CTA: one turn, which the first step takes and the last one gives back.

// CHECK-LABEL: gpu.func @parts
// CHECK: %[[T:.*]] = hopper.create_turns
// CHECK-NOT: hopper.create_turns
// CHECK: [#hopper.place<"hold_a", 1>, #hopper.place<"read_a", 0>, #hopper.place<"take_a", 0>, #hopper.place<"a", 0>, #hopper.place<"b", 0>, #hopper.place<"c", 0>, #hopper.place<"pass_a", 1>]
// CHECK: %[[FIRST:.*]]:2 = hopper.step "take_a"
// CHECK: hopper.take_turn %[[T]]
// CHECK: hopper.step "a"
// CHECK: hopper.reduce_add {{.*}} first %[[FIRST]]#0 :
// CHECK-NOT: give_turn
// CHECK: hopper.step "b"
// CHECK: hopper.reduce_add {{.*}} first %[[FIRST]]#0 :
// CHECK-NOT: give_turn
// CHECK: hopper.step "c"
// CHECK: hopper.reduce_add {{.*}} first %[[FIRST]]#0 :
// CHECK: hopper.give_turn %[[T]]
gpu.module @m {
  gpu.func @parts(%v: vector<64x64xf32>, %sums: memref<?x3x4096xf32>, %counters: memref<?x3xi32>, %table: memref<?xi32>, %own: index, %lo: index, %hi: index) kernel {
    %c0 = arith.constant 0 : index
    %c1 = arith.constant 1 : index
    %c2 = arith.constant 2 : index
    %true = arith.constant true
    hopper.pipelined_for %j = %lo to %hi step 80 schedule [#hopper.place<"a", 0>, #hopper.place<"b", 0>, #hopper.place<"c", 0>] {
      hopper.step "a" in "compute" {
        %read = attn.gather %table[%j] mask %true : memref<?xi32>, (index), i1 -> i32
        %p = arith.index_cast %read : i32 to index
        hopper.reduce_add %v, %sums[%j, %c0] after %p as %own in %counters[%j, %c0] : vector<64x64xf32>, memref<?x3x4096xf32>, memref<?x3xi32>
        hopper.end
      }
      hopper.step "b" in "compute" {
        %read = attn.gather %table[%j] mask %true : memref<?xi32>, (index), i1 -> i32
        %p = arith.index_cast %read : i32 to index
        hopper.reduce_add %v, %sums[%j, %c1] after %p as %own in %counters[%j, %c1] : vector<64x64xf32>, memref<?x3x4096xf32>, memref<?x3xi32>
        hopper.end
      }
      hopper.step "c" in "compute" {
        %read = attn.gather %table[%j] mask %true : memref<?xi32>, (index), i1 -> i32
        %p = arith.index_cast %read : i32 to index
        hopper.reduce_add %v, %sums[%j, %c2] after %p as %own in %counters[%j, %c2] : vector<64x64xf32>, memref<?x3x4096xf32>, memref<?x3xi32>
        hopper.end
      }
      hopper.end
    }
    gpu.return
  }
}

// -----

// The turn is taken behind the step that starts the product, in front of the steps between.

// CHECK-LABEL: gpu.func @product
// CHECK: [#hopper.place<"hold_red", 0>, #hopper.place<"dq", 1>, #hopper.place<"take_red", 1>, #hopper.place<"dk", 0>, #hopper.place<"red", 1>, #hopper.place<"pass_red", 0>]
gpu.module @m {
  gpu.func @product(%v: vector<64x64xf32>, %sums: memref<?x4096xf32>, %counters: memref<?xi32>, %p: index, %own: index, %lo: index, %hi: index) kernel {
    hopper.pipelined_for %j = %lo to %hi step 80 schedule [#hopper.place<"dq", 1>, #hopper.place<"dk", 0>, #hopper.place<"red", 1>] {
      %dq = hopper.step "dq" in "compute" -> vector<64x64xf32> {
        %x = arith.addf %v, %v : vector<64x64xf32>
        hopper.end %x : vector<64x64xf32>
      }
      hopper.step "dk" in "compute" {
        hopper.end
      }
      hopper.step "red" in "compute" {
        hopper.reduce_add %dq, %sums[%j] after %p as %own in %counters[%j] : vector<64x64xf32>, memref<?x4096xf32>, memref<?xi32>
        hopper.end
      }
      hopper.end
    }
    gpu.return
  }
}

// -----

// Without a loop there is nothing to be ahead of. In any order there are no turns.

// CHECK-LABEL: gpu.func @once
// CHECK: hopper.step "hold_red" in "compute_turns"
// CHECK: hopper.step "pass_red" in "compute_turns"
// CHECK: hopper.take_turn
// CHECK: hopper.reduce_add {{.*}} first %
// CHECK: hopper.give_turn
// CHECK: hopper.reduce_add {{.*}} :
gpu.module @m {
  gpu.func @once(%v: vector<64x64xf32>, %sums: memref<?x4096xf32>, %counters: memref<?xi32>, %p: index, %own: index) kernel {
    hopper.step "red" in "compute" {
      hopper.reduce_add %v, %sums[%p] after %p as %own in %counters[%p] : vector<64x64xf32>, memref<?x4096xf32>, memref<?xi32>
      hopper.reduce_add %v, %sums[%p] : vector<64x64xf32>, memref<?x4096xf32>
      hopper.end
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @nested(%v: vector<64x64xf32>, %sums: memref<?x4096xf32>, %counters: memref<?xi32>, %p: index, %own: index, %c: i1) kernel {
    hopper.step "red" in "compute" {
      scf.if %c {
        // expected-error@+1 {{'hopper.reduce_add' op expects to be in a step, as it adds in an order}}
        hopper.reduce_add %v, %sums[%p] after %p as %own in %counters[%p] : vector<64x64xf32>, memref<?x4096xf32>, memref<?xi32>
      }
      hopper.end
    }
    gpu.return
  }
}
