//===- HopperOutlinePartitions.cpp - Which partition runs which step ------===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// Steps that compute are in a partition of the schedule, or in one that is for
/// all others.
StringRef Outliner::getPartition(StringRef step) {
  if (DictionaryAttr partitions = schedule.getPartitions())
    if (auto name = partitions.getAs<StringAttr>(step))
      return name.getValue();
  return kComputePartition;
}

LogicalResult Outliner::matchPartitions() {
  DictionaryAttr partitions = schedule.getPartitions();
  if (!partitions)
    return success();
  for (NamedAttribute named : partitions) {
    StepOp step = loop.getStep(named.getName().getValue());
    bool loads =
        step && step.getNumResults() && blocks.contains(step.getResult(0));
    if (!step || loads)
      return loop.emitError("expects partitions of steps that compute, but got "
                            "one of '")
             << named.getName().getValue() << "'";
    if (cast<StringAttr>(named.getValue()).getValue() == kLoadPartition)
      return loop.emitError("expects '")
             << kLoadPartition << "' to have no step that computes, but got '"
             << named.getName().getValue() << "'";
  }
  return success();
}

/// Who has the results of the loop.
StringRef Outliner::getResultPartition() {
  for (Value yielded : loop.getYielded())
    if (auto step = yielded.getDefiningOp<StepOp>())
      return getPartition(step.getStepName());
  return kComputePartition;
}

/// Who has products with the queries.
StringRef Outliner::getQueryPartition() {
  for (Operation *user : queries.getUsers())
    if (auto step = user->getParentOfType<StepOp>())
      return getPartition(step.getStepName());
  return kComputePartition;
}

/// Whether the step that is being written may use a value of another step.
bool Outliner::isInReach(Value value) {
  auto step = value ? value.getDefiningOp<hopper::StepOp>() : nullptr;
  auto own =
      dyn_cast<hopper::StepOp>(builder.getInsertionBlock()->getParentOp());
  return step && own && step.getPartition() == own.getPartition();
}

/// An operand of products of other partitions goes there as a tile. Null if
/// there are none.
Value Outliner::publish(StringRef partition, Value output, Value vector) {
  bool isUsedElsewhere = llvm::any_of(output.getUsers(), [&](Operation *user) {
    auto step = user->getParentOfType<StepOp>();
    return step && getPartition(step.getStepName()) != partition;
  });
  auto type = dyn_cast<VectorType>(vector.getType());
  if (!isUsedElsewhere || !type || !isOperand(output))
    return {};
  int64_t rows = schedule.getTileM();
  auto tile =
      hopper::TileType::get(builder.getContext(), rows, type.getDimSize(0),
                            type.getElementType(), rows);
  return hopper::PublishOp::create(builder, loc, tile, vector,
                                   /*transposed=*/false,
                                   schedule.getStages());
}
