// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-specialize)))' | FileCheck %s

// Partitions that compute have all rows of a work tile each, a replica 64 of them.
// One that gives tiles to another computes with all blocks, as the other one waits
// for the rows of all replicas; not all of them are full then.

#schedule = #hopper.schedule<tile_m = 128, tile_n = 64, stages = 2, registers = 112, head_swizzle = 1>
!map = !hopper.map<64x64xbf16>
!channel = !hopper.channel<2x64x64xbf16>
!given = !hopper.channel<2x128x64xbf16>

// CHECK-LABEL: gpu.func @gives
// CHECK: hopper.warp_specialize partition @load threads(1) {
// CHECK: } partition @first replicas(2) registers(112) {
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} size 128{{$}}
// CHECK: hopper.pipelined_for %{{.*}} = %{{.*}} to %[[END]] step 64{{$}}
// CHECK: hopper.put_fragment
// CHECK: } partition @second replicas(2) registers(112) {
// CHECK: %{{.*}}, %[[END:.*]] = hopper.work_rows %{{.*}} size 128{{$}}
// CHECK: %{{.*}}, %[[OWN:.*]] = hopper.work_rows %{{.*}} size 128 own
// CHECK: %[[UPPER:.*]] = arith.select %{{.*}}, %[[OWN]], %[[LO:.*]] : index
// CHECK: hopper.pipelined_for %{{.*}} = %[[LO]] to %[[UPPER]] step 64 within %[[LO]] to %[[END]] only_last_partial
gpu.module @m {
  gpu.func @gives(%map: !map, %n: index, %v: vector<64x64xbf16>) kernel attributes {hopper.schedule = #schedule} {
    %ks = hopper.create_channel : !channel
    %ps = hopper.create_channel : !given
    %c0 = arith.constant 0 : index
    hopper.work_loop (%b, %h, %t, %number) in (%n, %n, %n) {
      %first, %end = hopper.work_rows %t of %n size 128
      hopper.pipelined_for %j = %c0 to %end step 64 only_last_partial
          schedule [#hopper.place<"load_k", 0>, #hopper.place<"give", 0>, #hopper.place<"use", 0>] {
        hopper.step "load_k" in "load" {
          %u = hopper.next_use %ks : !channel
          hopper.put %ks[%u], %map[%b, %h, %j] : !channel, !map
          hopper.end
        }
        hopper.step "give" in "first" {
          %u = hopper.next_use %ks : !channel
          %k = hopper.get %ks[%u] : !channel -> !hopper.tile<64x64xbf16>
          %w = hopper.next_use %ks : !channel
          hopper.release %ks[%w] : !channel
          %p = hopper.next_use %ps : !given
          %wg = hopper.warpgroup_id
          hopper.put_fragment %ps[%p], %v at %wg : !given, vector<64x64xbf16>
          hopper.end
        }
        hopper.step "use" in "second" {
          %u = hopper.next_use %ps : !given
          %k = hopper.get %ps[%u] : !given -> !hopper.tile<128x64xbf16>
          %w = hopper.next_use %ps : !given
          hopper.release %ps[%w] : !given
          hopper.end
        }
      }
    }
    gpu.return
  }
}
