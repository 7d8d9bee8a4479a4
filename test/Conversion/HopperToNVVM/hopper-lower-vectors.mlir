// Vectors: of eight rows, a thread has two elements for each of its two queries.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @vectors(%[[X:.*]]: f32)
// CHECK: nvvm.setmaxregister {{ *}}increase

// The maximum of the four threads that share a query.
// CHECK: %[[MAX:.*]] = arith.maxnumf %[[X]], %[[X]]
// CHECK: %[[OTHER:.*]] = nvvm.shfl.sync {{ *}}bfly %c-1_i32, %[[MAX]], %c1_i32, %c31_i32
// CHECK: %[[MAX1:.*]] = arith.maxnumf %[[MAX]], %[[OTHER]]
// CHECK: %[[OTHER2:.*]] = nvvm.shfl.sync {{ *}}bfly %c-1_i32, %[[MAX1]], %c2_i32, %c31_i32
// CHECK: arith.maxnumf %[[MAX1]], %[[OTHER2]]

// Parts of a sum are each thread's own; their sum is over threads.
// CHECK: %[[SUM:.*]] = arith.addf %[[X]], %[[X]]
// CHECK-NEXT: nvvm.shfl.sync {{ *}}bfly %c-1_i32, %[[SUM]], %c1_i32, %c31_i32

// CHECK: %[[C:.*]] = arith.cmpf ogt
// CHECK: %[[ANY:.*]] = arith.ori
// CHECK: nvvm.vote.sync {{ *}}any %c-1_i32, %[[ANY]] -> i1

// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2f16x2.rn"

// Keys 2 (lane mod 4) and the one after it, in either query; neighbours are
// packed, the first in the lower half.
// CHECK: %[[FIRST:.*]] = arith.shli %{{.*}}, %c1_i32
// CHECK: %[[FLOAT:.*]] = arith.sitofp %[[FIRST]]
// CHECK: %[[ZERO:.*]] = arith.constant 0.0
// CHECK: %[[EVEN:.*]] = arith.addf %[[FLOAT]], %[[ZERO]]
// CHECK: %[[ONE:.*]] = arith.constant 1.0
// CHECK: %[[ODD:.*]] = arith.addf %[[FLOAT]], %[[ONE]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[ODD]], %[[EVEN]]) : (f32, f32) -> vector<2xbf16>
gpu.module @m {
  gpu.func @vectors(%x: f32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %s = vector.broadcast %x : f32 to vector<8x64xf32>
      %max = hopper.reduce max %s : vector<8x64xf32> -> vector<1x64xf32>
      %parts = hopper.reduce add %s : vector<8x64xf32> -> vector<4x64xf32>
      %sum = hopper.reduce add %parts : vector<4x64xf32> -> vector<1x64xf32>
      %c = arith.cmpf ogt, %max, %sum : vector<1x64xf32>
      %any = hopper.any %c : vector<1x64xi1>
      %b = vector.broadcast %max : vector<1x64xf32> to vector<8x64xf32>
      %e = arith.subf %s, %b : vector<8x64xf32>
      %p = arith.truncf %e : vector<8x64xf32> to vector<8x64xf16>
      %i = hopper.iota : vector<8x1xindex>
      %n = arith.index_cast %i : vector<8x1xindex> to vector<8x1xi32>
      %f = arith.sitofp %n : vector<8x1xi32> to vector<8x1xf32>
      %k = vector.broadcast %f : vector<8x1xf32> to vector<8x64xf32>
      %r = arith.truncf %k : vector<8x64xf32> to vector<8x64xbf16>
    }
    gpu.return
  }
}
