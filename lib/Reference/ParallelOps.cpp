//===- ParallelOps.cpp - Loops whose iterations are in no order -----------===//
//
// An iteration sees the shared destinations as they were before the loop, and
// puts slices in place at its end. Iterations that write the same element are
// no program.
//
//===----------------------------------------------------------------------===//

#include "FunctionEvaluator.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
namespace tensor = mlir::tensor;

Error FunctionEvaluator::evaluateForall(mlir::scf::ForallOp op) {
  Shape lower = getIndices(op.getMixedLowerBound()),
        upper = getIndices(op.getMixedUpperBound()),
        steps = getIndices(op.getMixedStep());
  Shape counts;
  for (auto [from, to, step] : llvm::zip_equal(lower, upper, steps)) {
    if (step <= 0)
      return makeError(op,
                       "expects positive steps, but got " + llvm::Twine(step));
    counts.push_back(to <= from ? 0 : (to - from + step - 1) / step);
  }
  std::vector<Array> results;
  for (auto [output, argument] :
       llvm::zip_equal(op.getOutputs(), op.getRegionIterArgs())) {
    results.push_back(*get(output));
    values[argument] = get(output);
  }
  std::string message;
  auto run = [&](llvm::ArrayRef<int64_t> index) -> Error {
    for (auto [number, argument] : llvm::enumerate(op.getInductionVars()))
      set(argument, Array(lower[number] + index[number] * steps[number]));
    for (mlir::Operation &inner : op.getBody()->without_terminator())
      if (Error error = evaluateOp(&inner))
        return error;
    for (mlir::Operation &inner : op.getTerminator().getYieldingOps()) {
      auto slice = mlir::dyn_cast<tensor::ParallelInsertSliceOp>(inner);
      if (!slice)
        return makeUnsupportedError(&inner);
      unsigned number =
          mlir::cast<mlir::BlockArgument>(slice.getDest()).getArgNumber() -
          op.getRank();
      if (Error error = evaluateParallelInsertSlice(slice, results[number]))
        return error;
    }
    return Error::success();
  };
  forEachIndex(counts, [&](llvm::ArrayRef<int64_t> index) {
    if (!message.empty())
      return;
    if (Error error = run(index))
      message = llvm::toString(std::move(error));
  });
  if (!message.empty())
    return llvm::createStringError(message);
  for (auto [result, array] : llvm::zip_equal(op.getResults(), results))
    set(result, std::move(array));
  return Error::success();
}
