// RUN: attn-opt %s --attn-check-lists=by-list | FileCheck %s

// An iteration has one list, whose columns are looked at in any order: nothing
// is carried from one to the next. Heads have lists of their own here, batches
// share them.

// CHECK: module attributes {attn.sites = ["{{.*}}expects rows of the sparsity to lie in the %1 columns, but got %0", {{.*}}"{{.*}}ascend, but got %0 after one that is not less"]}
// CHECK-LABEL: func @lists
// CHECK: %[[NUM:.*]] = tensor.dim %[[COLUMNS:[^,]*]], %{{.*}} : tensor<?xi32>
// CHECK: tensor.dim %arg0, %c2
// CHECK: %[[KEYS:.*]] = tensor.dim %arg0, %c2
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %[[I:.*]]) in (1, 4, %{{.*}}) {
// CHECK: tensor.extract %[[ROWS:.*]][%[[H]], %[[I]]] : tensor<4x?xi64>
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: tensor.extract %[[ROWS]][%[[H]], %[[NEXT]]]
// CHECK: attn.report site 0(%{{.*}}, %[[NUM]]) if
// CHECK: attn.report site 0(%{{.*}}, %[[NUM]]) if
// CHECK: attn.report site 1(%{{.*}}) if
// CHECK: %[[LOW:.*]] = arith.maxsi
// CHECK: %[[BEGIN:.*]] = arith.minsi %[[LOW]], %[[NUM]]
// CHECK: %[[END:.*]] = arith.minsi %{{.*}}, %[[NUM]]
// CHECK: scf.for %[[N:.*]] = %[[BEGIN]] to %[[END]] step %{{.*}} {
// CHECK:   attn.report site 2(%{{.*}}, %[[KEYS]]) if
// CHECK:   arith.cmpi sgt, %[[N]], %[[BEGIN]]
// CHECK:   arith.maxsi %[[BEGIN]]
// CHECK:   attn.report site 3(
// CHECK: attn.attention
func.func @lists(%q: tensor<2x4x?x8xf32>, %rows: tensor<4x?xi64>, %columns: tensor<?xi32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi64>, tensor<?xi32>)
      outs(%q : tensor<2x4x?x8xf32>)
  return %r : tensor<2x4x?x8xf32>
}

// Lists of blocks are checked, too: here 4 rows and 2 columns of blocks.

// CHECK-LABEL: func @blocks
// CHECK: %[[BLOCKS:.*]] = arith.constant 2 : index
// CHECK: scf.forall (%{{.*}}, %{{.*}}, %{{.*}}) in (1, 1, 4) {
// CHECK: attn.report site 4(
// CHECK: attn.report site 6(%{{.*}}, %[[BLOCKS]]) if
func.func @blocks(%q: tensor<2x4x64x8xf32>, %rows: tensor<5xi64>, %columns: tensor<?xi32>) -> tensor<2x4x64x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x32> %rows, %columns : tensor<5xi64>, tensor<?xi32>)
      outs(%q : tensor<2x4x64x8xf32>)
  return %r : tensor<2x4x64x8xf32>
}

// Bits are no lists, and a part of an attention is not looked at.

// CHECK-LABEL: func @others
// CHECK-NOT: attn.report
func.func @others(%q: tensor<2x4x64x8xf32>, %bits: tensor<4x2xi1>, %all: tensor<?xi64>, %columns: tensor<?xi32>, %at: index) -> tensor<2x4x64x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<bits, block = 16x32> %bits : tensor<4x2xi1>)
      outs(%q : tensor<2x4x64x8xf32>)
  %s = attn.attention ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %all, %columns : tensor<?xi64>, tensor<?xi32>)
      offsets(%at, %at, %at, %at)
      outs(%r : tensor<2x4x64x8xf32>)
  return %s : tensor<2x4x64x8xf32>
}
