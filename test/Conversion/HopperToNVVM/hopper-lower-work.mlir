// Work that CTAs take, and messages about it.

// RUN: attn-opt %s --attn-hopper-lower --cse | FileCheck %s

// CHECK: llvm.func @work(%[[COUNTER:[^ ]*]]: !llvm.ptr<1>, %[[N:[^ ]*]]: i32)
// CHECK-SAME: hopper.params = [{kind = "counter"}, {kind = "scalar", operand = 0 : i64}]
// CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_shared

// The first fetch of a launch is the number of CTAs.
// CHECK: nvvm.setmaxregister {{ *}}decrease
// CHECK: %[[BEFORE:.*]] = llvm.atomicrmw add %[[COUNTER]], %c1_i32 syncscope("device") monotonic
// CHECK: %[[BLOCKS:.*]] = llvm.call_intrinsic "llvm.nvvm.read.ptx.sreg.nctaid.x"()
// CHECK: %[[NEXT:.*]] = arith.addi %[[BEFORE]], %[[BLOCKS]]

// Two slots, of 12 bytes each.
// CHECK: %[[SLOT:.*]] = arith.andi %[[N]], %c1_i32
// CHECK: %[[ROUND:.*]] = arith.shrui %[[N]], %c1_i32
// CHECK: %[[BIT:.*]] = arith.andi %[[ROUND]], %c1_i32
// CHECK: %[[EMPTY0:.*]] = llvm.getelementptr %[[SHARED]][16]
// CHECK: %[[OFFSET:.*]] = arith.shli %[[SLOT]], %c3_i32
// CHECK: %[[EMPTY:.*]] = llvm.getelementptr %[[EMPTY0]][%[[OFFSET]]]
// CHECK: %[[PHASE:.*]] = arith.xori %[[BIT]], %c1_i32
// CHECK: nvvm.mbarrier.try_wait.parity %[[EMPTY]], %[[PHASE]],
// CHECK: %[[AT:.*]] = arith.muli %[[SLOT]], %c12_i32
// CHECK: llvm.store %[[NEXT]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: llvm.store %[[N]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: llvm.store %[[N]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][%[[OFFSET]]]
// CHECK: llvm.inline_asm has_side_effects {{.*}} "mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}" %[[FULL]]

// The last CTA leaves zeros.
// CHECK: %[[SECOND:.*]] = llvm.getelementptr %[[COUNTER]][4]
// CHECK: llvm.fence syncscope("device") acq_rel
// CHECK: %[[RETIRED:.*]] = llvm.atomicrmw add %[[SECOND]], %c1_i32
// CHECK: %[[LAST:.*]] = arith.subi %{{.*}}, %c1_i32
// CHECK: %[[ISLAST:.*]] = arith.cmpi eq, %[[RETIRED]], %[[LAST]]
// CHECK: scf.if %[[ISLAST]] {
// CHECK-NEXT: llvm.store %c0_i32, %[[COUNTER]]
// CHECK-NEXT: llvm.store %c0_i32, %[[SECOND]]
// CHECK-NEXT: }

// All lanes read before the warp's one arrival.
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[SLOT:.*]] = arith.andi %[[N]], %c1_i32
// CHECK: %[[FULL:.*]] = llvm.getelementptr %[[SHARED]][%{{.*}}]
// CHECK: nvvm.mbarrier.try_wait.parity %[[FULL]],
// CHECK-COUNT-3: llvm.load %{{.*}} : !llvm.ptr<3> -> i32
// CHECK-NOT: llvm.load
// CHECK: nvvm.bar.warp.sync
// CHECK: llvm.inline_asm has_side_effects {{.*}} "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}"
gpu.module @m {
  gpu.func @work(%counter: memref<2xi32> {hopper.counter}, %n: i32 {hopper.operand = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %box = hopper.create_work_queue : !hopper.work_queue<3>
    hopper.warp_specialize partition @load threads(1) {
      %next = hopper.fetch_next %counter : memref<2xi32>
      hopper.post %box[%n], %next, %n, %n : !hopper.work_queue<3>
      hopper.reset_counter %counter : memref<2xi32>
    } partition @compute replicas(2) registers(240) {
      %r:3 = hopper.receive %box[%n] : !hopper.work_queue<3> -> i32, i32, i32
      %0 = arith.addi %r#0, %r#1 : i32
      %1 = arith.addi %0, %r#2 : i32
      %next:3 = hopper.receive %box[%1] : !hopper.work_queue<3> -> i32, i32, i32
    }
    gpu.return
  }

  // Two CTAs share the registers of a multiprocessor: 80 for each of
  // their 384 threads at the start.
  // CHECK-LABEL: llvm.func @shared
  // CHECK-SAME: nvvm.maxntid = array<i32: 384>, nvvm.minctasm = 2 : i32
  // CHECK: nvvm.setmaxregister {{ *}}decrease 32
  // CHECK: nvvm.setmaxregister {{ *}}increase 104
  gpu.func @shared() kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 104, min_ctas_per_sm = 2>} {
    hopper.warp_specialize ctas_per_sm(2) partition @load threads(1) {
    } partition @compute replicas(2) registers(104) {
    }
    gpu.return
  }
}
