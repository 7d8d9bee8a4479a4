// Results of parts of the keys: written from registers, and combined by warps.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// A thread writes two columns at a time of each of its two rows, if they are in
// range: 24 columns are three groups of 8.
// CHECK-LABEL: llvm.func @parts(
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK: %[[COLUMN:.*]] = arith.muli %[[QUAD]], %c2_i32
// CHECK: %[[INRANGE:.*]] = arith.cmpi slt
// CHECK: scf.if %[[INRANGE]] {
// CHECK:   arith.extsi %[[COLUMN]] : i32 to i64
// CHECK:   %[[PLACE:.*]] = llvm.getelementptr %{{.*}}[0]
// CHECK:   llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>
// CHECK:   llvm.getelementptr %[[PLACE]][32]
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>
// CHECK:   llvm.getelementptr %[[PLACE]][64]
// CHECK-NEXT: llvm.store %{{.*}} {alignment = 8 : i64} : vector<2xf32>
// CHECK-NEXT: }
// CHECK: scf.if
// CHECK-COUNT-3: llvm.store %{{.*}} : vector<2xf32>

// CHECK-LABEL: llvm.func @combine(
// CHECK-SAME: hopper.combine = 2 : i64
// CHECK-SAME: hopper.threads = 128 : i64
// CHECK-SAME: nvvm.maxntid = array<i32: 128>
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[INHALF:.*]] = arith.andi %[[LANE]], %c15_i32
// CHECK: %[[HALF:.*]] = arith.shrui %[[LANE]], %c4_i32
// Of 72 columns there are 8 from column 64 on, of two threads of each half.
// CHECK: %[[OWN:.*]] = arith.muli %[[INHALF]], %c4_i32
// CHECK: %[[COLUMN:.*]] = arith.addi %c64_i32, %[[OWN]]
// CHECK: %[[HAS:.*]] = arith.cmpi slt, %[[COLUMN]], %c72_i32
// The largest log-sum-exp.
// CHECK: %[[MAX:.*]] = scf.for %{{.*}} = %c0_i32 to %[[NUM:.*]] step %c32_i32 iter_args(%{{.*}} = %[[NONE:.*]]) -> (f32)
// CHECK:   %[[PART:.*]] = arith.addi %{{.*}}, %[[LANE]]
// CHECK:   arith.cmpi slt, %[[PART]], %[[NUM]]
// CHECK:   llvm.inline_asm {{.*}}"{ mov.b32 $0, 0fFF800000; @$2 ld.global.f32 $0, [$1]; }"
// CHECK:   arith.maxnumf
// CHECK: }
// CHECK-COUNT-5: nvvm.shfl.sync {{ *}}bfly
// CHECK: %[[TOP:.*]] = arith.maxnumf
// CHECK: %[[ISEMPTY:.*]] = arith.cmpf oeq, %[[TOP]], %[[NONE]]
// CHECK: %[[SHIFT:.*]] = arith.select %[[ISEMPTY]], %{{.*}}, %[[TOP]]
// Eight parts of each half at a time, of which each thread has the log-sum-exp
// of one, read ahead.
// CHECK: %[[AHEAD:.*]] = llvm.inline_asm {{.*}}ld.global.f32
// CHECK: %[[SUMS:.*]]:6 = scf.for %[[I:.*]] = %c0_i32 to %[[NUM]] step %c16_i32 iter_args({{.*}} %[[LSE:[^ ]*]] = %[[AHEAD]])
// CHECK:   %[[NEXT:.*]] = llvm.inline_asm {{.*}}ld.global.f32
// CHECK:   %[[LESS:.*]] = arith.subf %[[LSE]], %[[SHIFT]]
// CHECK:   %[[WEIGHT:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[LESS]])
// CHECK:   arith.addf %{{.*}}, %[[WEIGHT]]
// What has no keys is not read.
// CHECK:   %[[SOME:.*]] = arith.cmpf une, %[[LSE]], %[[NONE]]
// CHECK:   %[[ALL:.*]] = nvvm.vote.sync {{ *}}ballot %{{.*}}, %[[SOME]]
// CHECK:   %[[BITS:.*]] = arith.shrui %[[ALL]], %[[HALF]]
// CHECK:   %[[OF0:.*]] = nvvm.shfl.sync {{ *}}idx %{{.*}}, %[[WEIGHT]], %{{.*}}
// CHECK:   %[[BIT:.*]] = arith.andi %[[BITS]], %c1_i32
// CHECK:   %[[READS:.*]] = arith.cmpi ne, %[[BIT]], %c0_i32
// CHECK:   %[[BOTH:.*]] = arith.andi %[[READS]], %[[HAS]]
// CHECK:   llvm.inline_asm {{.*}}@$5 ld.global.v4.f32 {$0, $1, $2, $3}, [$4]; }"{{.*}} %{{.*}}, %[[BOTH]]
// CHECK-COUNT-7: ld.global.v4.f32
// CHECK-COUNT-4: llvm.intr.fma(%[[OF0]]
// CHECK:   scf.yield {{.*}}%[[NEXT]] :
// CHECK: }
// The halves come together, and each writes two columns of a thread.
// CHECK-COUNT-8: nvvm.shfl.sync {{ *}}bfly
// CHECK: arith.cmpf oeq
// CHECK: %[[FACTOR:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: scf.if %[[HAS]] {
// CHECK:   %[[SUM:.*]] = arith.select
// CHECK:   %[[O:.*]] = arith.mulf %[[SUM]], %[[FACTOR]]
// CHECK:   %[[ROUNDED:.*]] = arith.truncf %[[O]] : f32 to bf16
// CHECK:   llvm.store %[[ROUNDED]], %{{.*}} : bf16
// CHECK:   llvm.store %{{.*}} : bf16
// CHECK: }
// The first thread of the warp of column 0 writes the log-sum-exp.
// CHECK: arith.ori %c64_i32, %[[LANE]]
// CHECK: scf.if
// CHECK:   %[[LOG:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"
// CHECK:   arith.addf %[[SHIFT]], %[[LOG]]
// CHECK:   llvm.store %{{.*}} : f32
gpu.module @m {
  gpu.func @parts(%parts: memref<?x?x24xf32, strided<[?, ?, 1]>> {hopper.operand = 4 : i64},
      %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %y: index {hopper.operand = 0 : i64, hopper.dim = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 208, split_kv>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(208) {
      %v = arith.constant dense<1.0> : vector<24x64xf32>
      hopper.store_rows %v, %parts[%x, %y] dim 0 end %y : vector<24x64xf32>, memref<?x?x24xf32, strided<[?, ?, 1]>>
    }
    gpu.return
  }

  gpu.func @combine(%parts: memref<?x?x?x?x72xf32, strided<[?, ?, ?, ?, 1]>> {hopper.operand = 4 : i64},
      %lses: memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>> {hopper.operand = 5 : i64},
      %o: memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>> {hopper.operand = 2 : i64},
      %lse: memref<?x?x?xf32, strided<[?, ?, 1]>> {hopper.operand = 3 : i64},
      %b: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.combine = 2 : i64, hopper.threads = 128 : i64} {
    %row = gpu.block_id x
    %n = arith.constant 64 : i32
    %c = hopper.position %n
    hopper.combine %parts, %lses[%b, %b, %row] into %o[%b, %b, %row, %c] dim 3 lse %lse[%b, %b, %row]
        : memref<?x?x?x?x72xf32, strided<[?, ?, ?, ?, 1]>>, memref<?x?x?x?xf32, strided<[?, ?, ?, 1]>>, memref<?x?x?x72xbf16, strided<[?, ?, ?, 1]>>, memref<?x?x?xf32, strided<[?, ?, 1]>>
    gpu.return
  }
}
