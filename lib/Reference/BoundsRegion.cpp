//===- BoundsRegion.cpp - Regions that say what tiles need ----------------===//

#include "BoundsRegion.h"

using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

Error BoundsRegion::compile() {
  for (unsigned number = 0; number < numArguments; ++number)
    arguments.push_back(compiler.bindLane(block.getArgument(number)));
  for (auto [number, capture] : llvm::enumerate(inputs.captures))
    compiler.bindArray(block.getArgument(numArguments + number), *capture,
                       number);
  if (Error error = compiler.compileBlock(block))
    return error;
  mlir::Operation *yield = block.getTerminator();
  for (mlir::Value value : yield->getOperands()) {
    Expected<uint32_t> lane = compiler.getLane(value, yield);
    if (!lane)
      return lane.takeError();
    results.push_back(*lane);
  }
  frame.emplace(program);
  if (!frame->runRow())
    return llvm::createStringError(compiler.describe(frame->getError()));
  return Error::success();
}

Expected<llvm::ArrayRef<int64_t>>
BoundsRegion::evaluate(llvm::ArrayRef<int64_t> values) {
  for (auto [reg, value] : llvm::zip_equal(arguments, values))
    *frame->laneInts(reg) = value;
  if (!frame->runLanes(1))
    return llvm::createStringError(compiler.describe(frame->getError()));
  yielded.clear();
  for (uint32_t reg : results)
    yielded.push_back(*frame->laneInts(reg));
  return llvm::ArrayRef<int64_t>(yielded);
}
