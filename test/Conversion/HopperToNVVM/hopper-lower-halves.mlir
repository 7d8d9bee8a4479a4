// Captures of 16-bit floats: two elements of a vector of keys and queries are
// in one register, the first in the lower half.

// RUN: attn-opt %s --pass-pipeline='builtin.module(gpu.module(gpu.func(hopper-assign-layouts),attn-hopper-lower))' | FileCheck %s

// CHECK: llvm.func @half(
// CHECK: %[[E0:.*]] = llvm.inline_asm {{.*}} ld.global.nc.b16
// CHECK: %[[LOW:.*]] = arith.extui %[[E0]] : i16 to i32
// CHECK: %[[E1:.*]] = llvm.inline_asm {{.*}} ld.global.nc.b16
// CHECK: %[[HIGH:.*]] = arith.extui %[[E1]] : i16 to i32
// Both rows of a thread read the same.
// CHECK-NOT: ld.global.nc.b16
// CHECK: %[[SHIFTED:.*]] = arith.shli %[[HIGH]], %c16_i32{{.*}}
// CHECK: %[[PAIR:.*]] = arith.ori %[[LOW]], %[[SHIFTED]]

// A bfloat16 is the upper half of a float.
// CHECK: %[[BITS0:.*]] = arith.shli %[[PAIR]], %c16_i32{{.*}}
// CHECK: %[[BITS1:.*]] = arith.andi %[[PAIR]], %c-65536_i32{{.*}}
// CHECK: llvm.bitcast %[[BITS0]] : i32 to f32
// CHECK: llvm.bitcast %[[BITS1]] : i32 to f32

// CHECK-COUNT-2: ld.global.nc.b16
// CHECK: %[[PAIR:.*]] = llvm.bitcast %{{.*}} : i32 to vector<2xf16>
// CHECK: %[[F0:.*]] = llvm.extractelement %[[PAIR]][%c0_i32
// CHECK: llvm.fpext %[[F0]] : f16 to f32
// CHECK: %[[F1:.*]] = llvm.extractelement %[[PAIR]][%c1_i32
// CHECK: llvm.fpext %[[F1]] : f16 to f32
gpu.module @m {
  gpu.func @half(%a: memref<?x?xbf16, strided<[?, 1]>> {hopper.operand = 3 : i64}, %f: memref<?x?xf16, strided<[?, 1]>> {hopper.operand = 4 : i64}, %x: i32 {hopper.operand = 5 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %true = arith.constant true
      %p = hopper.position %x
      %i = hopper.iota : vector<8x1xindex>
      %j = vector.broadcast %i : vector<8x1xindex> to vector<8x64xindex>
      %0 = attn.gather %a[%p, %j] mask %true : memref<?x?xbf16, strided<[?, 1]>>, (index, vector<8x64xindex>), i1 -> vector<8x64xbf16>
      %1 = arith.extf %0 : vector<8x64xbf16> to vector<8x64xf32>
      %2 = attn.gather %f[%p, %j] mask %true : memref<?x?xf16, strided<[?, 1]>>, (index, vector<8x64xindex>), i1 -> vector<8x64xf16>
      %3 = arith.extf %2 : vector<8x64xf16> to vector<8x64xf32>
    }
    gpu.return
  }
}
