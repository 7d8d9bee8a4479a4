// RUN: attn-opt %s --attn-expand-sparsity --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-expand-sparsity=by-element --split-input-file | FileCheck %s --check-prefix=EACH

// Bits become a capture and a part of the mask.

// CHECK-LABEL: func.func @bits
// CHECK-SAME: %[[BITS:[^ ]*]]: tensor<4x4x2xi1>
// CHECK: attn.attention
// CHECK-NEXT: ins(
// CHECK-NEXT: captures(%{{.*}}, %[[BITS]] : index, tensor<4x4x2xi1>)
// CHECK-NEXT: outs(
// CHECK-NEXT: score(%s, %b, %h, %i, %j, %w0, %w1) {
// CHECK: mask(%b, %h, %i, %j, %w0, %w1) {
// CHECK-NEXT: %[[P:.*]] = arith.cmpi slt, %j, %w0 : index
// CHECK-NEXT: %[[C64:.*]] = arith.constant 64 : index
// CHECK-NEXT: %[[ROW:.*]] = arith.divui %i, %[[C64]] : index
// CHECK-NEXT: %[[C128:.*]] = arith.constant 128 : index
// CHECK-NEXT: %[[COLUMN:.*]] = arith.divui %j, %[[C128]] : index
// CHECK-NEXT: %[[BIT:.*]] = tensor.extract %w1[%h, %[[ROW]], %[[COLUMN]]] : tensor<4x4x2xi1>
// CHECK-NEXT: %[[BOTH:.*]] = arith.andi %[[P]], %[[BIT]] : i1
// CHECK-NEXT: attn.yield %[[BOTH]] : i1
func.func @bits(%bits: tensor<4x4x2xi1>, %n: index, %q: tensor<2x4x256x8xf32>) -> tensor<2x4x256x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>)
      captures(%n : index)
      sparsity(#attn.sparsity<bits, block = 64x128> %bits : tensor<4x4x2xi1>)
      outs(%q : tensor<2x4x256x8xf32>)
      score(%s, %b, %h, %i, %j, %w0) {
        %t = arith.negf %s : f32
        attn.yield %t : f32
      }
      mask(%b, %h, %i, %j, %w0) {
        %p = arith.cmpi slt, %j, %w0 : index
        attn.yield %p : i1
      }
  return %o : tensor<2x4x256x8xf32>
}

// -----

// An extent of 1 is shared, also where that is known at run time. Without a mask there is one now.

// CHECK-LABEL: func.func @shared
// CHECK: mask(%b, %h, %i, %j, %w0) {
// CHECK-NEXT: %[[TRUE:.*]] = arith.constant true
// CHECK: %[[ZERO:.*]] = arith.constant 0 : index
// CHECK: %[[HEADS:.*]] = tensor.dim %w0, %{{.*}} : tensor<1x?x?x?xi1>
// CHECK: %[[ONE:.*]] = arith.cmpi eq, %[[HEADS]], %{{.*}} : index
// CHECK: %[[HEAD:.*]] = arith.select %[[ONE]], %{{.*}}, %h : index
// CHECK: tensor.extract %w0[%[[ZERO]], %[[HEAD]], %{{.*}}, %{{.*}}] : tensor<1x?x?x?xi1>
func.func @shared(%bits: tensor<1x?x?x?xi1>, %q: tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<1x?x?x?xi1>)
      outs(%q : tensor<2x4x?x8xf32>)
  return %o : tensor<2x4x?x8xf32>
}

// -----

// Lists become bits by a loop over rows of blocks. What they may have wrong is reported.

// CHECK: module attributes {attn.sites = ["
// CHECK-SAME: error: 'attn.attention' op expects rows of the sparsity to lie in the %1 columns, but got %0",
// CHECK-SAME: error: 'attn.attention' op expects rows of the sparsity not to decrease, but got %0 after a larger one",
// CHECK-SAME: error: 'attn.attention' op expects columns of the sparsity to be from 0 to below %1, but got %0",
// CHECK-SAME: error: 'attn.attention' op expects the columns of a row of the sparsity to ascend, but got %0 after one that is not less"]}
// CHECK-LABEL: func.func @lists
// CHECK-SAME: %[[ROWS:[^ ]*]]: tensor<4x5xi32>, %[[COLUMNS:[^ ]*]]: tensor<?xi64>
// CHECK: %[[N:.*]] = tensor.dim %[[COLUMNS]]
// CHECK: %[[EMPTY:.*]] = tensor.empty() : tensor<1x4x4x2xi1>
// CHECK: %[[BITS:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (1, 4, 4) shared_outs(%[[TABLE:.*]] = %[[EMPTY]])
// CHECK: %[[ROW:.*]] = tensor.extract_slice %[[TABLE]][%[[B]], %[[H]], %[[I]], 0] [1, 1, 1, 2]
// CHECK: %[[CLEAR:.*]] = scf.for %{{.*}} iter_args(%{{.*}} = %[[ROW]])
// CHECK: tensor.insert %false
// CHECK: tensor.extract %[[ROWS]][%[[H]], %[[I]]] : tensor<4x5xi32>
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]]
// CHECK: tensor.extract %[[ROWS]][%[[H]], %[[NEXT]]] : tensor<4x5xi32>
// CHECK: attn.report site 0(%{{.*}}, %[[N]])
// CHECK: attn.report site 0(%{{.*}}, %[[N]])
// CHECK: attn.report site 1
// CHECK: %[[FILLED:.*]]:2 = scf.for %[[AT:.*]] = {{.*}} iter_args(%{{.*}} = %[[CLEAR]], %{{.*}} = %{{.*}})
// CHECK: tensor.extract %[[COLUMNS]][%[[AT]]] : tensor<?xi64>
// CHECK: attn.report site 2
// CHECK: attn.report site 3
// CHECK: tensor.insert %true
// CHECK: tensor.parallel_insert_slice %[[FILLED]]#0 into %[[TABLE]][%[[B]], %[[H]], %[[I]], 0] [1, 1, 1, 2]
// CHECK: {attn.preparation, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>]}
// CHECK: captures(%[[BITS]] : tensor<1x4x4x2xi1>)

// Or by a loop over bits, each of which looks for itself.

// EACH-LABEL: func.func @lists
// EACH-SAME: %[[ROWS:[^ ]*]]: tensor<4x5xi32>, %[[COLUMNS:[^ ]*]]: tensor<?xi64>
// EACH: %[[N:.*]] = tensor.dim %[[COLUMNS]]
// EACH: %[[BITS:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]]) in (1, 4, 4, 2) shared_outs(%[[TABLE:.*]] =
// EACH: %[[SLICE:.*]] = tensor.extract_slice %[[TABLE]][%[[B]], %[[H]], %[[I]], %[[J]]] [1, 1, 1, 1]
// EACH: %[[BEGIN:.*]] = tensor.extract %[[ROWS]][%[[H]], %[[I]]]
// EACH: %[[LO:.*]] = arith.index_cast %[[BEGIN]]
// EACH: %[[NEXT:.*]] = arith.addi %[[I]]
// EACH: %[[END:.*]] = tensor.extract %[[ROWS]][%[[H]], %[[NEXT]]]
// EACH: %[[HI:.*]] = arith.index_cast %[[END]]
// EACH: %[[POSITIVE:.*]] = arith.maxsi %[[LO]], %c0
// EACH: %[[LOW:.*]] = arith.minsi %[[POSITIVE]], %[[N]]
// EACH: %[[HIGH:.*]] = arith.minsi %[[HI]], %[[N]]
// EACH: %[[FOUND:.*]] = scf.for %[[AT:.*]] = %[[LOW]] to %[[HIGH]] step %{{.*}} iter_args(%[[BEFORE:.*]] = %false
// EACH:   tensor.extract %[[COLUMNS]][%[[AT]]] : tensor<?xi64>
// EACH:   %[[IS:.*]] = arith.cmpi eq, %{{.*}}, %[[J]] : index
// EACH:   arith.ori %[[BEFORE]], %[[IS]] : i1
// EACH: %[[BIT:.*]] = tensor.insert %[[FOUND]] into %[[SLICE]]
// EACH: tensor.parallel_insert_slice %[[BIT]] into %[[TABLE]][%[[B]], %[[H]], %[[I]], %[[J]]] [1, 1, 1, 1]
// EACH-NOT: attn.report
// EACH: {attn.preparation, mapping = [#attn.worker<0>, #attn.worker<1>, #attn.worker<2>, #attn.worker<3>]}
// EACH: captures(%[[BITS]] : tensor<1x4x4x2xi1>)
func.func @lists(%rows: tensor<4x5xi32>, %columns: tensor<?xi64>, %q: tensor<2x4x256x8xf32>) -> tensor<2x4x256x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>)
      sparsity(#attn.sparsity<lists, block = 64x128> %rows, %columns : tensor<4x5xi32>, tensor<?xi64>)
      outs(%q : tensor<2x4x256x8xf32>)
  return %o : tensor<2x4x256x8xf32>
}

// -----

// The sites of others keep their numbers.

// CHECK: attn.sites = ["first", "
module attributes {attn.sites = ["first"]} {
// CHECK-LABEL: func.func @more_lists
// CHECK: attn.report site 1(
// CHECK: attn.report site 5(
func.func @more_lists(%rows: tensor<?xi32>, %columns: tensor<?xi32>, %q: tensor<2x4x?x8xf32>) -> tensor<2x4x?x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%q : tensor<2x4x?x8xf32>)
  %p = attn.attention
      ins(%q, %o, %o : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%q : tensor<2x4x?x8xf32>)
  return %p : tensor<2x4x?x8xf32>
}
}

// -----

// Bounds and classes of tiles speak of the mask without the blocks.

// CHECK-LABEL: func.func @online
// CHECK: mask(
// CHECK-NOT: blocks(
// CHECK-NOT: tiles(
// CHECK: return
func.func @online(%bits: tensor<?x?xi1>, %q: tensor<1x1x?x8xf32>, %r: tensor<1x1x?xf32>) -> tensor<1x1x?x8xf32> {
  %acc, %max, %sum = attn.online_attention scale 1.0
      ins(%q, %q, %q : tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>, tensor<1x1x?x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x16> %bits : tensor<?x?xi1>)
      outs(%q, %r, %r : tensor<1x1x?x8xf32>, tensor<1x1x?xf32>, tensor<1x1x?xf32>)
      blocks(%b, %h, %i0, %i1, %skv) {
        %c0 = arith.constant 0 : index
        attn.yield %c0, %c0, %skv, %skv : index, index, index, index
      }
      tiles(%b, %h, %i0, %i1, %j0, %j1) {
        %true = arith.constant true
        attn.yield %true, %true : i1, i1
      }
  return %acc : tensor<1x1x?x8xf32>
}

// -----

// CHECK-LABEL: func.func @csr
// CHECK: sparsity(#attn.sparsity<lists, block = 1x1>
func.func @csr(%rows: tensor<257xi32>, %columns: tensor<?xi32>, %q: tensor<2x4x256x8xf32>) -> tensor<2x4x256x8xf32> {
  %o = attn.attention
      ins(%q, %q, %q : tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>, tensor<2x4x256x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<257xi32>, tensor<?xi32>)
      outs(%q : tensor<2x4x256x8xf32>)
  return %o : tensor<2x4x256x8xf32>
}
