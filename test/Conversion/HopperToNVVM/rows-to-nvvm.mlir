// RUN: attn-opt %s --attn-destination-arguments --canonicalize --cse --attn-canonicalize-score --attn-online-softmax --attn-tile --attn-expand-tile-loops --canonicalize --cse --attn-rows-to-nvvm | FileCheck %s

// A warp has a query; eight threads share the row of a key, which has 128 bytes.

// CHECK-LABEL: gpu.module @lists.cuda
// CHECK: llvm.func @lists(
// CHECK-SAME: hopper.grid = {dims = array<i64: 0, 1, 2>, key_dim = 2 : i64, key_operand = 1 : i64, operand = 6 : i64}
// CHECK-SAME: hopper.params = [
// CHECK-SAME: {dim = 2 : i64, kind = "long_extent", operand = 6 : i64}
// CHECK-SAME: {kind = "pointer", operand = 4 : i64}
// CHECK-SAME: hopper.schedule = #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>, hopper.shared_bytes = 0 : i64, hopper.threads = 128 : i64, nvvm.kernel, nvvm.maxntid = array<i32: 128>
// CHECK: %[[LANE:.*]] = arith.andi %{{.*}}, %c31_i32
// CHECK: %[[WARP:.*]] = nvvm.shfl.sync idx
// CHECK: %[[BLOCK:.*]] = nvvm.read.ptx.sreg.ctaid.x
// CHECK: arith.divui %[[BLOCK]]
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[WARP]] : i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[ROW]]
// CHECK: scf.if %[[EXISTS]] {

// The ends of the list.
// CHECK: llvm.inline_asm {{.*}}"{ mov.b32 $0, 0; @$2 ld.global.nc.b32 $0, [$1]; }"
// CHECK: %{{.*}}:10 = scf.if

// The query is read once, and eight rows of keys and of values in a step.
// CHECK: ld.global.nc.v4.b32
// CHECK: scf.for %{{.*}} iter_args(%[[MAX:[^ ]*]] = %{{.*}}, %[[SUM:[^ ]*]] = %{{.*}}, {{.*}}) -> (f32, f32, f32, f32, f32, f32, f32, f32, f32, f32) {
// CHECK: %[[COLUMN:.*]] = llvm.inline_asm {{.*}}ld.global.nc.b32
// CHECK: %[[OWN:.*]] = arith.select %{{.*}}, %{{.*}}, %c-1_i32
// CHECK-COUNT-8: nvvm.shfl.sync idx %{{.*}}, %[[OWN]]
// CHECK-COUNT-8: ld.global.nc.v4.b32
// Sums of eight lanes for eight keys in 4 + 2 + 1 exchanges, of which three are
// behind the last of them, then the maximum.
// CHECK-COUNT-8: nvvm.shfl.sync bfly
// CHECK-NOT: nvvm.shfl.sync bfly
// CHECK-COUNT-2: llvm.nvvm.ex2.approx.ftz.f32
// CHECK-COUNT-8: ld.global.nc.v4.b32
// CHECK: scf.yield

// Rows that are not aligned are read one element at a time.
// CHECK: } else {
// CHECK: ld.global.nc.b16
// CHECK-NOT: ld.global.nc.v4

// Parts of the sum and of the accumulator are added up.
// CHECK: scf.yield
// CHECK-COUNT-21: nvvm.shfl.sync bfly
// CHECK: llvm.store %{{.*}} {alignment = 16 : i64} : vector<8xbf16>, !llvm.ptr<1>
func.func @lists(%q: tensor<2x4x?x64xbf16>, %k: tensor<2x2x?x64xbf16>, %v: tensor<2x2x?x64xbf16>, %rows: tensor<4x?xi32>, %columns: tensor<?xi32>, %o: tensor<2x4x?x64xbf16>) -> tensor<2x4x?x64xbf16> {
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %k, %v : tensor<2x4x?x64xbf16>, tensor<2x2x?x64xbf16>, tensor<2x2x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<4x?xi32>, tensor<?xi32>)
      outs(%o : tensor<2x4x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x?x64xbf16>
}

// A capture that is a number is a parameter; one that is a position has 64 bits.

// CHECK-LABEL: llvm.func @numbers(
// CHECK-SAME: %[[F:[^ ]*]]: f32, %[[N:[^ ]*]]: i64
// CHECK-SAME: hopper.params = [{kind = "scalar", operand = 4 : i64}, {kind = "scalar", operand = 5 : i64}
// CHECK: %[[INDEX:.*]] = arith.index_cast %[[N]] : i64 to index
// CHECK: arith.cmpi slt, %{{.*}}, %[[INDEX]] : index
// CHECK: arith.mulf %{{.*}}, %[[F]] : f32
func.func @numbers(%q: tensor<1x1x?x64xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x?x64xbf16>, %f: f32, %n: index) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      captures(%f, %n : f32, index)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j, %a, %c) {
        %y = arith.mulf %s, %a : f32
        attn.yield %y : f32
      }
      mask(%b, %h, %i, %j, %a, %c) {
        %p = arith.cmpi slt, %j, %c : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xbf16>
}

// Scores that are the same for all keys are no vector before, and the keys are
// not read.

// CHECK-LABEL: llvm.func @equal(
// CHECK-SAME: key_dim = 2 : i64, key_operand = 1 : i64
// CHECK: scf.for
// CHECK: %[[SCORE:.*]] = arith.select %{{.*}}, %{{.*}}, %{{.*}} : f32
// CHECK: %[[POWER:.*]] = arith.mulf %[[SCORE]], %{{.*}} : f32
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[POWER]]
func.func @equal(%q: tensor<1x1x?x64xbf16>, %k: tensor<1x1x?x64xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %q, %k : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x?x64xbf16>)
      score(%s, %b, %h, %i, %j) {
        %n = arith.index_cast %i : index to i32
        %y = arith.sitofp %n : i32 to f32
        attn.yield %y : f32
      }
  return %r : tensor<1x1x?x64xbf16>
}

// CHECK-LABEL: llvm.func @never(
// CHECK: %[[NEVER:.*]] = arith.mulf %cst{{[_0-9]*}}, %cst{{[_0-9]*}} : f32
// CHECK: scf.for
// CHECK: nvvm.shfl.sync bfly %{{.*}}, %[[NEVER]],
func.func @never(%q: tensor<1x1x?x64xbf16>, %rows: tensor<?xi32>, %columns: tensor<?xi32>, %o: tensor<1x1x?x64xbf16>) -> tensor<1x1x?x64xbf16> {
  %r = attn.attention schedule #attn.row_schedule<rows = 4, tile_n = 32, lanes = 8>
      ins(%q, %q, %q : tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>, tensor<1x1x?x64xbf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<?xi32>, tensor<?xi32>)
      outs(%o : tensor<1x1x?x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.constant false
        attn.yield %p : i1
      }
  return %r : tensor<1x1x?x64xbf16>
}

// Four queries to a warp, of which the last may not be there: each row of keys
// and values is read once for all of them. A step is passed over unless one of
// them has an allowed key in it.

// CHECK-LABEL: llvm.func @together(
// CHECK-SAME: hopper.schedule = #attn.row_schedule<rows = 8, tile_n = 32, lanes = 8, queries = 4>, hopper.shared_bytes = 0 : i64, hopper.threads = 64 : i64
// CHECK: %[[FIRST:.*]] = arith.muli %{{.*}}, %c4_i32
// CHECK: %[[ROW:.*]] = arith.addi %{{.*}}, %[[FIRST]] : i32
// CHECK: %[[SECOND:.*]] = arith.addi %[[ROW]], %c1_i32
// CHECK: %[[EXISTS:.*]] = arith.cmpi ult, %[[SECOND]]
// CHECK: arith.minui %[[SECOND]]
// CHECK: %{{.*}}:24 = scf.if
// CHECK: scf.for
// CHECK-COUNT-4: nvvm.vote.sync any
// CHECK: %{{.*}}:24 = scf.if
// CHECK-COUNT-8: ld.global.nc.v4.b32
// CHECK-NOT: ld.global.nc.v4
// CHECK-COUNT-4: llvm.nvvm.ex2.approx.ftz.f32{{.*}}
// CHECK: scf.if %[[EXISTS]] {
func.func @together(%q: tensor<1x1x?x32xf32>, %k: tensor<1x1x?x32xf32>, %o: tensor<1x1x?x32xf32>, %own: tensor<?xi32>) -> tensor<1x1x?x32xf32> {
  %r = attn.attention schedule #attn.row_schedule<rows = 8, tile_n = 32, lanes = 8, queries = 4>
      ins(%q, %k, %k : tensor<1x1x?x32xf32>, tensor<1x1x?x32xf32>, tensor<1x1x?x32xf32>)
      captures(%own : tensor<?xi32>)
      outs(%o : tensor<1x1x?x32xf32>)
      mask(%b, %h, %i, %j, %of) {
        %row = tensor.extract %of[%i] : tensor<?xi32>
        %key = tensor.extract %of[%j] : tensor<?xi32>
        %m = arith.cmpi eq, %row, %key : i32
        attn.yield %m : i1
      }
  return %r : tensor<1x1x?x32xf32>
}
