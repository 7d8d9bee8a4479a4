// RUN: attn-opt %s --split-input-file --attn-split-row-terms --canonicalize | FileCheck %s

!q = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// Terms of a sum wherever they stand; what reads the key, or the score, stays.
// CHECK-LABEL: func.func @sum
// CHECK:         score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %[[J:.*]], %[[A:.*]]) {
// CHECK:           %[[KEY:.*]] = tensor.extract %[[A]][%[[J]]]
// CHECK-NEXT:      %[[SUM:.*]] = arith.subf %[[S]], %[[KEY]]
// CHECK-NOT:       arith
// CHECK:           attn.yield %[[SUM]]
// CHECK:         rows(%{{.*}}, %[[H:.*]], %[[I:.*]], %[[A:.*]]) {
// CHECK-DAG:       %[[TRUE:.*]] = arith.constant true
// CHECK-DAG:       %[[ONE:.*]] = arith.constant 1.0
// CHECK-DAG:       %[[HEAD:.*]] = tensor.extract %[[A]][%[[H]]]
// CHECK-DAG:       %[[ROW:.*]] = tensor.extract %[[A]][%[[I]]]
// CHECK-DAG:       %[[NEG:.*]] = arith.negf %[[ROW]]
// CHECK:           %[[ADDED:.*]] = arith.addf %[[HEAD]], %[[NEG]]
// CHECK:           attn.yield %[[ADDED]], %[[TRUE]], %[[ONE]]
func.func @sum(%q: !q, %acc: !q, %max: !r, %sum: !r, %a: tensor<?xf32>) -> (!q, !r, !r) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : !q) -> !q
  %max0 = linalg.fill ins(%none : f32) outs(%max : !r) -> !r
  %sum0 = linalg.fill ins(%zero : f32) outs(%sum : !r) -> !r
  %s:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%a : tensor<?xf32>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %row = tensor.extract %t[%i] : tensor<?xf32>
        %head = tensor.extract %t[%h] : tensor<?xf32>
        %key = tensor.extract %t[%j] : tensor<?xf32>
        %0 = arith.subf %s, %row : f32
        %1 = arith.subf %0, %key : f32
        %2 = arith.addf %head, %1 : f32
        attn.yield %2 : f32
      }
  return %s#0, %s#1, %s#2 : !q, !r, !r
}

// -----

!q = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// A score that is left as it was has no region, and so has a mask. Q blocks
// without a row have no keys.
// CHECK-LABEL: func.func @rows_alone
// CHECK-NOT:     score(
// CHECK-NOT:     mask(
// CHECK:         blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %{{.*}}, %[[SKV:.*]]) {
// CHECK:           %[[ANY:.*]] = arith.cmpi sle, %[[I0]], %c6
// CHECK:           %[[HI:.*]] = arith.select %[[ANY]], %[[SKV]], %c0
// CHECK:           %[[END:.*]] = arith.minsi %[[HI]], %[[SKV]]
// CHECK:           attn.yield %c0{{.*}}, %c0{{.*}}, %[[END]], %[[END]]
// CHECK:         rows(%{{.*}}, %{{.*}}, %[[I:.*]]) {
// CHECK:           %[[ALLOWED:.*]] = arith.cmpi slt, %[[I]], %c7
// CHECK:           attn.yield %{{.*}}, %[[ALLOWED]]
func.func @rows_alone(%q: !q, %acc: !q, %max: !r, %sum: !r) -> (!q, !r, !r) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : !q) -> !q
  %max0 = linalg.fill ins(%none : f32) outs(%max : !r) -> !r
  %sum0 = linalg.fill ins(%zero : f32) outs(%sum : !r) -> !r
  %s:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %0 = arith.addf %s, %two : f32
        attn.yield %0 : f32
      }
      mask(%b, %h, %i, %j) {
        %seven = arith.constant 7 : index
        %p = arith.cmpi slt, %i, %seven : index
        attn.yield %p : i1
      }
  return %s#0, %s#1, %s#2 : !q, !r, !r
}

// -----

!q = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// Under a causal mask, keys are full whatever rows there are, and the class of
// a tile asks for the rows alone whether it is needed.
// CHECK-LABEL: func.func @causal
// CHECK:         mask(%{{.*}}, %{{.*}}, %[[I:.*]], %[[J:.*]], %{{.*}}) {
// CHECK-NEXT:      %[[P:.*]] = arith.cmpi sle, %[[J]], %[[I]]
// CHECK-NEXT:      attn.yield %[[P]]
// CHECK:         blocks(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[SKV:.*]], %{{.*}}) {
// CHECK-DAG:       %[[HI:.*]] = arith.minsi %[[I1]], %[[SKV]]
// CHECK-DAG:       %[[FIRST:.*]] = arith.addi %[[I0]], %c1
// CHECK-DAG:       %[[FULL:.*]] = arith.minsi %[[FIRST]], %[[SKV]]
// CHECK:           attn.yield %c0{{.*}}, %c0{{.*}}, %[[FULL]], %[[HI]]
// CHECK:         tiles(%{{.*}}, %{{.*}}, %[[I0:.*]], %[[I1:.*]], %[[J0:.*]], %[[J1:.*]], %[[C:.*]]) {
// CHECK:           %{{.*}}, %[[ANY:.*]] = attn.range %[[C]][%[[I0]]] to [%[[I1]]]
// CHECK:           attn.yield %[[ANY]], %{{.*}} : i1, i1
// CHECK:         rows(%{{.*}}, %{{.*}}, %[[I:.*]], %[[C:.*]]) {
// CHECK:           %[[ALLOWED:.*]] = tensor.extract %[[C]][%[[I]]]
// CHECK:           attn.yield %{{.*}}, %[[ALLOWED]]
func.func @causal(%q: !q, %acc: !q, %max: !r, %sum: !r, %c: tensor<?xi1>) -> (!q, !r, !r) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : !q) -> !q
  %max0 = linalg.fill ins(%none : f32) outs(%max : !r) -> !r
  %sum0 = linalg.fill ins(%zero : f32) outs(%sum : !r) -> !r
  %s:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%c : tensor<?xi1>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      mask(%b, %h, %i, %j, %t) {
        %row = tensor.extract %t[%i] : tensor<?xi1>
        %p = arith.cmpi sle, %j, %i : index
        %both = arith.andi %row, %p : i1
        attn.yield %both : i1
      }
  return %s#0, %s#1, %s#2 : !q, !r, !r
}

// -----

!q = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// Factors of the row go, divisors too; constants stay, as do those of a sum, and
// those beside a factor of the key.
// CHECK-LABEL: func.func @factors
// CHECK:         score(%[[S:.*]], %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}, %{{.*}}) {
// CHECK:           %[[Y:.*]] = arith.mulf %[[S]], %{{.*}} : f32
// CHECK-NEXT:      attn.yield %[[Y]]
// CHECK:         rows(%{{.*}}, %[[H:.*]], %[[I:.*]], %[[A:.*]]) {
// CHECK-DAG:       %[[HEAD:.*]] = tensor.extract %[[A]][%[[H]]]
// CHECK-DAG:       %[[ROW:.*]] = tensor.extract %[[A]][%[[I]]]
// CHECK-DAG:       %[[ONE:.*]] = arith.constant 1.0
// CHECK:           %[[INVERSE:.*]] = arith.divf %[[ONE]], %[[ROW]]
// CHECK:           %[[FACTOR:.*]] = arith.mulf %[[HEAD]], %[[INVERSE]]
// CHECK:           attn.yield %{{.*}}, %{{.*}}, %[[FACTOR]]
// CHECK-NOT:     rows(
func.func @factors(%q: !q, %acc: !q, %max: !r, %sum: !r, %a: tensor<?xf32>) -> (!q, !q, !q) {
  %zero = arith.constant 0.0 : f32
  %none = arith.constant 0xFF800000 : f32
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : !q) -> !q
  %max0 = linalg.fill ins(%none : f32) outs(%max : !r) -> !r
  %sum0 = linalg.fill ins(%zero : f32) outs(%sum : !r) -> !r
  %s:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%a : tensor<?xf32>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s, %b, %h, %i, %j, %t) {
        %two = arith.constant 2.0 : f32
        %row = tensor.extract %t[%i] : tensor<?xf32>
        %head = tensor.extract %t[%h] : tensor<?xf32>
        %0 = arith.mulf %s, %head : f32
        %1 = arith.mulf %0, %two : f32
        %2 = arith.divf %1, %row : f32
        attn.yield %2 : f32
      }
  %u:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%a : tensor<?xf32>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s_, %b, %h, %i, %j, %t) {
        %head = tensor.extract %t[%h] : tensor<?xf32>
        %key = tensor.extract %t[%j] : tensor<?xf32>
        %0 = arith.addf %s_, %key : f32
        %1 = arith.mulf %0, %head : f32
        attn.yield %1 : f32
      }
  %v:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%a : tensor<?xf32>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s_, %b, %h, %i, %j, %t) {
        %head = tensor.extract %t[%h] : tensor<?xf32>
        %key = tensor.extract %t[%j] : tensor<?xf32>
        %0 = arith.mulf %s_, %head : f32
        %1 = arith.mulf %0, %key : f32
        attn.yield %1 : f32
      }
  return %s#0, %u#0, %v#0 : !q, !q, !q
}

// -----

!q = tensor<2x4x?x8xf32>
!r = tensor<2x4x?xf32>

// Scores without a maximum stay, a state that is continued does, and so do
// conditions that are not all that the mask asks for, and terms that may cancel.
// CHECK-LABEL: func.func @stay
// CHECK-NOT:     rows(
func.func @stay(%q: !q, %acc: !q, %max: !r, %sum: !r, %c: tensor<?xi1>, %a: tensor<?xf32>) -> (!q, !r, !r) {
  %zero = arith.constant 0.0 : f32
  %acc0 = linalg.fill ins(%zero : f32) outs(%acc : !q) -> !q
  %max0 = linalg.fill ins(%zero : f32) outs(%max : !r) -> !r
  %sum0 = linalg.fill ins(%zero : f32) outs(%sum : !r) -> !r
  %s:3 = attn.online_attention scale 1.0 rescale(never) ins(%q, %q, %q : !q, !q, !q)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %0 = arith.addf %s, %two : f32
        attn.yield %0 : f32
      }
  %t:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q)
      outs(%s#0, %s#1, %s#2 : !q, !r, !r)
      score(%s_, %b, %h, %i, %j) {
        %two = arith.constant 2.0 : f32
        %0 = arith.addf %s_, %two : f32
        attn.yield %0 : f32
      }
  %u:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%c : tensor<?xi1>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      mask(%b, %h, %i, %j, %w) {
        %row = tensor.extract %w[%i] : tensor<?xi1>
        %p = arith.cmpi sle, %j, %i : index
        %both = arith.ori %row, %p : i1
        attn.yield %both : i1
      }
  %x:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !q, !q, !q) captures(%a : tensor<?xf32>)
      outs(%acc0, %max0, %sum0 : !q, !r, !r)
      score(%s_, %b, %h, %i, %j, %w) {
        %row = tensor.extract %w[%i] : tensor<?xf32>
        %key = tensor.extract %w[%j] : tensor<?xf32>
        %0 = arith.subf %key, %row : f32
        %1 = arith.addf %s_, %0 : f32
        attn.yield %1 : f32
      }
  return %u#0, %t#1, %x#2 : !q, !r, !r
}
