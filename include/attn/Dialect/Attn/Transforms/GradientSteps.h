//===- GradientSteps.h - What schedules of gradients depend on -*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_GRADIENTSTEPS_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_GRADIENTSTEPS_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

/// How many columns of dq a work tile of keys computes at a time: a part of
/// them where they are more than registers hold besides dk or dv. The steps
/// `dq` and `red` are `dq0`, `red0`, `dq1` and so on then.
int64_t getColumnsAtOnce(AttentionGradOp op);

/// How many queries a tile has where what it adds to the gradient of a capture
/// is summed by diagonals first.
inline constexpr int64_t kDiagonalRows = 64;

/// Whether an index of what the adjoint adds varies, but is the same for all
/// pairs whose distance is.
bool hasSumsOfDiagonals(AttentionGradOp op);

/// Whether pairs add to the gradient of a capture that is wanted.
bool hasContributions(AttentionGradOp op);

/// Whether the adjoint, if there is one, computes with the score.
bool readsScores(AttentionGradOp op);

/// Whether scores are kept until their gradients are computed: unless the
/// product of a pair gets what its score gets, as of one that a bias is added
/// to, and no capture gets a part.
bool keepsScores(AttentionGradOp op);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_TRANSFORMS_GRADIENTSTEPS_H
