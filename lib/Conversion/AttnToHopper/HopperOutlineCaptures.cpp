//===- HopperOutlineCaptures.cpp - Captures that come in tiles ------------===//
//
// What scores read of a capture with an element for each row and position is a
// box for each block (CaptureTiles.cpp). A step of its own loads it. Where the
// order does not name that step it has the stage of the step that reads the
// capture, and comes right after the first one that loads anything: the first
// product does not wait for it, and what follows the product does not wait for
// a later block.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<Type> Outliner::getCaptureTypes() {
  return llvm::map_to_vector(captures, [](const OutlinedCapture &capture) {
    return capture.access.elementType;
  });
}

void Outliner::matchCaptures() {
  if (schedule.getCaptureStages() == 0)
    return;
  loop.getBody().walk([&](GatherOp read) {
    std::optional<TileAccess> access =
        matchCaptureTile(read, function, loop.getStep());
    if (!access)
      return;
    auto isSame = [&](const OutlinedCapture &other) {
      return other.access.argument == access->argument &&
             other.access.dims == access->dims &&
             other.access.position == access->position;
    };
    auto *found = llvm::find_if(captures, isSame);
    if (found == captures.end()) {
      std::string name = ("load_arg" + Twine(access->argument)).str();
      auto isOfArgument = [&](const OutlinedCapture &other) {
        return other.access.argument == access->argument;
      };
      // Other boxes of it have a number of their own.
      if (int64_t before = llvm::count_if(captures, isOfArgument))
        name += ("_" + Twine(before)).str();
      found = &captures.emplace_back(OutlinedCapture{*access, {}, name});
    }
    found->reads.push_back(read);
  });
}

/// The step of a loop that an operation is in, or null.
static StepOp getStepOf(Operation *op) {
  auto step = dyn_cast<StepOp>(op);
  return step ? step : op->getParentOfType<StepOp>();
}

/// The order of the schedule, with the steps that load captures.
ArrayAttr Outliner::placeCaptures() {
  SmallVector<hopper::PlaceAttr> places(
      getOrder().getAsRange<hopper::PlaceAttr>());
  auto find = [&](StringRef name) {
    return llvm::find_if(places, [&](hopper::PlaceAttr place) {
      return place.getName() == name;
    });
  };
  // Where those that the order does not name go.
  size_t next = 0;
  for (auto step : loop.getBody().getOps<StepOp>())
    if (step.getNumResults() && blocks.contains(step.getResult(0)))
      if (auto *place = find(step.getStepName()); place != places.end()) {
        size_t after = place - places.begin() + 1;
        next = next ? std::min(next, after) : after;
      }
  for (const OutlinedCapture &capture : captures) {
    if (find(capture.step) != places.end())
      continue;
    int64_t stage = 0;
    if (StepOp reader = getStepOf(capture.reads.front()))
      if (auto *place = find(reader.getStepName()); place != places.end())
        stage = place->getStage();
    places.insert(
        places.begin() + next++,
        hopper::PlaceAttr::get(builder.getContext(), capture.step, stage));
  }
  return builder.getArrayAttr(
      SmallVector<Attribute>(places.begin(), places.end()));
}

LogicalResult Outliner::emitCaptureLoads() {
  for (const OutlinedCapture &capture : captures) {
    FailureOr<Value> tile =
        emitLoadStep(capture.step, capture.access, schedule.getTileM(),
                     schedule.getCaptureStages());
    if (failed(tile))
      return failure();
    for (GatherOp read : capture.reads)
      values->setTile(read.getResult(), *tile);
  }
  return success();
}

/// Starts a step with what it reads of captures of 16 bits. Others are read
/// where they are needed, as there are no registers for these beside a product.
void Outliner::emitCaptures(StepOp step) {
  for (const OutlinedCapture &capture : captures)
    for (GatherOp read : capture.reads)
      if (read->getParentOp() == step &&
          hopper::getElementBytes(capture.access.elementType) == 2)
        // Of a tile, which is always read.
        (void)values->getVector(read.getResult(), VectorKind::Both);
}
