//===- BlockSearch.h - Loops that visit some of their blocks ----*- C++ -*-===//
//
// Of a loop with classes, a partition that copies finds the blocks that are
// needed, 32 at a time: each thread of its warp computes the class of one. It
// tells the others with the tiles that they get: what comes in front of the
// loop has the code of the first block, and what comes in the loop that of the
// next one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_BLOCKSEARCH_H
#define ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_BLOCKSEARCH_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn::hopper {

/// Lets the tiles that other partitions get in front of a loop with classes and
/// in it come with payload.
LogicalResult addPayloads(RewriterBase &rewriter, PipelinedForOp loop);

/// Whether a partition copies tiles in a loop with classes in this block, and
/// so has to be a warp.
bool searchesBlocks(PipelinedForOp loop, StringRef partition);

/// Makes a loop with classes, as a partition runs it, one that is told its
/// blocks: by what the partition finds if it copies tiles in the loop, by
/// payload otherwise, and then with the range of the loop.
LogicalResult tellBlocks(RewriterBase &rewriter, PipelinedForOp loop,
                         StringRef partition);

/// The same step with other results: those that are kept, and `added`.
StepOp rebuildStep(RewriterBase &rewriter, StepOp step, ArrayRef<unsigned> kept,
                   ValueRange added);
SmallVector<unsigned> getAllResults(StepOp step);

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_BLOCKSEARCH_H
