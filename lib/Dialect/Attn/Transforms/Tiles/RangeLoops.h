//===- RangeLoops.h - Loops that find ranges over a tile --------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H

#include "BlockMetadata.h"

namespace mlir::attn {

/// The least and the largest of integers; of i1, true is the larger one.
using MinMax = std::pair<Value, Value>;

/// The least and the largest number of an integer type, with true as the
/// largest i1.
std::pair<Value, Value> createEnds(OpBuilder &builder, Location loc, Type type);

/// The range of two ranges together.
MinMax include(OpBuilder &builder, Location loc, MinMax range, MinMax other);

/// Along which dimensions an `attn.range` asks for one element over any tile:
/// the indices are the same for the tile, or divided by a multiple of its
/// extent. Tiles start at multiples of that.
SmallVector<bool> getSingleDims(RangeOp range, const TileQuestions &questions);

/// Emits the loops that find the answers of an `attn.range`.
MinMax emitRange(OpBuilder &builder, Location loc, Value source,
                 ValueRange lows, ValueRange highs, ArrayRef<bool> isSingle);

/// How the threads of a warp share out a tile: how many keys each has at a
/// time, and how many rows there are at most.
struct SharedTile {
  int64_t keysAtOnce, mostRows;
};

/// Emits the loops that find the answers of an `attn.range_over`, whose
/// operands `values` knows. Threads may share out the outer one, of pairs.
FailureOr<MinMax> emitRangeOver(OpBuilder &builder, RangeOverOp range,
                                RegionVectorizer &values,
                                std::optional<SharedTile> shared);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H
