// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-pipeline)))' --split-input-file --verify-diagnostics | FileCheck %s

// A loop over the blocks of several heads carries the head and the position in
// it, and counts both down without a division. A late step has those of the
// block before.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240, head_swizzle = 1>

// CHECK-LABEL: gpu.func @heads
// CHECK: %[[IN:.*]] = arith.remui %{{.*}}, %{{.*}} : i32
// CHECK: %[[HEAD:.*]] = arith.divui %{{.*}}, %{{.*}} : i32
// CHECK: scf.for {{.*}} iter_args(%{{.*}} = %{{.*}}, %[[H:.*]] = %[[HEAD]], %[[F:.*]] = %[[IN]], %[[H1:.*]] = %c0_i32{{.*}}, %[[F1:.*]] = %c0_i32{{.*}})
// CHECK-NOT: div
// CHECK-DAG: %[[NOW:.*]] = hopper.position %[[H]]
// CHECK-DAG: %[[BEFORE:.*]] = hopper.position %[[H1]]
// CHECK: hopper.reduce_add %{{.*}}, %{{.*}}[%[[BEFORE]]]
// CHECK: %[[LESS:.*]] = arith.subi %[[F]], %c64_i32
// CHECK: %[[IS:.*]] = arith.cmpi slt, %[[LESS]], %c0_i32
// CHECK: %[[LENGTH:.*]] = arith.index_cast %{{.*}} : index to i32
// CHECK: %[[WRAPPED:.*]] = arith.addi %[[LESS]], %[[LENGTH]]
// CHECK: %[[F2:.*]] = arith.select %[[IS]], %[[WRAPPED]], %[[LESS]]
// CHECK: %[[BY:.*]] = arith.select %[[IS]], %c1_i32{{.*}}, %c0_i32
// CHECK: %[[H2:.*]] = arith.subi %[[H]], %[[BY]]
// CHECK: scf.yield %{{.*}}, %[[H2]], %[[F2]], %[[H]], %[[F]]
gpu.module @m {
  gpu.func @heads(%n: index, %tiles: index, %s: vector<64x64xf32>, %zero: vector<64x64xf32>, %memory: memref<?x4096xf32>, %other: memref<?x4096xf32>) kernel attributes {hopper.schedule = #schedule} {
    %c64 = arith.constant 64 : index
    %length = arith.muli %tiles, %c64 : index
    %end = arith.muli %n, %length : index
    %c0 = arith.constant 0 : index
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %r = hopper.pipelined_for %j = %c0 to %end step 64 iter_args(%sum = %zero)
          schedule [#hopper.place<"sum", 0>, #hopper.place<"add", 1>] : vector<64x64xf32> {
        %next = hopper.step "sum" in "compute" -> vector<64x64xf32> {
          %h, %f = affine.delinearize_index %j into (%length) : index, index
          %x = arith.addf %sum, %s : vector<64x64xf32>
          hopper.reduce_add %x, %other[%h] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end %x : vector<64x64xf32>
        }
        hopper.step "add" in "compute" {
          %h, %f = affine.delinearize_index %j into (%length) : index, index
          hopper.reduce_add %s, %memory[%h] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
        hopper.end %next : vector<64x64xf32>
      }
    }
    gpu.return
  }
}

// -----

// Of an extent that may end within a block nobody knows where the next one begins.
gpu.module @m {
  gpu.func @within(%n: index, %length: index, %s: vector<64x64xf32>, %memory: memref<?x4096xf32>) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      hopper.pipelined_for %j = %n to %n step 64
          schedule [#hopper.place<"add", 0>] {
        hopper.step "add" in "compute" {
          // expected-error @below {{'affine.delinearize_index' op expects an innermost extent of the position of a loop that is a multiple of its step, 64}}
          %h, %f = affine.delinearize_index %j into (%length) : index, index
          hopper.reduce_add %s, %memory[%h] : vector<64x64xf32>, memref<?x4096xf32>
          hopper.end
        }
        hopper.end
      }
    }
    gpu.return
  }
}
