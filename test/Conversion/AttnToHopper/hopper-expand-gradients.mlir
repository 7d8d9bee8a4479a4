// RUN: attn-opt %s --attn-hopper-expand-gradients -split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-hopper-expand-gradients --attn-hopper-assign-schedule -split-input-file | FileCheck %s --check-prefix=ROWS

// dq has the roles of forward. Its weight is what the adjoint makes of dp and
// delta, times the scale. dk and dv have keys as queries, and q or do as values,
// of scores less the log-sum-exp of the query, here %j.
!q = tensor<1x2x?x16xf32>
!l = tensor<1x2x?xf32>
// CHECK-LABEL: func @causal(
// CHECK-SAME: %[[Q:[^:]*]]: tensor<1x2x?x16xf32>, %[[K:[^:]*]]: tensor<1x2x?x16xf32>, %[[V:[^:]*]]: tensor<1x2x?x16xf32>, %[[O:[^:]*]]: tensor<1x2x?x16xf32>, %[[L:[^:]*]]: tensor<1x2x?xf32>, %[[D:[^:]*]]: tensor<1x2x?x16xf32>)
// CHECK: %[[DELTA:.*]] = linalg.generic {{.*}}reduction{{.*}} ins(%[[D]], %[[O]] :
// CHECK: %[[DQ:.*]] = attn.attention scale 2.500000e-01
// CHECK-NEXT: ins(%[[Q]], %[[K]], %[[K]] :
// CHECK-NEXT: captures(%[[L]], %[[DELTA]], %[[D]], %[[V]] :
// CHECK: score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]], %[[LSE:.*]], %[[DE:.*]], %[[DO:.*]], %[[VS:[^)]*]]) {
// CHECK-DAG: %[[SCALE:.*]] = arith.constant 2.500000e-01 : f32
// CHECK-DAG: %[[LEAST:.*]] = arith.constant -8.733
// CHECK: %[[LROW:.*]] = tensor.extract %[[LSE]][%[[B]], %[[H]], %[[I]]]
// CHECK: %[[EMPTY:.*]] = arith.cmpf oeq, %[[LROW]]
// CHECK: %[[SHIFT:.*]] = arith.select %[[EMPTY]], %{{.*}}, %[[LROW]]
// CHECK: %[[E:.*]] = arith.subf %[[S]], %[[SHIFT]]
// CHECK: %[[DP:.*]] = scf.for %[[COLUMN:.*]] = %{{.*}} to %{{.*}} step
// CHECK: tensor.extract %[[DO]][%[[B]], %[[H]], %[[I]], %[[COLUMN]]]
// CHECK: tensor.extract %[[VS]][%[[B]], %[[H]], %[[J]], %[[COLUMN]]]
// CHECK: %[[DROW:.*]] = tensor.extract %[[DE]][%[[B]], %[[H]], %[[I]]]
// CHECK: %[[G:.*]] = arith.subf %[[DP]], %[[DROW]]
// CHECK: %[[SCALED:.*]] = arith.mulf %[[G]], %[[SCALE]]
// CHECK: %[[NONE:.*]] = arith.cmpf olt, %[[E]], %[[LEAST]]
// CHECK: %[[WEIGHT:.*]] = arith.select %[[NONE]], %{{.*}}, %[[SCALED]]
// CHECK: attn.yield %[[S]], %[[WEIGHT]] : f32, f32
// CHECK: mask(%{{[^,]*}}, %{{[^,]*}}, %[[I:[^,]*]], %[[J:[^,]*]], {{.*}}) {
// CHECK-NEXT: arith.cmpi sle, %[[J]], %[[I]] : index

// CHECK: %[[SUM:.*]], %[[OFKEY:.*]] = attn.attention scale 2.500000e-01
// CHECK-NEXT: ins(%[[K]], %[[Q]], %[[Q]] :
// CHECK: score(%[[S:.*]], %[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]], %[[LSE:.*]], %{{.*}}, %{{.*}}, %{{[^)]*}}) {
// CHECK: tensor.extract %[[LSE]][%[[B]], %[[H]], %[[J]]]
// CHECK: %[[E:.*]] = arith.subf %[[S]],
// CHECK: attn.yield %[[E]], %{{.*}} : f32, f32
// CHECK: mask(%{{[^,]*}}, %{{[^,]*}}, %[[I:[^,]*]], %[[J:[^,]*]], {{.*}}) {
// CHECK-NEXT: arith.cmpi sle, %[[I]], %[[J]] : index
// CHECK: %[[DK:.*]] = linalg.generic
// CHECK: %[[X:.*]] = tensor.extract %[[SUM]]
// CHECK: %[[Y:.*]] = tensor.extract %[[OFKEY]]
// CHECK: %[[P:.*]] = math.exp %[[Y]]
// CHECK: arith.mulf %[[X]], %[[P]]

// CHECK: attn.attention scale 2.500000e-01
// CHECK-NEXT: ins(%[[K]], %[[Q]], %[[D]] :
// CHECK: score(
// CHECK: attn.yield %{{[^,]*}} : f32
// CHECK-NOT: attn.attention_grad
// ROWS-LABEL: func @causal(
// ROWS-COUNT-3: #attn.row_schedule<rows = 32, tile_n = 32, lanes = 4, queries = 8>
func.func @causal(%q: !q, %k: !q, %v: !q, %o: !q, %l: !l, %do: !q) -> (!q, !q, !q) {
  %dq, %dk, %dv = attn.attention_grad wrt(q, k, v) ins(%q, %k, %v, %o, %l, %do : !q, !q, !q, !q, !l, !q)
    outs(%q, %k, %v : !q, !q, !q)
    mask(%b, %h, %i, %j) {
      %m = arith.cmpi sle, %j, %i : index
      attn.yield %m : i1
    }
  return %dq, %dk, %dv : !q, !q, !q
}

// -----

// Keys that heads share are those of each head, and their gradients summed up;
// what has 16 bits is converted. Wide rows are read by all of a warp.
!q = tensor<1x4x8x320xbf16>
!k = tensor<1x2x8x320xbf16>
!l = tensor<1x4x8xf32>
// CHECK-LABEL: func @wide(
// CHECK: attn.attention
// CHECK-NEXT: ins({{.*}} : tensor<1x4x8x320xf32>, tensor<1x4x8x320xf32>, tensor<1x4x8x320xf32>)
// CHECK-NEXT: captures({{.*}} : tensor<1x4x8xf32>, tensor<1x4x8xf32>, tensor<1x4x8x320xbf16>, tensor<1x4x8x320xbf16>)
// CHECK: linalg.generic {{.*}} outs(%{{.*}} : tensor<1x2x8x320xbf16>)
// ROWS-LABEL: func @wide(
// ROWS: #attn.row_schedule<rows = 16, tile_n = 32, lanes = 32, queries = 4>
func.func @wide(%q: !q, %k: !k, %v: !k, %o: !q, %l: !l, %do: !q) -> !k {
  %dk = attn.attention_grad wrt(k) ins(%q, %k, %v, %o, %l, %do : !q, !k, !k, !q, !l, !q) outs(%k : !k)
  return %dk : !k
}

// -----

// An element of the gradient of a capture is a sum over the pairs of its
// positions, or over all whose other indices are those of the element.
!q = tensor<1x2x8x16xf32>
!l = tensor<1x2x8xf32>
!w = tensor<2x8xf32>
!t = tensor<4xf32>
// CHECK-LABEL: func @captures(
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<2x8xf32>)
// CHECK-DAG: %[[H:.*]] = linalg.index 0
// CHECK-DAG: %[[J:.*]] = linalg.index 1
// CHECK-DAG: %[[I:.*]] = linalg.index 2
// CHECK: arith.cmpi ult, %[[H]]
// CHECK: arith.cmpi ult, %[[J]]
// CHECK: scf.if
// CHECK: tensor.extract %{{.*}}[%{{.*}}, %[[H]], %[[I]], %{{.*}}]
// CHECK: linalg.generic {{.*}}iterator_types = ["parallel", "reduction"]{{.*}} outs(%{{.*}} : tensor<4xf32>)
// CHECK: %[[M:.*]] = linalg.index 0
// CHECK: %[[AT:.*]] = arith.remui
// CHECK: %[[IS:.*]] = arith.cmpi eq, %[[AT]], %[[M]]
// CHECK: scf.if %[[IS]]
func.func @captures(%q: !q, %o: !q, %l: !l, %do: !q, %w: !w, %t: !t) -> (!w, !t) {
  %dw, %dt = attn.attention_grad wrt(0, 1) ins(%q, %q, %q, %o, %l, %do : !q, !q, !q, !q, !l, !q)
    captures(%w, %t : !w, !t) outs(%w, %t : !w, !t)
    score(%s, %b, %h, %i, %j, %ww, %tt) {
      %x = tensor.extract %ww[%h, %j] : !w
      %c4 = arith.constant 4 : index
      %r = arith.remui %i, %c4 : index
      %y = tensor.extract %tt[%r] : !t
      %z = arith.addf %s, %x : f32
      %u = arith.addf %z, %y : f32
      attn.yield %u : f32
    }
    adjoint(%s, %ds, %b, %h, %i, %j, %ww, %tt) {
      %c4 = arith.constant 4 : index
      %r = arith.remui %i, %c4 : index
      attn.contribute %ds to %ww[%h, %j] : f32, !w
      attn.contribute %ds to %tt[%r] : f32, !t
      attn.yield %ds : f32
    }
  return %dw, %dt : !w, !t
}

// -----

// A quotient by 0 is 0 in pairs, too, also in a loop.
!q = tensor<1x2x8x16xf32>
!l = tensor<1x2x8xf32>
!w = tensor<8xf32>
// CHECK-LABEL: func @divisions(
// CHECK: linalg.generic
// CHECK: %[[D:.*]] = arith.shrsi %{{.*}}, %{{.*}} : index
// CHECK: %[[NONE:.*]] = arith.cmpi eq, %[[D]], %c0{{.*}} : index
// CHECK: %[[BY:.*]] = arith.select %{{.*}}, %c1{{.*}}, %[[D]] : index
// CHECK: %[[Q:.*]] = arith.divsi %{{.*}}, %[[BY]] : index
// CHECK: %[[SIGNED:.*]] = arith.select %{{.*}}, %{{.*}}, %[[Q]] : index
// CHECK: %[[TOTAL:.*]] = arith.select %[[NONE]], %{{.*}}, %[[SIGNED]] : index
// CHECK: arith.index_cast %[[TOTAL]] : index to i64
// CHECK: scf.for
// CHECK: %[[REST:.*]] = arith.select %{{.*}}, %{{.*}}, %[[D]] : index
// CHECK: arith.remui %{{.*}}, %[[REST]] : index
func.func @divisions(%q: !q, %o: !q, %l: !l, %do: !q, %w: !w) -> !w {
  %dw = attn.attention_grad wrt(0) ins(%q, %q, %q, %o, %l, %do : !q, !q, !q, !q, !l, !q)
    captures(%w : !w) outs(%w : !w)
    score(%s, %b, %h, %i, %j, %ww) {
      attn.yield %s : f32
    }
    adjoint(%s, %ds, %b, %h, %i, %j, %ww) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %d = arith.shrsi %i, %c2 : index
      %x = arith.divsi %h, %d : index
      %n = arith.index_cast %x : index to i64
      %f = arith.sitofp %n : i64 to f32
      %g = scf.for %k = %c0 to %c2 step %c1 iter_args(%a = %f) -> f32 {
        %r = arith.remui %k, %d : index
        %m = arith.index_cast %r : index to i64
        %y = arith.sitofp %m : i64 to f32
        %e = arith.addf %a, %y : f32
        scf.yield %e : f32
      }
      %z = arith.mulf %g, %ds : f32
      attn.contribute %z to %ww[%j] : f32, !w
      attn.yield %ds : f32
    }
  return %dw : !w
}

// -----

// There are kernels for those of 16 bits.
!q = tensor<1x2x8x16xbf16>
!l = tensor<1x2x8xf32>
// CHECK-LABEL: func @tiles(
// CHECK-NOT: attn.attention{{ }}
// CHECK: attn.attention_grad
func.func @tiles(%q: !q, %l: !l) -> !q {
  %dk = attn.attention_grad wrt(k) ins(%q, %q, %q, %q, %l, %q : !q, !q, !q, !q, !l, !q) outs(%q : !q)
  return %dk : !q
}
