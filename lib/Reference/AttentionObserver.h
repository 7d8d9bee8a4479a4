//===- AttentionObserver.h - See attentions without running them -*- C++ -*-==//

#ifndef ATTN_LIB_REFERENCE_ATTENTIONOBSERVER_H
#define ATTN_LIB_REFERENCE_ATTENTIONOBSERVER_H

#include "Attention.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace attn::reference {

/// Is shown every attention that a function runs. With an observer, results of
/// attentions are only computed where an observer may see what comes of them.
class AttentionObserver {
public:
  virtual ~AttentionObserver() = default;
  /// `inputs` has all captures; q, k and v may have nothing but their shapes.
  virtual llvm::Error observe(mlir::attn::AttentionLikeOpInterface op,
                              const AttentionInputs &inputs) = 0;
};

/// Whether elements of a value may have an influence on the captures, the sizes
/// or the number of attentions. `isEntry` tells that nothing is made of what
/// the function returns.
bool isObservable(mlir::Value value, bool isEntry);

/// Whether evaluation with an observer takes no more of a value than its shape.
bool isOnlyShapeUsed(mlir::Value value, bool isEntry);

/// Evaluates a function for an observer; there are no results.
llvm::Error observeAttentions(mlir::func::FuncOp function,
                              llvm::ArrayRef<const Tensor *> inputs,
                              const EvaluatorOptions &options,
                              AttentionObserver &observer);

} // namespace attn::reference

#endif // ATTN_LIB_REFERENCE_ATTENTIONOBSERVER_H
