// RUN: attn-run %s --until-after=convert-attn-to-cpu | attn-opt --canonicalize --cse | FileCheck %s

// The factor of scores, here log2(e), is left to a fused multiply-add with the
// maximum, on either side of a branch for tiles with a predicate and without.
// What is stored first has no factor, and -inf where it is masked.

// CHECK-LABEL: func.func @scores(
// CHECK-DAG:  %[[LOG2E:.*]] = arith.constant dense<1.44269502> : vector<[[N:[0-9]+]]xf32>
// CHECK-DAG:  %[[MOST:.*]] = arith.constant dense<1.600000e+01> : vector<[[N]]xf32>
// CHECK:      %[[TANH:.*]] = math.tanh
// CHECK-NOT:  arith.mulf
// CHECK:      vector.store
// CHECK:      %[[SCALED:.*]] = arith.mulf %{{.*}}, %[[LOG2E]]
// CHECK:      arith.cmpf ogt, %[[SCALED]],
// CHECK:      %[[SHIFT:.*]] = arith.negf
// CHECK:      %[[POWER:.*]] = math.fma %{{.*}}, %[[LOG2E]], %[[SHIFT]]
// CHECK-NEXT: %[[IS_MORE:.*]] = arith.cmpf ogt, %[[POWER]], %[[MOST]]
// CHECK-NEXT: arith.select %[[IS_MORE]], %[[MOST]], %[[POWER]]
!t = tensor<?x?x?x16xf32>
func.func @scores(%q: !t, %k: !t, %v: !t) -> !t {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c2 = arith.constant 2 : index
  %b = tensor.dim %q, %c0 : !t
  %h = tensor.dim %q, %c1 : !t
  %s = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%b, %h, %s) : !t
  %o = attn.attention ins(%q, %k, %v : !t, !t, !t)
      outs(%init : !t)
      score(%x, %mb, %mh, %i, %j) {
        %y = math.tanh %x : f32
        attn.yield %y : f32
      }
      mask(%mb, %mh, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %o : !t
}
