// RUN: attn-opt %s --attn-expand-divisions | FileCheck %s

// By 0 a quotient is 0, and the smallest integer by -1 is itself.
// CHECK-LABEL: func @numbers
// CHECK-SAME: %[[N:.*]]: index, %[[M:.*]]: index
// CHECK: %[[ZERO:.*]] = arith.cmpi eq, %[[M]]
// CHECK: %[[UNIT:.*]] = arith.cmpi eq, %[[M]]
// CHECK: %[[UNSAFE:.*]] = arith.ori %[[ZERO]], %[[UNIT]]
// CHECK: %[[BY:.*]] = arith.select %[[UNSAFE]], %{{.*}}, %[[M]]
// CHECK: %[[Q:.*]] = arith.divsi %[[N]], %[[BY]]
// CHECK: %[[MINUS:.*]] = arith.subi %{{.*}}, %[[Q]]
// CHECK: arith.select %[[UNIT]], %[[MINUS]]
// CHECK: arith.select %[[ZERO]]
// CHECK: arith.remui %[[N]], %{{.*}}
func.func @numbers(%n: index, %m: index) -> (index, index) {
  %0 = arith.divsi %n, %m : index
  %1 = arith.remui %n, %m : index
  return %0, %1 : index, index
}

// Constants that are safe stay, as divisions of attentions do.
// CHECK-LABEL: func @others
// CHECK: arith.floordivsi %{{.*}}, %c3
// CHECK-NOT: arith.select
// CHECK: arith.remsi %{{.*}}, %{{.*}} : index
// CHECK-NOT: arith.select
// CHECK: linalg.generic
// CHECK: arith.select
// CHECK: arith.divui %{{.*}} : i32
func.func @others(%n: index, %q: tensor<1x1x4x8xf32>, %a: tensor<4xi32>, %b: tensor<4xi32>)
    -> (index, tensor<1x1x4x8xf32>, tensor<4xi32>) {
  %c3 = arith.constant 3 : index
  %0 = arith.floordivsi %n, %c3 : index
  %init = tensor.empty() : tensor<1x1x4x8xf32>
  %o = attn.attention ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      captures(%n : index) outs(%init : tensor<1x1x4x8xf32>)
      mask(%b0, %h, %i, %j, %m) {
        %rest = arith.remsi %j, %m : index
        %p = arith.cmpi sle, %rest, %i : index
        attn.yield %p : i1
      }
  %empty = tensor.empty() : tensor<4xi32>
  %1 = linalg.generic {indexing_maps = [affine_map<(d) -> (d)>, affine_map<(d) -> (d)>, affine_map<(d) -> (d)>], iterator_types = ["parallel"]}
      ins(%a, %b : tensor<4xi32>, tensor<4xi32>) outs(%empty : tensor<4xi32>) {
  ^bb0(%x: i32, %y: i32, %old: i32):
    %quotient = arith.divui %x, %y : i32
    linalg.yield %quotient : i32
  } -> tensor<4xi32>
  return %0, %o, %1 : index, tensor<1x1x4x8xf32>, tensor<4xi32>
}
