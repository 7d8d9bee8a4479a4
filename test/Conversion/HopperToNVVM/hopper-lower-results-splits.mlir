// Results by way of a tile with fewer columns: one part after the other, each
// written when the copy before has read the tile.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @results(%[[MAP:[^ ]*]]: !llvm.ptr
// CHECK-SAME: hopper.shared_bytes = 33792 : i64

// CHECK: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK: nvvm.barrier
// CHECK-COUNT-8: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK-NOT: stmatrix
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier
// CHECK: scf.if %[[ISLEADER:[0-9]+]] {
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c0_i32,
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c64_i32,
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK: }

// CHECK: scf.if %[[ISLEADER]] {
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: }
// CHECK: nvvm.barrier
// CHECK-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: stmatrix.sync.aligned.m8n8.x2.shared.b16
// CHECK-NOT: stmatrix
// CHECK: nvvm.fence.proxy
// CHECK: nvvm.barrier
// CHECK: scf.if %[[ISLEADER]] {
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c128_i32,
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c192_i32,
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK: }
gpu.module @m {
  gpu.func @results(%map: !hopper.map<64x200xbf16> {hopper.operand = 3 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
      %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %tile = hopper.create_tile : !hopper.tile<128x128xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %v = arith.constant dense<0.0> : vector<200x64xf32>
      %r = arith.truncf %v : vector<200x64xf32> to vector<200x64xbf16>
      %rows = hopper.rows %tile[%wg] : !hopper.tile<128x128xbf16> -> !hopper.tile<64x128xbf16, of 128>
      hopper.store %r, %rows, %map[%x, %x, %x] : vector<200x64xbf16>, !hopper.tile<64x128xbf16, of 128>, !hopper.map<64x200xbf16>
    }
    gpu.return
  }
}
