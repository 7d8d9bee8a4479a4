// On a CPU, a mask that is read from data says of each tile whether it is needed, and whether it needs a predicate.

// RUN: attn-opt %s --attn-lift-mask --attn-assign-schedule --attn-tile-gradients --canonicalize --cse | FileCheck %s

!q = tensor<2x4x?x16xf32>
!k = tensor<2x2x?x16xf32>
!l = tensor<2x4x?xf32>
!ids = tensor<2x?xi32>

// The least and the largest number of the keys of each work tile are found once, and those of a tile of queries where it is asked for.
// A work tile whose keys are not all there needs a predicate for what queries get.
// CHECK-LABEL: func.func @parts(
// CHECK:         %[[TABLES:.+]]:2 = scf.forall {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>)
// CHECK:         scf.forall
// CHECK:           %[[WHOLE:.+]] = arith.cmpi sge, %{{.+}}, %c48 : index
// CHECK-NEXT:      attn.tile_loop %[[Q:.+]] = %c0 to %[[END:.+]] step 64 iter_args
// CHECK-NEXT:        needed(%[[Q]]) {
// CHECK:               scf.for %{{.+}} = %[[Q]] to
// CHECK:               tensor.extract %[[TABLES]]#0
// CHECK-NEXT:          tensor.extract %[[TABLES]]#1
// CHECK:             full(%[[Q]]) {
// CHECK:               %[[THERE:.+]] = arith.cmpi sle, %{{.+}}, %[[END]] : index
// CHECK-NEXT:          %[[ALL:.+]] = arith.andi %{{.+}}, %[[THERE]] : i1
// CHECK-NEXT:          %[[FULL:.+]] = arith.andi %[[ALL]], %[[WHOLE]] : i1
// CHECK-NEXT:          attn.yield %[[FULL]] : i1
// CHECK-NOT:     attn.tile_loop
// CHECK:         return
func.func @parts(%q: !q, %k: !k, %o: !q, %lse: !l, %do: !q, %dk: !k, %ids: !ids) -> (!q, !k) {
  %d:2 = attn.attention_grad wrt(q, k)
      ins(%q, %k, %k, %o, %lse, %do : !q, !k, !k, !q, !l, !q) captures(%ids : !ids)
      outs(%q, %dk : !q, !k)
      mask(%b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%b, %i] : !ids
        %y = tensor.extract %t[%b, %j] : !ids
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %d#0, %d#1 : !q, !k
}

// Queries by themselves ask for their numbers once.
// CHECK-LABEL: func.func @queries(
// CHECK:         %[[TABLES:.+]]:2 = scf.forall {{.*}} -> (tensor<2x1x?xi32>, tensor<2x1x?xi32>)
// CHECK:         scf.forall
// CHECK:           scf.for
// CHECK:           attn.tile_loop %[[K:.+]] = %c0 to %[[END:.+]] step 64 iter_args
// CHECK-NEXT:        needed(%[[K]]) {
// CHECK-NOT:           scf.for
// CHECK:               tensor.extract %[[TABLES]]#0
// CHECK-NEXT:          tensor.extract %[[TABLES]]#1
// CHECK-NOT:           scf.for
// CHECK:             full(%[[K]]) {
// CHECK-NOT:           scf.for
// CHECK:               %[[THERE:.+]] = arith.cmpi sle, %{{.+}}, %[[END]] : index
// CHECK-NEXT:          %[[FULL:.+]] = arith.andi %{{.+}}, %[[THERE]] : i1
// CHECK-NEXT:          attn.yield %[[FULL]] : i1
func.func @queries(%q: !q, %k: !k, %o: !q, %lse: !l, %do: !q, %ids: !ids) -> !q {
  %d = attn.attention_grad wrt(q)
      ins(%q, %k, %k, %o, %lse, %do : !q, !k, !k, !q, !l, !q) captures(%ids : !ids)
      outs(%q : !q)
      mask(%b, %h, %i, %j, %t) {
        %x = tensor.extract %t[%b, %i] : !ids
        %y = tensor.extract %t[%b, %j] : !ids
        %p = arith.cmpi eq, %x, %y : i32
        attn.yield %p : i1
      }
  return %d : !q
}
