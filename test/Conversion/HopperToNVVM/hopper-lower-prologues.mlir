// Kernels that fill tables.

// RUN: attn-opt %s --attn-hopper-lower --cse | FileCheck %s

// CHECK: llvm.func @prologue(%[[IN:[^ ]*]]: !llvm.ptr<1>, %[[SIZE:[^ ]*]]: i32, %[[INTS:[^ ]*]]: !llvm.ptr<1>,
// CHECK-SAME: attributes {hopper.elements = 1 : i64, hopper.params = [{kind = "pointer", operand = 0 : i64}
// CHECK-SAME: hopper.shared_bytes = 0 : i64, hopper.threads = 128 : i64, nvvm.kernel, nvvm.maxntid = array<i32: 128>
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: %[[LANE:.*]] = arith.andi %[[TID]], %c31_i32
// The hardware reduces 32 bits; less become more.
// CHECK: %[[X:.*]] = llvm.inline_asm
// CHECK: %[[MIN:.*]] = nvvm.redux.sync {{ *}}min %[[X]], %c-1_i32
// CHECK: nvvm.redux.sync {{ *}}max %[[X]], %c-1_i32
// CHECK: %[[WIDE:.*]] = arith.extsi %{{.*}} : i16 to i32
// CHECK: %[[MAX16:.*]] = nvvm.redux.sync {{ *}}max %[[WIDE]], %c-1_i32
// CHECK: arith.trunci %[[MAX16]] : i32 to i16
// CHECK: %[[BIT:.*]] = arith.extui %{{.*}} : i1 to i32
// CHECK: %[[AND:.*]] = nvvm.redux.sync {{ *}}and %[[BIT]], %c-1_i32
// CHECK: %[[ALL:.*]] = arith.trunci %[[AND]] : i32 to i1
// CHECK: nvvm.redux.sync {{ *}}or
// 64 bits go from thread to thread in halves.
// CHECK: %[[LONG:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: %[[LOW:.*]] = arith.trunci %[[LONG]] : i64 to i32
// CHECK: nvvm.shfl.sync {{ *}}bfly %{{.*}}, %[[LOW]], %c16_i32
// CHECK: nvvm.shfl.sync {{ *}}bfly
// CHECK: arith.minsi %[[LONG]], %{{.*}} : i64
// CHECK-COUNT-4: arith.minsi
// CHECK: %[[PLACE:.*]] = llvm.getelementptr %[[INTS]][%{{.*}}]
// CHECK: llvm.store %[[MIN]], %{{.*}} : i32, !llvm.ptr<1>
// CHECK: %[[BYTE:.*]] = arith.extui %[[ALL]] : i1 to i8
// CHECK: llvm.store %[[BYTE]], %{{.*}} : i8, !llvm.ptr<1>
// An index has 64 bits.
// CHECK: %[[INDEX:.*]] = arith.extsi %{{.*}} : i32 to i64
// CHECK: llvm.store %[[INDEX]], %{{.*}} : i64, !llvm.ptr<1>
gpu.module @m {
  gpu.func @prologue(%in: memref<?xi32> {hopper.operand = 0 : i64}, %ints: memref<?xi32> {hopper.operand = 1 : i64},
                    %bits: memref<?xi1> {hopper.operand = 2 : i64}, %indices: memref<?xindex> {hopper.operand = 3 : i64},
                    %shorts: memref<?xi16> {hopper.operand = 4 : i64}, %longs: memref<?xi64> {hopper.operand = 5 : i64}) kernel
      attributes {hopper.elements = 1 : i64, hopper.threads = 128 : i64} {
    %true = arith.constant true
    %zero = arith.constant 0 : i32
    %lane = gpu.lane_id
    %thread = gpu.thread_id x
    %x = attn.gather %in[%thread] mask %true : memref<?xi32>, (index), i1 -> i32
    %min = gpu.subgroup_reduce minsi %x uniform : (i32) -> i32
    %max = gpu.subgroup_reduce maxsi %x uniform : (i32) -> i32
    %x16 = arith.trunci %x : i32 to i16
    %max16 = gpu.subgroup_reduce maxsi %x16 uniform : (i16) -> i16
    %p = arith.cmpi sgt, %x, %zero : i32
    %all = gpu.subgroup_reduce and %p uniform : (i1) -> i1
    %any = gpu.subgroup_reduce or %p uniform : (i1) -> i1
    %x64 = arith.extsi %x : i32 to i64
    %min64 = gpu.subgroup_reduce minsi %x64 uniform : (i64) -> i64
    memref.store %min, %ints[%thread] : memref<?xi32>
    memref.store %all, %bits[%thread] : memref<?xi1>
    memref.store %lane, %indices[%thread] : memref<?xindex>
    memref.store %max, %ints[%lane] : memref<?xi32>
    memref.store %any, %bits[%lane] : memref<?xi1>
    memref.store %max16, %shorts[%lane] : memref<?xi16>
    memref.store %min64, %longs[%lane] : memref<?xi64>
    gpu.return
  }
}
