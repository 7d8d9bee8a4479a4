//===- HopperOutlineClasses.cpp - Blocks whose classes are computed -------===//

#include "HopperOutliner.h"
#include "mlir/IR/Dominance.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

/// Computes what is the same for all blocks, of what a class depends on, in
/// front of the loop.
LogicalResult Outliner::emitClassInputs(Region &region) {
  if (region.empty())
    return success();
  auto compute = [&](Value value) {
    return success(isa<ShapedType>(value.getType()) ||
                   succeeded(values->getScalar(value)));
  };
  SetVector<Value> used;
  getUsedValuesDefinedAbove(region, used);
  for (Value value : used)
    if (failed(compute(value)))
      return failure();
  DenseSet<Value> varying = {region.getArgument(0)};
  for (Operation &op : region.front().without_terminator()) {
    bool isSame = op.getNumRegions() == 0 &&
                  llvm::none_of(op.getOperands(), [&](Value operand) {
                    return varying.contains(operand);
                  });
    if (!isSame)
      varying.insert(op.result_begin(), op.result_end());
    else if (op.getNumResults() == 1 && failed(compute(op.getResult(0))))
      return failure();
  }
  return success();
}

LogicalResult Outliner::emitLoopInputs() {
  if (!loop.hasNeeded())
    return success();
  // The tiles that are loaded in front of the loop tell its first block.
  return failure(failed(emitBounds()) ||
                 failed(emitClassInputs(loop.getNeeded())) ||
                 failed(emitClassInputs(loop.getFull())));
}

/// Which blocks of a loop are needed, and which of them are full.
LogicalResult Outliner::emitClasses(Region &classes) {
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(&classes);
  Value first = body->addArgument(builder.getIndexType(), loc);
  KernelValues::State saved = values->save();
  SmallVector<Value> ends;
  for (Region *region : {&loop.getNeeded(), &loop.getFull()}) {
    if (region->empty()) {
      ends.push_back(arith::ConstantIntOp::create(builder, loc, 0, 1));
      continue;
    }
    values->map(region->getArgument(0), first);
    FailureOr<Value> value = values->getScalar(loop.getClass(*region));
    if (failed(value))
      return failure();
    ends.push_back(*value);
  }
  values->restore(std::move(saved));
  hopper::EndOp::create(builder, loc, ends);
  return success();
}

/// What both classes ask for is computed once.
void Outliner::simplifyClasses() {
  IRRewriter rewriter(kernel.getContext());
  auto removeCopies = [&] {
    DominanceInfo dominance;
    eliminateCommonSubExpressions(rewriter, dominance, kernel);
  };
  removeCopies();
  kernel.walk([&](hopper::PipelinedForOp loop) {
    mergeBranches(rewriter, loop.getClasses().front());
  });
  removeCopies();
}
