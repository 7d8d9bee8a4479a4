// What warpgroups write to tiles and add to memory, vectors in shared memory, and products of transposed tiles.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// Tiles of 2 x 8 KB and 12 KB, and behind the barriers vectors of 512 bytes: two stages.
// CHECK: llvm.func @stored
// CHECK-NOT: hopper.ptx_version
// CHECK-SAME: hopper.shared_bytes = 30720 : i64
// CHECK: %[[SHARED:.*]] = llvm.mlir.addressof @attn_shared
// Eight warps write, and eight free.
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: nvvm.mbarrier.init %{{.*}}, %c8_i32
// CHECK: %[[WG:.*]] = nvvm.shfl.sync
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[WARP:.*]] = arith.andi %{{.*}}, %c3_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32

// 64 rows of each warpgroup: 16 columns, and 8 more.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[HALF:.*]] = arith.shrui %[[LANE]], %c4_i32
// CHECK: %[[IN_MATRIX:.*]] = arith.andi %[[LANE]], %c7_i32
// CHECK: arith.muli %[[WG]], %c8192_i32
// CHECK: "stmatrix.sync.aligned.m8n8.x4.shared.b16 [$0], {$1,$2,$3,$4};", "r,r,r,r,r"
// CHECK: "stmatrix.sync.aligned.m8n8.x2.shared.b16 [$0], {$1,$2};", "r,r,r"
// Products see it once each thread has come past a fence, and the warp arrives after all of its threads.
// CHECK-NEXT: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>, space = #nvvm.shared_space<cta>}
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: {{.*}}"@$1 mbarrier.arrive

// 64 columns of each warpgroup, which are a chunk: the matrices of a warp are two segments of 16 bytes of each row.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[NEXT:.*]] = arith.shli %[[HALF]], %c3_i32
// CHECK: %[[ROW:.*]] = arith.addi %[[IN_MATRIX]], %[[NEXT]]
// CHECK: %[[EIGHTH:.*]] = arith.shrui %[[LANE]], %c3_i32
// CHECK: %[[MATRIX:.*]] = arith.andi %[[EIGHTH]], %c1_i32
// CHECK: %[[FIRST:.*]] = arith.shli %[[WARP]], %c1_i32
// CHECK: %[[SEGMENT:.*]] = arith.addi %[[FIRST]], %[[MATRIX]]
// CHECK: arith.xori %[[SEGMENT]], %[[IN_MATRIX]]
// CHECK: arith.muli %[[WG]], %c3072_i32
// CHECK: arith.muli %[[ROW]], %c128_i32
// CHECK: "stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [$0], {$1,$2,$3,$4};", "r,r,r,r,r" %[[ADDRESS:[0-9]+]],
// CHECK: %[[ROWS16:.*]] = arith.addi %[[ADDRESS]], %c2048_i32
// CHECK: "stmatrix.sync.aligned.m8n8.x2.trans.shared.b16 [$0], {$1,$2};", "r,r,r" %[[ROWS16]],
// CHECK-NEXT: nvvm.fence.proxy
// CHECK-NEXT: nvvm.bar.warp.sync
// CHECK-NEXT: {{.*}}"@$1 mbarrier.arrive

// One thread of four writes the element of a row, under the condition.
// CHECK: scf.if %[[P:arg1]] {
// CHECK:   nvvm.mbarrier.try_wait.parity
// CHECK:   %[[IS_FIRST:.*]] = arith.cmpi eq, %[[QUAD]], %c0_i32
// CHECK:   scf.if %[[IS_FIRST]] {
// CHECK-COUNT-2: llvm.store %{{.*}} : f32, !llvm.ptr<3>
// CHECK:   nvvm.bar.warp.sync
// CHECK-NEXT: {{.*}}"@$1 mbarrier.arrive

// CHECK: scf.if %[[P]] {
// CHECK:   nvvm.mbarrier.try_wait.parity
// CHECK-NEXT: }
// CHECK-COUNT-2: llvm.load %{{.*}} : !llvm.ptr<3> -> f32
// CHECK-COUNT-16: llvm.load %{{.*}} {alignment = 8 : i64} : !llvm.ptr<3> -> vector<2xf32>
// Each thread has read by itself.
// CHECK: nvvm.bar.warp.sync
// CHECK: %[[ARRIVES:.*]] = arith.andi %{{.*}}, %[[P]] : i1
// CHECK: "@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}" %{{.*}}, %[[ARRIVES]]

// CHECK: llvm.func @copied
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.mbarrier.arrive.expect_tx %[[FULL:.*]], %c320_i32
// CHECK: nvvm.cp.async.bulk.shared.cluster.global %{{.*}}, %{{.*}}, %[[FULL]], %c320_i32

// CHECK: llvm.func @products
// CHECK: %[[WG:.*]] = nvvm.shfl.sync
// Chunks of all 32 rows are 4096 bytes apart, also in a part of the rows.
// CHECK: %[[B0:.*]] = arith.ori %{{.*}}, %c4611686293322072064_i64
// CHECK: %[[A0:.*]] = arith.ori %{{.*}}, %c4611686293322072064_i64
// CHECK: %[[CHUNK:.*]] = arith.muli %[[WG]], %c256_i32
// CHECK: %[[CHUNK64:.*]] = arith.extui %[[CHUNK]]
// CHECK: %[[B:.*]] = arith.addi %[[B0]], %[[CHUNK64]]
// Steps are 16 rows of 128 bytes.
// CHECK: %[[B1:.*]] = arith.addi %[[B]], %c128_i64
// CHECK: %[[A1:.*]] = arith.addi %[[A0]], %c128_i64
// CHECK: m64n64k16.f32.bf16.bf16 {{.*}}, $33, $32, p, 1, 1, 1, 1;
// CHECK-SAME: m64n64k16.f32.bf16.bf16 {{.*}}, $35, $34, p, 1, 1, 1, 1; wgmma.commit_group.sync.aligned; }"
// CHECK-SAME: %[[B]], %[[A0]], %[[B1]], %[[A1]] :
// CHECK: %[[ROWS:.*]] = arith.muli %[[WG]], %c128_i32
// CHECK: %[[ROWS64:.*]] = arith.extui %[[ROWS]]
// CHECK: %[[B2:.*]] = arith.addi %[[B0]], %[[ROWS64]]
// CHECK: %[[A2:.*]] = arith.addi %[[A0]], %[[ROWS64]]
// CHECK: m64n128k16.f32.bf16.bf16 {{.*}}, p, 1, 1, 1, 1; wgmma.commit_group.sync.aligned; }"
// CHECK-SAME: %[[B2]], %[[A2]] :
// One wait for both: 32 and 64 registers.
// CHECK: "wgmma.wait_group.sync.aligned 0;", {{.*}},95" %
// CHECK-NOT: wait_group

// CHECK: llvm.func @sums
// CHECK-SAME: hopper.ptx_version = 81 : i64
// CHECK: %[[TID:.*]] = nvvm.read.ptx.sreg.tid.x
// Sixteen bytes of each thread follow each other.
// CHECK: scf.if
// CHECK:   arith.muli %[[TID]], %c4_i32
// CHECK:   "red.global.add.v4.f32 [$0], {$1,$2,$3,$4};", "l,f,f,f,f"
gpu.module @m {
  gpu.func @stored(%n: i32 {hopper.operand = 0 : i64}, %p: i1 {hopper.operand = 1 : i64}) kernel {
    %rows = hopper.create_channel : !hopper.channel<1x128x24xbf16>
    %columns = hopper.create_channel : !hopper.channel<2x24x128xbf16>
    %sums = hopper.create_channel : !hopper.channel<2x128xf32>
    hopper.warp_specialize partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %v = arith.constant dense<1.0> : vector<24x64xbf16>
      %x = arith.constant dense<1.0> : vector<1x64xf32>
      hopper.put_fragment %rows[%n], %v at %wg : !hopper.channel<1x128x24xbf16>, vector<24x64xbf16>
      hopper.put_fragment %columns[%n], %v at %wg transposed : !hopper.channel<2x24x128xbf16>, vector<24x64xbf16>
      hopper.put_fragment %sums[%n], %x at %wg if %p : !hopper.channel<2x128xf32>, vector<1x64xf32>
      %t = hopper.get %sums[%n] if %p : !hopper.channel<2x128xf32> -> !hopper.tile<128xf32>
      %mine = hopper.rows %t[%wg] : !hopper.tile<128xf32> -> !hopper.tile<64xf32, of 128>
      %a = hopper.load_fragment %mine : !hopper.tile<64xf32, of 128> -> vector<1x64xf32>
      %b = hopper.load_fragment %t : !hopper.tile<128xf32> -> vector<128x1xf32>
      hopper.release %sums[%n] if %p : !hopper.channel<2x128xf32>
      %a2 = vector.broadcast %a : vector<1x64xf32> to vector<128x64xf32>
      %b2 = vector.broadcast %b : vector<128x1xf32> to vector<128x64xf32>
      %ab = arith.addf %a2, %b2 : vector<128x64xf32>
      %max = hopper.reduce max %ab : vector<128x64xf32> -> vector<1x64xf32>
      hopper.put_fragment %sums[%n], %max at %wg : !hopper.channel<2x128xf32>, vector<1x64xf32>
    }
    gpu.return
  }

  gpu.func @copied(%lse: memref<?xf32> {hopper.operand = 0 : i64}, %n: i32 {hopper.operand = 1 : i64},
                   %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}) kernel {
    %ch = hopper.create_channel : !hopper.channel<2x80xf32>
    hopper.warp_specialize partition @load threads(1) {
      hopper.put_vector %ch[%n], %lse[%x] : !hopper.channel<2x80xf32>, memref<?xf32>
    } partition @compute registers(240) {
      %t = hopper.get %ch[%n] : !hopper.channel<2x80xf32> -> !hopper.tile<80xf32>
      hopper.release %ch[%n] : !hopper.channel<2x80xf32>
    }
    gpu.return
  }

  gpu.func @products(%n: i32 {hopper.operand = 0 : i64}) kernel {
    %as = hopper.create_channel : !hopper.channel<1x32x64xbf16>
    %bs = hopper.create_channel : !hopper.channel<1x32x128xbf16>
    hopper.warp_specialize partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %a = hopper.get %as[%n] : !hopper.channel<1x32x64xbf16> -> !hopper.tile<32x64xbf16>
      %b = hopper.get %bs[%n] : !hopper.channel<1x32x128xbf16> -> !hopper.tile<32x128xbf16>
      %half = hopper.columns %b[%wg] : !hopper.tile<32x128xbf16> -> !hopper.tile<32x64xbf16>
      %lower = hopper.rows %a[%wg] : !hopper.tile<32x64xbf16> -> !hopper.tile<16x64xbf16, of 32>
      %s0 = hopper.mma %a, %half lhs_transposed rhs_transposed : !hopper.tile<32x64xbf16>, !hopper.tile<32x64xbf16> -> !hopper.pending<vector<64x64xf32>>
      %rest = hopper.rows %b[%wg] : !hopper.tile<32x128xbf16> -> !hopper.tile<16x128xbf16, of 32>
      %s1 = hopper.mma %lower, %rest lhs_transposed rhs_transposed : !hopper.tile<16x64xbf16, of 32>, !hopper.tile<16x128xbf16, of 32> -> !hopper.pending<vector<128x64xf32>>
      %x, %y = hopper.wait %s0, %s1 in_flight 0 : !hopper.pending<vector<64x64xf32>>, !hopper.pending<vector<128x64xf32>>
      hopper.release %as[%n] : !hopper.channel<1x32x64xbf16>
      hopper.release %bs[%n] : !hopper.channel<1x32x128xbf16>
    }
    gpu.return
  }

  gpu.func @sums(%blocks: memref<?x512xf32> {hopper.operand = 0 : i64},
                 %x: index {hopper.operand = 0 : i64, hopper.dim = 0 : i64}, %p: i1 {hopper.operand = 1 : i64}) kernel {
    hopper.warp_specialize partition @compute registers(240) {
      %v = arith.constant dense<1.0> : vector<8x64xf32>
      hopper.reduce_add %v, %blocks[%x] if %p : vector<8x64xf32>, memref<?x512xf32>
    }
    gpu.return
  }
}
