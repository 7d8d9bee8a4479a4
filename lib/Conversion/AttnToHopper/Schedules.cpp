//===- Schedules.cpp - Schedules for Hopper GPUs --------------------------===//
//
// Measured on an H200 with bf16 at 16384 tokens and some 2048 columns. A pair
// of tile sizes is in the table if ptxas compiles it without spills, as a rule
// if scores, results and probabilities, tile_n / 2 + Dv / 2 + tile_n / 4, and
// Dqk / 4 for queries in registers, leave 30 registers free.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// The shared memory that a thread block may have, in bytes.
static constexpr int64_t kSharedBytes = 232448;

int64_t mlir::attn::getSharedBytes(hopper::ScheduleAttr schedule,
                                   int64_t queryKeyDim, int64_t valueDim) {
  constexpr int64_t barrierBytes = 1024;
  auto getRowBytes = [](int64_t dim) {
    return llvm::alignTo(dim, hopper::kChunkColumns) * 2;
  };
  int64_t keys = getRowBytes(queryKeyDim), values = getRowBytes(valueDim);
  int64_t bytes = barrierBytes + schedule.getTileM() * keys +
                  schedule.getStages() * schedule.getTileN() * (keys + values);
  // Results are staged in place of the queries where that is possible.
  if (schedule.getPersistent() || queryKeyDim != valueDim)
    bytes += schedule.getTileM() * values;
  return bytes;
}

bool mlir::attn::isHeadDimSupported(int64_t dim) {
  return dim % 8 == 0 && dim <= 256;
}

bool mlir::attn::areHeadDimsSupported(AttentionLikeOpInterface op) {
  return isHeadDimSupported(op.getQueryKeyDim()) &&
         isHeadDimSupported(op.getValueDim());
}

/// Whether a region reads a capture for each key.
static bool readsPerKey(Region &region, unsigned keyArgument) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> users;
  getForwardSlice(region.getArgument(keyArgument), &users);
  return llvm::any_of(users, llvm::IsaPred<tensor::ExtractOp>);
}

SmallVector<HopperSchedule>
mlir::attn::getHopperSchedules(AttentionLikeOpInterface op) {
  int64_t queryKeyDim = op.getQueryKeyDim(), valueDim = op.getValueDim();
  int64_t dim = std::max(queryKeyDim, valueDim);
  bool isMasked = !op.getMask().empty();
  enum : unsigned { Persistent = 1, PingPong = 2, QInRegisters = 4 };
  SmallVector<HopperSchedule> schedules;
  auto add = [&](int64_t tileM, int64_t tileN, int64_t registers,
                 unsigned flags, double tileCost, double keyCost) {
    auto get = [&](int64_t tileN) {
      return hopper::ScheduleAttr::get(
          op.getContext(), tileM, tileN, /*stages=*/2, registers,
          /*headGroup=*/isMasked ? 8 : 1, /*reverse=*/isMasked,
          (flags & Persistent) != 0, (flags & PingPong) != 0,
          (flags & QInRegisters) != 0);
    };
    // Smaller tiles for pairs of head dimensions that need more memory.
    while (tileN > 16 &&
           getSharedBytes(get(tileN), queryKeyDim, valueDim) > kSharedBytes)
      tileN -= 16;
    if (getSharedBytes(get(tileN), queryKeyDim, valueDim) > kSharedBytes)
      return;
    // Half of the keys are masked as a rule.
    schedules.push_back(
        {get(tileN), tileCost, isMasked ? keyCost / 2 : keyCost});
  };
  constexpr unsigned all = Persistent | PingPong | QInRegisters;
  constexpr unsigned common = Persistent | PingPong;
  bool isDense = !readsPerKey(op.getScore(), kNumScoreArgs - 1) &&
                 !readsPerKey(op.getMask(), kNumMaskArgs - 1);
  if (isDense && dim <= 64) {
    add(192, 128, 160, common, 3.0, 10.0e-3);
    add(128, 128, 232, all, 1.3, 8.2e-3);
  } else if (isDense && dim <= 96) {
    add(192, 96, 160, isMasked ? common : Persistent, 3.0, 13.0e-3);
    add(128, 128, 232, all, 1.4, 10.0e-3);
  } else if (isDense && dim <= 128) {
    if (!isMasked)
      add(192, 80, 160, Persistent, 3.0, 15.6e-3);
    add(128, 128, 232, all, 1.5, 11.2e-3);
  } else if (isDense && dim <= 192) {
    add(128, valueDim <= 128 ? 112 : 80, 240, common, 2.5, 16.0e-3);
  } else if (isDense) {
    add(128, 80, 240, PingPong, 3.5, 21.0e-3);
  }
  // Addresses and what is read for each key take registers, too.
  size_t numFirst = std::max<size_t>(schedules.size(), 1);
  add(128, dim <= 64 ? 96 : dim <= 128 ? 64 : 48, 232, common, 3.0, 20.0e-3);
  add(128, 32, 232, common, 3.0, 40.0e-3);
  add(64, 32, 232, PingPong, 3.0, 40.0e-3);
  add(64, 16, 232, 0, 3.0, 80.0e-3);
  for (HopperSchedule &schedule :
       MutableArrayRef(schedules).drop_front(numFirst))
    schedule.isLastResort = true;
  return schedules;
}
