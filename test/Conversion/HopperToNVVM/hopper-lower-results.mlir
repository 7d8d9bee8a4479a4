// Results: by way of shared memory, and one element for each query.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @results(%[[MAP:[^ ]*]]: !llvm.ptr {{{[^}]*}}}, %[[LSE:[^ ]*]]: !llvm.ptr<1>, %[[STRIDE0:[^ ]*]]: i64, %{{.*}}: i32, %[[STRIDE1:[^ ]*]]: i64, %{{.*}}: i32, %[[X:[^ ]*]]: i32, %[[Y:[^ ]*]]: i32)
// CHECK-SAME: {kind = "pointer", operand = 4 : i64}, {dim = 0 : i64, kind = "stride", operand = 4 : i64}, {dim = 1 : i64, kind = "extent", operand = 4 : i64}, {dim = 1 : i64, kind = "stride", operand = 4 : i64}, {dim = 2 : i64, kind = "extent", operand = 4 : i64}
// CHECK-SAME: hopper.shared_bytes = 33792 : i64
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[WG:.*]] = arith.subi
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK: %[[ROW:.*]] = arith.addi
// CHECK: %[[ISLEADER:.*]] = arith.cmpi eq, %{{.*}}, %c0_i32

// The copy before has read the tile.
// CHECK: scf.if %[[ISLEADER]] {
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0 {read}
// CHECK-NEXT: }
// CHECK: %[[BARRIER:.*]] = arith.addi %[[WG]], %c8_i32
// CHECK: nvvm.barrier id = %[[BARRIER]] number_of_threads = %c128_i32

// 72 columns: four times 16, and 8 in the second chunk.
// CHECK: %[[SWIZZLE:.*]] = arith.andi %[[LANE]], %c7_i32
// CHECK: arith.xori %{{.*}}, %[[SWIZZLE]]
// CHECK-COUNT-4: stmatrix.sync.aligned.m8n8.x4.shared.b16
// CHECK: stmatrix.sync.aligned.m8n8.x2.shared.b16
// CHECK-NOT: stmatrix
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK: nvvm.barrier id = %[[BARRIER]] number_of_threads = %c128_i32
// CHECK: scf.if %[[ISLEADER]] {
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c0_i32, %[[X]], %[[Y]], %[[X]]]
// CHECK:   nvvm.cp.async.bulk.tensor.global.shared.cta %[[MAP]], %{{.*}}, box[%c64_i32, %[[X]], %[[Y]], %[[X]]]
// CHECK-NEXT: nvvm.cp.async.bulk.commit.group
// CHECK: }

// The first of four threads writes a query that is in range.
// CHECK: %[[FIRST:.*]] = arith.extsi %[[X]]
// CHECK: %[[END:.*]] = arith.extsi %[[Y]]
// CHECK: %[[IS0:.*]] = arith.cmpi eq, %[[QUAD]], %c0_i32
// CHECK: %[[MINE:.*]] = arith.extui %[[ROW]]
// CHECK: %[[AT:.*]] = arith.addi %[[FIRST]], %[[MINE]]
// CHECK: %[[INRANGE:.*]] = arith.cmpi slt, %[[AT]], %[[END]]
// CHECK: %[[WRITES:.*]] = arith.andi %[[IS0]], %[[INRANGE]]
// CHECK: scf.if %[[WRITES]] {
// CHECK:   %[[T0:.*]] = arith.muli %[[FIRST]], %[[STRIDE0]]
// CHECK:   %[[T1:.*]] = arith.muli %[[END]], %[[STRIDE1]]
// CHECK:   %[[T01:.*]] = arith.addi %[[T0]], %[[T1]]
// CHECK:   %[[SUM:.*]] = arith.addi %[[T01]], %[[AT]]
// CHECK:   %[[BYTES:.*]] = arith.muli %[[SUM]], %c4_i64
// CHECK:   llvm.getelementptr %[[LSE]][%[[BYTES]]]
// CHECK:   llvm.store %{{.*}} : f32
// CHECK: }
// CHECK: %[[ROW8:.*]] = arith.addi %[[ROW]], %c8_i32
// CHECK: arith.extui %[[ROW8]]
// CHECK: llvm.store

// Shared memory is there until copies have ended.
// CHECK: scf.if %[[ISLEADER]] {
// CHECK-NEXT: nvvm.cp.async.bulk.wait_group 0{{$}}
gpu.module @m {
  gpu.func @results(%map: !hopper.map<64x72xbf16> {hopper.operand = 3 : i64, hopper.dims = array<i64: 0, 1, 2, 3>},
      %lse: memref<2x?x?xf32, strided<[?, ?, 1]>> {hopper.operand = 4 : i64},
      %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64},
      %y: index {hopper.operand = 0 : i64, hopper.dim = 1 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %tile = hopper.create_tile : !hopper.tile<128x72xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %v = arith.constant dense<0.0> : vector<72x64xf32>
      %r = arith.truncf %v : vector<72x64xf32> to vector<72x64xbf16>
      %rows = hopper.rows %tile[%wg] : !hopper.tile<128x72xbf16> -> !hopper.tile<64x72xbf16, of 128>
      hopper.store %r, %rows, %map[%x, %y, %x] : vector<72x64xbf16>, !hopper.tile<64x72xbf16, of 128>, !hopper.map<64x72xbf16>
      %l = arith.constant dense<1.0> : vector<1x64xf32>
      hopper.store_rows %l, %lse[%x, %y, %x] dim 2 end %y : vector<1x64xf32>, memref<2x?x?xf32, strided<[?, ?, 1]>>
    }
    gpu.return
  }
}
