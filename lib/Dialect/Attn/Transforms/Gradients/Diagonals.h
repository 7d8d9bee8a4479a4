//===- Diagonals.h - Indices that differ from query to key ------*- C++ -*-===//
//
// A table by distance, clamped or not, by buckets or through another table, is
// read at the same place by all pairs of a diagonal: where i - j is the same.
// So what a tile adds to its gradient is a number for each diagonal.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIAGONALS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIAGONALS_H

#include "Tiles/RegionVectorizer.h"

namespace mlir::attn {

/// Whether all indices are the same for (i + t, j + t) as for (i, j), and one
/// of them is not for all pairs.
bool isByDiagonal(ContributeOp op);

/// The operations that compute the indices of a contribution, in no branch or
/// loop, each behind those that it uses.
SetVector<Operation *> getIndexOps(ContributeOp op);

/// Emits them. `arguments` are those of the adjoint; those that no index
/// depends on may be null.
LogicalResult emitIndices(ContributeOp op, ArrayRef<TileValue> arguments,
                          RegionVectorizer &vectorizer);

/// Emits the indices for each of `count` diagonals. `arguments` are those of
/// the adjoint with a vector of as many i and one j, or the other way round;
/// the score and its gradient, which no index depends on, may be null. The
/// induction variables of loops around `op` are those that `around` has.
FailureOr<SmallVector<Value>>
emitDiagonalIndices(OpBuilder &builder, ContributeOp op, int64_t count,
                    ArrayRef<TileValue> arguments, RegionVectorizer &around);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIAGONALS_H
