//===- VisitBlocks.h - A pipelined loop in parts ----------------*- C++ -*-===//
//
// A loop that has been pipelined stands in a branch: a prologue, the loop and
// an epilogue. Where these run beside those of another work tile they become
// regions of one operation.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_VISITBLOCKS_H
#define ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_VISITBLOCKS_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn::hopper {

/// What is made of a pipelined loop.
struct PipelinedBlocks {
  /// Has it, if the numbers `first`, `end` of its blocks are a range.
  scf::IfOp branch;
  Value first, end;
  /// The loop, and the last operation before the epilogue, which may be it.
  Operation *main, *last;
  /// Loops over the blocks before and behind, which are passed over, or null.
  scf::ForOp before, after;
};

/// Replaces a pipelined loop by its parts.
VisitBlocksOp createVisitBlocks(RewriterBase &rewriter, PipelinedBlocks blocks);

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_VISITBLOCKS_H
