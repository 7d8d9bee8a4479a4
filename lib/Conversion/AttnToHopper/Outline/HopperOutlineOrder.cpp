//===- HopperOutlineOrder.cpp - In what order the steps of a block run ----===//
//
// What a schedule does not say follows from the program. The softmax of a block
// waits for scores, and the tensor cores for the softmax: so what comes after a
// softmax is run for the block before, in front of it.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// Without an order in the schedule: load_k, qk, load_v(1), pv(1), softmax for
/// load_k, qk, softmax, load_v, pv.
ArrayAttr Outliner::getOrder() {
  if (ArrayAttr order = schedule.getOrder())
    return order;
  MLIRContext *context = builder.getContext();
  SmallVector<Attribute> places, last;
  for (auto step : loop.getBody().getOps<StepOp>()) {
    bool isSoftmax = softmax && step->isProperAncestor(softmax);
    int64_t stage = isSoftmax || last.empty() ? 0 : 1;
    (isSoftmax ? last : places)
        .push_back(hopper::PlaceAttr::get(context, step.getStepName(), stage));
  }
  llvm::append_range(places, last);
  return builder.getArrayAttr(places);
}

/// With `ping_pong`, warpgroups take turns from the first product to the last.
ArrayAttr Outliner::getExclusive() {
  if (ArrayAttr exclusive = schedule.getExclusive())
    return exclusive;
  SmallVector<StringRef> names;
  if (schedule.getPingPong())
    for (auto step : loop.getBody().getOps<StepOp>())
      if (!step.getBody().getOps<vector::ContractionOp>().empty())
        names.push_back(step.getStepName());
  if (names.size() > 2)
    names = {names.front(), names.back()};
  return builder.getStrArrayAttr(names);
}
