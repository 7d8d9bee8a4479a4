// RUN: attn-opt %s --verify-roundtrip | FileCheck %s

!acc = tensor<80x64xf32, #hopper.layout<accumulator>>
!rows = tensor<1x64xf32, #hopper.layout<rows>>

// CHECK-DAG: #[[ACC:.*]] = #hopper.layout<accumulator>
// CHECK-DAG: #[[ROWS:.*]] = #hopper.layout<rows>
// CHECK-DAG: #[[COLUMNS:.*]] = #hopper.layout<columns>
// CHECK-DAG: #[[PARTIAL:.*]] = #hopper.layout<partial>

// CHECK-LABEL: func.func @broadcast
func.func @broadcast(%x: f32, %c: tensor<80x1xf32, #hopper.layout<columns>>) {
  // CHECK: %[[R:.*]] = hopper.broadcast %{{.*}} : f32 -> tensor<1x64xf32, #[[ROWS]]>
  %r = hopper.broadcast %x : f32 -> !rows
  // CHECK: hopper.broadcast %[[R]] : tensor<1x64xf32, #[[ROWS]]> -> tensor<80x64xf32, #[[ACC]]>
  %0 = hopper.broadcast %r : !rows -> !acc
  // CHECK: hopper.broadcast %[[R]] : tensor<1x64xf32, #[[ROWS]]> -> tensor<4x64xf32, #[[PARTIAL]]>
  %1 = hopper.broadcast %r : !rows -> tensor<4x64xf32, #hopper.layout<partial>>
  // CHECK: hopper.broadcast %{{.*}} : tensor<80x1xf32, #[[COLUMNS]]> -> tensor<80x64xf32, #[[ACC]]>
  %2 = hopper.broadcast %c : tensor<80x1xf32, #hopper.layout<columns>> -> !acc
  // CHECK: hopper.reduce max %{{.*}} : tensor<80x64xf32, #[[ACC]]> -> tensor<1x64xf32, #[[ROWS]]>
  %3 = hopper.reduce max %2 : !acc -> !rows
  return
}

// CHECK: func.func private @pending(!hopper.pending<tensor<80x64xf32, #[[ACC]]>>)
func.func private @pending(!hopper.pending<!acc>)
