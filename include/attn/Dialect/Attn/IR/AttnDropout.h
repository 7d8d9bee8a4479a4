//===- AttnDropout.h - Dropout on probabilities -----------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNDROPOUT_H
#define ATTN_DIALECT_ATTN_IR_ATTNDROPOUT_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// What the probabilities of an attention are multiplied by after the softmax,
/// which is the second value that its score yields; or null.
Value getWeight(AttentionLikeOpInterface op);

/// Whether that weight depends on the score, and so has a derivative that no
/// gradient has.
bool weightReadsScore(AttentionLikeOpInterface op);
/// Fails, after an error, if it does.
LogicalResult verifyConstantWeight(AttentionLikeOpInterface op);

/// Whether scores are other numbers than the products: not if there is no score
/// region, or one for a weight alone.
bool changesScores(AttentionLikeOpInterface op);

/// What one position of a group of pairs that share a call of Philox is a
/// multiple of, and the distance of two of its positions (attn.dropout).
inline constexpr int64_t kDropoutGroup = 16, kDropoutDistance = 8;

} // namespace mlir::attn

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnDropoutOps.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTNDROPOUT_H
