// RUN: attn-opt %s --attn-hopper-expand-math | FileCheck %s
// RUN: attn-opt %s --attn-hopper-expand-math=portable | FileCheck %s --check-prefix=PORTABLE

// Arithmetic on one element, with the approximations of the hardware.

// CHECK-LABEL: llvm.func @quotient(
// CHECK-SAME: %[[X:[^:]*]]: f32)
// CHECK: %[[ABS:.*]] = math.absf %[[X]] : f32
// CHECK: %[[OVER:.*]] = arith.addf %[[ABS]], %[[ABS]]
// CHECK: %[[UNDER:.*]] = arith.subf %{{.*}}, %[[ABS]]
// CHECK: %[[INVERSE:.*]] = llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"(%[[UNDER]])
// CHECK: arith.mulf %[[OVER]], %[[INVERSE]]
// CHECK-NOT: math.log
// CHECK-NOT: arith.divf
// CHECK: %[[Y:.*]] = math.copysign %{{.*}}, %[[X]] : f32
// CHECK-NEXT: llvm.return %[[Y]]
// PORTABLE-LABEL: llvm.func @quotient(
// PORTABLE-NOT: call_intrinsic
// PORTABLE: arith.divf
llvm.func @quotient(%x: f32) -> f32 {
  %0 = math.atanh %x : f32
  llvm.return %0 : f32
}

// CHECK-LABEL: llvm.func @root(
// CHECK-NOT: math.sqrt
// CHECK: llvm.call_intrinsic "llvm.nvvm.sqrt.approx.ftz.f"
// CHECK-NOT: math.sqrt
// CHECK: llvm.return
// PORTABLE-LABEL: llvm.func @root(
// PORTABLE: math.sqrt
llvm.func @root(%x: f32) -> f32 {
  %0 = math.acosh %x : f32
  llvm.return %0 : f32
}

// Angles are reduced in f64, where f32 would lose large ones.

// CHECK-LABEL: llvm.func @angle(
// CHECK-SAME: %[[X:[^:]*]]: f32)
// CHECK: %[[WIDE:.*]] = arith.extf %[[X]] : f32 to f64
// CHECK: %[[LARGE:.*]] = arith.constant 0x4338000000000000 : f64
// CHECK: %[[TURNS:.*]] = math.fma %[[WIDE]], %{{.*}}, %[[LARGE]] : f64
// CHECK: %[[MINUS:.*]] = arith.subf %[[LARGE]], %[[TURNS]] : f64
// CHECK: %[[REST:.*]] = math.fma %[[MINUS]], %{{.*}}, %[[WIDE]] : f64
// CHECK: %[[REST2:.*]] = math.fma %[[MINUS]], %{{.*}}, %[[REST]] : f64
// CHECK: arith.truncf %[[REST2]] : f64 to f32
// CHECK: %[[BITS:.*]] = arith.bitcast %[[TURNS]] : f64 to i64
// CHECK: arith.trunci %[[BITS]] : i64 to i32
// CHECK-NOT: math.sin
// CHECK: llvm.return
llvm.func @angle(%x: f32) -> f32 {
  %0 = math.sin %x : f32
  llvm.return %0 : f32
}

// What needs nothing stays as it is, also what could be folded.

// CHECK-LABEL: llvm.func @others(
// CHECK-NEXT: %[[C:.*]] = arith.constant 1.0
// CHECK-NEXT: %[[SUM:.*]] = arith.addf %[[C]], %[[C]] : f32
// CHECK-NEXT: math.floor %[[SUM]] : f32
// CHECK-NEXT: math.sin %{{.*}} : f64
// CHECK-NEXT: llvm.return
llvm.func @others(%x: f64) {
  %c = arith.constant 1.0 : f32
  %0 = arith.addf %c, %c : f32
  %1 = math.floor %0 : f32
  %2 = math.sin %x : f64
  llvm.return
}

// The sign is that of the first number, also of zero; a quotient that is
// rounded to the next integer is put right.

// CHECK-LABEL: llvm.func @remainder(
// CHECK-SAME: %[[X:[^:]*]]: f32, %[[Y:[^:]*]]: f32)
// CHECK: %[[OVER:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: %[[UNDER:.*]] = arith.extf %{{.*}} : f32 to f64
// CHECK: llvm.call_intrinsic "llvm.nvvm.rcp.approx.ftz.f"
// CHECK: %[[N:.*]] = math.trunc %{{.*}} : f64
// CHECK: %[[MINUS:.*]] = arith.negf %[[N]] : f64
// CHECK: %[[REST:.*]] = math.fma %[[MINUS]], %[[UNDER]], %[[OVER]] : f64
// CHECK: arith.addf %[[REST]], %[[UNDER]]
// CHECK: arith.subf %{{.*}}, %[[UNDER]]
// CHECK: math.copysign %{{.*}}, %[[X]] : f32
// CHECK-NOT: arith.remf
// CHECK: llvm.return
llvm.func @remainder(%x: f32, %y: f32) -> f32 {
  %0 = arith.remf %x, %y : f32
  llvm.return %0 : f32
}

// CHECK-LABEL: llvm.func @remainder64(
// CHECK: arith.divf %{{.*}} : f64
// CHECK: math.trunc %{{.*}} : f64
// CHECK-NOT: arith.remf
// CHECK: llvm.return
llvm.func @remainder64(%x: f64, %y: f64) -> f64 {
  %0 = arith.remf %x, %y : f64
  llvm.return %0 : f64
}
