//===- GradientSchedules.cpp - Schedules of gradients ---------------------===//
//
// The queries of a block are as many as columns of dq are not: a replica has 64
// of what is not among the rows of the work tile, see emitAllRowsProduct.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// A step of an iteration, late if it is of the block before.
struct Place {
  StringRef name;
  bool isLate = false;
};
} // namespace

/// Without the steps of gradients that are not wanted.
static ArrayAttr getOrder(AttentionGradOp op, ArrayRef<Place> places) {
  Builder builder(op.getContext());
  SmallVector<Attribute> order;
  for (const Place &place : places) {
    bool isWanted = llvm::StringSwitch<bool>(place.name)
                        .Cases({"dq", "red"}, op.getOutOf(kGradQuery) != nullptr)
                        .Case("dk", op.getOutOf(kGradKey) != nullptr)
                        .Case("dv", op.getOutOf(kGradValue) != nullptr)
                        .Default(true);
    if (isWanted)
      order.push_back(hopper::PlaceAttr::get(builder.getContext(), place.name,
                                             place.isLate ? 1 : 0));
  }
  return builder.getArrayAttr(order);
}

SmallVector<HopperSchedule>
mlir::attn::getGradientSchedules(AttentionGradOp gradient) {
  AttentionLikeOpInterface op = gradient;
  Builder builder(op.getContext());
  int64_t queryKeyDim = op.getQueryKeyDim(), valueDim = op.getValueDim();
  int64_t dim = std::max(queryKeyDim, valueDim);
  bool isMasked = !op.getMask().empty();
  SmallVector<HopperSchedule> schedules;
  auto add = [&](int64_t tileM, int64_t tileN, int64_t stages,
                 int64_t registers, int64_t inFlight, ArrayRef<Place> order,
                 ArrayRef<StringRef> exclusive, double tileCost,
                 double keyCost) {
    SmallVector<Attribute> names;
    for (StringRef name : exclusive)
      names.push_back(builder.getStringAttr(name));
    HopperSchedule &added = schedules.emplace_back();
    added.schedule = hopper::ScheduleAttr::get(
        op.getContext(), tileM, tileN, stages, registers, /*headGroup=*/1,
        /*headGroupKeys=*/0, /*captureStages=*/0, /*threadBlocks=*/1, inFlight,
        /*reverse=*/false, /*bothEnds=*/false, /*shortFirst=*/false,
        /*persistent=*/false, /*pingPong=*/false, /*qInRegisters=*/false,
        /*biasInProduct=*/false, /*strided=*/false, /*splitKeys=*/false,
        /*packHeads=*/false, getOrder(gradient, order),
        names.empty() ? ArrayAttr() : builder.getArrayAttr(names),
        /*partitions=*/{});
    added.tileCost = tileCost;
    added.keyCost = isMasked ? keyCost / 2 : keyCost;
  };
  const Place early[] = {{"load_q"}, {"qk"}, {"exp"}, {"load_do"},
                         {"dp"},     {"dv"}, {"ds"},  {"dq", true},
                         {"dk"},     {"red", true}};
  const Place together[] = {{"load_q"}, {"qk"}, {"load_do"}, {"dp"},
                            {"exp"},    {"dv"}, {"ds"},      {"dq", true},
                            {"dk"},     {"red", true}};
  const Place plain[] = {{"load_q"}, {"qk"}, {"exp"}, {"load_do"}, {"dp"},
                         {"dv"},     {"ds"}, {"dq"},  {"dk"},      {"red"}};
  if (queryKeyDim == 128 && valueDim <= 128)
    add(128, 80, 2, 240, 2, early, {"exp", "dp"}, 5.0, 33.0e-3);
  if (dim <= 64) {
    if (isMasked)
      add(128, 128, 2, 240, 2, early, {"exp", "dp"}, 5.0, 19.0e-3);
    else
      add(128, 128, 2, 240, 2, together, {}, 5.0, 19.0e-3);
  }
  if (schedules.empty() || !op.getScore().empty())
    add(64, 64, 2, 240, 1, plain, {}, 5.0, 60.0e-3);
  schedules.back().isLastResort = schedules.size() > 1;
  return schedules;
}
