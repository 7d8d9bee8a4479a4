// Tiles that come with a number, from a producer that is a warp.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @payload(%[[MAP:[^ ]*]]: !llvm.ptr {{.*}}, %[[COUNTER:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32)
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_shared
// CHECK: %[[FIRST:.*]] = arith.cmpi eq, %[[TID]], %c0_i32
// The thread that copies arrives.
// CHECK: nvvm.mbarrier.init %[[SHARED]], %c1_i32

// CHECK: nvvm.setmaxregister {{ *}}decrease
// CHECK: %[[WARP:.*]] = arith.cmpi ult, %[[TID]], %c32_i32
// CHECK: scf.if %[[WARP]] {
// CHECK:   %[[LANE:.*]] = arith.andi %[[TID]], %c31_i32

// One thread fetches for all, which wait for the answer where they need it.
// CHECK:   %[[CLAIM:.*]] = scf.if %[[FIRST]] -> (i32) {
// CHECK-NEXT: %[[BEFORE:.*]] = llvm.atomicrmw add %[[COUNTER]], %c1_i32
// CHECK-NEXT: scf.yield %[[BEFORE]]
// CHECK:   %[[ODD:.*]] = arith.andi %[[LANE]], %c1_i32
// CHECK:   %[[ALL:.*]] = nvvm.shfl.sync {{ *}}idx %{{.*}}, %[[CLAIM]], %c0_i32
// CHECK:   arith.addi %[[ALL]],
// CHECK:   %[[IS:.*]] = arith.cmpi eq, %[[ODD]],
// CHECK:   %[[BITS:.*]] = nvvm.vote.sync {{ *}}ballot %{{.*}}, %[[IS]] -> i32

// The number is written before the arrival: behind 2 + 2 barriers, by stage.
// CHECK:   %[[STAGE:.*]] = arith.andi %[[N]], %c1_i32
// Only the thread that copies waits.
// CHECK:   scf.if %[[FIRST]] {
// CHECK:     nvvm.mbarrier.try_wait.parity
// CHECK:     %[[NOTES:.*]] = llvm.getelementptr %[[SHARED]][32]
// CHECK:     %[[OFFSET:.*]] = arith.shli %[[STAGE]], %c2_i32
// CHECK:     %[[NOTE:.*]] = llvm.getelementptr %[[NOTES]][%[[OFFSET]]]
// CHECK:     llvm.store %[[BITS]], %[[NOTE]]
// CHECK:     nvvm.mbarrier.arrive.expect_tx
// CHECK:     nvvm.cp.async.bulk.tensor
// CHECK:   }
// CHECK:   scf.if %[[FIRST]] {
// CHECK:     llvm.fence
// CHECK:     llvm.atomicrmw add

// The lane that releases the tile reads it for all.
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[NOTE:.*]] = llvm.getelementptr %{{.*}}[%{{.*}}]
// CHECK: %[[OWN:.*]] = llvm.inline_asm has_side_effects {{.*}} "{ mov.b32 $0, 0; @$2 ld.shared.b32 $0, [$1]; }", "=&r,r,b" %[[NOTE]], %[[LANE0:[^ ]*]] :
// CHECK: %[[X:.*]] = nvvm.shfl.sync {{ *}}idx %{{.*}}, %[[OWN]], %c0_i32
// CHECK: arith.cmpi sge, %[[X]], %c0_i32
// CHECK: scf.if
// CHECK: llvm.inline_asm has_side_effects {{.*}} "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %[[LANE0]] :
gpu.module @m {
  gpu.func @payload(%map: !hopper.map<64x64xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                  %counter: memref<2xi32> {hopper.counter},
                  %n: i32 {hopper.operand = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 160>} {
    %c0 = arith.constant 0 : index
    %n0 = arith.constant 0 : i32
    %n1 = arith.constant 1 : i32
    %ch = hopper.create_channel : !hopper.channel<2x64x64xbf16, payload>
    hopper.warp_specialize partition @load warps(1) {
      %fetched = hopper.fetch_next %counter : memref<2xi32>
      %lane = gpu.lane_id
      %number = arith.index_cast %lane : index to i32
      %odd = arith.andi %number, %n1 : i32
      %is = arith.cmpi eq, %odd, %fetched : i32
      %bits = hopper.ballot %is
      hopper.put %ch[%n], %map[%c0, %c0, %c0] payload %bits : !hopper.channel<2x64x64xbf16, payload>, !hopper.map<64x64xbf16>
      hopper.reset_counter %counter : memref<2xi32>
    } partition @compute registers(160) {
      %t, %x = hopper.get %ch[%n] : !hopper.channel<2x64x64xbf16, payload> -> !hopper.tile<64x64xbf16>, i32
      %some = arith.cmpi sge, %x, %n0 : i32
      scf.if %some {
        %q = hopper.load_fragment %t : !hopper.tile<64x64xbf16> -> vector<64x64xbf16>
      }
      hopper.release %ch[%n] : !hopper.channel<2x64x64xbf16, payload>
    }
    gpu.return
  }
}
