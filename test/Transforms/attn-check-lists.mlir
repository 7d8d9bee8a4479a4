// RUN: attn-opt %s --attn-check-lists | FileCheck %s

// One pass over the lists tells whether there is anything to report; another
// one tells what. Heads have lists of their own here, batches share them.

// CHECK: module attributes {attn.sites = ["{{.*}}error: 'attn.attention' op expects rows of the sparsity to lie in the %1 columns, but got %0", "{{.*}}rows of the sparsity not to decrease, but got %0 after a larger one", "{{.*}}columns of the sparsity to be from 0 to below %1, but got %0", "{{.*}}the columns of a row of the sparsity to ascend, but got %0 after one that is not less"]}
// CHECK-LABEL: func @lists
// CHECK: %[[NUM:.*]] = tensor.dim %[[COLUMNS:[^,]*]], %{{.*}} : tensor<?xi32>
// CHECK: tensor.dim %arg0, %c2
// CHECK: %[[KEYS:.*]] = tensor.dim %arg0, %c2
// CHECK: scf.forall (%{{.*}}, %[[H:.*]], %{{.*}}) in (1, 4, %{{.*}}) {
// CHECK: scf.for %[[I:.*]] = %{{.*}} to %{{.*}} step %c1
// CHECK: tensor.extract %[[ROWS:.*]][%[[H]], %[[I]]] : tensor<4x?xi64>
// CHECK: %[[NEXT:.*]] = arith.addi %[[I]], %c1
// CHECK: tensor.extract %[[ROWS]][%[[H]], %[[NEXT]]]
// CHECK: attn.report site 0(%{{.*}}, %[[NUM]]) if
// CHECK: attn.report site 0(%{{.*}}, %[[NUM]]) if
// CHECK: attn.report site 1(%{{.*}}) if
// CHECK: scf.for
// CHECK:   arith.maxui
// CHECK: scf.for
// CHECK:   arith.cmpi sle
// CHECK: scf.if
// CHECK:   scf.for
// CHECK:     attn.report site 2(%{{.*}}, %[[KEYS]]) if
// CHECK:     attn.report site 3(
// CHECK: attn.attention
func.func @lists(%q: tensor<2x4x?x8xf32>, %rows: tensor<4x?xi64>, %columns: tensor<?xi32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi64>, tensor<?xi32>)
      outs(%q : tensor<2x4x?x8xf32>)
  return %r : tensor<2x4x?x8xf32>
}

// Lists of blocks, and a part of an attention, are not looked at.

// CHECK-LABEL: func @others
// CHECK-NOT: attn.report
func.func @others(%q: tensor<2x4x64x8xf32>, %rows: tensor<5xi64>, %columns: tensor<?xi32>, %all: tensor<?xi64>, %at: index) -> tensor<2x4x64x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<lists, block = 16x16> %rows, %columns : tensor<5xi64>, tensor<?xi32>)
      outs(%q : tensor<2x4x64x8xf32>)
  %s = attn.attention ins(%q, %q, %q : tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>, tensor<2x4x64x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %all, %columns : tensor<?xi64>, tensor<?xi32>)
      offsets(%at, %at, %at, %at)
      outs(%r : tensor<2x4x64x8xf32>)
  return %s : tensor<2x4x64x8xf32>
}
