//===- TileSummaries.h - Ranges of captures for tiles of keys ---*- C++ -*-===//
//
// A `tiles` region asks for the least and the largest element of a captured
// tensor over the keys of a tile. All tiles of queries ask for the same, so
// that the answers are computed before the loop over them, one for each tile of
// keys, and for each batch and head if they matter.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESUMMARIES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESUMMARIES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Which arguments of a `tiles` region a value depends on.
struct TileDependence {
  bool batch = false, head = false, rows = false, keys = false;
};

/// The dependence of each value of the region.
DenseMap<Value, TileDependence> getTileDependence(Region &tiles);

/// Tensors [B or 1, H or 1, number of tiles of keys].
struct TileSummary {
  Value min, max;
  TileDependence dependence;
};
using TileSummaries = DenseMap<Operation *, TileSummary>;

/// Emits a loop that answers each `attn.range` of the `tiles` region of `op`
/// that depends on the keys and not on the rows. Nothing without a region.
FailureOr<TileSummaries> emitTileSummaries(RewriterBase &rewriter,
                                           OnlineAttentionOp op);

/// Reads the answers for a tile of keys.
std::pair<Value, Value> readTileSummary(OpBuilder &builder, Location loc,
                                        const TileSummary &summary, Value batch,
                                        Value head, Value keyTile);

/// Along which dimensions an `attn.range` asks for one element over any tile of
/// a schedule: the indices are the same for the tile, or divided by a multiple
/// of its extent. Tiles start at multiples of that.
SmallVector<bool> getSingleDims(RangeOp range, ScheduleAttrInterface schedule);

/// Emits the loops that find the answers of an `attn.range`.
std::pair<Value, Value> emitRange(OpBuilder &builder, Location loc,
                                  Value source, ValueRange lows,
                                  ValueRange highs, ArrayRef<bool> isSingle);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILESUMMARIES_H
