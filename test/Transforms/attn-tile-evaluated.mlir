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

// Rows that follow each other and of which pairs take the same have the same
// pairs: those of a document. One of them is looked at.

// CHECK-LABEL: func.func @rows(
// CHECK-SAME:    %{{[^:]+}}: tensor<1x4x64x8xf32>, %[[IDS:[^:]+]]: tensor<64xi32>, %[[M:[^:]+]]: tensor<8x8xi1>
// CHECK-DAG:     %[[TRUE:.+]] = arith.constant true
// CHECK-DAG:     %[[FALSE:.+]] = arith.constant false
// CHECK:           scf.for %[[I:.+]] = {{.*}} iter_args(%[[ALL:.+]] = %[[TRUE]], %[[ANY:.+]] = %[[FALSE]], %[[HAS:.+]] = %[[FALSE]], %[[BEFORE:.+]] = %{{.+}}) -> (i1, i1, i1, i32) {
// CHECK-NEXT:        %[[ID:.+]] = attn.gather %[[IDS]][%[[I]]]
// CHECK:             %[[KNOWN:.+]] = arith.andi %{{.+}}, %[[ANY]] : i1
// CHECK-NEXT:        %[[EQUAL:.+]] = arith.cmpi eq, %[[BEFORE]], %[[ID]] : i32
// CHECK-NEXT:        %[[SAME:.+]] = arith.andi %[[HAS]], %[[EQUAL]] : i1
// CHECK-NEXT:        %[[DONE:.+]] = arith.ori %[[KNOWN]], %[[SAME]] : i1
// CHECK-NEXT:        %[[NEXT:.+]]:2 = scf.if %[[DONE]] -> (i1, i1) {
// CHECK-NEXT:          scf.yield %[[ALL]], %[[ANY]] : i1, i1
// CHECK-NEXT:        } else {
// CHECK-NEXT:          scf.for %[[J:.+]] = {{.*}} iter_args(%{{.+}} = %[[ALL]], %{{.+}} = %[[ANY]])
// CHECK:             scf.yield %[[NEXT]]#0, %[[NEXT]]#1, %[[TRUE]], %[[ID]] : i1, i1, i1, i32
func.func @rows(%q: tensor<1x4x64x8xf32>, %ids: tensor<64xi32>, %m: tensor<8x8xi1>, %init: tensor<1x4x64x8xf32>) -> tensor<1x4x64x8xf32> {
  %o = attn.attention schedule<tile_m = 16, tile_n = 8, lanes = 8, unroll_m = 2, unroll_n = 2>
      ins(%q, %q, %q : tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>, tensor<1x4x64x8xf32>)
      captures(%ids, %m : tensor<64xi32>, tensor<8x8xi1>)
      outs(%init : tensor<1x4x64x8xf32>)
      mask(%b, %h, %i, %j, %id, %mm) {
        %x = tensor.extract %id[%i] : tensor<64xi32>
        %y = tensor.extract %id[%j] : tensor<64xi32>
        %xi = arith.index_cast %x : i32 to index
        %yi = arith.index_cast %y : i32 to index
        %p = tensor.extract %mm[%xi, %yi] : tensor<8x8xi1>
        attn.yield %p : i1
      }
  return %o : tensor<1x4x64x8xf32>
}

// On a GPU the threads of a warp share out the keys, of which each has two at a
// time, with what belongs to them; the second one is no further than the last.
// The range of a row like the one before is that of no pair. Floats are the same
// if their bits are.

// CHECK-LABEL: func.func @shared(
// CHECK-DAG:     %[[TRUE:.+]] = arith.constant true
// CHECK-DAG:     %[[FALSE:.+]] = arith.constant false
// CHECK-DAG:     %[[C59:.+]] = arith.constant 59 : index
// CHECK:           scf.for %[[J:.+]] = %{{.+}} to %{{.+}} step %{{.+}} iter_args(%[[ALL:.+]] = %[[TRUE]], %[[ANY:.+]] = %[[FALSE]]) -> (i1, i1) {
// CHECK-NEXT:        %[[X:.+]] = attn.gather %{{.+}}[%[[J]]]
// CHECK:             %[[PLUS:.+]] = arith.addi %[[J]], %{{.+}} : index
// CHECK-NEXT:        %[[SECOND:.+]] = arith.minsi %[[PLUS]], %[[C59]] : index
// CHECK-NEXT:        %[[Y:.+]] = attn.gather %{{.+}}[%[[SECOND]]]
// CHECK:             scf.for %[[I:.+]] = {{.*}} iter_args(%[[ROW_ALL:.+]] = %[[ALL]], %[[ROW_ANY:.+]] = %[[ANY]], %[[HAS:.+]] = %[[FALSE]], %[[BEFORE:.+]] = %{{.+}}) -> (i1, i1, i1, i32) {
// CHECK:               %[[BITS:.+]] = arith.bitcast %{{.+}} : f32 to i32
// CHECK-NEXT:          %[[EQUAL:.+]] = arith.cmpi eq, %[[BEFORE]], %[[BITS]] : i32
// CHECK-NEXT:          %[[SAME:.+]] = arith.andi %[[HAS]], %[[EQUAL]] : i1
// CHECK-NEXT:          %[[FOUND:.+]]:2 = scf.if %[[SAME]] -> (i1, i1) {
// CHECK-NEXT:            scf.yield %[[TRUE]], %[[FALSE]] : i1, i1
// CHECK-COUNT-2:         arith.cmpf oeq
// CHECK:               %[[A:.+]] = arith.andi %[[ROW_ALL]], %[[FOUND]]#0 : i1
// CHECK-NEXT:          %[[B:.+]] = arith.ori %[[ROW_ANY]], %[[FOUND]]#1 : i1
// CHECK-NEXT:          scf.yield %[[A]], %[[B]], %[[TRUE]], %[[BITS]] : i1, i1, i1, i32
func.func @shared(%q: tensor<1x4x60x64xbf16>, %u: tensor<60xf32>, %init: tensor<1x4x60x64xbf16>) -> tensor<1x4x60x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 120>
      ins(%q, %q, %q : tensor<1x4x60x64xbf16>, tensor<1x4x60x64xbf16>, tensor<1x4x60x64xbf16>)
      captures(%u : tensor<60xf32>)
      outs(%init : tensor<1x4x60x64xbf16>)
      mask(%b, %h, %i, %j, %w) {
        %x = tensor.extract %w[%i] : tensor<60xf32>
        %y = tensor.extract %w[%j] : tensor<60xf32>
        %p = arith.cmpf oeq, %x, %y : f32
        attn.yield %p : i1
      }
  return %o : tensor<1x4x60x64xbf16>
}
