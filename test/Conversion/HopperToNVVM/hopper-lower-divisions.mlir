// Quotients by a number that all elements share are products with its
// reciprocal, if it follows from arguments of the kernel.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower))' | FileCheck %s

// Once, in front of the loop: 2^shift is not less than the divisor, and the factor
// has a bit for each step of a long division.

// CHECK-LABEL: llvm.func @unsigned(
// CHECK-SAME: %[[BY:[^ ]*]]: i64,
// CHECK: arith.cmpi eq, %[[BY]], %c0_i64
// CHECK: %[[SAFE:.*]] = arith.select %{{.*}}, %c1_i64{{.*}}, %[[BY]] : i64
// CHECK: arith.minui %[[SAFE]], %c2147483647_i64{{.*}} : i64
// CHECK: %[[D:.*]] = arith.trunci
// CHECK: %[[LESS:.*]] = arith.subi %[[D]], %c1_i32{{.*}} : i32
// CHECK: %[[ZEROS:.*]] = math.ctlz %[[LESS]] : i32
// CHECK: %[[SHIFT:.*]] = arith.subi %c32_i32{{.*}}, %[[ZEROS]] : i32
// CHECK: %[[BITS:.*]]:2 = scf.for %{{.*}} = %c0_i32{{.*}} to %c31_i32{{.*}} step %c1_i32
// CHECK: arith.cmpi uge
// CHECK: %[[MORE:.*]] = arith.extui
// CHECK: %[[FACTOR:.*]] = arith.addi %[[BITS]]#0, %[[MORE]] : i32
// CHECK: scf.for
// CHECK-NOT: ctlz
// CHECK: arith.shli %{{.*}}, %c1_i32{{.*}} : i32
// CHECK: %{{.*}}, %[[HIGH:.*]] = arith.mului_extended %{{.*}}, %[[FACTOR]] : i32
// CHECK: arith.shrui %[[HIGH]], %[[SHIFT]] : i32
// CHECK-NOT: arith.divui
// CHECK-NOT: arith.remui
// CHECK: llvm.return
gpu.module @m {
  gpu.func @unsigned(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      scf.for %step = %c0 to %c9 step %c1 {
        %isZero = arith.cmpi eq, %by, %c0 : index
        %safe = arith.select %isZero, %c1, %by : index
        %position = hopper.position %n
        %i = hopper.iota : vector<16x1xindex>
        %all = vector.broadcast %position : index to vector<16x1xindex>
        %keys = arith.addi %i, %all : vector<16x1xindex>
        %d = vector.broadcast %safe : index to vector<16x1xindex>
        %q = arith.divui %keys, %d : vector<16x1xindex>
        %r = arith.remui %keys, %d : vector<16x1xindex>
      }
    }
    gpu.return
  }
}

// Of absolute values, with the signs put back; rounded down, one less is divided.

// CHECK-LABEL: llvm.func @signed(
// CHECK: %[[SIGN:.*]] = arith.shrsi %{{.*}}, %c31_i32
// CHECK: scf.for
// CHECK-NOT: scf.for
// CHECK-NOT: arith.divsi
// CHECK-NOT: arith.floordivsi
// CHECK-NOT: arith.remsi
// CHECK: llvm.return
gpu.module @n {
  gpu.func @signed(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %i = hopper.iota : vector<16x1xindex>
      %all = vector.broadcast %position : index to vector<16x1xindex>
      %rest = arith.subi %i, %all : vector<16x1xindex>
      %d = vector.broadcast %by : index to vector<16x1xindex>
      %0 = arith.divsi %rest, %d : vector<16x1xindex>
      %1 = arith.remsi %rest, %d : vector<16x1xindex>
      %2 = arith.floordivsi %rest, %d : vector<16x1xindex>
    }
    gpu.return
  }
}

// What is read in the loop divides as it is.

// CHECK-LABEL: llvm.func @late(
// CHECK-NOT: ctlz
// CHECK: arith.divui %{{.*}} : i32
gpu.module @o {
  gpu.func @late(%from: memref<?xi32> {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c0 = arith.constant 0 : index
      %true = arith.constant true
      %read = attn.gather %from[%c0] mask %true : memref<?xi32>, (index), i1 -> i32
      %by = arith.index_cast %read : i32 to index
      %position = hopper.position %n
      %i = hopper.iota : vector<16x1xindex>
      %all = vector.broadcast %position : index to vector<16x1xindex>
      %keys = arith.addi %i, %all : vector<16x1xindex>
      %d = vector.broadcast %by : index to vector<16x1xindex>
      %0 = arith.divui %keys, %d : vector<16x1xindex>
    }
    gpu.return
  }
}

// Of a divisor that is an absolute value, an instruction in text, too, and once
// for all who divide by it.

// CHECK-LABEL: llvm.func @absolute(
// CHECK: llvm.inline_asm {{.*}}neg.s64
// CHECK: math.ctlz
// CHECK-NOT: math.ctlz
// CHECK-NOT: arith.remui
// CHECK: llvm.return
gpu.module @absolutes {
  gpu.func @absolute(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c1 = arith.constant 1 : index
      %absolute = math.absi %by : index
      %safe = arith.maxui %absolute, %c1 : index
      %position = hopper.position %n
      %i = hopper.iota : vector<16x1xindex>
      %all = vector.broadcast %position : index to vector<16x1xindex>
      %keys = arith.addi %i, %all : vector<16x1xindex>
      %d = vector.broadcast %safe : index to vector<16x1xindex>
      %r = arith.remui %keys, %d : vector<16x1xindex>
      %j = hopper.iota : vector<1x64xindex>
      %e = vector.broadcast %safe : index to vector<1x64xindex>
      %s = arith.remui %j, %e : vector<1x64xindex>
    }
    gpu.return
  }
}

// A thread's columns are pairs, so that remainders by 2 are constants.

// CHECK-LABEL: llvm.func @even(
// CHECK-NOT: arith.remui
// CHECK: arith.cmpi eq, %c0_i32{{.*}}, %c0_i32
// CHECK: arith.cmpi eq, %c1_i32{{.*}}, %c0_i32
// CHECK: llvm.return
gpu.module @evens {
  gpu.func @even(%n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %i = hopper.iota : vector<16x1xindex>
      %c2 = arith.constant dense<2> : vector<16x1xindex>
      %c0 = arith.constant dense<0> : vector<16x1xindex>
      %r = arith.remui %i, %c2 : vector<16x1xindex>
      %p = arith.cmpi eq, %r, %c0 : vector<16x1xindex>
    }
    gpu.return
  }
}
