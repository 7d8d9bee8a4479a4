// Matrix products.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

// CHECK: llvm.func @products
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[WG:.*]] = arith.subi

// Descriptors of first stages: the address by 16, 1024 bytes between groups of
// rows, rows of 128 bytes.
// CHECK: %[[BASE:.*]] = llvm.ptrtoint
// CHECK: %[[KADDRESS:.*]] = arith.addi %[[BASE]], %c17408_i32
// CHECK: arith.andi %[[KADDRESS]], %c262143_i32
// CHECK: %[[K0:.*]] = arith.ori %{{.*}}, %c4611686293305360384_i64
// CHECK: %[[QADDRESS:.*]] = arith.addi %[[BASE]], %c1024_i32
// CHECK: %[[Q0:.*]] = arith.ori %{{.*}}, %c4611686293305360384_i64
// Values lie the other way: chunks of 64 columns are 16 rows of 128 bytes apart.
// CHECK: %[[V0:.*]] = arith.ori %{{.*}}, %c4611686293313683456_i64

// Both operands in shared memory: two steps of 16 columns for 24, the first
// without an accumulator.
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: nvvm.mbarrier.try_wait.parity
// CHECK: %[[STAGE:.*]] = arith.extui
// CHECK: %[[K:.*]] = arith.addi %[[K0]], %[[STAGE]]
// CHECK: %[[ROWS32:.*]] = arith.muli %[[WG]], %c512_i32
// CHECK: %[[ROWS:.*]] = arith.extui %[[ROWS32]]
// CHECK: %[[Q:.*]] = arith.addi %[[Q0]], %[[ROWS]]
// CHECK: %[[K1:.*]] = arith.addi %[[K]], %c2_i64
// CHECK: %[[Q1:.*]] = arith.addi %[[Q]], %c2_i64
// CHECK: %[[S:.*]] = llvm.inline_asm has_side_effects
// CHECK-SAME: "{ .reg .pred p; setp.ne.b32 p, 0, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, $9, $8, p, 1, 1, 0, 0; setp.eq.b32 p, 0, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, $11, $10, p, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; }", "=f,=f,=f,=f,=f,=f,=f,=f,l,l,l,l" %[[K]], %[[Q]], %[[K1]], %[[Q1]] :

// What a wait returns is tied to what was pending.
// CHECK-COUNT-8: llvm.extractvalue %[[S]]
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: "wgmma.wait_group.sync.aligned 1;", "=f,=f,=f,=f,=f,=f,=f,=f,0,1,2,3,4,5,6,7"

// Probabilities are the operand in registers, two to each.
// CHECK-COUNT-4: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"
// CHECK: %[[V:.*]] = arith.addi %[[V0]], %[[STAGE]]
// CHECK: llvm.inline_asm has_side_effects
// CHECK-SAME: "{ .reg .pred p; setp.eq.b32 p, 0, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n24k16.f32.bf16.bf16 {{.*}}, {$13,$14,$15,$16}, $12, p, 1, 1, 1; wgmma.commit_group.sync.aligned; }"
// CHECK-SAME: l,r,r,r,r,0,1,2,3,4,5,6,7,8,9,10,11" %[[V]],
// CHECK: "wgmma.wait_group.sync.aligned 0;"

// Queries in registers: four matrices of 8x8 for each step.
// CHECK-COUNT-2: "ldmatrix.sync.aligned.m8n8.x4.shared.b16 {$0,$1,$2,$3}, [$4];", "=r,=r,=r,=r,r"
// The last step has 8 columns. The registers of the others have been written
// before the fence.
// CHECK: %[[ZERO:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0;", "=r"
// CHECK: "{ .reg .pred p; setp.eq.b32 p, 0, 0; wgmma.fence.sync.aligned; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, {$9,$10,$11,$12}, $8, p, 1, 1, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16 {$0,$1,$2,$3,$4,$5,$6,$7}, {$14,$15,$16,$17}, $13, p, 1, 1, 0; wgmma.commit_group.sync.aligned; }"
// CHECK-SAME: "=f,=f,=f,=f,=f,=f,=f,=f,l,r,r,r,r,l,r,r,r,r,0,1,2,3,4,5,6,7" %{{.*}}, %[[ZERO]], %[[ZERO]],
// CHECK-NOT: wgmma.mma_async

// The fifth step of 80 columns is in the second chunk, which is all rows of a
// tile further: 16 of the keys and 128 of the queries.
// CHECK: llvm.func @chunks
// CHECK: %[[K4:.*]] = arith.addi %{{.*}}, %c128_i64
// CHECK: %[[Q4:.*]] = arith.addi %{{.*}}, %c1024_i64
// CHECK: llvm.inline_asm
// CHECK-COUNT-5: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-SAME: wgmma.commit_group.sync.aligned; }", {{.*}} %[[K4]], %[[Q4]] :
// CHECK-NOT: wgmma.mma_async
// CHECK: llvm.return

// Of chunks of 48 columns the fourth step is in the second one.
// CHECK: llvm.func @narrow
// CHECK: %[[K2:.*]] = arith.addi %{{.*}}, %c4_i64
// CHECK: %[[K3:.*]] = arith.addi %{{.*}}, %c128_i64
// CHECK: llvm.inline_asm
// CHECK-COUNT-6: wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16
// CHECK-SAME: wgmma.commit_group.sync.aligned; }", {{.*}} %[[K2]], %{{.*}}, %[[K3]], %
// CHECK: llvm.return

// Of more than eight steps the offsets are added in the text.
// CHECK: llvm.func @long
// CHECK: "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, 0, 0; wgmma.fence.sync.aligned; add.s64 b, $8, 0; add.s64 a, $9, 0; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0,$1,$2,$3,$4,$5,$6,$7}, a, b, p, 1, 1, 0, 0; setp.eq.b32 p, 0, 0; add.s64 b, $8, 2; add.s64 a, $9, 2; wgmma.mma_async
// CHECK-COUNT-6: wgmma.mma_async
// CHECK-SAME: add.s64 b, $8, 256; add.s64 a, $9, 2048; wgmma.mma_async.sync.aligned.m64n16k16.f32.f16.f16 {$0,$1,$2,$3,$4,$5,$6,$7}, a, b, p, 1, 1, 0, 0; wgmma.commit_group.sync.aligned; }", "=f,=f,=f,=f,=f,=f,=f,=f,l,l" %
// CHECK-NOT: wgmma.mma_async
// CHECK: llvm.return

// So are those of a loop of more products than a forward pass has.
// CHECK: llvm.func @many
// CHECK-COUNT-4: "{ .reg .pred p; .reg .b64 a, b; setp.ne.b32 p, 0, 0; wgmma.fence.sync.aligned; add.s64 b, $8, 0; add.s64 a, $9, 0; wgmma.mma_async
gpu.module @m {
  gpu.func @products(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %qs = hopper.create_channel : !hopper.channel<1x128x24xbf16>
    %ks = hopper.create_channel : !hopper.channel<2x16x24xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %q = hopper.get %qs[%n] : !hopper.channel<1x128x24xbf16> -> !hopper.tile<128x24xbf16>
      %rows = hopper.rows %q[%wg] : !hopper.tile<128x24xbf16> -> !hopper.tile<64x24xbf16, of 128>
      %k = hopper.get %ks[%n] : !hopper.channel<2x16x24xbf16> -> !hopper.tile<16x24xbf16>
      %s = hopper.mma %rows, %k : !hopper.tile<64x24xbf16, of 128>, !hopper.tile<16x24xbf16> -> !hopper.pending<vector<16x64xf32>>
      %v = hopper.wait %s in_flight 1 : !hopper.pending<vector<16x64xf32>>
      %p = arith.truncf %v : vector<16x64xf32> to vector<16x64xbf16>
      %acc = arith.constant dense<0.0> : vector<24x64xf32>
      %o = hopper.mma %p, %k acc %acc rhs_transposed : vector<16x64xbf16>, !hopper.tile<16x24xbf16>, vector<24x64xf32> -> !hopper.pending<vector<24x64xf32>>
      %w = hopper.wait %o in_flight 0 : !hopper.pending<vector<24x64xf32>>
      %f = hopper.load_fragment %rows : !hopper.tile<64x24xbf16, of 128> -> vector<24x64xbf16>
      %s2 = hopper.mma %f, %k acc %v : vector<24x64xbf16>, !hopper.tile<16x24xbf16>, vector<16x64xf32> -> !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}

gpu.module @wide {
  gpu.func @chunks(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %qs = hopper.create_channel : !hopper.channel<1x128x80xf16>
    %ks = hopper.create_channel : !hopper.channel<1x16x80xf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %q = hopper.get %qs[%n] : !hopper.channel<1x128x80xf16> -> !hopper.tile<128x80xf16>
      %rows = hopper.rows %q[%wg] : !hopper.tile<128x80xf16> -> !hopper.tile<64x80xf16, of 128>
      %k = hopper.get %ks[%n] : !hopper.channel<1x16x80xf16> -> !hopper.tile<16x80xf16>
      %s = hopper.mma %rows, %k : !hopper.tile<64x80xf16, of 128>, !hopper.tile<16x80xf16> -> !hopper.pending<vector<16x64xf32>>
      %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}

gpu.module @chunks_of_48 {
  gpu.func @narrow(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %qs = hopper.create_channel : !hopper.channel<1x64x96xf16>
    %ks = hopper.create_channel : !hopper.channel<1x16x96xf16, chunks of 48>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %q = hopper.get %qs[%n] : !hopper.channel<1x64x96xf16> -> !hopper.tile<64x96xf16>
      %k = hopper.get %ks[%n] : !hopper.channel<1x16x96xf16, chunks of 48> -> !hopper.tile<16x96xf16, chunks of 48>
      %s = hopper.mma %q, %k : !hopper.tile<64x96xf16>, !hopper.tile<16x96xf16, chunks of 48> -> !hopper.pending<vector<16x64xf32>>
      %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}

gpu.module @longer {
  gpu.func @long(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %qs = hopper.create_channel : !hopper.channel<1x128x144xf16>
    %ks = hopper.create_channel : !hopper.channel<1x16x144xf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %wg = hopper.warpgroup_id
      %q = hopper.get %qs[%n] : !hopper.channel<1x128x144xf16> -> !hopper.tile<128x144xf16>
      %rows = hopper.rows %q[%wg] : !hopper.tile<128x144xf16> -> !hopper.tile<64x144xf16, of 128>
      %k = hopper.get %ks[%n] : !hopper.channel<1x16x144xf16> -> !hopper.tile<16x144xf16>
      %s = hopper.mma %rows, %k : !hopper.tile<64x144xf16, of 128>, !hopper.tile<16x144xf16> -> !hopper.pending<vector<16x64xf32>>
      %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}

gpu.module @products_of_gradients {
  gpu.func @many(%n: i32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    %qs = hopper.create_channel : !hopper.channel<1x64x16xf16>
    %ks = hopper.create_channel : !hopper.channel<1x16x16xf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c9 = arith.constant 9 : index
      %q = hopper.get %qs[%n] : !hopper.channel<1x64x16xf16> -> !hopper.tile<64x16xf16>
      %k = hopper.get %ks[%n] : !hopper.channel<1x16x16xf16> -> !hopper.tile<16x16xf16>
      scf.for %i = %c0 to %c9 step %c1 {
        %0 = hopper.mma %q, %k : !hopper.tile<64x16xf16>, !hopper.tile<16x16xf16> -> !hopper.pending<vector<16x64xf32>>
        %1 = hopper.mma %q, %k : !hopper.tile<64x16xf16>, !hopper.tile<16x16xf16> -> !hopper.pending<vector<16x64xf32>>
        %2 = hopper.mma %q, %k : !hopper.tile<64x16xf16>, !hopper.tile<16x16xf16> -> !hopper.pending<vector<16x64xf32>>
        %3 = hopper.mma %q, %k : !hopper.tile<64x16xf16>, !hopper.tile<16x16xf16> -> !hopper.pending<vector<16x64xf32>>
        %4 = hopper.wait %0 in_flight 0 : !hopper.pending<vector<16x64xf32>>
        %5 = hopper.wait %1 in_flight 0 : !hopper.pending<vector<16x64xf32>>
        %6 = hopper.wait %2 in_flight 0 : !hopper.pending<vector<16x64xf32>>
        %7 = hopper.wait %3 in_flight 0 : !hopper.pending<vector<16x64xf32>>
      }
    }
    gpu.return
  }
}
