//===- AttentionObserver.cpp - See attentions without running them --------===//

#include "AttentionObserver.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace attn::reference;
using mlir::Operation;

/// Whether `use` is one of some operands of its user.
static bool isAmong(mlir::OperandRange operands, mlir::OpOperand &use) {
  if (operands.empty())
    return false;
  unsigned first = operands.getBeginOperandIndex();
  return use.getOperandNumber() >= first &&
         use.getOperandNumber() < first + operands.size();
}

/// Whether a use of a tensor reads elements for an observer to see. If not, it
/// may still see what the user makes of them. What is not known does.
static bool isObservableUse(mlir::OpOperand &use, bool isEntry) {
  Operation *user = use.getOwner();
  if (mlir::isa<mlir::tensor::DimOp>(user))
    return false;
  if (mlir::isa<mlir::func::ReturnOp>(user))
    return !isEntry;
  if (auto like = mlir::dyn_cast<mlir::attn::AttentionLikeOpInterface>(user))
    return isAmong(like.getCaptures(), use) ||
           isAmong(like.getSparsityOperands(), use);
  if (mlir::isa<mlir::linalg::LinalgOp, mlir::attn::FinalizeOp>(user))
    return false;
  return user->getNumRegions() != 0 || user->getNumResults() == 0 ||
         mlir::isa<mlir::func::CallOp>(user) ||
         !llvm::all_of(user->getResultTypes(),
                       llvm::IsaPred<mlir::RankedTensorType>);
}

bool attn::reference::isObservable(mlir::Value value, bool isEntry) {
  llvm::SetVector<mlir::Value> values;
  values.insert(value);
  for (size_t next = 0; next != values.size(); ++next)
    for (mlir::OpOperand &use : values[next].getUses()) {
      if (isObservableUse(use, isEntry))
        return true;
      if (!mlir::isa<mlir::tensor::DimOp>(use.getOwner()))
        values.insert_range(use.getOwner()->getResults());
    }
  return false;
}

bool attn::reference::isOnlyShapeUsed(mlir::Value value, bool isEntry) {
  return llvm::all_of(value.getUses(), [&](mlir::OpOperand &use) {
    Operation *user = use.getOwner();
    if (isObservableUse(use, isEntry))
      return false;
    if (mlir::isa<mlir::tensor::DimOp, mlir::func::ReturnOp>(user))
      return true;
    // Those that an observer takes the place of.
    return mlir::isa<mlir::attn::AttentionLikeOpInterface,
                     mlir::attn::FinalizeOp>(user) &&
           llvm::none_of(user->getResults(), [&](mlir::Value result) {
             return isObservable(result, isEntry);
           });
  });
}
