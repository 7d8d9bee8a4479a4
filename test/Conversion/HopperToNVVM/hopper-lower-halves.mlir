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
// CHECK: %[[F1:.*]] = llvm.extractelement %[[PAIR]][%c1_i32
// CHECK: arith.extf %[[F0]] : f16 to f32
// CHECK: arith.extf %[[F1]] : f16 to f32
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

// Anything else is done with one at a time.
// CHECK: llvm.func @bits(%{{[^,]*}}, %[[X:[^:]*]]: f16
// CHECK: %[[PAIR:.*]] = llvm.bitcast %{{.*}} : vector<2xf16> to i32
// CHECK: %[[BOTH:.*]] = llvm.bitcast %[[PAIR]] : i32 to vector<2xf16>
// CHECK: %[[F0:.*]] = llvm.extractelement %[[BOTH]][%c0_i32
// CHECK: %[[F1:.*]] = llvm.extractelement %[[BOTH]][%c1_i32
// CHECK: %[[B0:.*]] = arith.bitcast %[[F0]] : f16 to i16
// CHECK: %[[B1:.*]] = arith.bitcast %[[F1]] : f16 to i16
// CHECK: %[[X0:.*]] = arith.xori %[[B0]], %{{.*}} : i16
// CHECK: %[[X1:.*]] = arith.xori %[[B1]], %{{.*}} : i16
// CHECK: %[[G0:.*]] = arith.bitcast %[[X0]] : i16 to f16
// CHECK: %[[G1:.*]] = arith.bitcast %[[X1]] : i16 to f16
// CHECK: %[[FIRST:.*]] = llvm.insertelement %[[G0]], %{{.*}}[%c0_i32
// CHECK: %[[SECOND:.*]] = llvm.insertelement %[[G1]], %[[FIRST]][%c1_i32
// CHECK: llvm.bitcast %[[SECOND]] : vector<2xf16> to i32
// CHECK: arith.select %{{.*}}, %{{.*}}, %{{.*}} : f16
// A scalar goes to both.
// CHECK: %[[FIRST:.*]] = llvm.insertelement %[[X]], %{{.*}}[%c0_i32
// CHECK: llvm.insertelement %[[X]], %[[FIRST]][%c1_i32
// CHECK: arith.extf %{{.*}} : f16 to f64
gpu.module @n {
  gpu.func @bits(%x: f32 {hopper.operand = 0 : i64}, %y: f16 {hopper.operand = 1 : i64}, %c: i16 {hopper.operand = 2 : i64}) kernel
      attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %v = hopper.broadcast %x : f32 -> tensor<8x64xf32, #hopper.layout<accumulator>>
      %h = arith.truncf %v : tensor<8x64xf32, #hopper.layout<accumulator>> to tensor<8x64xf16, #hopper.layout<accumulator>>
      %b = arith.bitcast %h : tensor<8x64xf16, #hopper.layout<accumulator>> to tensor<8x64xi16, #hopper.layout<accumulator>>
      %w = hopper.broadcast %c : i16 -> tensor<8x64xi16, #hopper.layout<accumulator>>
      %xor = arith.xori %b, %w : tensor<8x64xi16, #hopper.layout<accumulator>>
      %g = arith.bitcast %xor : tensor<8x64xi16, #hopper.layout<accumulator>> to tensor<8x64xf16, #hopper.layout<accumulator>>
      %less = arith.cmpi slt, %b, %w : tensor<8x64xi16, #hopper.layout<accumulator>>
      %s = arith.select %less, %g, %h : tensor<8x64xi1, #hopper.layout<accumulator>>, tensor<8x64xf16, #hopper.layout<accumulator>>
      %u = hopper.broadcast %y : f16 -> tensor<8x64xf16, #hopper.layout<accumulator>>
      %t = arith.select %less, %s, %u : tensor<8x64xi1, #hopper.layout<accumulator>>, tensor<8x64xf16, #hopper.layout<accumulator>>
      %d = arith.extf %t : tensor<8x64xf16, #hopper.layout<accumulator>> to tensor<8x64xf64, #hopper.layout<accumulator>>
    }
    gpu.return
  }
}
