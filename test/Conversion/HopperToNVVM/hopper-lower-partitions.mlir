// Partitions of a thread, warps and warpgroups: their threads, registers and barriers. No schedule is needed.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @partitions
// CHECK-SAME: hopper.threads = 512 : i64
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x

// A thread for the hardware makes a tile full, and two warps free it. Four warps fill the other one, and eight free it.
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c2_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: %[[GROUP:.*]] = nvvm.shfl.sync {{ *}}idx

// The first warpgroup has what the others leave, for all partitions in it.
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[GROUP]], %c0_i32
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK-NEXT: nvvm.setmaxregister {{ *}}decrease 88
// CHECK:      %[[SHIFTED:.*]] = arith.shrui %[[TID]], %c5_i32
// CHECK:      %[[WARP_OF:.*]] = nvvm.shfl.sync {{ *}}idx %{{.*}}, %[[SHIFTED]]

// One thread of the first warp, and for the others the next partition.
// CHECK:      %[[IS_LOAD:.*]] = arith.cmpi eq, %[[WARP_OF]], %c0_i32
// CHECK:      scf.if %[[IS_LOAD]] {
// CHECK:        %[[IS_LANE:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK:        scf.if %[[IS_LANE]] {
// CHECK:          nvvm.cp.async.bulk.tensor
// CHECK:      } else {

// Two replicas of a warp each, from the second warp on.
// CHECK:      %[[BEHIND:.*]] = arith.addi %[[WARP_OF]], %c-1_i32
// CHECK:      %[[IS_IN:.*]] = arith.cmpi ult, %[[BEHIND]], %c2_i32
// CHECK:      scf.if %[[IS_IN]] {
// CHECK:        %[[IN:.*]] = arith.addi %[[TID]], %c-32_i32
// CHECK:        %[[WARP:.*]] = arith.shrui %[[IN]], %c5_i32
// CHECK:        %[[REPLICA:.*]] = arith.divui %[[WARP]], %c1_i32
// CHECK:        %[[PHASE:.*]] = arith.andi %[[REPLICA]], %c1_i32
// CHECK:        nvvm.mbarrier.try_wait.parity %{{.*}}, %[[PHASE]],
// CHECK:        "@$1 mbarrier.arrive

// One warpgroup.
// CHECK: %[[IS_SECOND:.*]] = arith.cmpi eq, %[[GROUP]], %c1_i32
// CHECK: scf.if %[[IS_SECOND]] {
// CHECK-NEXT: nvvm.setmaxregister {{ *}}decrease 104
// CHECK:      stmatrix

// Two warpgroups start with the turn of the first one.
// CHECK:      nvvm.setmaxregister {{ *}}increase 160
// CHECK:      %[[WG:.*]] = arith.subi %[[GROUP]], %c2_i32
// CHECK:      %[[IS_LAST:.*]] = arith.cmpi eq, %[[WG]], %c1_i32
// CHECK:      scf.if %[[IS_LAST]] {
// CHECK:        nvvm.barrier.arrive
// CHECK:      }
// CHECK:      %[[TURN:.*]] = arith.addi %[[WG]], %c1_i32
// CHECK:      nvvm.barrier id = %[[TURN]] number_of_threads = %c256_i32
// CHECK:      nvvm.barrier.arrive
gpu.module @m {
  gpu.func @partitions(%map: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                       %n: i32 {hopper.operand = 1 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 2 : i64}) kernel {
    %ring = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %tiles = hopper.create_channel : !hopper.channel<1x64x64xbf16>
    %v = arith.constant dense<0.0> : vector<64x64xbf16>
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ring[%n], %map[%x, %x, %x] : !hopper.channel<1x64x64xbf16>, !hopper.map<64x64xbf16>
    } partition @help replicas(2) warps(1) {
      %w = hopper.warpgroup_id
      %w32 = arith.index_cast %w : index to i32
      %t = hopper.get %ring[%w32] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %ring[%n] : !hopper.channel<1x64x64xbf16>
    } partition @write registers(104) {
      hopper.put_fragment %tiles[%n], %v : !hopper.channel<1x64x64xbf16>, vector<64x64xbf16>
    } partition @read replicas(2) registers(160) {
      hopper.ping_pong_wait %barrier : !hopper.ping_pong
      %t = hopper.get %tiles[%n] : !hopper.channel<1x64x64xbf16> -> !hopper.tile<64x64xbf16>
      hopper.release %tiles[%n] : !hopper.channel<1x64x64xbf16>
      hopper.ping_pong_arrive %barrier : !hopper.ping_pong
    }
    gpu.return
  }
}
