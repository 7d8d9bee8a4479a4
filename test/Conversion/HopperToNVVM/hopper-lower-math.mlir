// Functions of the hardware.

// RUN: attn-opt %s --attn-hopper-lower | FileCheck %s
// RUN: attn-opt %s --attn-hopper-lower="accurate-tanh" | FileCheck %s --check-prefix=TANH

// CHECK: llvm.func @math(%[[X:.*]]: f32)
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[X]])
// CHECK: %[[SCALED:.*]] = arith.mulf %[[X]], %{{.*}}
// CHECK: llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"(%[[SCALED]])
// CHECK: llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%[[X]])
// CHECK: %[[LOG2:.*]] = llvm.call_intrinsic "llvm.nvvm.lg2.approx.ftz.f"(%[[X]])
// CHECK: arith.mulf %[[LOG2]], %{{.*}}
// CHECK: llvm.inline_asm asm_dialect = att "tanh.approx.f32 $0, $1;", "=f,f" %[[X]]
// CHECK: llvm.call_intrinsic "llvm.nvvm.rsqrt.approx.ftz.f"(%[[X]])
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"(%[[X]])
// CHECK: llvm.intr.fma(%[[X]], %[[X]], %[[X]])
// CHECK: %[[INVERSE:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[X]])
// CHECK: arith.mulf %[[X]], %[[INVERSE]]

// Of exponentials, and of a series near 0.
// TANH-NOT: tanh.approx
// TANH: %[[POWER:.*]] = llvm.call_intrinsic "llvm.nvvm.ex2.approx.ftz.f32"
// TANH: %[[ONEMORE:.*]] = arith.addf
// TANH: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[ONEMORE]])
// TANH: %[[LARGE:.*]] = arith.subf
// TANH: llvm.intr.fma
// TANH: llvm.intr.fma
// TANH: %[[SMALL:.*]] = llvm.intr.fma
// TANH: %[[ISSMALL:.*]] = arith.cmpf olt
// TANH: arith.select %[[ISSMALL]], %[[SMALL]], %[[LARGE]]
// TANH-NOT: tanh.approx
gpu.module @m {
  gpu.func @math(%x: f32 {hopper.operand = 0 : i64}) kernel attributes {hopper.schedule = #hopper.schedule<tile_m = 64, tile_n = 16, registers = 240>} {
    hopper.warp_specialize partition @load threads(1) {
    } partition @compute registers(240) {
      %0 = math.exp2 %x : f32
      %1 = math.exp %x : f32
      %2 = math.log2 %x : f32
      %3 = math.log %x : f32
      %4 = math.tanh %x : f32
      %5 = math.rsqrt %x : f32
      %6 = math.sqrt %x : f32
      %7 = math.fma %x, %x, %x : f32
      %8 = arith.divf %x, %x : f32
    }
    gpu.return
  }
}
