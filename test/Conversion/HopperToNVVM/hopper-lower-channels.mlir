// Parameters, shared memory, barriers and partitions of a kernel.

// RUN: attn-opt %s --attn-hopper-lower --cse | FileCheck %s

// CHECK: llvm.mlir.global external @attn_shared() {addr_space = 3 : i32, alignment = 1024 : i64} : !llvm.array<0 x i8>
// CHECK: llvm.func @channels(
// CHECK-SAME: %[[MAP:[^ ]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[ONE:[^ ]*]]: !llvm.ptr {llvm.align = 64 : i64, llvm.byval = !llvm.array<128 x i8>, nvvm.grid_constant}
// CHECK-SAME: %[[N:[^ ]*]]: i32, %[[X:[^ ]*]]: i32)
// CHECK-SAME: hopper.params = [{columns = 64 : i64, dims = array<i64: 0, 1, 2, 3>, kind = "map", operand = 0 : i64, rows = 128 : i64}
// CHECK-SAME: {columns = 64 : i64, dims = array<i64: 0, 2, 1, 3>, kind = "map", operand = 1 : i64, rows = 128 : i64}
// CHECK-SAME: {kind = "scalar", operand = 2 : i64}
// CHECK-SAME: {dim = 2 : i64, kind = "extent", operand = 0 : i64}]
// Barriers, four tiles of 32 KiB, and one of 16.
// CHECK-SAME: hopper.shared_bytes = 148480 : i64
// CHECK-SAME: hopper.threads = 384 : i64
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 384>

// A full barrier has one arrival and an empty one has one for each of 8 warps.
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_shared
// CHECK: %[[IS_FIRST:.*]] = arith.cmpi eq, %[[TID]], %c0_i32
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK-COUNT-2: nvvm.mbarrier.init %{{.*}}, %{{c1|c8}}_i32
// CHECK: %[[FULL1:.*]] = llvm.getelementptr %[[SHARED]][8]
// CHECK: nvvm.mbarrier.init %[[FULL1]], %c1_i32
// CHECK: %[[EMPTY1:.*]] = llvm.getelementptr %[[SHARED]][40]
// CHECK: nvvm.mbarrier.init %[[EMPTY1]], %c8_i32
// CHECK-COUNT-6: nvvm.mbarrier.init
// CHECK: nvvm.fence.mbarrier.init
// CHECK-NEXT: }
// Kernels of a call run one after the other.
// CHECK-NEXT: nvvm.griddepcontrol wait
// CHECK-NEXT: nvvm.barrier
// CHECK: %[[GROUP:.*]] = arith.shrui %[[TID]], %c7_i32
// CHECK: nvvm.shfl.sync  idx %{{.*}}, %[[GROUP]]

// The producer waits for the phase before, which passes at first; number n is
// in stage n mod 4 and phase n / 4 mod 2.
// CHECK: nvvm.setmaxregister  decrease 24
// CHECK: scf.if %[[IS_FIRST]] {
// CHECK:   %[[STAGE:.*]] = arith.andi %[[N]], %c3_i32
// CHECK:   %[[ROUND:.*]] = arith.shrui %[[N]], %c2_i32
// CHECK:   %[[BIT:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK:   %[[PHASE:.*]] = arith.xori %[[BIT]], %c1_i32
// CHECK:   %[[EMPTY0:.*]] = llvm.getelementptr %[[SHARED]][32]
// CHECK:   %[[OFFSET:.*]] = arith.shli %[[STAGE]], %c3_i32
// CHECK:   %[[EMPTY:.*]] = llvm.getelementptr %[[EMPTY0]][%[[OFFSET]]]
// CHECK:   nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[PHASE]],
// CHECK:   %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK:   %[[BYTES:.*]] = arith.constant 32768
// CHECK:   nvvm.mbarrier.arrive.expect_tx %[[FULL]], %[[BYTES]]

// One copy for each 64 columns.
// CHECK:   %[[TILES:.*]] = llvm.getelementptr %[[SHARED]][1024]
// CHECK:   %[[AT:.*]] = arith.muli %[[STAGE]], %[[BYTES]]
// CHECK:   %[[LEFT:.*]] = llvm.getelementptr %[[TILES]][%[[AT]]]
// CHECK:   %[[NUMBER:.*]] = llvm.ptrtoint %[[LEFT]] : !llvm.ptr<3> to i32
// CHECK:   %[[THERE:.*]] = llvm.inttoptr %[[NUMBER]] : i32 to !llvm.ptr<7>
// CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %[[THERE]], %[[MAP]], %[[FULL]], box[%c0_i32, %[[X]], %[[X]], %[[X]]] : !llvm.ptr<7>, !llvm.ptr
// CHECK:   %[[RIGHT0:.*]] = llvm.getelementptr %[[SHARED]][17408]
// CHECK:   %[[RIGHT:.*]] = llvm.getelementptr %[[RIGHT0]][%[[AT]]]
// CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[MAP]], %[[FULL]], box[%c64_i32, %[[X]], %[[X]], %[[X]]]

// A single stage has no offset, and each use is another phase.
// CHECK:   %[[BIT:.*]] = arith.andi %[[N]], %c1_i32
// CHECK:   %[[PHASE:.*]] = arith.xori %[[BIT]], %c1_i32
// CHECK:   %[[EMPTY:.*]] = llvm.getelementptr %[[SHARED]][72]
// CHECK:   nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[PHASE]],
// CHECK:   %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][64]
// CHECK:   nvvm.mbarrier.arrive.expect_tx %[[FULL]],
// CHECK:   nvvm.cp.async.bulk.tensor.shared.cluster.global %{{.*}}, %[[ONE]], %[[FULL]],

// The last consumer passes the turn to the first at the start.
// CHECK: nvvm.setmaxregister  increase 240
// CHECK: %[[WG:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK: %[[IS_LEADER:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32
// CHECK: %[[IS_LAST:.*]] = arith.cmpi eq, %[[WG]], %c1_i32
// CHECK: scf.if %[[IS_LAST]] {
// CHECK:   nvvm.barrier.arrive
// CHECK: }

// CHECK: %[[STAGE:.*]] = arith.andi %[[N]], %c3_i32
// CHECK: %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][%{{.*}}]
// CHECK: %[[PHASE:.*]] = arith.andi %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL]], %[[PHASE]],

// A consumer waits at the barrier after its number, with those who pass.
// CHECK: %[[MINE:.*]] = arith.addi %[[WG]], %c1_i32
// CHECK: nvvm.barrier id = %[[MINE]] number_of_threads = %c256_i32
// CHECK: %[[NEXT:.*]] = arith.addi %[[WG]], %c2_i32
// CHECK: %[[TO:.*]] = arith.select %[[IS_LAST]], %c1_i32, %[[NEXT]]
// CHECK: nvvm.barrier.arrive id = %[[TO]] number_of_threads = %c256_i32

// One lane of a warp arrives for it.
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %{{.*}} : (!llvm.ptr<3>, i1) -> ()
// CHECK: %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][64]
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL]],
// CHECK: %[[EMPTY:.*]] = llvm.getelementptr %[[SHARED]][72]
// CHECK: llvm.inline_asm has_side_effects asm_dialect = att "@$1 mbarrier.arrive{{.*}} %[[EMPTY]],
// CHECK: llvm.return
gpu.module @m {
  gpu.func @channels(%map: !hopper.map<128x128xbf16> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>}, %one: !hopper.map<128x64xbf16> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 2, 1, 3>}, %n: i32 {hopper.operand = 2 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 128, registers = 240>} {
    %ring = hopper.create_channel : !hopper.channel<4x128x128xbf16>
    %single = hopper.create_channel : !hopper.channel<1x128x64xbf16>
    %barrier = hopper.create_ping_pong : !hopper.ping_pong
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %ring[%n], %map[%x, %x, %x] : !hopper.channel<4x128x128xbf16>, !hopper.map<128x128xbf16>
      hopper.put %single[%n], %one[%x, %x, %x] : !hopper.channel<1x128x64xbf16>, !hopper.map<128x64xbf16>
    } partition @compute replicas(2) registers(240) {
      %0 = hopper.get %ring[%n] : !hopper.channel<4x128x128xbf16> -> !hopper.tile<128x128xbf16>
      hopper.ping_pong_wait %barrier : !hopper.ping_pong
      hopper.ping_pong_arrive %barrier : !hopper.ping_pong
      hopper.release %ring[%n] : !hopper.channel<4x128x128xbf16>
      %1 = hopper.get %single[%n] : !hopper.channel<1x128x64xbf16> -> !hopper.tile<128x64xbf16>
      hopper.release %single[%n] : !hopper.channel<1x128x64xbf16>
    }
    gpu.return
  }
}
