//===- Differentiate.h - Gradients of programs ------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

/// Makes the region `adjoint` of `op`, which has none, from its score. Fails,
/// after an error, if an operation there has no derivative.
LogicalResult differentiateScore(AttentionGradOp op);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H
