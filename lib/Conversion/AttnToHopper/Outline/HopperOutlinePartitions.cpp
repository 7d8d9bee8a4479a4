//===- HopperOutlinePartitions.cpp - Which partition runs which step ------===//

#include "HopperOutliner.h"
#include "mlir/Analysis/SliceAnalysis.h"

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

static void listSteps(InFlightDiagnostic &diagnostic, ArrayRef<StepOp> steps) {
  llvm::interleaveComma(steps, diagnostic,
                        [&](StepOp step) { diagnostic << step.getStepName(); });
}

/// Of steps that compute, the one with the online softmax of the loop, and
/// those that give it scores or its next state: what these exchange is in
/// registers.
static SmallVector<StepOp> findSoftmax(TileLoopOp loop, OnlineStepOp softmax,
                                       ArrayRef<StepOp> steps) {
  auto own = softmax->getParentOfType<StepOp>();
  auto next = loop.getYielded().take_front(TileLoopOp::NumStateParts);
  return llvm::filter_to_vector(steps, [&](StepOp step) {
    return step == own || llvm::any_of(step.getOutputs(), [&](Value output) {
             return llvm::is_contained(next, output) ||
                    llvm::any_of(output.getUsers(), [&](Operation *user) {
                      return own->isProperAncestor(user);
                    });
           });
  });
}

LogicalResult Outliner::matchPartitions() {
  DictionaryAttr partitions = schedule.getPartitions();
  if (!partitions)
    return success();
  SmallVector<StepOp> steps;
  for (auto step : loop.getBody().getOps<StepOp>())
    if (step.getNumResults() == 0 || !blocks.contains(step.getResult(0)))
      steps.push_back(step);
  for (NamedAttribute named : partitions) {
    if (!llvm::is_contained(steps, loop.getStep(named.getName().getValue()))) {
      InFlightDiagnostic diagnostic =
          loop.emitError("expects partitions of steps that compute, but got "
                         "one of '")
          << named.getName().getValue() << "'; these steps are ";
      listSteps(diagnostic, steps);
      return diagnostic;
    }
    if (cast<StringAttr>(named.getValue()).getValue() == kLoadPartition)
      return loop.emitError("expects '")
             << kLoadPartition << "' to have no step that computes, but got '"
             << named.getName().getValue() << "'; take another name";
  }
  if (!softmax)
    return success();
  SmallVector<StepOp> together = findSoftmax(loop, softmax, steps);
  for (StepOp step : together) {
    StringRef own = getPartition(together.front().getStepName()),
              other = getPartition(step.getStepName());
    if (own == other)
      continue;
    InFlightDiagnostic diagnostic =
        loop.emitError("expects one partition for the steps of an online "
                       "softmax, which exchange registers, but got '")
        << own << "' for '" << together.front().getStepName() << "' and '"
        << other << "' for '" << step.getStepName()
        << "'; leave partitions out, or name one for ";
    listSteps(diagnostic, together);
    return diagnostic;
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

/// Who has what a result is computed of.
StringRef Outliner::getResultPartition(const OutlinedResult &result) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  options.filter = [&](Operation *op) { return op != loop; };
  if (Operation *op = result.vector.getDefiningOp(); op && op != loop)
    (void)getBackwardSlice(op, &slice, options);
  auto isUsed = [&](Value output) {
    return output == result.vector || llvm::any_of(slice, [&](Operation *op) {
             return llvm::is_contained(op->getOperands(), output);
           });
  };
  for (auto [output, yielded] :
       llvm::zip_equal(loop.getResults(), loop.getYielded()))
    if (auto step = yielded.getDefiningOp<StepOp>(); step && isUsed(output))
      return getPartition(step.getStepName());
  return getResultPartition();
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

/// Whether steps of other partitions use what a step gives.
bool Outliner::isUsedElsewhere(Value output, StringRef partition) {
  return llvm::any_of(output.getUsers(), [&](Operation *user) {
    auto step = user->getParentOfType<StepOp>();
    return step && getPartition(step.getStepName()) != partition;
  });
}

/// Starts a step with what it computes with of steps of other partitions: rows
/// of the tiles that these have given.
void Outliner::takeFromOthers(StepOp step, StringRef partition) {
  for (auto source : loop.getBody().getOps<StepOp>()) {
    if (source == step || getPartition(source.getStepName()) == partition)
      continue;
    for (Value output : source.getOutputs()) {
      Value tile = tiles.lookup(output);
      bool isUsed = llvm::any_of(output.getUsers(), [&](Operation *user) {
        bool isExtended = isa<arith::ExtFOp>(user) &&
                          llvm::all_of(user->getUsers(),
                                       llvm::IsaPred<vector::ContractionOp>);
        return step->isProperAncestor(user) && !isExtended &&
               !isa<vector::ContractionOp>(user);
      });
      if (tile && isUsed && !blocks.contains(output))
        values->map(output, values->readTile(tile));
    }
  }
}

/// How many tiles of an output that others read are in shared memory. Where
/// who reads it gives something back, neither partition is more than a block
/// ahead, so that one tile does, unless who gives it reads it late.
int64_t Outliner::getPublishedStages(Value output, StringRef partition) {
  int64_t stages = schedule.getStages();
  if (!schedule.getPartitions() || !schedule.getOrder())
    return stages;
  auto getUsers = [](Value value) {
    SmallVector<StringRef> steps;
    for (Operation *user : value.getUsers())
      if (auto step = user->getParentOfType<StepOp>())
        steps.push_back(step.getStepName());
    return steps;
  };
  auto isOwn = [&](StringRef step) { return getPartition(step) == partition; };
  auto isLate = [&](StringRef step) {
    return llvm::any_of(
        schedule.getOrder().getAsRange<hopper::PlaceAttr>(), [&](auto place) {
          return place.getName() == step && place.getStage() != 0;
        });
  };
  auto givesBack = [&](StringRef reader) {
    return llvm::any_of(loop.getBody().getOps<StepOp>(), [&](StepOp step) {
      return getPartition(step.getStepName()) == getPartition(reader) &&
             llvm::any_of(step.getOutputs(), [&](Value given) {
               return llvm::any_of(getUsers(given), isOwn);
             });
    });
  };
  bool isOne = llvm::all_of(getUsers(output), [&](StringRef reader) {
    return isOwn(reader) ? !isLate(reader) : givesBack(reader);
  });
  return isOne ? 1 : stages;
}

/// What replicas hold as a tile for all of them, or for another partition: with
/// the rows of the work tile as rows, or as columns.
Value Outliner::publish(Value vector, bool isTransposed, int64_t stages) {
  auto type = cast<VectorType>(vector.getType());
  int64_t rows = schedule.getTileM(), columns = type.getDimSize(0);
  if (isTransposed)
    std::swap(rows, columns);
  auto tile = hopper::TileType::get(builder.getContext(), rows, columns,
                                    type.getElementType(), rows);
  return hopper::PublishOp::create(builder, loc, tile, vector, isTransposed,
                                   stages);
}
