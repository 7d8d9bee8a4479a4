//===- GradientSteps.h - What schedules of gradients depend on -*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_TRANSFORMS_GRADIENTSTEPS_H
#define ATTN_DIALECT_ATTN_TRANSFORMS_GRADIENTSTEPS_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

/// Whether work tiles have queries and meet keys, in steps `load_k`, `qk`,
/// `exp`, `load_v`, `dp`, `ds` and `dq`: where dq is all that is wanted.
/// Otherwise they have keys and meet queries.
bool loopsOverKeys(AttentionGradOp op);

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
