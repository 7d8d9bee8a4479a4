// RUN: attn-opt %s --attn-cpu-lower-math | FileCheck %s

// On f32 and vectors of f32; all else is for the C library.

// CHECK-LABEL: func.func @vectors
// CHECK-NOT: math.exp
// CHECK-NOT: math.log
// CHECK-NOT: math.tanh
// CHECK-NOT: math.erf
// CHECK: llvm.intr.fmuladd({{.*}}) : (vector<8xf32>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
func.func @vectors(%x: vector<8xf32>) -> (vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>) {
  %0 = math.exp %x : vector<8xf32>
  %1 = math.exp2 %x : vector<8xf32>
  %2 = math.expm1 %x : vector<8xf32>
  %3 = math.log %x : vector<8xf32>
  %4 = math.log1p %x : vector<8xf32>
  %5 = math.log2 %x : vector<8xf32>
  %6 = math.tanh %x : vector<8xf32>
  %7 = math.erf %x : vector<8xf32>
  return %0, %1, %2, %3, %4, %5, %6, %7 : vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>, vector<8xf32>
}

// CHECK-LABEL: func.func @scalar
// CHECK-NOT: math.
// CHECK: llvm.intr.fmuladd({{.*}}) : (f32, f32, f32) -> f32
func.func @scalar(%x: f32) -> f32 {
  %0 = math.exp2 %x : f32
  return %0 : f32
}

// CHECK-LABEL: func.func @others
// CHECK-NEXT: math.exp2 %{{.*}} : vector<8xf64>
// CHECK-NEXT: math.log %{{.*}} : f64
// CHECK-NEXT: math.sin %{{.*}} : f32
// CHECK-NEXT: math.powf %{{.*}}, %{{.*}} : f32
// CHECK-NEXT: return
func.func @others(%x: vector<8xf64>, %y: f64, %z: f32) -> (vector<8xf64>, f64, f32, f32) {
  %0 = math.exp2 %x : vector<8xf64>
  %1 = math.log %y : f64
  %2 = math.sin %z : f32
  %3 = math.powf %z, %z : f32
  return %0, %1, %2, %3 : vector<8xf64>, f64, f32, f32
}

// A power of two that may be approximated has one factor that is a power of two.

// CHECK-LABEL: func.func @approximate
// CHECK-NOT: math.exp2
// CHECK: arith.shli
// CHECK-NOT: arith.shli
// CHECK: arith.mulf
// CHECK-NEXT: return
// CHECK-LABEL: func.func @approximate_f64
// CHECK-NEXT: math.exp2
func.func @approximate(%x: vector<8xf32>) -> vector<8xf32> {
  %0 = math.exp2 %x fastmath<afn> : vector<8xf32>
  return %0 : vector<8xf32>
}
func.func @approximate_f64(%x: f64) -> f64 {
  %0 = math.exp2 %x fastmath<afn> : f64
  return %0 : f64
}
