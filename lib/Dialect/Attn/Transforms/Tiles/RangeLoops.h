//===- RangeLoops.h - Loops that find ranges over a tile --------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H

#include "BlockMetadata.h"

namespace mlir::attn {

/// The least and the largest of integers; of i1, true is the larger one.
using MinMax = std::pair<Value, Value>;

/// The range of two ranges together.
MinMax include(OpBuilder &builder, Location loc, MinMax range, MinMax other);

/// Along which dimensions an `attn.range` asks for one element over any tile:
/// the indices are the same for the tile, or divided by a multiple of its
/// extent. Tiles start at multiples of that.
SmallVector<bool> getSingleDims(RangeOp range, const TileQuestions &questions);

/// Emits the loops that find the answers of an `attn.range`.
MinMax emitRange(OpBuilder &builder, Location loc, Value source,
                 ValueRange lows, ValueRange highs, ArrayRef<bool> isSingle);

/// Emits the loops that find the answers of an `attn.range_over`, whose
/// operands `values` knows. Where threads share out the outer one, of pairs,
/// each has `keysAtOnce` keys at a time.
FailureOr<MinMax> emitRangeOver(OpBuilder &builder, RangeOverOp range,
                                RegionVectorizer &values,
                                std::optional<int64_t> keysAtOnce);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_RANGELOOPS_H
