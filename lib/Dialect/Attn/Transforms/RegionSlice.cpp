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
