//===- Differentiate.h - Gradients of programs ------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"

namespace mlir::attn {

/// Makes the region `adjoint` of `op`, which has none, from its score. Fails,
/// after an error, if an operation there has no derivative.
LogicalResult differentiateScore(AttentionGradOp op);

class Cotangents;

/// Adds what the results of an operation of linalg add to the gradients of its
/// inputs. Each element of a result is computed once, or is a sum. Fails, after
/// an error, if it or an operation in it has no derivative.
LogicalResult reverseStructured(linalg::LinalgOp op, Cotangents &cotangents);

/// Makes floats from around bodies of linalg operands of these, whose gradients
/// they have.
void addScalarOperands(Operation *root);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_DIFFERENTIATE_H
