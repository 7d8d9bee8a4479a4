// The sizes of results are those of their destinations.

// RUN: attn-opt %s --resolve-ranked-shaped-type-result-dims --canonicalize | FileCheck %s

// CHECK-LABEL: func.func @dims
// CHECK-SAME:    %[[O:[^:]*]]: tensor<?x8x?x64xf32>, %[[L:[^:]*]]: tensor<?x8x?xf32>, %[[M:[^:]*]]: tensor<?x8x?xf32>)
// CHECK-DAG:     %[[C0:.*]] = arith.constant 0 : index
// CHECK-DAG:     %[[C2:.*]] = arith.constant 2 : index
// CHECK-DAG:     %[[C8:.*]] = arith.constant 8 : index
// CHECK-DAG:     %[[C64:.*]] = arith.constant 64 : index
// CHECK-NOT:     attn.
// CHECK:         %[[O0:.*]] = tensor.dim %[[O]], %[[C0]]
// CHECK:         %[[L2:.*]] = tensor.dim %[[L]], %[[C2]]
// CHECK:         %[[O2:.*]] = tensor.dim %[[O]], %[[C2]]
// CHECK:         %[[M0:.*]] = tensor.dim %[[M]], %[[C0]]
// CHECK:         %[[F2:.*]] = tensor.dim %[[L]], %[[C2]]
// CHECK:         return %[[O0]], %[[C8]], %[[C64]], %[[L2]], %[[O2]], %[[M0]], %[[F2]]
func.func @dims(%q: tensor<?x8x?x64xf32>, %init: tensor<?x8x?x64xf32>, %linit: tensor<?x8x?xf32>, %minit: tensor<?x8x?xf32>)
    -> (index, index, index, index, index, index, index) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %c3 = arith.constant 3 : index
  %o, %lse = attn.attention
      ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>)
      outs(%init, %linit : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>)
  %a:3 = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>, tensor<?x8x?x64xf32>)
      outs(%init, %minit, %linit : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>)
  %f, %fl = attn.finalize ins(%a#0, %a#1, %a#2 : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>, tensor<?x8x?xf32>)
      outs(%init, %linit : tensor<?x8x?x64xf32>, tensor<?x8x?xf32>) -> tensor<?x8x?x64xf32>, tensor<?x8x?xf32>
  %0 = tensor.dim %o, %c0 : tensor<?x8x?x64xf32>
  %1 = tensor.dim %o, %c1 : tensor<?x8x?x64xf32>
  %2 = tensor.dim %o, %c3 : tensor<?x8x?x64xf32>
  %3 = tensor.dim %lse, %c2 : tensor<?x8x?xf32>
  %4 = tensor.dim %a#0, %c2 : tensor<?x8x?x64xf32>
  %5 = tensor.dim %a#1, %c0 : tensor<?x8x?xf32>
  %6 = tensor.dim %fl, %c2 : tensor<?x8x?xf32>
  return %0, %1, %2, %3, %4, %5, %6 : index, index, index, index, index, index, index
}
