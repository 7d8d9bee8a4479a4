//===- GradientOrder.h - In which order work tiles add ----------*- C++ -*-===//
//
// Work tiles of keys add to what a Q block gets from each of them. For
// bits to repeat they do so one after the other, in the order in which they are
// started: each waits for one that runs, or has run.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTORDER_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTORDER_H

#include "QueryLists.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Whether the mask is the same for all batches and heads.
bool isMaskOfAllHeads(AttentionGradOp op);

/// Below the number of a work tile in a table: whether none adds behind it, and
/// whether some work tile adds to the block.
enum AddingBit : int64_t {
  kIsLastToAdd = 1,
  kIsAddedTo = 2,
  kNumAddingBits = 2,
};

/// The order of the work tiles of a head of keys, by their numbers from 1 on,
/// in which they are started.
struct AddingOrder {
  /// For (batch of keys, head, block of queries, work tile), the number of the
  /// work tile that adds to this block before that one, or 0, in front of the
  /// bits of AddingBit; null where all of them add to all blocks.
  Value table;
  /// Whether it depends on batches and on heads, or has one for all.
  bool ofBatch = false, ofHead = false;
};

/// Emits what finds out the order. A work tile meets the Q blocks of its list
/// or, without lists, those that the mask bounds, with `isBounded`, or all.
FailureOr<AddingOrder> emitAddingOrder(RewriterBase &rewriter,
                                       AttentionGradOp op, bool isBounded,
                                       const QueryLists *lists);

/// The number of a work tile.
Value emitTileNumber(OpBuilder &builder, AttentionGradOp op, Value tile);

/// The number of the work tile that adds before `tile`, or 0, and whether none
/// adds behind it. `batch` is that of its keys.
struct AddingPlace {
  Value before, isLast;
};
AddingPlace emitAddingPlace(OpBuilder &builder, AttentionGradOp op,
                            const AddingOrder &order, Value batch, Value head,
                            Value block, Value tile);

/// Whether some work tile adds to a block.
Value emitIsAddedTo(OpBuilder &builder, AttentionGradOp op,
                    const AddingOrder &order, Value batch, Value head,
                    Value block);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTORDER_H
