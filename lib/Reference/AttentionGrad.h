//===- AttentionGrad.h - Evaluate gradients of attention --------*- C++ -*-===//

#ifndef ATTN_LIB_REFERENCE_ATTENTIONGRAD_H
#define ATTN_LIB_REFERENCE_ATTENTIONGRAD_H

#include "Attention.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace attn::reference {

/// What a gradient takes beside the inputs of the attention.
struct GradientInputs {
  AttentionInputs attention;
  const Array *output = nullptr;
  const Array *lse = nullptr;
  const Array *outputGrad = nullptr;
  /// May be null.
  const Array *lseGrad = nullptr;
};

/// The gradients that `op` names, in the shapes of `outs`. The derivative of
/// the score is found by differentiating that (see Tangents); the region
/// `adjoint` is not read.
llvm::Expected<Arrays> evaluateAttentionGrad(mlir::attn::AttentionGradOp op,
                                             const GradientInputs &inputs,
                                             llvm::ArrayRef<const Array *> outs,
                                             const EvaluatorOptions &options);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ATTENTIONGRAD_H
