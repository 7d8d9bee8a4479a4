// Tiles of other elements than those of products: rows of 128 bytes in segments
// of 16, which are swizzled; a thread loads two neighbours at a time.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// Chunks of 32 floats and 128 bytes.
// CHECK-LABEL: llvm.func @pairs(
// CHECK-SAME: {columns = 32 : i64, dims = array<i64: 0, 1, 2, 3>, kind = "map", operand = 0 : i64, rows = 64 : i64}
// CHECK-SAME: {columns = 128 : i64, dims = array<i64: 0, 1, 2, 3>, kind = "map", operand = 1 : i64, rows = 64 : i64}

// Two chunks of 64 rows each for the floats, one for the bytes.
// CHECK: nvvm.mbarrier.arrive.expect_tx {{.*}}, %c16384_i32
// CHECK-COUNT-2: nvvm.cp.async.bulk.tensor
// CHECK: nvvm.mbarrier.arrive.expect_tx {{.*}}, %c8192_i32
// CHECK: nvvm.cp.async.bulk.tensor
// CHECK-NOT: nvvm.cp.async.bulk.tensor

// The row, and 8 bytes for each of four threads, in the segments of the row.
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK: %[[ROWBYTES:.*]] = arith.muli %[[ROW:.*]], %c128_i32
// CHECK: %[[OFFSET:.*]] = arith.muli %[[QUAD]], %c8_i32
// CHECK: %[[AT:.*]] = arith.addi %[[ROWBYTES]], %[[OFFSET]]
// CHECK: %[[LOW:.*]] = arith.andi %[[ROW]], %c7_i32
// CHECK: %[[SWIZZLE:.*]] = arith.muli %[[LOW]], %c16_i32
// CHECK: %[[FIRST:.*]] = arith.xori %[[AT]], %[[SWIZZLE]]
// Rows and those 8 below; 8 floats are 2 segments, 32 a chunk.
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: llvm.getelementptr %{{.*}}[%c1024_i32]
// CHECK: llvm.load %{{.*}} : !llvm.ptr<3> -> vector<2xf32>
// CHECK: arith.xori %[[FIRST]], %c32_i32
// CHECK: arith.xori %[[FIRST]], %c96_i32
// CHECK: llvm.getelementptr %{{.*}}[%c8192_i32]
// CHECK: llvm.getelementptr %{{.*}}[%c9216_i32]
// All threads have read before one of them may release the tile.
// CHECK: nvvm.bar.warp.sync
// Of bytes, 16 columns are a segment.
// CHECK: llvm.load %[[P:.*]] : !llvm.ptr<3> -> i16
// CHECK: arith.trunci %{{.*}} : i16 to i8
// CHECK: arith.shrui %{{.*}}, %c8_i16
// CHECK: llvm.getelementptr %{{.*}}[%c8_i32]
// CHECK: arith.xori %{{.*}}, %c16_i32
// CHECK: nvvm.bar.warp.sync
gpu.module @m {
  gpu.func @pairs(%f: !hopper.map<64x64xf32> {hopper.operand = 0 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                  %b: !hopper.map<64x64xi1> {hopper.operand = 1 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
                  %n: i32 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 64, registers = 240>} {
    %fs = hopper.create_channel : !hopper.channel<1x64x64xf32>
    %bs = hopper.create_channel : !hopper.channel<1x64x64xi1>
    %x = arith.constant 0 : index
    hopper.warp_specialize partition @load threads(1) {
      hopper.put %fs[%n], %f[%x, %x, %x] column %x : !hopper.channel<1x64x64xf32>, !hopper.map<64x64xf32>
      hopper.put %bs[%n], %b[%x, %x, %x] column %x : !hopper.channel<1x64x64xi1>, !hopper.map<64x64xi1>
    } partition @compute registers(240) {
      %ft = hopper.get %fs[%n] : !hopper.channel<1x64x64xf32> -> !hopper.tile<64x64xf32>
      %bias = hopper.load_fragment %ft : !hopper.tile<64x64xf32> -> vector<64x64xf32>
      %bt = hopper.get %bs[%n] : !hopper.channel<1x64x64xi1> -> !hopper.tile<64x64xi1>
      %allowed = hopper.load_fragment %bt : !hopper.tile<64x64xi1> -> vector<64x64xi1>
    }
    gpu.return
  }
}
