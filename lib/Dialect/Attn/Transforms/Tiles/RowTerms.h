//===- RowTerms.h - What all keys of a row share ----------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H

#include "TileBody.h"

namespace mlir::attn {

/// What the scores of the rows of a work tile are multiplied by: the sign is
/// that of the queries, and the magnitude is a factor of the softmax.
struct RowFactors {
  /// vector<M> of positive numbers; null for 1.
  Value magnitudes;
  /// vector<M> of i1.
  Value areNegative;
};

/// The factors of any sign that the `rows` region of `op` says, vector<M>; null
/// for 1.
FailureOr<Value> emitRowFactor(OpBuilder &builder, OnlineAttentionOp op,
                               const TileRows &rows);

/// The same in two parts.
FailureOr<RowFactors> emitRowFactors(OpBuilder &builder, OnlineAttentionOp op,
                                     const TileRows &rows);

/// The state after all keys of a Q block with what the `rows` region of `op`
/// says. `state` started without a key.
FailureOr<TileState> emitRowTerms(OpBuilder &builder, OnlineAttentionOp op,
                                  const TileRows &rows, TileState state);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_ROWTERMS_H
