//===- Attention.h - Evaluate the operations of the attn dialect -*- C++
//-*-===//

#ifndef ATTN_LIB_REFERENCE_ATTENTION_H
#define ATTN_LIB_REFERENCE_ATTENTION_H

#include "Array.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include <array>

namespace attn::reference {

/// The operands of an attention but for its destinations.
struct AttentionInputs {
  const Array *query = nullptr;
  const Array *key = nullptr;
  const Array *value = nullptr;
  llvm::SmallVector<const Array *> captures;
  /// The bits, or the rows and the columns, of the sparsity, if there is one.
  llvm::SmallVector<const Array *, 2> sparsity;
  std::array<int64_t, 4> offsets = {0, 0, 0, 0};
};

using Arrays = llvm::SmallVector<std::shared_ptr<Array>, 3>;

/// Each takes the arrays of the destinations in `outs`, of which attention and
/// finalize only use the shapes.
llvm::Expected<Arrays> evaluateAttention(mlir::attn::AttentionOp op,
                                         const AttentionInputs &inputs,
                                         llvm::ArrayRef<const Array *> outs,
                                         const EvaluatorOptions &options);
llvm::Expected<Arrays> evaluateOnlineAttention(
    mlir::attn::OnlineAttentionOp op, const AttentionInputs &inputs,
    llvm::ArrayRef<const Array *> outs, const EvaluatorOptions &options);
llvm::Expected<Arrays> evaluateFinalize(mlir::attn::FinalizeOp op,
                                        const Array &acc, const Array &max,
                                        const Array &sum,
                                        llvm::ArrayRef<const Array *> outs,
                                        const EvaluatorOptions &options);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ATTENTION_H
