//===- TileClasses.h - Whether a worker needs a KV block --------*- C++ -*-===//
//
// Emits the `tiles` region of an attention into the program of a worker: what
// belongs to its rows once, and the rest for each KV block.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILECLASSES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILECLASSES_H

#include "BlockMetadata.h"
#include "TileBody.h"

namespace mlir::attn {

class TileClasses {
public:
  /// `numRows` are the rows that there are at most.
  TileClasses(OpBuilder &builder, const TileQuestions &questions,
              const TileRows &rows, const BlockMetadata &metadata,
              int64_t numRows);

  /// Emits what does not depend on the keys.
  LogicalResult emitRows();

  /// Whether some pair of the tile may be allowed, and whether all are.
  struct TileClass {
    Value may, must;
  };
  /// Emits the rest for the keys from `begin`, a multiple of the size of a
  /// tile, to below `end`.
  FailureOr<TileClass> emit(Value begin, Value end);

  /// Emits what an `attn.range` or `attn.range_over` needs, and the loops that
  /// find its answers, which are returned.
  FailureOr<std::pair<Value, Value>> emitRange(Operation &range, TileSpan keys);

private:
  LogicalResult emitOperation(Operation &op, Value keyTile);
  Value emitEnd(Value begin, Value end);

  OpBuilder &builder;
  TileQuestions questions;
  const TileRows &rows;
  const BlockMetadata &metadata;
  int64_t numRows;
  Location loc;
  DenseMap<Value, TileDependence> dependence;
  RegionVectorizer values;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILECLASSES_H
