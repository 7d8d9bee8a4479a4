//===- DiagonalScores.h - What pairs of a diagonal share --------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_DIAGONALSCORES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_DIAGONALSCORES_H

#include "RegionVectorizer.h"

namespace mlir::attn {

/// Computes what a score region has of the distance of query and key alone for
/// each diagonal of a tile, and gives it to `vectorizer`. `arguments` are those
/// of the region behind the score; queries and keys follow each other.
LogicalResult emitDiagonals(OpBuilder &builder, AttentionLikeOpInterface op,
                            ArrayRef<TileValue> arguments,
                            RegionVectorizer &vectorizer);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_DIAGONALSCORES_H
