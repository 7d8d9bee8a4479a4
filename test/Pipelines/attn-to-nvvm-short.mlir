// Sequences that are known to be no longer than a tile: the loop over KV blocks, which has one iteration or none, makes a kernel like any other.

// RUN: attn-opt %s --attn-to-nvvm --split-input-file | FileCheck %s
// RUN: attn-opt %s --attn-to-nvvm=sparsity=dense --split-input-file | FileCheck %s --check-prefix=DENSE

// CHECK: llvm.func @one(
// CHECK: wgmma.mma_async
func.func @one(%q: tensor<2x4x100x64xbf16>, %k: tensor<2x4x100x64xbf16>, %o: tensor<2x4x100x64xbf16>) -> tensor<2x4x100x64xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>, tensor<2x4x100x64xbf16>)
      outs(%o : tensor<2x4x100x64xbf16>)
  return %r : tensor<2x4x100x64xbf16>
}

// -----

// CHECK: llvm.func @causal(
// CHECK: wgmma.mma_async
func.func @causal(%q: tensor<2x4x1x64xbf16>, %k: tensor<2x4x5x64xbf16>, %o: tensor<2x4x1x64xbf16>) -> tensor<2x4x1x64xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x4x1x64xbf16>, tensor<2x4x5x64xbf16>, tensor<2x4x5x64xbf16>)
      outs(%o : tensor<2x4x1x64xbf16>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x4x1x64xbf16>
}

// -----

// No key at all.
// CHECK: llvm.func @none(
// CHECK: cp.async.bulk.tensor
func.func @none(%q: tensor<2x4x70x64xbf16>, %k: tensor<2x4x0x64xbf16>, %o: tensor<2x4x70x64xbf16>) -> tensor<2x4x70x64xbf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<2x4x70x64xbf16>, tensor<2x4x0x64xbf16>, tensor<2x4x0x64xbf16>)
      outs(%o : tensor<2x4x70x64xbf16>)
  return %r : tensor<2x4x70x64xbf16>
}

// -----

// Lists that are one in all: the loop that makes bits of them stays a kernel.
// CHECK: llvm.func @lists_prologue0(
// CHECK: llvm.func @lists(
func.func @lists(%q: tensor<1x2x64x64xf16>, %rows: tensor<2xi32>, %columns: tensor<?xi32>, %o: tensor<1x2x64x64xf16>) -> tensor<1x2x64x64xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>)
      sparsity(#attn.sparsity<lists, block = 64x64> %rows, %columns : tensor<2xi32>, tensor<?xi32>)
      outs(%o : tensor<1x2x64x64xf16>)
  return %r : tensor<1x2x64x64xf16>
}

// -----

// One query, whose list of keys becomes words.
// CHECK: llvm.func @words(
// DENSE: llvm.func @words_prologue0(
// DENSE: llvm.func @words(
// DENSE: wgmma.mma_async
func.func @words(%q: tensor<1x2x1x64xf16>, %k: tensor<1x2x?x64xf16>, %rows: tensor<2xi32>, %columns: tensor<?xi32>, %o: tensor<1x2x1x64xf16>) -> tensor<1x2x1x64xf16> {
  %r = attn.attention
      ins(%q, %k, %k : tensor<1x2x1x64xf16>, tensor<1x2x?x64xf16>, tensor<1x2x?x64xf16>)
      sparsity(#attn.sparsity<lists, block = 1x1> %rows, %columns : tensor<2xi32>, tensor<?xi32>)
      outs(%o : tensor<1x2x1x64xf16>)
  return %r : tensor<1x2x1x64xf16>
}

// -----

// One block: ranges of its bits are loops of one iteration beside the one over
// KV blocks.
// CHECK: llvm.func @bits(
// CHECK: wgmma.mma_async
func.func @bits(%q: tensor<1x2x64x64xf16>, %bits: tensor<1x1xi1>, %o: tensor<1x2x64x64xf16>) -> tensor<1x2x64x64xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>)
      sparsity(#attn.sparsity<bits, block = 64x64> %bits : tensor<1x1xi1>)
      outs(%o : tensor<1x2x64x64xf16>)
  return %r : tensor<1x2x64x64xf16>
}

// -----

// A table with one element.
// CHECK: llvm.func @table(
// CHECK: wgmma.mma_async
func.func @table(%q: tensor<1x2x64x64xf16>, %t: tensor<1xi1>, %o: tensor<1x2x64x64xf16>) -> tensor<1x2x64x64xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>, tensor<1x2x64x64xf16>)
      captures(%t : tensor<1xi1>)
      outs(%o : tensor<1x2x64x64xf16>)
      mask(%b, %h, %i, %j, %c) {
        %c64 = arith.constant 64 : index
        %block = arith.divui %j, %c64 : index
        %p = tensor.extract %c[%block] : tensor<1xi1>
        attn.yield %p : i1
      }
  return %r : tensor<1x2x64x64xf16>
}

// -----

// One query and one key of f32, which are computed query by query: the loop
// over keys stays one.
// CHECK: llvm.func @floats(
// CHECK: llvm.return
func.func @floats(%q: tensor<1x1x1x1xf32>, %o: tensor<1x1x1x1xf32>) -> tensor<1x1x1x1xf32> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>, tensor<1x1x1x1xf32>)
      outs(%o : tensor<1x1x1x1xf32>)
  return %r : tensor<1x1x1x1xf32>
}

// -----

// The extent of a capture in a condition, which has a tensor for an operand.
// CHECK: llvm.func @extent(
// CHECK: llvm.return
func.func @extent(%q: tensor<1x1x1x8xf16>, %t: tensor<?xf64>, %o: tensor<1x1x1x8xf16>) -> tensor<1x1x1x8xf16> {
  %r = attn.attention
      ins(%q, %q, %q : tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>, tensor<1x1x1x8xf16>)
      captures(%t : tensor<?xf64>)
      outs(%o : tensor<1x1x1x8xf16>)
      mask(%b, %h, %i, %j, %c) {
        %c0 = arith.constant 0 : index
        %c1 = arith.constant 1 : index
        %n = tensor.dim %c, %c0 : tensor<?xf64>
        %p = arith.cmpi ule, %c1, %n : index
        attn.yield %p : i1
      }
  return %r : tensor<1x1x1x8xf16>
}
