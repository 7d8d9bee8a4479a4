// RUN: attn-opt %s --attn-cpu-call-libm | FileCheck %s

// CHECK-DAG: func.func private @expm1(f64) -> f64
// CHECK-DAG: func.func private @log1p(f64) -> f64

// CHECK-LABEL: func.func @scalars
// CHECK: call @expm1(%{{.*}}) : (f64) -> f64
// CHECK: call @log1p(%{{.*}}) : (f64) -> f64
// Others have intrinsics, or are called later.
// CHECK: math.exp %{{.*}} : f64
// CHECK: math.sinh %{{.*}} : f64
func.func @scalars(%x: f64) -> (f64, f64, f64, f64) {
  %0 = math.expm1 %x : f64
  %1 = math.log1p %x : f64
  %2 = math.exp %x : f64
  %3 = math.sinh %x : f64
  return %0, %1, %2, %3 : f64, f64, f64, f64
}

// CHECK-LABEL: func.func @vectors
// CHECK-COUNT-4: call @log1p(%{{.*}}) : (f64) -> f64
// CHECK-NOT: math.
func.func @vectors(%x: vector<4xf64>) -> vector<4xf64> {
  %0 = math.log1p %x : vector<4xf64>
  return %0 : vector<4xf64>
}
