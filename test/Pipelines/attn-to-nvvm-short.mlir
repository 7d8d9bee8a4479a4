// Sequences that are known to be no longer than a tile: the loop over tiles of
// keys, which has one iteration or none, makes a kernel like any other.

// RUN: attn-opt %s --attn-to-nvvm --split-input-file | FileCheck %s

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
