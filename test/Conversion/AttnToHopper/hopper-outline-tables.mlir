// RUN: attn-opt %s --attn-destination-arguments --attn-expand-sparsity=by-element --attn-online-softmax --attn-tile --attn-expand-tile-loops --canonicalize --cse --attn-hopper-outline-tables | FileCheck %s
// RUN: attn-opt %s --attn-destination-arguments --attn-expand-sparsity=by-element --attn-online-softmax --attn-tile --attn-expand-tile-loops --canonicalize --cse --attn-hopper-outline-tables --attn-rows-to-nvvm | FileCheck %s --check-prefix=ROWS

// The bits of the blocks of lists are a table, which a kernel fills. The
// attention has it as an argument behind its own ones.

// CHECK-LABEL: gpu.module @blocks.cuda
// CHECK: gpu.func @blocks_prologue0(
// CHECK-SAME: hopper.operand = 6 : i64
// CHECK-SAME: hopper.elements = 6 : i64
// CHECK: func.func @blocks(
// CHECK-SAME: %[[TABLE:arg6]]: tensor<1x1x?x?xi1>
// CHECK-SAME: hopper.tables = {first = 6 : i64, tables = [{bytes = 1 : i64, extents = [{extent = 1 : i64}, {extent = 1 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 0 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 1 : i64}], prepared}]}
// CHECK-NOT: tensor.empty
// CHECK: scf.forall
// CHECK: attn.gather %[[TABLE]]
// CHECK-NOT: scf.forall (

// Both kernels are in one module.

// ROWS-LABEL: gpu.module @blocks.cuda
// ROWS: gpu.func @blocks_prologue0(
// ROWS: llvm.func @blocks(
// ROWS-SAME: {kind = "pointer", operand = 6 : i64}
// ROWS-SAME: hopper.tables = {first = 6 : i64
// ROWS-NOT: gpu.module
!t = tensor<1x2x?x64xf32>
func.func @blocks(%q: !t, %k: !t, %v: !t, %rows: tensor<?xi32>, %columns: tensor<?xi32>) -> !t {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %k, %v : !t, !t, !t)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%init : !t)
  return %o : !t
}

// What has no table stays as it is. Memory that launches share is told of, too.

// CHECK-LABEL: func.func @none(
// CHECK-NOT: hopper.tables
// ROWS-LABEL: gpu.module @none.cuda
// ROWS: hopper.scratch = {first = 4 : i64, tables = []}
// ROWS-NOT: hopper.tables
func.func @none(%q: !t, %k: !t, %v: !t) -> !t
    attributes {hopper.scratch = {first = 4 : i64, tables = []}} {
  %c2 = arith.constant 2 : index
  %n = tensor.dim %q, %c2 : !t
  %init = tensor.empty(%n) : !t
  %o = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %k, %v : !t, !t, !t) outs(%init : !t)
  return %o : !t
}
