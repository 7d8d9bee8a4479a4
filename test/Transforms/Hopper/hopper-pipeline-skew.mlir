// RUN: attn-opt %s --split-input-file --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline)))' | FileCheck %s

// A late step that carries nothing, and reads what its own partition publishes, has
// no prologue: it runs for the block before the first one, too, with a tile of
// zeros, and adds nothing to memory then. Behind the loop it runs for the last
// block.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>
!channel = !hopper.channel<2x64x128xbf16>
!tile = !hopper.tile<64x128xbf16>

// CHECK-LABEL: gpu.func @late
// CHECK: %[[BRANCH:.*]] = scf.if
// CHECK: %[[N:.*]] = hopper.next_use %[[CH:.*]] :
// CHECK: hopper.put_fragment %[[CH]][%[[N]]], %cst{{.*}} at %{{.*}} transposed
// CHECK: scf.for %[[T:.*]] = %[[LO:.*]] to %[[HI:.*]] step %{{.*}} iter_args(%[[SUM:.*]] = %{{.*}}, %[[OLD:.*]] = %{{.*}}) -> (vector<64x64xf32>, vector<64x64xf32>)
// CHECK: %[[BACK:.*]] = arith.subi %[[T]], %{{.*}}
// CHECK: %[[IS:.*]] = arith.cmpi sge, %[[BACK]], %[[LO]]
// CHECK: %[[NEXT:.*]] = arith.addf %[[SUM]]
// CHECK: hopper.put_fragment %[[CH]]
// CHECK: hopper.get %[[CH]]
// CHECK: hopper.dot
// CHECK: hopper.release %[[CH]]
// CHECK: %[[ADDED:.*]] = arith.addf %{{.*}}, %[[OLD]]
// CHECK: hopper.reduce_add %[[ADDED]], %{{.*}} if %[[IS]]
// CHECK: scf.yield %[[NEXT]], %[[NEXT]]
// CHECK: }
// CHECK: hopper.get %[[CH]]
// CHECK: hopper.dot
// CHECK: hopper.release %[[CH]]
// CHECK: hopper.reduce_add %{{.*}} :
gpu.module @m {
  gpu.func @late(%n: index, %p: vector<64x64xbf16>, %s: vector<64x64xf32>, %zero: vector<64x64xf32>, %memory: memref<?x4096xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !channel
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %r = hopper.pipelined_for %j = %n to %n step 64 iter_args(%sum = %zero)
          schedule [#hopper.place<"give", 0>, #hopper.place<"use", 1>, #hopper.place<"add", 1>] : vector<64x64xf32> {
        %next = hopper.step "give" in "compute" -> vector<64x64xf32> {
          %x = arith.addf %sum, %s : vector<64x64xf32>
          %u = hopper.next_use %ch : !channel
          hopper.put_fragment %ch[%u], %p at %wg transposed : !channel, vector<64x64xbf16>
          hopper.end %x : vector<64x64xf32>
        }
        %y = hopper.step "use" in "compute" -> vector<64x64xf32> {
          %u = hopper.next_use %ch : !channel
          %t = hopper.get %ch[%u] : !channel -> !tile
          %columns = hopper.columns %t[%wg] : !tile -> !hopper.tile<64x64xbf16>
          %x = hopper.dot %p, %columns : vector<64x64xbf16>, !hopper.tile<64x64xbf16> -> vector<64x64xf32>
          %v = hopper.next_use %ch : !channel
          hopper.release %ch[%v] : !channel
          hopper.end %x : vector<64x64xf32>
        }
        hopper.step "add" in "compute" {
          %x = arith.addf %y, %next : vector<64x64xf32>
          hopper.reduce_add %x, %memory[%j] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
        hopper.end %next : vector<64x64xf32>
      }
    }
    gpu.return
  }

  // Two stages later: two tiles of zeros, and two further iterations, in the first
  // of which both late stages are left.

  // CHECK-LABEL: gpu.func @later
  // CHECK-COUNT-2: hopper.put_fragment %{{.*}} : <4x128x64xbf16>
  // CHECK: scf.for %[[T:.*]] = %[[LO:.*]] to
  // CHECK: %[[ONE:.*]] = arith.cmpi sge, %{{.*}}, %[[LO]]
  // CHECK: %[[TWO:.*]] = arith.cmpi sge, %{{.*}}, %[[LO]]
  // CHECK: hopper.put_fragment
  // CHECK: hopper.reduce_add %{{.*}} if %[[ONE]]
  // CHECK: hopper.get
  // CHECK: hopper.reduce_add %{{.*}} if %[[TWO]]
  // CHECK: }
  // CHECK: hopper.reduce_add %{{.*}} :
  // CHECK: %[[EXISTS:.*]] = arith.cmpi sge
  // CHECK: hopper.get
  // CHECK: hopper.reduce_add %{{.*}} if %[[EXISTS]]
  // CHECK: hopper.get
  // CHECK: hopper.reduce_add %{{.*}} :
  // CHECK-NOT: hopper.reduce_add
  gpu.func @later(%n: index, %p: vector<64x64xbf16>, %s: vector<64x64xf32>, %memory: memref<?x4096xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !hopper.channel<4x128x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      hopper.pipelined_for %j = %n to %n step 64
          schedule [#hopper.place<"give", 0>, #hopper.place<"one", 1>, #hopper.place<"two", 2>] {
        %next = hopper.step "give" in "compute" -> vector<64x64xf32> {
          %x = arith.addf %s, %s : vector<64x64xf32>
          %u = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          hopper.put_fragment %ch[%u], %p at %wg : !hopper.channel<4x128x64xbf16>, vector<64x64xbf16>
          hopper.end %x : vector<64x64xf32>
        }
        hopper.step "one" in "compute" {
          hopper.reduce_add %next, %memory[%j] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
        hopper.step "two" in "compute" {
          %u = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          %t = hopper.get %ch[%u] : !hopper.channel<4x128x64xbf16> -> !hopper.tile<128x64xbf16>
          %v = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          hopper.release %ch[%v] : !hopper.channel<4x128x64xbf16>
          hopper.reduce_add %next, %memory[%j] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
      }
    }
    gpu.return
  }
}

// A late step takes no turn for the block before the first one: its uses are counted from the one after that.
// CHECK-LABEL: gpu.func @turns
// CHECK: partition @compute
// CHECK: scf.for
// CHECK: %[[N:.*]] = hopper.next_use %[[T:.*]] skipped 1 : !hopper.turns
// CHECK: %[[FIRST:.*]], %{{.*}} = hopper.take_turn %[[T]][%[[N]]] if %[[EXISTS:.*]]
// CHECK: hopper.reduce_add %{{.*}} if %[[EXISTS]] first %[[FIRST]]
// CHECK: hopper.give_turn %[[T]] if %[[EXISTS]]
// CHECK: }
// CHECK: %[[N:.*]] = hopper.next_use %[[T]] skipped 1
// CHECK: hopper.take_turn %[[T]][%[[N]]]
// CHECK: hopper.reduce_add %{{.*}} first %
gpu.module @t {
  gpu.func @turns(%n: index, %s: vector<64x64xf32>, %memory: memref<?x4096xf32>, %counters: memref<?xi32>) kernel attributes {hopper.schedule = #schedule} {
    %t = hopper.create_turns : !hopper.turns
    hopper.warp_specialize partition @compute_turns replicas(2) threads(1) {
      hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"hold", 0>] {
        hopper.step "hold" in "compute_turns" {
          %u = hopper.next_use %t : !hopper.turns
          hopper.hold_turn %t[%u] after %n in %counters[%n] : memref<?xi32>
          hopper.end
        }
        hopper.end
      }
    } partition @compute replicas(2) registers(240) {
      hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"give", 0>, #hopper.place<"add", 1>] {
        %x = hopper.step "give" in "compute" -> vector<64x64xf32> {
          %y = arith.addf %s, %s : vector<64x64xf32>
          hopper.end %y : vector<64x64xf32>
        }
        hopper.step "add" in "compute" {
          %u = hopper.next_use %t : !hopper.turns
          %first1, %last1 = hopper.take_turn %t[%u]
          hopper.reduce_add %x, %memory[%j] first %first1 : vector<64x64xf32>, memref<?x4096xf32>
          hopper.give_turn %t
          hopper.end
        }
        hopper.end
      }
    }
    gpu.return
  }
}

// -----

// A loop that carries nothing, as what the late step adds is of its own block
// and of memory.
#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>
gpu.module @module {
  // CHECK-LABEL: gpu.func @nothing
  // CHECK: scf.for %{{[^ ]*}} = %{{[^ ]*}} to %{{[^ ]*}} step %{{[^ ]*}} : i32 {
  // CHECK: hopper.put_fragment
  // CHECK: hopper.reduce_add %{{.*}} if
  // CHECK-NEXT: }
  // CHECK: hopper.reduce_add %{{.*}} :
  gpu.func @nothing(%n: index, %p: vector<64x64xbf16>, %s: vector<64x64xf32>, %memory: memref<?x4096xf32>) kernel attributes {hopper.schedule = #schedule} {
    %ch = hopper.create_channel : !hopper.channel<4x128x64xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      hopper.pipelined_for %j = %n to %n step 64 schedule [#hopper.place<"give", 0>, #hopper.place<"add", 1>] {
        hopper.step "give" in "compute" {
          %u = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          hopper.put_fragment %ch[%u], %p at %wg : !hopper.channel<4x128x64xbf16>, vector<64x64xbf16>
          hopper.end
        }
        hopper.step "add" in "compute" {
          %u = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          %t = hopper.get %ch[%u] : !hopper.channel<4x128x64xbf16> -> !hopper.tile<128x64xbf16>
          %v = hopper.next_use %ch : !hopper.channel<4x128x64xbf16>
          hopper.release %ch[%v] : !hopper.channel<4x128x64xbf16>
          hopper.reduce_add %s, %memory[%j] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
        hopper.end
      }
    }
    gpu.return
  }
}
