// RUN: attn-opt %s --attn-expand-scalar-ops --cse | FileCheck %s

// CHECK-LABEL: func @classes
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f16
// CHECK-DAG: %[[INF:.*]] = arith.constant 0x7F800000 : f32
// CHECK-DAG: %[[INF16:.*]] = arith.constant 0x7C00 : f16
// CHECK-DAG: %[[LEAST:.*]] = arith.constant 6.103520e-05 : f16
// CHECK-DAG: %{{.*}} = arith.cmpf uno, %[[X]], %[[X]] : f32
// CHECK-DAG: %[[M:.*]] = math.absf %[[X]] : f32
// CHECK-DAG: arith.cmpf oeq, %[[M]], %[[INF]] : f32
// CHECK-DAG: arith.cmpf olt, %{{.*}}, %[[INF]] : f32
// CHECK-DAG: %[[BELOW:.*]] = arith.cmpf olt, %{{.*}}, %[[INF16]] : f16
// CHECK-DAG: %[[ABOVE:.*]] = arith.cmpf oge, %{{.*}}, %[[LEAST]] : f16
// CHECK-DAG: arith.andi %[[BELOW]], %[[ABOVE]]
// CHECK-NOT: math.is
func.func @classes(%x: f32, %y: f16) -> (i1, i1, i1, i1) {
  %0 = math.isnan %x : f32
  %1 = math.isinf %x : f32
  %2 = math.isfinite %x : f32
  %3 = math.isnormal %y : f16
  return %0, %1, %2, %3 : i1, i1, i1, i1
}

// CHECK-LABEL: func @clamp
// CHECK-SAME: %[[X:.*]]: f32, %[[LOW:.*]]: f32, %[[HIGH:.*]]: f32
// CHECK: %[[RAISED:.*]] = arith.maximumf %[[X]], %[[LOW]]
// CHECK: arith.minimumf %[[RAISED]], %[[HIGH]]
func.func @clamp(%x: f32, %low: f32, %high: f32) -> f32 {
  %0 = math.clampf %x to [%low, %high] : f32
  return %0 : f32
}

// CHECK-LABEL: func @sincos
// CHECK: math.sin
// CHECK: math.cos
func.func @sincos(%x: f32) -> (f32, f32) {
  %s, %c = math.sincos %x : f32
  return %s, %c : f32, f32
}

// A power of a half is rounded once.

// CHECK-LABEL: func @small_powers
// CHECK-SAME: %[[X:.*]]: f32, %[[Y:.*]]: f16
// CHECK: %[[SQUARE:.*]] = arith.mulf %[[X]], %[[X]] : f32
// CHECK: %[[CUBE:.*]] = arith.mulf %[[SQUARE]], %[[X]] : f32
// CHECK: arith.divf %{{.*}}, %[[CUBE]] : f32
// CHECK: %[[WIDE:.*]] = arith.extf %[[Y]] : f16 to f32
// CHECK: %[[PRODUCT:.*]] = arith.mulf %[[WIDE]], %[[WIDE]] : f32
// CHECK: arith.truncf %[[PRODUCT]] : f32 to f16
func.func @small_powers(%x: f32, %y: f16) -> (f32, f16) {
  %minus_three = arith.constant -3 : i32
  %two = arith.constant 2 : i32
  %0 = math.fpowi %x, %minus_three : f32, i32
  %1 = math.fpowi %y, %two : f16, i32
  return %0, %1 : f32, f16
}

// CHECK-LABEL: func @power
// CHECK-SAME: %[[X:.*]]: f32, %[[N:.*]]: i32
// CHECK-DAG: %[[M:.*]] = math.absf %[[X]]
// CHECK-DAG: %[[Y:.*]] = arith.sitofp %[[N]] : i32 to f32
// CHECK: %[[POWER:.*]] = math.powf %[[M]], %[[Y]]
// CHECK: %[[ODD:.*]] = arith.cmpi ne
// CHECK: %[[SIGNED:.*]] = math.copysign %[[POWER]], %[[X]]
// CHECK: arith.select %[[ODD]], %[[SIGNED]], %[[POWER]]
func.func @power(%x: f32, %n: i32) -> f32 {
  %0 = math.fpowi %x, %n : f32, i32
  return %0 : f32
}

// CHECK-LABEL: func @integer_powers
// CHECK-SAME: %[[X:.*]]: i32, %[[N:.*]]: i8
// CHECK: %[[SQUARE:.*]] = arith.muli %[[X]], %[[X]] : i32
// CHECK: %[[FOURTH:.*]] = arith.muli %[[SQUARE]], %[[SQUARE]] : i32
// CHECK: arith.muli %[[X]], %[[FOURTH]] : i32

// The bits of a power but its sign.
// CHECK-COUNT-7: arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK: %[[INVERSE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : i8
// CHECK: arith.cmpi slt, %[[N]], %{{.*}} : i8
// CHECK-NOT: math.ipowi
func.func @integer_powers(%x: i32, %n: i8) -> (i32, i8) {
  %five = arith.constant 5 : i32
  %0 = math.ipowi %x, %five : i32
  %1 = math.ipowi %n, %n : i8
  return %0, %1 : i32, i8
}

// CHECK-LABEL: func @extended
// CHECK-SAME: %[[X:.*]]: i32, %[[Y:.*]]: i64
// CHECK: %[[SUM:.*]] = arith.addi %[[X]], %[[X]]
// CHECK: arith.cmpi ult, %[[SUM]], %[[X]]
// CHECK: arith.extsi %[[X]] : i32 to i64
// CHECK: arith.muli %{{.*}} : i64
// CHECK: arith.trunci %{{.*}} : i64 to i32

// Four products of halves, and the lower half.
// CHECK-COUNT-5: arith.muli %{{.*}} : i64
// CHECK-NOT: extended
func.func @extended(%x: i32, %y: i64, %z: i64) -> (i1, i32, i64) {
  %sum, %carry = arith.addui_extended %x, %x : i32, i1
  %low, %high = arith.mulsi_extended %x, %x : i32
  %low64, %high64 = arith.mului_extended %y, %z : i64
  %both = arith.addi %low64, %high64 : i64
  return %carry, %high, %both : i1, i32, i64
}

// What is cut off an index stays off, which casts alone do not say. An index of
// which nothing is cut off may be cast.
// CHECK-LABEL: func @narrow
// CHECK-SAME: %[[X:.*]]: index
// CHECK: %[[ALL:.*]] = arith.index_cast %[[X]] : index to i64
// CHECK: %[[LOW:.*]] = arith.trunci %[[ALL]] : i64 to i8
// CHECK: index.casts %[[LOW]] : i8 to index
// CHECK: %[[REST:.*]] = arith.remui %[[X]]
// CHECK: arith.index_cast %[[REST]] : index to i32
func.func @narrow(%x: index) -> (index, i32) {
  %0 = index.casts %x : index to i8
  %1 = index.casts %0 : i8 to index
  %c100 = arith.constant 100 : index
  %rest = arith.remui %x, %c100 : index
  %2 = arith.index_cast %rest : index to i32
  return %1, %2 : index, i32
}

// CHECK-LABEL: func @around_loop
// CHECK: scf.for
// CHECK: arith.trunci %{{.*}} : i64 to i32
func.func @around_loop(%x: index, %zero: i32) -> index {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %0 = scf.for %i = %c0 to %c1 step %c1 iter_args(%old = %zero) -> (i32) {
    %1 = arith.index_cast %x : index to i32
    scf.yield %1 : i32
  }
  %2 = arith.index_cast %0 : i32 to index
  return %2 : index
}
