// RUN: attn-opt %s --attn-online-softmax --attn-classify-blocks --attn-lift-mask --attn-tile --canonicalize | FileCheck %s

// A dense mask is evaluated on blocks, once for all heads: keys of a query lie next to each other, and once some pair of a block is allowed and some
// is not, no other matters.

// CHECK-LABEL: func.func @evaluated(
// CHECK-DAG:     %[[TRUE:.+]] = arith.constant true
// CHECK-DAG:     %[[FALSE:.+]] = arith.constant false
// CHECK:         scf.forall (%{{.+}}, %{{.+}}, %{{.+}}, %{{.+}}) in (1, 1, 4, 8)
// CHECK:           scf.for %[[I:.+]] = {{.*}} iter_args(%[[ALL:.+]] = %[[TRUE]], %[[ANY:.+]] = %[[FALSE]]) -> (i1, i1) {
// CHECK-NEXT:        %[[SOME_NOT:.+]] = arith.xori %[[ALL]], %[[TRUE]] : i1
// CHECK-NEXT:        %[[KNOWN:.+]] = arith.andi %[[SOME_NOT]], %[[ANY]] : i1
// CHECK-NEXT:        %{{.+}} = scf.if %[[KNOWN]] -> (i1, i1) {
// CHECK-NEXT:          scf.yield %[[ALL]], %[[ANY]] : i1, i1
// CHECK-NEXT:        } else {
// CHECK-NEXT:          %{{.+}} = scf.for %[[J:.+]] = {{.*}} iter_args(%{{.+}} = %[[ALL]], %{{.+}} = %[[ANY]])
// CHECK-NEXT:            attn.gather %{{.+}}[%[[I]], %[[J]]]
func.func @evaluated(%q: tensor<1x4x64x8xf32>, %m: tensor<64x64xi1>, %init: tensor<1x4x64x8xf32>) -> tensor<1x4x64x8xf32> {
  %o = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      captures(%m : tensor<64x64xi1>)
      outs(%init : tensor<1x4x64x8xf32>)
      mask(%b, %h, %i, %j, %mm) {
        %p = tensor.extract %mm[%i, %j] : tensor<64x64xi1>
        attn.yield %p : i1
      }
  return %o : tensor<1x4x64x8xf32>
}
