//===- TileScores.h - Scores of a tile --------------------------*- C++ -*-===//
//
// What the scores of a tile are, wherever its keys come from: the order of
// factor, score and mask is that of the operation.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESCORES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESCORES_H

#include "RegionVectorizer.h"
#include "TileBody.h"

namespace mlir::attn {

/// The pairs of a tile.
struct TilePairs {
  /// Positions in the whole, as the regions see them.
  TileValue batch, head, query, key;
  /// Which pairs there are, or null for all. Captures are read for no other.
  TileValue active;
  /// Which of them are allowed, whatever the mask says; null without predicate,
  /// where all are.
  TileValue allowed;
};

/// Scales products, which have the shape of `kind`, applies score and mask, and
/// changes to base 2. The mask matters only under a predicate.
FailureOr<Value> emitTileScores(OpBuilder &builder, OnlineAttentionOp op,
                                RegionVectorizer &vectorizer,
                                const TilePairs &pairs, Value products,
                                TileKind kind);

/// A constant of a shape, whose elements are floats.
Value createFloat(OpBuilder &builder, Location loc, Type type, double value);

/// lhs * rhs + acc, with lhs transposed or not.
Value contractTiles(OpBuilder &builder, Location loc, Value lhs, Value rhs,
                    Value acc, bool isTransposed);

/// A loop over keys from `lo` to below `hi`, whose `body` makes one state of
/// the first key of a step and another one.
FailureOr<TileState>
emitKeyLoop(OpBuilder &builder, Location loc, Value lo, Value hi, Value step,
            TileState state,
            function_ref<FailureOr<TileState>(Value, TileState)> body);

/// Where the keys of a tile of queries are.
struct KeyPlace {
  /// In the tensor of keys.
  Value batch, head;
  Value numKeys;
};
KeyPlace emitKeyPlace(OpBuilder &builder, OnlineAttentionOp op,
                      const TileRows &rows);

/// 0 where dimension `number` has extent 1, which serves all, otherwise
/// `position`.
Value emitShared(OpBuilder &builder, Location loc, Value tensor,
                 unsigned number, Value position);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESCORES_H
