//===- RegionSlice.cpp - What a value of a region is computed by ----------===//

#include "RegionSlice.h"
#include "mlir/IR/Operation.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Operation *>
mlir::attn::getRegionSlice(Region &region, Value value,
                           function_ref<bool(Value)> isKnown) {
  SmallPtrSet<Operation *, 16> needed;
  SmallVector<Operation *> worklist;
  auto addDefinition = [&](Value operand) {
    Operation *op = operand.getDefiningOp();
    if (op && !(isKnown && isKnown(operand)) && needed.insert(op).second)
      worklist.push_back(op);
  };
  addDefinition(value);
  while (!worklist.empty()) {
    Operation *op = worklist.pop_back_val();
    op->walk([&](Operation *inner) {
      for (Value operand : inner->getOperands())
        if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
          addDefinition(operand);
    });
  }
  SmallVector<Operation *> ordered;
  region.walk([&](Operation *op) {
    if (needed.contains(op))
      ordered.push_back(op);
  });
  return ordered;
}

bool mlir::attn::dependsOn(Region &region, Value value,
                           ArrayRef<unsigned> numbers) {
  auto isOne = [&](Value operand) {
    auto argument = dyn_cast<BlockArgument>(operand);
    return argument && argument.getOwner() == &region.front() &&
           llvm::is_contained(numbers, argument.getArgNumber());
  };
  if (isOne(value))
    return true;
  return llvm::any_of(getRegionSlice(region, value), [&](Operation *needed) {
    return needed
        ->walk([&](Operation *inner) {
          return llvm::any_of(inner->getOperands(), isOne)
                     ? WalkResult::interrupt()
                     : WalkResult::advance();
        })
        .wasInterrupted();
  });
}
