//===- TileBody.h - The program of one worker -------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEBODY_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEBODY_H

#include "BlockMetadata.h"
#include "RegionVectorizer.h"
#include "TileOps.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// The state of the online softmax as vectors: acc is vector<Dv x M>, max and
/// sum are vector<M>.
struct TileState {
  Value acc, max, sum;
};

/// The state of the reduction before the first key: the neutral one, or one
/// with a maximum that scores in one range may start from.
TileState createFirstState(OpBuilder &builder, Location loc, FloatType type,
                           int64_t valueDim, int64_t numQueries, double max);

/// Emits the loops over KV blocks that continue `state`, and returns the
/// state after all keys. `metadata` were emitted before.
FailureOr<TileState> emitKeyLoops(OpBuilder &builder, OnlineAttentionOp op,
                                  const TileRows &rows, TileState state,
                                  const BlockMetadata &metadata,
                                  BoundsCheckSites *sites);

/// Bounds of the keys that `rows` need: those from `lo` to below `hi`, of which
/// none from `fullLo` to below `fullHi` is ruled out.
struct KeyBounds {
  Value lo, fullLo, fullHi, hi;
};
/// The bounds that the `blocks` region has, where there are `numKeys`; all keys
/// without one.
FailureOr<KeyBounds> emitKeyBounds(OpBuilder &builder, OnlineAttentionOp op,
                                   const TileRows &rows, Value numKeys);

/// Whether all KV blocks are full but the last one, of those that a
/// partition of the rows needs; `op` has bounds, or no mask.
bool isLastAlonePartial(OnlineAttentionOp op, const TileRows &rows);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILEBODY_H
