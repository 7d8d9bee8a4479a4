// Turns to add to memory: barriers of each replica, the counter, and what takes a turn.

// RUN: attn-opt %s --split-input-file --verify-diagnostics --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// Two replicas: a thread makes a turn theirs, and four warps give it back.
// CHECK-LABEL: llvm.func @turns
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32
// CHECK: ld.acquire.gpu.global.b32 last, [$0]; setp.eq.s32 mine, last, $1; @!mine bra AGAIN;
// CHECK: llvm.store %{{.*}} : i32, !llvm.ptr<3>
// CHECK: mbarrier.arrive.shared::cta.b64 _, [$0];
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: st.release.gpu.global.b32 [$0], $1;
// CHECK: nvvm.setmaxregister {{ *}}increase 240
// CHECK: scf.if
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: }
// The first one stores.
// CHECK: %[[LANE:.*]] = llvm.inline_asm {{.*}} "{ mov.b32 $0, 0; @$2 ld.shared.b32 $0, [$1]; }"
// CHECK: %[[FLAGS:.*]] = nvvm.shfl.sync idx %{{.*}}, %[[LANE]]
// CHECK: %[[BIT:.*]] = arith.andi %[[FLAGS]], %c1_i32
// CHECK: %[[FIRST:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK: "@$5 st.global.v4.f32 [$0], {$1,$2,$3,$4}; @!$5 red.global.add.v4.f32 [$0], {$1,$2,$3,$4};", "l,f,f,f,f,b" {{.*}}, %[[FIRST]] :
// CHECK: red.global.add.v4.f32
// CHECK: nvvm.bar.warp.sync
// CHECK: @$1 mbarrier.arrive.shared::cta.b64 _, [$0];

// Two additions in one turn.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: red.global.add.v4.f32
// CHECK-NOT: mbarrier
// CHECK: red.global.add.v4.f32
// CHECK: @$1 mbarrier.arrive.shared::cta.b64 _, [$0];
// CHECK-NOT: mbarrier
gpu.module @m {
  gpu.func @turns(%sums: memref<?x1024xf32> {hopper.operand = 0 : i64}, %counters: memref<?x2xi32> {hopper.operand = 1 : i64},
                  %n: i32 {hopper.operand = 2 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %turns = hopper.create_turns : !hopper.turns
    %v = arith.constant dense<0.0> : vector<16x64xf32>
    hopper.warp_specialize partition @turns replicas(2) threads(1) {
      %w = hopper.warpgroup_id
      hopper.hold_turn %turns[%n] after %x in %counters[%x, %w] : memref<?x2xi32>
      hopper.pass_turn %turns[%n] as %x in %counters[%x, %w] : memref<?x2xi32>
    } partition @compute replicas(2) registers(240) {
      %c0 = arith.constant 0 : i32
      %p = arith.cmpi ne, %n, %c0 : i32
      %first1, %last1 = hopper.take_turn %turns[%n] if %p
      hopper.reduce_add %v, %sums[%x] if %p first %first1 : vector<16x64xf32>, memref<?x1024xf32>
      hopper.give_turn %turns if %p
      %first2, %last2 = hopper.take_turn %turns[%n]
      hopper.reduce_add %v, %sums[%x] first %first2 : vector<16x64xf32>, memref<?x1024xf32>
      hopper.reduce_add %v, %sums[%x] first %first2 : vector<16x64xf32>, memref<?x1024xf32>
      hopper.give_turn %turns
    }
    gpu.return
  }
}

// -----

// The last one adds what is there, unless it is the first, too. Four threads exchange what they have, so that each of them writes 8 elements that follow
// each other: along n; or along m, behind a transposition of 8x8 elements.
// CHECK-LABEL: llvm.func @last
// CHECK: %[[ONE:.*]] = arith.select %{{.*}}, %c1_i32, %c0_i32
// CHECK: %[[SIGN:.*]] = arith.select %{{.*}}, %c-2147483648_i32, %c0_i32
// CHECK: %[[FLAGS:.*]] = arith.ori %[[ONE]], %[[SIGN]]
// CHECK: llvm.store %[[FLAGS]], %{{.*}} : i32, !llvm.ptr<3>
// CHECK: %[[LAST:.*]] = arith.cmpi slt, %{{.*}}, %c0_i32
// CHECK: scf.if %[[LAST]] {
// CHECK: @!$5 ld.global.v4.f32 {$0,$1,$2,$3}, [$4];
// CHECK: arith.addf
// CHECK: %[[SCALED:.*]] = arith.mulf %{{.*}}, %cst
// CHECK-NOT: movmatrix
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: } else {
// CHECK: red.global.add.v4.f32
// CHECK: }
// CHECK: scf.if %[[LAST]] {
// CHECK-COUNT-4: movmatrix.sync.aligned.m8n8.trans.b16 $0, $1;
// CHECK-COUNT-4: nvvm.shfl.sync bfly
// CHECK: scf.if
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>, !llvm.ptr<1>
// CHECK: } else {
gpu.module @m {
  gpu.func @last(%sums: memref<?x1024xf32> {hopper.operand = 0 : i64}, %counters: memref<?x2xi32> {hopper.operand = 1 : i64},
                 %out: memref<?x64xbf16, strided<[?, 1]>> {hopper.operand = 2 : i64}, %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}, %n: i32 {hopper.operand = 4 : i64}) kernel {
    %turns = hopper.create_turns : !hopper.turns
    %v = arith.constant dense<0.0> : vector<16x64xf32>
    %c0 = arith.constant 0 : index
    hopper.warp_specialize partition @turns replicas(2) threads(1) {
      %w = hopper.warpgroup_id
      %p = arith.cmpi eq, %x, %c0 : index
      hopper.hold_turn %turns[%n] after %x last %p in %counters[%x, %w] : memref<?x2xi32>
      hopper.pass_turn %turns[%n] as %x in %counters[%x, %w] : memref<?x2xi32>
    } partition @compute replicas(2) registers(240) {
      %first, %last = hopper.take_turn %turns[%n]
      hopper.reduce_add %v, %sums[%x] first %first last %last to %out[%x, %c0] m 0 n 1 end_m %x scale 0.25
          : vector<16x64xf32>, memref<?x1024xf32> to memref<?x64xbf16, strided<[?, 1]>>
      hopper.reduce_add %v, %sums[%x] first %first last %last to %out[%x, %c0] m 1 n 0 end_n %x
          : vector<16x64xf32>, memref<?x1024xf32> to memref<?x64xbf16, strided<[?, 1]>>
      hopper.give_turn %turns
    }
    gpu.return
  }
}

// -----

gpu.module @m {
  gpu.func @counters(%sums: memref<?x1024xf32> {hopper.operand = 0 : i64}, %counters: memref<?xi32> {hopper.operand = 1 : i64},
                     %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %v = arith.constant dense<0.0> : vector<16x64xf32>
    hopper.warp_specialize partition @compute registers(240) {
      // expected-error@+1 {{expects a turn where it adds in an order: run hopper-insert-turns before}}
      hopper.reduce_add %v, %sums[%x] after %x as %x in %counters[%x] : vector<16x64xf32>, memref<?x1024xf32>, memref<?xi32>
    }
    gpu.return
  }
}
