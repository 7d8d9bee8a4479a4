// What a score adds to a product: the log-sum-exp is subtracted from it first, and
// a slope has the factor that turns exponents to base 2. So each sum is one
// operation with a product.

// RUN: attn-opt %s --attn-differentiate --symbol-dce --attn-hopper-assign-schedule --attn-tile-gradients=one-pass --canonicalize --cse | FileCheck %s

// CHECK-LABEL: func.func @slopes_grad(
// CHECK:       attn.step @exp
// CHECK-DAG:     %[[SCORE:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : vector<128x128xf32>
// CHECK-DAG:     %[[SLOPE:.*]] = arith.mulf %{{.*}}, %{{.*}} fastmath<contract> : f32
// CHECK-DAG:     %[[DISTANCE:.*]] = arith.sitofp
// CHECK:         %[[SLOPES:.*]] = vector.broadcast %[[SLOPE]] : f32 to vector<128x128xf32>
// CHECK:         %[[BIAS:.*]] = arith.mulf %[[SLOPES]], %[[DISTANCE]] fastmath<contract>
// CHECK:         %[[OTHER:.*]] = arith.subf %[[BIAS]], %{{.*}} fastmath<contract>
// CHECK:         %[[EXPONENT:.*]] = arith.addf %[[SCORE]], %[[OTHER]] fastmath<contract>
// CHECK:         attn.mask_tile %[[EXPONENT]]
// CHECK:         math.exp2
!q = tensor<2x4x?x64xbf16>
func.func @slopes(%q: !q, %k: !q, %slopes: tensor<?xf32>, %out: !q) -> !q {
  %o = attn.attention ins(%q, %k, %k : !q, !q, !q) captures(%slopes : tensor<?xf32>) outs(%out : !q)
      score(%s, %b, %h, %i, %j, %t) {
        %slope = tensor.extract %t[%h] : tensor<?xf32>
        %d = arith.subi %j, %i : index
        %n = arith.index_cast %d : index to i32
        %f = arith.sitofp %n : i32 to f32
        %x = arith.mulf %slope, %f : f32
        %y = arith.addf %s, %x : f32
        attn.yield %y : f32
      }
  return %o : !q
}
