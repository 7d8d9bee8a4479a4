//===- TileGradients.h - Gradients as loops over work tiles -----*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_TILEGRADIENTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_TILEGRADIENTS_H

#include "GradientClasses.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// A loop from `lower` to below `upper`, whose `body` makes new carried values
/// of those before.
FailureOr<SmallVector<Value>>
emitFor(OpBuilder &builder, Location loc, Value lower, Value upper,
        ValueRange carried,
        function_ref<FailureOr<SmallVector<Value>>(Value, ValueRange)> body);

struct SharedSums;

/// dq: work tiles of queries meet all keys, and read what they share, if that
/// is given.
FailureOr<Value> tileOverKeys(RewriterBase &rewriter, AttentionGradOp op,
                              const GradientInputs &inputs,
                              const SharedSums *shared = nullptr);

/// The gradient of a capture.
FailureOr<Value> tileCapture(RewriterBase &rewriter, AttentionGradOp op,
                             int64_t capture, const GradientInputs &inputs);

/// Whether the gradients of queries and of keys or values are computed by work
/// tiles that have parts of the keys, on a CPU: rows of keys are whole vectors.
bool fitsKeyParts(AttentionGradOp op);
/// These gradients: of queries, then of keys and values as far as they are
/// wanted.
FailureOr<SmallVector<Value>> tileKeyParts(RewriterBase &rewriter,
                                           AttentionGradOp op,
                                           const GradientInputs &inputs);

/// All gradients by one loop over all pairs, whose work tiles of keys add those
/// of queries and of captures to memory that they share.
FailureOr<SmallVector<Value>> tileInOnePass(RewriterBase &rewriter,
                                            AttentionGradOp op);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_TILEGRADIENTS_H
