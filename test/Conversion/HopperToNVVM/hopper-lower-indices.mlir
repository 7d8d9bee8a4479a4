// Index arithmetic, in 32 bits where all values fit.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower))' | FileCheck %s

// CHECK: llvm.func @indices(%[[EXTENT:[^ ]*]]: i32, %[[ANY:[^ ]*]]: i64, %[[N:[^ ]*]]: i32)
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: llvm.ptrtoint

// Constants stay apart: n + 5 < e is 5 < e - n.
// CHECK: %[[UNUSED:.*]] = arith.subi %[[N]], %[[EXTENT]] : i32
// CHECK: %[[DIFFERENCE:.*]] = arith.subi %[[EXTENT]], %[[N]] : i32
// CHECK: arith.cmpi slt, %c5_i32{{.*}}, %[[DIFFERENCE]] : i32
// CHECK: arith.divui %[[N]], %{{.*}} : i32

// A product of positions may need 64 bits, and a scalar of the caller does.
// CHECK: %[[N64:.*]] = arith.extsi %[[N]] : i32 to i64
// CHECK: %[[E64:.*]] = arith.extsi %[[EXTENT]] : i32 to i64
// CHECK: %[[PRODUCT:.*]] = arith.muli %[[N64]], %[[E64]] : i64
// CHECK: arith.addi %[[ANY]], %{{.*}} : i64
// CHECK: arith.cmpi sle, %[[ANY]], %{{.*}} : i64

// 5 - n is 5 and 0 - n.
// CHECK: %[[NEGATED:.*]] = arith.subi %c0_i32{{.*}}, %[[N]] : i32
// CHECK: arith.addi %[[NEGATED]], %[[NEGATED]] : i32

// A signed number of 32 bits fits, an unsigned one does not.
// CHECK: arith.extui %[[N]] : i32 to i64
// CHECK: arith.minsi %[[N]], %[[EXTENT]] : i32
// CHECK: arith.trunci %[[PRODUCT]] : i64 to i32

// A tile's first position is one, and what signed divisions by a number that is
// known give is no more than that, in size.
// CHECK: %[[START:.*]] = arith.muli %[[N]], %{{.*}} : i32
// CHECK: %[[LEFT:.*]] = arith.subi %[[EXTENT]], %[[START]] : i32
// CHECK: arith.divsi %[[LEFT]], %{{.*}} : i32
// CHECK: %[[REST:.*]] = arith.remsi %[[LEFT]], %{{.*}} : i32
// CHECK: arith.muli %[[REST]], %{{.*}} : i32
// An unsigned one makes a large number of one that may be negative.
// CHECK: %[[LEFT64:.*]] = arith.extsi %[[LEFT]] : i32 to i64
// CHECK: arith.divui %[[LEFT64]], %{{.*}} : i64

// The four keys of a thread share their base.
// CHECK: %[[FIRST:.*]] = arith.shli
// CHECK: %[[BASE:.*]] = arith.addi %[[FIRST]], %[[N]] : i32
// CHECK: arith.cmpi slt, %[[BASE]], %[[EXTENT]] : i32
// CHECK: arith.subi %[[EXTENT]], %{{.*}} : i32
// CHECK: arith.cmpi slt, %c1_i32{{.*}}, %{{.*}} : i32
// CHECK: arith.cmpi slt, %c8_i32{{.*}}, %{{.*}} : i32
// CHECK: arith.cmpi slt, %c9_i32{{.*}}, %{{.*}} : i32
gpu.module @m {
  gpu.func @indices(%extent: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %any: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %c5 = arith.constant 5 : index
      %c3 = arith.constant 3 : index
      %0 = arith.addi %position, %c5 : index
      %1 = arith.subi %position, %extent : index
      %2 = arith.cmpi slt, %0, %extent : index
      %3 = arith.divui %position, %c3 : index
      %4 = arith.muli %position, %extent : index
      %5 = arith.addi %any, %position : index
      %6 = arith.cmpi sle, %any, %position : index
      %7 = arith.subi %c5, %position : index
      %8 = arith.addi %7, %7 : index
      %9 = arith.index_cast %n : i32 to index
      %10 = arith.index_castui %n : i32 to index
      %11 = arith.minsi %9, %extent : index
      %12 = arith.index_cast %4 : index to i32
      %tile = hopper.position %n of 128
      %c128 = arith.constant 128 : index
      %13 = arith.muli %tile, %c128 : index
      %14 = arith.subi %extent, %13 : index
      %15 = arith.divsi %14, %c3 : index
      %16 = arith.remsi %14, %c3 : index
      %17 = arith.muli %16, %c128 : index
      %18 = arith.divui %14, %c3 : index
      %i = hopper.iota : vector<16x1xindex>
      %j = vector.broadcast %position : index to vector<16x1xindex>
      %k = arith.addi %i, %j : vector<16x1xindex>
      %e = vector.broadcast %extent : index to vector<16x1xindex>
      %q = arith.cmpi slt, %k, %e : vector<16x1xindex>
    }
    gpu.return
  }
}

// Positions have 32 bits: divisors beyond them all are as good as the largest
// number, so that no division has 64 bits. One of the other kind does where the
// dividend may be negative.

// CHECK: llvm.func @divisors(
// CHECK: %[[LEAST:.*]] = arith.minui %{{.*}}, %c2147483647_i64{{.*}} : i64
// CHECK: %[[BY:.*]] = arith.trunci %[[LEAST]] : i64 to i32
// CHECK: arith.divui %[[P:.*]], %[[BY]] : i32
// CHECK: arith.maxsi %{{.*}}, %c-2147483647_i64{{.*}} : i64
// CHECK: arith.minsi %{{.*}}, %c2147483647_i64{{.*}} : i64
// CHECK: arith.remsi %{{.*}}, %{{.*}} : i32
// CHECK: arith.remui %{{.*}}, %{{.*}} : i64
gpu.module @o {
  gpu.func @divisors(%by: index {hopper.operand = 1 : i64}, %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %position = hopper.position %n
      %c5 = arith.constant 5 : index
      %0 = arith.divui %position, %by : index
      %1 = arith.subi %c5, %position : index
      %2 = arith.remsi %1, %by : index
      %3 = arith.remui %1, %by : index
    }
    gpu.return
  }
}
