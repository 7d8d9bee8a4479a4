// RUN: attn-opt %s --split-input-file --attn-choose-sparsity | FileCheck %s --check-prefixes=CHECK,AUTO
// RUN: attn-opt %s --split-input-file --attn-choose-sparsity='form=dense' | FileCheck %s --check-prefixes=CHECK,DENSE
// RUN: not attn-opt %s --split-input-file --attn-choose-sparsity='form=lists' 2>%t | FileCheck %s --check-prefix=LISTS
// RUN: FileCheck %s --check-prefix=ERROR < %t
// RUN: attn-opt %s --split-input-file --attn-choose-sparsity='form=dense one-per-launch' | FileCheck %s --check-prefix=LAUNCH
// RUN: attn-opt %s --split-input-file --attn-choose-sparsity='one-per-launch' | FileCheck %s --check-prefix=EITHER

// A call takes one of two forms by the number of columns.

// CHECK-LABEL: func @lists
// AUTO: %[[PAIRS:.*]] = tensor.dim %arg2
// AUTO: arith.cmpf olt
// AUTO: %[[IF:.*]] = scf.if
// AUTO: attn.attention
// AUTO: sparsity(#attn.sparsity<lists, block = 1x1>
// AUTO: } else {
// A loop over queries clears the words of each and sets the bits of its list.
// CHECK: %[[WORDS:.*]] = scf.forall (%[[B:.*]], %[[H:.*]], %[[I:.*]]) in (1, 4, %{{.*}}) shared_outs(%{{.*}} = %{{.*}}) -> (tensor<1x4x?x?xi32>)
// CHECK: tensor.extract %arg1[%[[H]], %[[I]]] : tensor<4x?xi64>
// CHECK: scf.for
// CHECK:   tensor.insert
// CHECK: scf.for
// CHECK:   %[[COLUMN:.*]] = arith.index_cast
// CHECK:   %[[OWN:.*]] = arith.divui %[[COLUMN]], %{{.*}} : index
// CHECK:   arith.cmpi ult, %[[OWN]]
// CHECK:   scf.if
// CHECK:     arith.shli
// CHECK:     arith.ori
// CHECK: attn.attention
// CHECK-NOT: sparsity
// CHECK: captures(%[[WORDS]] : tensor<1x4x?x?xi32>)
// CHECK: mask(%[[B:.*]], %[[H:.*]], %[[I:.*]], %[[J:.*]], %[[W:.*]]) {
// CHECK:   %[[N:.*]] = arith.divui %[[J]], %c32
// CHECK:   %[[WORD:.*]] = tensor.extract %[[W]][%{{.*}}, %[[H]], %[[I]], %[[N]]]
// CHECK:   %[[K:.*]] = arith.remui %[[J]], %c32
// CHECK:   %[[PLACE:.*]] = arith.index_cast %[[K]]
// CHECK:   %[[SHIFTED:.*]] = arith.shrui %[[WORD]], %[[PLACE]]
// CHECK:   arith.andi %[[SHIFTED]]
// CHECK:   arith.cmpi ne

// LISTS-LABEL: func @lists
// LISTS-NOT: scf
// LISTS: sparsity(#attn.sparsity<lists, block = 1x1>

// LAUNCH-LABEL: func @lists
// LAUNCH: scf.forall
// LAUNCH: %[[ROW:.*]] = tensor.extract_slice
// LAUNCH: %[[FILLED:.*]] = attn.key_bitmask %arg2[%{{.*}}, %{{.*}}] into %[[ROW]][%{{.*}}] : tensor<?xi32>, tensor<1x1x1x?xi32> -> tensor<1x1x1x?xi32>
// LAUNCH: tensor.parallel_insert_slice %[[FILLED]]

// EITHER-LABEL: func @lists
// EITHER-NOT: scf
// EITHER: sparsity(#attn.sparsity<lists, block = 1x1>
func.func @lists(%q: tensor<2x4x?x8xf32>, %rows: tensor<4x?xi64>, %columns: tensor<?xi32>) -> tensor<2x4x?x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>, tensor<2x4x?x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi64>, tensor<?xi32>)
      outs(%q : tensor<2x4x?x8xf32>)
  return %r : tensor<2x4x?x8xf32>
}

// -----

// What is known is chosen at once: 2 keys for each of 256 queries, of 256.

// CHECK-LABEL: func @few
// AUTO-NOT: scf
// AUTO: sparsity(#attn.sparsity<lists, block = 1x1>
// CHECK: return
func.func @few(%q: tensor<1x1x256x8xf32>, %rows: tensor<257xi32>, %columns: tensor<512xi32>) -> tensor<1x1x256x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<257xi32>, tensor<512xi32>)
      outs(%q : tensor<1x1x256x8xf32>)
  return %r : tensor<1x1x256x8xf32>
}

// -----

// All keys.

// CHECK-LABEL: func @all
// AUTO-NOT: scf.if
// CHECK: scf.forall
// CHECK: captures
// CHECK: return
func.func @all(%q: tensor<1x1x256x64xf32>, %rows: tensor<257xi32>, %columns: tensor<65536xi32>) -> tensor<1x1x256x64xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x256x64xf32>, tensor<1x1x256x64xf32>, tensor<1x1x256x64xf32>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<257xi32>, tensor<65536xi32>)
      outs(%q : tensor<1x1x256x64xf32>)
  return %r : tensor<1x1x256x64xf32>
}

// -----

// ERROR: error: expects dense or blocks for a sparsity with blocks of 64x32, but got lists; leave the choice to the compiler with auto

// A sparsity with blocks stays one; dense, its tiles are not told apart.

// CHECK-LABEL: func @blocks
// AUTO-NOT: attn.whole
// DENSE: attn.whole
// CHECK: return
func.func @blocks(%q: tensor<1x1x256x8xf32>, %bits: tensor<4x8xi1>) -> tensor<1x1x256x8xf32> {
  %r = attn.attention ins(%q, %q, %q : tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>, tensor<1x1x256x8xf32>)
      sparsity(#attn.sparsity<bits, block = 64x32> %bits : tensor<4x8xi1>)
      outs(%q : tensor<1x1x256x8xf32>)
  return %r : tensor<1x1x256x8xf32>
}
