// What is read at the distance of query and key is the same along a diagonal: a
// thread, which has rows 8 apart and columns 8 apart, reads it once.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// 16 elements on 10 diagonals: distances 8, 7, 0, -1, -8, -9, ...
// CHECK: llvm.func @diagonals(
// CHECK-COUNT-10: ld.global.nc.b32
// CHECK-NOT: ld.global

// With masks that differ, each element is read.
// CHECK: llvm.func @masked(
// CHECK-COUNT-16: ld.global.nc.b32
// CHECK-NOT: ld.global
gpu.module @m {
  gpu.func @diagonals(%a: memref<?xf32, strided<[1]>> {hopper.operand = 3 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 32, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %true = arith.constant true
      %row = hopper.iota : vector<1x64xindex>
      %key = hopper.iota : vector<32x1xindex>
      %i = vector.broadcast %row : vector<1x64xindex> to vector<32x64xindex>
      %j = vector.broadcast %key : vector<32x1xindex> to vector<32x64xindex>
      %d = arith.subi %i, %j : vector<32x64xindex>
      %0 = attn.gather %a[%d] mask %true : memref<?xf32, strided<[1]>>, (vector<32x64xindex>), i1 -> vector<32x64xf32>
    }
    gpu.return
  }
}

gpu.module @n {
  gpu.func @masked(%a: memref<?xf32, strided<[1]>> {hopper.operand = 3 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 32, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c5 = arith.constant dense<5> : vector<32x64xindex>
      %row = hopper.iota : vector<1x64xindex>
      %key = hopper.iota : vector<32x1xindex>
      %i = vector.broadcast %row : vector<1x64xindex> to vector<32x64xindex>
      %j = vector.broadcast %key : vector<32x1xindex> to vector<32x64xindex>
      %d = arith.subi %i, %j : vector<32x64xindex>
      %m = arith.cmpi slt, %i, %c5 : vector<32x64xindex>
      %n = arith.cmpi slt, %j, %i : vector<32x64xindex>
      %o = arith.andi %m, %n : vector<32x64xi1>
      %0 = attn.gather %a[%d] mask %o : memref<?xf32, strided<[1]>>, (vector<32x64xindex>), vector<32x64xi1> -> vector<32x64xf32>
    }
    gpu.return
  }
}
