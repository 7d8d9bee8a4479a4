// RUN: attn-opt %s --attn-canonicalize-score --remarks-filter=attn --remark-format=emitRemark 2>&1 | FileCheck %s

// CHECK: [[# @LINE + 15]]:{{.*}} remark: [Passed] mask-extracted | Category:attn | Function=f |
// CHECK-SAME: Conditions=2, Remark="a score of -inf became a mask"
// CHECK: [[# @LINE + 9]]:{{.*}} remark: [Passed] scale-folded | Category:attn | Function=f |
// CHECK-SAME: Factor=2.000000e+00, Remark="a constant factor of the score joined the scale"
func.func @f(%q: tensor<1x1x4x8xf32>, %o: tensor<1x1x4x8xf32>) -> tensor<1x1x4x8xf32> {
  %r = attn.attention scale 1.0 ins(%q, %q, %q : tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>, tensor<1x1x4x8xf32>)
      outs(%o : tensor<1x1x4x8xf32>)
      score(%s, %b, %h, %i, %j) {
        %inf = arith.constant 0xFF800000 : f32
        %c = arith.constant 2.0 : f32
        %k = arith.constant 2 : index
        %x = arith.mulf %s, %c : f32
        %p = arith.cmpi sle, %j, %i : index
        %n = arith.cmpi sle, %k, %i : index
        %a = arith.andi %n, %p : i1
        %y = arith.select %a, %x, %inf : f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x4x8xf32>
}
