// RUN: attn-opt %s --attn-check-lists=by-list --canonicalize --cse --attn-hopper-checks --canonicalize | FileCheck %s

// A warp has a list, and its threads share out the columns. Nothing is left but
// the checks, whose words are the operand after those of the function.

// CHECK-LABEL: gpu.module @lists.checks
// CHECK-NOT: attn.attention
// CHECK: gpu.func @lists_check0(
// CHECK-SAME: %[[ROWS:[^ ]*]]: memref<4x?xi64, strided<[?, 1]>> {hopper.operand = 2 : i64}
// CHECK-SAME: %[[WORDS:[^ ]*]]: memref<12xi64, strided<[1]>> {hopper.operand = 4 : i64}
// CHECK-SAME: hopper.checks = {extents = [{extent = 1 : i64}, {extent = 4 : i64}, {dim = 2 : i64, divisor = 64 : i64, operand = 0 : i64}], sites = 4 : i64, words = 4 : i64}, hopper.threads = 128 : i64
// CHECK: %[[LANE:.*]] = gpu.lane_id
// CHECK: scf.if
// CHECK:   %[[FIRST:.*]] = arith.cmpi eq, %[[LANE]], %c0
// CHECK:   %[[LIST:.*]] = hopper.position
// CHECK:   attn.gather %[[ROWS]]

// Of a list as a whole one thread reports, the number of the list.
// CHECK:   arith.andi %{{.*}}, %[[FIRST]]
// CHECK:   scf.if
// CHECK:     %[[PLACE:.*]] = arith.index_cast %[[LIST]] : index to i64
// CHECK:     %[[BEFORE:.*]] = memref.atomic_rmw minu %[[PLACE]], %[[WORDS]][%c0]
// CHECK:     %[[LEAST:.*]] = arith.cmpi uge, %[[BEFORE]], %[[PLACE]]
// CHECK:     scf.if %[[LEAST]]
// CHECK:       memref.store %{{.*}}, %[[WORDS]][%c1]
// CHECK:       memref.store %{{.*}}, %[[WORDS]][%c2]

// Of a column whoever looks at it.
// CHECK:   %[[START:.*]] = arith.addi %{{.*}}, %[[LANE]]
// CHECK:   scf.for %[[N:.*]] = %[[START]] to %{{.*}} step %c32
// CHECK:     arith.cmpi uge
// CHECK-NOT: arith.andi
// CHECK:     scf.if
// CHECK:       %[[AT:.*]] = arith.index_cast %[[N]] : index to i64
// CHECK:       memref.atomic_rmw minu %[[AT]], %[[WORDS]][%c6]
// CHECK:     scf.if
// CHECK:       memref.atomic_rmw minu %{{.*}}, %[[WORDS]][%c9]
// CHECK: gpu.return
func.func @lists(%q: tensor<2x4x?x64xbf16>, %o: tensor<2x4x?x64xbf16>, %rows: tensor<4x?xi64>, %columns: tensor<?xi32>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention ins(%q, %q, %q : tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>, tensor<2x4x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 64x32> %rows, %columns : tensor<4x?xi64>, tensor<?xi32>)
      outs(%o : tensor<2x4x?x64xbf16>)
  return %r : tensor<2x4x?x64xbf16>
}

// A function without reports stays.

// CHECK-LABEL: func.func @none
func.func @none(%q: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  return %q : tensor<2x4x?x64xbf16>
}
