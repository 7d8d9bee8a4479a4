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
// Which rows have other values than the row in front of them is found first, a row
// by a thread, as a word of bits for each 32. Only those are visited. Floats are
// the same if their bits are.

// CHECK-LABEL: func.func @shared(
// CHECK-SAME:    %{{[^:]+}}: tensor<1x4x60x64xbf16>, %[[U:[^:]+]]: tensor<60xf32>
// CHECK-DAG:     %[[TRUE:.+]] = arith.constant true
// CHECK-DAG:     %[[FALSE:.+]] = arith.constant false
// CHECK-DAG:     %[[ZERO:.+]] = arith.constant 0 : i32
// CHECK-DAG:     %[[ONE:.+]] = arith.constant 1 : i32
// CHECK-DAG:     %[[C0:.+]] = arith.constant 0 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C31:.+]] = arith.constant 31 : index
// CHECK-DAG:     %[[C32:.+]] = arith.constant 32 : index
// CHECK-DAG:     %[[C59:.+]] = arith.constant 59 : index
// CHECK-DAG:     %[[C60:.+]] = arith.constant 60 : index
// CHECK:           %[[FIRST:.+]] = scf.for %[[I:.+]] = %[[C0]] to %[[C32]] step %[[C1]] iter_args(%[[BITS:.+]] = %[[ZERO]]) -> (i32) {
// CHECK-NEXT:        %[[X:.+]] = attn.gather %[[U]][%[[I]]]
// CHECK-NEXT:        %[[OWN:.+]] = arith.bitcast %[[X]] : f32 to i32
// CHECK-NEXT:        %[[MINUS:.+]] = arith.subi %[[I]], %[[C1]] : index
// CHECK-NEXT:        %[[FRONT:.+]] = arith.maxsi %[[MINUS]], %[[C0]] : index
// CHECK-NEXT:        %[[Y:.+]] = attn.gather %[[U]][%[[FRONT]]]
// CHECK-NEXT:        %[[BEFORE:.+]] = arith.bitcast %[[Y]] : f32 to i32
// CHECK-NEXT:        %[[IS_FIRST:.+]] = arith.cmpi eq, %[[I]], %[[C0]] : index
// CHECK-NEXT:        %[[DIFFERS:.+]] = arith.cmpi ne, %[[OWN]], %[[BEFORE]] : i32
// CHECK-NEXT:        %[[NEW:.+]] = arith.ori %[[IS_FIRST]], %[[DIFFERS]] : i1
// CHECK:             %[[BIT:.+]] = arith.select %[[NEW]], %{{.+}}, %[[ZERO]] : i32
// CHECK-NEXT:        %[[OR:.+]] = arith.ori %[[BITS]], %[[BIT]] : i32
// CHECK-NEXT:        scf.yield %[[OR]] : i32
// CHECK:           %[[SECOND:.+]] = scf.for %{{.+}} = %[[C32]] to %[[C60]] step %[[C1]] iter_args(%{{.+}} = %[[ZERO]]) -> (i32) {
// CHECK:           scf.for %[[J:.+]] = %[[C0]] to %[[C60]] step %[[C2]] iter_args(%[[ALL:.+]] = %[[TRUE]], %[[ANY:.+]] = %[[FALSE]]) -> (i1, i1) {
// CHECK-NEXT:        %[[PLUS:.+]] = arith.addi %[[J]], %[[C1]] : index
// CHECK-NEXT:        %[[NEXT:.+]] = arith.minsi %[[PLUS]], %[[C59]] : index
// CHECK-NEXT:        %[[KEY:.+]] = attn.gather %[[U]][%[[J]]]
// CHECK-NEXT:        %[[NEXT_KEY:.+]] = attn.gather %[[U]][%[[NEXT]]]
// CHECK-NEXT:        scf.for %[[W:.+]] = %[[C0]] to %[[C2]] step %[[C1]] iter_args(%[[WORD_ALL:.+]] = %[[ALL]], %[[WORD_ANY:.+]] = %[[ANY]]) -> (i1, i1) {
// CHECK-NEXT:          %[[IS_SECOND:.+]] = arith.cmpi eq, %[[W]], %[[C1]] : index
// CHECK-NEXT:          %[[WORD:.+]] = arith.select %[[IS_SECOND]], %[[SECOND]], %[[FIRST]] : i32
// CHECK-NEXT:          %[[BEGIN:.+]] = arith.muli %[[W]], %[[C32]] : index
// CHECK-NEXT:          %[[POPULATION:.+]] = math.ctpop %[[WORD]] : i32
// CHECK-NEXT:          %[[COUNT:.+]] = arith.index_cast %[[POPULATION]] : i32 to index
// CHECK-NEXT:          scf.for %{{.+}} = %[[C0]] to %[[COUNT]] step %[[C1]] iter_args(%[[ROW_ALL:.+]] = %[[WORD_ALL]], %[[ROW_ANY:.+]] = %[[WORD_ANY]], %[[LEFT:.+]] = %[[WORD]]) -> (i1, i1, i32) {
// CHECK-NEXT:            %[[ZEROS:.+]] = math.cttz %[[LEFT]] : i32
// CHECK-NEXT:            %[[CAST:.+]] = arith.index_cast %[[ZEROS]] : i32 to index
// CHECK-NEXT:            %[[PLACE:.+]] = arith.andi %[[CAST]], %[[C31]] : index
// CHECK-NEXT:            %[[ROW:.+]] = arith.addi %[[BEGIN]], %[[PLACE]] : index
// CHECK-NEXT:            %[[LESS:.+]] = arith.subi %[[LEFT]], %[[ONE]] : i32
// CHECK-NEXT:            %[[REST:.+]] = arith.andi %[[LEFT]], %[[LESS]] : i32
// CHECK-NEXT:            %[[OF_ROW:.+]] = attn.gather %[[U]][%[[ROW]]]
// CHECK-NEXT:            %[[P:.+]] = arith.cmpf oeq, %[[OF_ROW]], %[[KEY]] : f32
// CHECK-NEXT:            %[[Q:.+]] = arith.cmpf oeq, %[[OF_ROW]], %[[NEXT_KEY]] : f32
// CHECK-NEXT:            %[[BOTH:.+]] = arith.andi %[[P]], %[[Q]] : i1
// CHECK-NEXT:            %[[EITHER:.+]] = arith.ori %[[P]], %[[Q]] : i1
// CHECK-NEXT:            %[[A:.+]] = arith.andi %[[ROW_ALL]], %[[BOTH]] : i1
// CHECK-NEXT:            %[[B:.+]] = arith.ori %[[ROW_ANY]], %[[EITHER]] : i1
// CHECK-NEXT:            scf.yield %[[A]], %[[B]], %[[REST]] : i1, i1, i32
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

// Rows that have nothing in common are taken four at a time, so that their reads
// wait together. At the end of the rows or keys, those in front are taken again.
// Where there are fewer, as where one pair stands for all, they are taken one by
// one. What positions are compared with is clamped, so that 32 bits hold it.

// CHECK-LABEL: func.func @together(
// CHECK-SAME:    %{{[^:]+}}: tensor<1x4x60x64xbf16>, %[[M:[^:]+]]: tensor<60x60xi1>, %[[N:[^:]+]]: index
// CHECK-DAG:     %[[C_1:.+]] = arith.constant -1 : index
// CHECK-DAG:     %[[C1:.+]] = arith.constant 1 : index
// CHECK-DAG:     %[[C2:.+]] = arith.constant 2 : index
// CHECK-DAG:     %[[C3:.+]] = arith.constant 3 : index
// CHECK-DAG:     %[[C4:.+]] = arith.constant 4 : index
// CHECK-DAG:     %[[MOST:.+]] = arith.constant 2147483647 : index
// CHECK:           %[[BELOW:.+]] = arith.minsi %[[N]], %[[MOST]] : index
// CHECK-NEXT:      %[[LIMIT:.+]] = arith.maxsi %[[BELOW]], %[[C_1]] : index
// CHECK:           %[[ROWS:.+]] = arith.cmpi sge, %{{.+}}, %[[C4]] : index
// CHECK:           %[[KEYS:.+]] = arith.cmpi sge, %{{.+}}, %[[C2]] : index
// CHECK-NEXT:      %[[LARGE:.+]] = arith.andi %[[ROWS]], %[[KEYS]] : i1
// CHECK-NEXT:      scf.if %[[LARGE]] -> (i1, i1) {
// CHECK-NEXT:        scf.for %[[J:.+]] = %{{.+}} to %[[END:.+]] step %[[C2]] iter_args
// CHECK-NEXT:          %[[LAST_TWO:.+]] = arith.subi %[[END]], %[[C2]] : index
// CHECK-NEXT:          %[[KEY:.+]] = arith.minsi %[[J]], %[[LAST_TWO]] : index
// CHECK-NEXT:          %[[NEXT_KEY:.+]] = arith.addi %[[KEY]], %[[C1]] : index
// CHECK-NEXT:          arith.cmpi sge, %[[KEY]], %[[LIMIT]] : index
// CHECK-NEXT:          arith.cmpi sge, %[[NEXT_KEY]], %[[LIMIT]] : index
// CHECK-NEXT:          scf.for %[[I:.+]] = %{{.+}} to %[[ROW_END:.+]] step %[[C4]] iter_args
// CHECK-NEXT:            %[[LAST_FOUR:.+]] = arith.subi %[[ROW_END]], %[[C4]] : index
// CHECK-NEXT:            %[[ROW:.+]] = arith.minsi %[[I]], %[[LAST_FOUR]] : index
// CHECK-NEXT:            %[[ROW1:.+]] = arith.addi %[[ROW]], %[[C1]] : index
// CHECK-NEXT:            %[[ROW2:.+]] = arith.addi %[[ROW]], %[[C2]] : index
// CHECK-NEXT:            %[[ROW3:.+]] = arith.addi %[[ROW]], %[[C3]] : index
// CHECK:                 attn.gather %[[M]][%[[ROW]], %[[KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW]], %[[NEXT_KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW1]], %[[KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW1]], %[[NEXT_KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW2]], %[[KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW2]], %[[NEXT_KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW3]], %[[KEY]]]
// CHECK:                 attn.gather %[[M]][%[[ROW3]], %[[NEXT_KEY]]]
// CHECK:           } else {
// CHECK-NEXT:        scf.for %[[ONE_KEY:.+]] = %{{.+}} to %[[END]] step %[[C1]] iter_args
// CHECK-NEXT:          arith.cmpi sge, %[[ONE_KEY]], %[[LIMIT]] : index
// CHECK-NEXT:          scf.for %[[ONE_ROW:.+]] = %{{.+}} to %[[ROW_END]] step %[[C1]] iter_args
// CHECK-NEXT:            attn.gather %[[M]][%[[ONE_ROW]], %[[ONE_KEY]]]
func.func @together(%q: tensor<1x4x60x64xbf16>, %m: tensor<60x60xi1>, %n: index, %init: tensor<1x4x60x64xbf16>) -> tensor<1x4x60x64xbf16> {
  %o = attn.attention schedule #hopper.schedule<tile_m = 64, tile_n = 64, stages = 2, registers = 120>
      ins(%q, %q, %q : tensor<1x4x60x64xbf16>, tensor<1x4x60x64xbf16>, tensor<1x4x60x64xbf16>)
      captures(%m, %n : tensor<60x60xi1>, index)
      outs(%init : tensor<1x4x60x64xbf16>)
      mask(%b, %h, %i, %j, %w, %from) {
        %x = tensor.extract %w[%i, %j] : tensor<60x60xi1>
        %y = arith.cmpi sge, %j, %from : index
        %p = arith.andi %x, %y : i1
        attn.yield %p : i1
      }
  return %o : tensor<1x4x60x64xbf16>
}
