// The operands of a product that adds multiples of a position.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower),cse)' | FileCheck %s

gpu.module @m {
  gpu.func @iota_tile(%x: f32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 128, tile_n = 16, registers = 240>} {
    %iota = hopper.create_iota_tile : !hopper.tile<16x8xbf16>
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute replicas(2) registers(240) {
      %slopes = vector.broadcast %x : f32 to vector<1x64xf32>
      %parts = hopper.split_bf16x3 %slopes : vector<1x64xf32> -> vector<8x64xbf16>
      %acc = arith.constant dense<0.0> : vector<16x64xf32>
      %s = hopper.mma %parts, %iota acc %acc : vector<8x64xbf16>, !hopper.tile<16x8xbf16>, vector<16x64xf32> -> !hopper.pending<vector<16x64xf32>>
      %v = hopper.wait %s in_flight 0 : !hopper.pending<vector<16x64xf32>>
    }
    gpu.return
  }
}

// All threads write the rows, 8 pieces of 16 bytes each, which all columns of a
// row are; and let products see them before all go on.
// CHECK: llvm.func @iota_tile(
// CHECK-SAME: hopper.shared_bytes = 3072
// CHECK: %[[THREAD:.*]] = nvvm.read.ptx.sreg.tid.x
// CHECK: scf.for %[[PIECE:.*]] = %[[THREAD]] to %c128_i32 step %c384_i32 {{.*}}{
// CHECK:   %[[ROW:.*]] = arith.divui %[[PIECE]], %c8_i32
// CHECK:   %[[NUMBER:.*]] = arith.uitofp %[[ROW]] : i32 to f32
// CHECK:   llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[NUMBER]], %[[NUMBER]])
// CHECK:   %[[TILE:.*]] = llvm.getelementptr %{{.*}}[1024]
// CHECK:   %[[BYTES:.*]] = arith.muli %[[PIECE]], %c16_i32
// CHECK:   %[[AT:.*]] = llvm.getelementptr %[[TILE]][%[[BYTES]]]
// CHECK:   llvm.store %{{.*}}, %[[AT]] {alignment = 16 : i64} : vector<4xi32>
// CHECK: }
// CHECK: nvvm.fence.proxy {kind = #nvvm.proxy_kind<async.shared>
// CHECK: nvvm.barrier

// What a part leaves is the next one. Of the four threads of a row the first
// one has two parts, and the second one has the third.
// CHECK: nvvm.setmaxregister {{ *}}increase
// CHECK: %[[LANE:.*]] = arith.andi %[[THREAD]], %c31_i32
// CHECK: %[[QUAD:.*]] = arith.andi %[[LANE]], %c3_i32
// CHECK: %[[HIGH:.*]] = arith.truncf %[[X:.*]] : f32 to bf16
// CHECK: %[[HIGH32:.*]] = arith.extf %[[HIGH]]
// CHECK: %[[REST:.*]] = arith.subf %[[X]], %[[HIGH32]]
// CHECK: %[[LOW:.*]] = arith.truncf %[[REST]] : f32 to bf16
// CHECK: %[[LOW32:.*]] = arith.extf %[[LOW]]
// CHECK: %[[LAST:.*]] = arith.subf %[[REST]], %[[LOW32]]
// CHECK: %[[IS1:.*]] = arith.cmpi eq, %[[QUAD]], %c1_i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[ZERO:.*]], %[[LAST]])
// CHECK: %[[OTHER:.*]] = arith.select %[[IS1]], %{{.*}}, %c0_i32
// CHECK: %[[IS0:.*]] = arith.cmpi eq, %[[QUAD]], %c0_i32
// CHECK: llvm.call_intrinsic "llvm.nvvm.ff2bf16x2.rn"(%[[REST]], %[[X]])
// CHECK: %[[PARTS:.*]] = arith.select %[[IS0]], %{{.*}}, %[[OTHER]]

// Half a step: the other columns are 0.
// CHECK: %[[NONE:.*]] = llvm.inline_asm has_side_effects asm_dialect = att "mov.b32 $0, 0;", "=r"
// CHECK: wgmma.mma_async.sync.aligned.m64n16k16.f32.bf16.bf16
// CHECK-SAME: 0,1,2,3,4,5,6,7" %{{.*}}, %[[PARTS]], %{{[0-9]+}}, %[[NONE]], %[[NONE]],
