//===- GradientBounds.h - Rows that a work tile meets -----------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTBOUNDS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTBOUNDS_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include <array>

namespace mlir::attn {

/// Where the mask of a gradient bounds the rows that a work tile meets.
struct GradientPlace {
  /// As the regions see them.
  Value batch, head;
  /// Own rows, and the number of the others.
  Value ownBegin, ownEnd, otherEnd;
};

/// lo, full_lo, full_hi and hi of the other rows, as the region `blocks` of
/// attn.online_attention has them: of keys for own queries or, with
/// `isTransposed`, of queries for own keys. Nothing where the mask does not
/// bound them.
FailureOr<std::optional<std::array<Value, 4>>>
emitGradientBounds(OpBuilder &builder, AttentionGradOp op,
                   const GradientPlace &place, bool isTransposed);

/// Whether bounds say all of which queries keys meet.
bool boundsQueries(AttentionGradOp op);
/// Whether bounds say all of which keys queries meet.
bool boundsKeys(AttentionGradOp op);

/// Queries that a work tile of keys meets, in whole blocks: from the first one
/// of a block to behind the last one of another, or none where that is not
/// behind it. Where bounds are known, also which of them need no predicate for
/// the mask.
struct MetQueries {
  Value lower, upper;
  std::optional<Value> fullLower, fullUpper;
};
/// With `isBounded`, those that the mask needs, or else all.
FailureOr<MetQueries> emitMetQueries(OpBuilder &builder, AttentionGradOp op,
                                     const GradientPlace &place, bool isBounded,
                                     int64_t block);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_GRADIENTBOUNDS_H
