// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(attn-hopper-lower))' | FileCheck %s

// Kernels that check lists are of threads that are all alike, and what they
// report is a minimum that all CTAs share.

// CHECK-LABEL: llvm.func @check(
// CHECK-SAME: %[[WORDS:.*]]: !llvm.ptr<1>, %[[PLACE:.*]]: i64)
// CHECK-SAME: hopper.checks = {extents = [{extent = 4 : i64}], sites = 1 : i64, words = 1 : i64}
// CHECK-SAME: nvvm.kernel, nvvm.maxntid = array<i32: 128>
// CHECK: %[[AT:.*]] = llvm.getelementptr %[[WORDS]][8]
// CHECK: %[[BEFORE:.*]] = llvm.atomicrmw umin %[[AT]], %[[PLACE]] syncscope("device") monotonic : !llvm.ptr<1>, i64
// CHECK: arith.cmpi uge, %[[BEFORE]], %[[PLACE]] : i64
gpu.module @checks {
  gpu.func @check(%words: memref<3xi64, strided<[1]>> {hopper.operand = 1 : i64}, %place: i64 {hopper.operand = 0 : i64}) kernel
      attributes {hopper.checks = {extents = [{extent = 4 : i64}], sites = 1 : i64, words = 1 : i64}, hopper.threads = 128 : i64} {
    %c1 = arith.constant 1 : index
    %before = memref.atomic_rmw minu %place, %words[%c1] : (i64, memref<3xi64, strided<[1]>>) -> i64
    %least = arith.cmpi uge, %before, %place : i64
    scf.if %least {
      memref.store %before, %words[%c1] : memref<3xi64, strided<[1]>>
    }
    gpu.return
  }
}
