// A number for each key in shared memory, in three parts, which a product adds
// to scores.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

gpu.module @m {
  gpu.func @key_terms(%x: f32 {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 48, registers = 240>} {
    %ch = hopper.create_channel : !hopper.channel<4x48x8xbf16, payload>
    hopper.warp_specialize partition @load threads(32) {
      %terms = vector.broadcast %x : f32 to vector<48x1xf32>
      hopper.put_bf16x3 %ch[%n], %terms times 4.0 up_to 1.0e9 : !hopper.channel<4x48x8xbf16, payload>, vector<48x1xf32>
    } partition @compute registers(240) {
      %slopes = vector.broadcast %x : f32 to vector<1x64xf32>
      %parts = hopper.split_bf16x3 %slopes behind_ones : vector<1x64xf32> -> vector<8x64xbf16>
      %tile, %most = hopper.get %ch[%n] : !hopper.channel<4x48x8xbf16, payload> -> !hopper.tile<48x8xbf16>, i32
      %acc = arith.constant dense<0.0> : vector<48x64xf32>
      %s = hopper.mma %parts, %tile acc %acc : vector<8x64xbf16>, !hopper.tile<48x8xbf16>, vector<48x64xf32> -> !hopper.pending<vector<48x64xf32>>
      %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<48x64xf32>>
      hopper.release %ch[%n] : !hopper.channel<4x48x8xbf16, payload>
    }
    gpu.return
  }
}

// The stages are columns of one tile of 48 rows, 128 bytes each, all of which are
// 0 at first.
// CHECK: llvm.func @key_terms(%[[X:.*]]: f32, %[[N:.*]]: i32)
// CHECK-SAME: hopper.shared_bytes = 7168
// CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_shared
// CHECK: scf.for %{{.*}} to %c384_i32
// CHECK:   llvm.insertelement %c0_i32
// CHECK:   llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
// CHECK: }
// CHECK: nvvm.fence.proxy

// One warp fills a stage, four give it back.
// CHECK: nvvm.mbarrier.init %[[SHARED]], %c1_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c4_i32

// The second number of half of the threads is none. The largest one is what the
// threads have seen together, as integers that grow with floats, and 0 if there is
// none.
// CHECK: nvvm.setmaxregister {{ *}}decrease
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[HAS:.*]] = arith.cmpi ult, %[[LANE]], %c16_i32
// CHECK: %[[SECOND:.*]] = arith.select %[[HAS]], %[[X]], %[[NONE:.*]] : f32
// CHECK: %[[OWN:.*]] = arith.maximumf %[[X]], %[[SECOND]]
// CHECK: %[[BITS:.*]] = arith.bitcast %[[OWN]] : f32 to i32
// CHECK: arith.shrsi %[[BITS]], %c31_i32
// CHECK: redux.sync.max.s32
// CHECK: %[[ALL:.*]] = arith.bitcast %{{.*}} : i32 to f32
// CHECK: %[[IS_NONE:.*]] = arith.cmpf oeq, %[[ALL]], %[[NONE]]
// CHECK: %[[MOST:.*]] = arith.select %[[IS_NONE]], %{{.*}}, %[[ALL]]
// CHECK: %[[MAGNITUDE:.*]] = math.absf %[[MOST]]
// CHECK: %[[IS_MORE:.*]] = arith.cmpf ugt, %[[MAGNITUDE]]

// Beyond the limit all rows are 0.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: scf.if %[[IS_MORE]] {
// CHECK-COUNT-2: llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
// CHECK: } else {

// What a part leaves is the next one. None is infinite, but for -inf.
// CHECK:   %[[BELOW:.*]] = arith.subf %[[X]], %[[MOST]]
// CHECK:   %[[TERM:.*]] = arith.mulf %[[BELOW]]
// CHECK:   %[[FINITE:.*]] = arith.maxnumf %[[TERM]]
// CHECK:   %[[IS_LEAST:.*]] = arith.cmpf oeq, %[[X]], %[[NONE]]
// CHECK:   %[[FIRST:.*]] = arith.select %[[IS_LEAST]], %[[NONE]], %[[FINITE]]
// CHECK:   %[[HIGH:.*]] = arith.truncf %[[FINITE]] : f32 to bf16
// CHECK:   %[[HIGH32:.*]] = arith.extf %[[HIGH]]
// CHECK:   %[[REST:.*]] = arith.subf %[[FINITE]], %[[HIGH32]]
// CHECK:   %[[LOW:.*]] = arith.truncf %[[REST]] : f32 to bf16
// CHECK:   %[[LOW32:.*]] = arith.extf %[[LOW]]
// CHECK:   %[[LAST:.*]] = arith.subf %[[REST]], %[[LOW32]]

// Row l: the three parts, three times its number, and zeros.
// CHECK:   %[[ROW:.*]] = arith.uitofp %[[LANE]]
// CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[REST]], %[[FIRST]])
// CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[ROW]], %[[LAST]])
// CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[ROW]], %[[ROW]])
// CHECK:   llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>
// CHECK:   scf.if %[[HAS]] {
// CHECK:     llvm.store %{{.*}} {alignment = 16 : i64} : vector<4xi32>

// The payload is the largest number, or NaN.
// CHECK: %[[PAYLOAD:.*]] = arith.select %[[IS_MORE]], %{{.*}}, %[[MOST]]
// CHECK: llvm.store %[[PAYLOAD]], %{{.*}} : f32
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.bar.warp.sync
// CHECK: mbarrier.arrive

// Behind three ones, the first two threads of a row have a part each, and the
// third one the others.
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[QUAD:.*]] = arith.andi %{{.*}}, %c3_i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[X]], %[[ONE:.*]]) :
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[ONE]], %[[ONE]]) :
// CHECK: wgmma.mma_async.sync.aligned.m64n48k16.f32.bf16.bf16
