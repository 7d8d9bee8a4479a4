// RUN: attn-opt %s --attn-hopper-element-loops --canonicalize --cse --split-input-file --verify-diagnostics | FileCheck %s

!t = tensor<?x64xbf16>
!f = tensor<?x64xf32>

// One loop for all that goes into an element. A condition may be a scalar.
// CHECK-LABEL: func.func @arithmetic(
// CHECK-SAME: %[[A:.*]]: tensor<?x64xbf16>, %[[B:.*]]: tensor<?x64xbf16>, %[[P:.*]]: i1)
// CHECK: %[[N:.*]] = tensor.dim %[[A]], %{{.*}}
// CHECK: %[[E:.*]] = tensor.empty(%[[N]])
// CHECK: %[[R:.*]] = scf.forall (%[[I:.*]], %[[J:.*]]) in (%[[N]], 64) shared_outs(%[[O:.*]] = %[[E]])
// CHECK: %[[X:.*]] = tensor.extract %[[A]][%[[I]], %[[J]]]
// CHECK: %[[W:.*]] = arith.extf %[[X]] : bf16 to f32
// CHECK: %[[S:.*]] = arith.addf %[[W]], %cst : f32
// CHECK: %[[C:.*]] = arith.select %[[P]], %[[S]], %[[W]] : f32
// CHECK: %[[V:.*]] = arith.truncf %[[C]] : f32 to bf16
// CHECK: %[[SLICE:.*]] = tensor.extract_slice %[[O]][%[[I]], %[[J]]] [1, 1] [1, 1]
// CHECK: %[[ONE:.*]] = tensor.insert %[[V]] into %[[SLICE]][%c0, %c0]
// CHECK: tensor.parallel_insert_slice %[[ONE]] into %[[O]][%[[I]], %[[J]]] [1, 1] [1, 1]
// CHECK: mapping = [#attn.worker<0>, #attn.worker<1>]
// CHECK: return %[[R]]
func.func @arithmetic(%a: !t, %b: !t, %p: i1) -> !t {
  %w = arith.extf %a : !t to !f
  %c0 = arith.constant 0 : index
  %n = tensor.dim %w, %c0 : !f
  %one = arith.constant 1.0 : f32
  %e = tensor.empty(%n) : !f
  %ones = linalg.fill ins(%one : f32) outs(%e : !f) -> !f
  %s = arith.addf %w, %ones : !f
  %c = arith.select %p, %s, %w : !f
  %r = arith.truncf %c : !f to !t
  return %r : !t
}

// -----

// What two loops need is computed once, and so are sums.
// CHECK-LABEL: func.func @sums(
// CHECK-SAME: %[[A:.*]]: tensor<?x?xf32>, %[[S:.*]]: f32)
// CHECK: %[[SQUARES:.*]] = scf.forall (%[[I:.*]], %[[J:.*]]) in
// CHECK: %[[X:.*]] = tensor.extract %[[A]][%[[J]], %[[I]]]
// CHECK: arith.mulf %[[X]], %[[X]]
// CHECK: %[[SUMS:.*]] = scf.forall (%[[K:.*]]) in
// CHECK: scf.for %[[L:.*]] = %c0 to %{{.*}} step %c1 iter_args(%[[ACC:.*]] = %[[S]])
// CHECK: %[[Y:.*]] = tensor.extract %[[SQUARES]][%[[K]], %[[L]]]
// CHECK: arith.addf %[[Y]], %[[ACC]]
// CHECK: scf.forall
// CHECK: tensor.extract %[[SQUARES]]
// CHECK: tensor.extract %[[SUMS]]
func.func @sums(%a: tensor<?x?xf32>, %s: f32) -> tensor<?x?xf32> {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %n = tensor.dim %a, %c0 : tensor<?x?xf32>
  %m = tensor.dim %a, %c1 : tensor<?x?xf32>
  %e = tensor.empty(%m, %n) : tensor<?x?xf32>
  %t = linalg.transpose ins(%a : tensor<?x?xf32>) outs(%e : tensor<?x?xf32>) permutation = [1, 0]
  %q = arith.mulf %t, %t : tensor<?x?xf32>
  %f = tensor.empty(%m) : tensor<?xf32>
  %start = linalg.fill ins(%s : f32) outs(%f : tensor<?xf32>) -> tensor<?xf32>
  %sum = linalg.reduce ins(%q : tensor<?x?xf32>) outs(%start : tensor<?xf32>) dimensions = [1]
    (%x: f32, %y: f32) {
      %z = arith.addf %x, %y : f32
      linalg.yield %z : f32
    }
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j) -> (i, j)>, affine_map<(i, j) -> (i)>, affine_map<(i, j) -> (i, j)>],
      iterator_types = ["parallel", "parallel"]}
      ins(%q, %sum : tensor<?x?xf32>, tensor<?xf32>) outs(%e : tensor<?x?xf32>) {
    ^bb0(%x: f32, %y: f32, %out: f32):
      %z = arith.divf %x, %y : f32
      linalg.yield %z : f32
  } -> tensor<?x?xf32>
  return %r : tensor<?x?xf32>
}

// -----

// A sum over two loops is one over the last of them first.
// CHECK-LABEL: func.func @twice(
// CHECK-SAME: %[[A:.*]]: tensor<3x5x7xf32>, %[[S:.*]]: tensor<5xf32>)
// CHECK: %[[PART:.*]] = scf.forall (%[[I:.*]], %[[J:.*]]) in (3, 5)
// CHECK: scf.for %[[K:.*]] = %c0 to %c7 step %c1 iter_args(%[[ACC:.*]] = %cst)
// CHECK: %[[X:.*]] = tensor.extract %[[A]][%[[I]], %[[J]], %[[K]]]
// CHECK: %[[E:.*]] = math.exp %[[X]]
// CHECK: arith.addf %[[ACC]], %[[E]]
// CHECK: scf.forall (%[[J:.*]]) in (5)
// CHECK: %[[START:.*]] = tensor.extract %[[S]][%[[J]]]
// CHECK: scf.for %[[I:.*]] = %c0 to %c3 step %c1 iter_args(%[[ACC:.*]] = %[[START]])
// CHECK: %[[Y:.*]] = tensor.extract %[[PART]][%[[I]], %[[J]]]
// CHECK: arith.addf %[[ACC]], %[[Y]]
func.func @twice(%a: tensor<3x5x7xf32>, %s: tensor<5xf32>) -> tensor<5xf32> {
  %r = linalg.generic {
      indexing_maps = [affine_map<(i, j, k) -> (i, j, k)>, affine_map<(i, j, k) -> (j)>],
      iterator_types = ["reduction", "parallel", "reduction"]}
      ins(%a : tensor<3x5x7xf32>) outs(%s : tensor<5xf32>) {
    ^bb0(%x: f32, %sum: f32):
      %e = math.exp %x : f32
      %y = arith.addf %sum, %e : f32
      linalg.yield %y : f32
  } -> tensor<5xf32>
  return %r : tensor<5xf32>
}

// -----

// A maximum over two loops is not taken apart.
// CHECK-LABEL: func.func @largest(
// CHECK-COUNT-1: scf.forall (
// CHECK-COUNT-2: scf.for %
// CHECK-NOT: scf.forall (
func.func @largest(%a: tensor<3x5xf32>, %s: tensor<f32>) -> tensor<f32> {
  %r = linalg.reduce ins(%a : tensor<3x5xf32>) outs(%s : tensor<f32>) dimensions = [0, 1]
    (%x: f32, %y: f32) {
      %m = arith.maximumf %x, %y : f32
      linalg.yield %m : f32
    }
  return %r : tensor<f32>
}

// -----

#map = affine_map<(i, j) -> (i, j)>

// Slices and shapes are indices.
// CHECK-LABEL: func.func @views(
// CHECK-SAME: %[[A:.*]]: tensor<12x64xf32>, %[[B:.*]]: tensor<4x4x16xf32>)
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]]) in (12, 64)
// CHECK: %[[D:.*]] = affine.apply #{{.*}}()[%[[I]]]
// CHECK: %[[HALF:.*]] = arith.floordivsi %[[D]], %c2
// CHECK: %[[WHOLE:.*]] = arith.muli %[[HALF]], %c2
// CHECK: arith.cmpi eq, %[[D]], %[[WHOLE]]
// CHECK: %[[X:.*]] = scf.if %{{.*}} -> (f32) {
// CHECK: %[[LOW:.*]] = arith.remui %[[J]], %c16
// CHECK: %[[HIGH:.*]] = arith.divui %[[J]], %c16
// CHECK: tensor.extract %[[B]][%[[HALF]], %[[HIGH]], %[[LOW]]]
// CHECK: } else {
// CHECK: tensor.extract %[[A]][%[[I]], %[[J]]]
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[J]] : index to i32
// CHECK: arith.sitofp %[[INDEX]]
func.func @views(%a: tensor<12x64xf32>, %b: tensor<4x4x16xf32>) -> tensor<12x64xf32> {
  %c = tensor.collapse_shape %b [[0], [1, 2]] : tensor<4x4x16xf32> into tensor<4x64xf32>
  %i = tensor.insert_slice %c into %a[3, 0] [4, 64] [2, 1] : tensor<4x64xf32> into tensor<12x64xf32>
  %r = linalg.generic {indexing_maps = [#map, #map], iterator_types = ["parallel", "parallel"]}
      ins(%i : tensor<12x64xf32>) outs(%a : tensor<12x64xf32>) {
    ^bb0(%x: f32, %out: f32):
      %j = linalg.index 1 : index
      %n = arith.index_cast %j : index to i32
      %f = arith.sitofp %n : i32 to f32
      %y = arith.addf %x, %f : f32
      linalg.yield %y : f32
  } -> tensor<12x64xf32>
  return %r : tensor<12x64xf32>
}

// -----

// Of the other direction; an offset may be a value.
// CHECK-DAG: #[[ROWS:.*]] = affine_map<()[s0, s1] -> (s0 * 3 + s1 + 1)>
// CHECK-DAG: #[[COLUMNS:.*]] = affine_map<()[s0, s1] -> (s0 * 2 + s1)>
// CHECK-LABEL: func.func @slice(
// CHECK-SAME: %[[A:.*]]: tensor<8x24xf32>, %[[O:.*]]: index)
// CHECK: scf.forall (%[[I:.*]], %[[J:.*]], %[[K:.*]]) in (2, 3, 4)
// CHECK: %[[ROW:.*]] = affine.apply #[[ROWS]]()[%[[I]], %[[J]]]
// CHECK: %[[COLUMN:.*]] = affine.apply #[[COLUMNS]]()[%[[K]], %[[O]]]
// CHECK: tensor.extract %[[A]][%[[ROW]], %[[COLUMN]]]
func.func @slice(%a: tensor<8x24xf32>, %o: index) -> tensor<2x3x4xf32> {
  %s = tensor.extract_slice %a[1, %o] [6, 4] [1, 2] : tensor<8x24xf32> to tensor<6x4xf32>
  %e = tensor.expand_shape %s [[0, 1], [2]] output_shape [2, 3, 4] : tensor<6x4xf32> into tensor<2x3x4xf32>
  return %e : tensor<2x3x4xf32>
}

// -----

// A number is one element.
// CHECK-LABEL: func.func @number(
// CHECK-SAME: %[[A:.*]]: tensor<f32>)
// CHECK: scf.forall (%{{.*}}) in (1) shared_outs(%{{.*}}) -> (tensor<f32>)
// CHECK: tensor.extract %[[A]][]
func.func @number(%a: tensor<f32>) -> tensor<f32> {
  %r = arith.negf %a : tensor<f32>
  return %r : tensor<f32>
}

// -----

// What attentions read is in memory, and so are arguments and what is a cast of
// them. What nothing needs goes.
// CHECK-LABEL: func.func @attention(
// CHECK-SAME: %[[Q:[^:]*]]:
// CHECK: %[[K:.*]] = scf.forall (
// CHECK-NOT: scf.forall (
// CHECK: attn.attention
// CHECK-NEXT: ins(%[[Q]], %[[K]], %[[K]] :
// CHECK-NOT: scf.forall (
!h = tensor<1x2x8x16xf32>
func.func @attention(%q: !h) -> !h {
  %k = math.tanh %q : !h
  %n = arith.negf %k : !h
  %e = tensor.empty() : !h
  %o = attn.attention ins(%q, %k, %k : !h, !h, !h) outs(%e : !h)
  return %o : !h
}

// -----

func.func @other(%a: tensor<4xf32>) -> tensor<4xf32> {
  // expected-error @+1 {{expects around attentions for a GPU what computes tensors element by element, but got 'tensor.generate'; the target cpu can run it}}
  %g = tensor.generate {
  ^bb0(%i: index):
    %x = arith.constant 1.0 : f32
    tensor.yield %x : f32
  } : tensor<4xf32>
  %r = arith.addf %a, %g : tensor<4xf32>
  return %r : tensor<4xf32>
}
