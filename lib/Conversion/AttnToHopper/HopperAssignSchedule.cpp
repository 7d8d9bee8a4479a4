//===- HopperAssignSchedule.cpp - Choose how attentions run on a GPU ------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERASSIGNSCHEDULEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The shared memory that a thread block may have, in bytes.
static constexpr int64_t kSharedBytes = 232448;

/// Whether a region reads a capture for each key.
static bool readsPerKey(Region &region, unsigned keyArgument) {
  if (region.empty())
    return false;
  llvm::SetVector<Operation *> users;
  getForwardSlice(region.getArgument(keyArgument), &users);
  return llvm::any_of(users, llvm::IsaPred<tensor::ExtractOp>);
}

static int64_t getSharedBytes(hopper::ScheduleAttr schedule,
                              int64_t queryKeyDim, int64_t valueDim) {
  auto getColumns = [](int64_t dim) {
    return llvm::alignTo(dim, hopper::kChunkColumns) * 2;
  };
  int64_t keys = getColumns(queryKeyDim), values = getColumns(valueDim);
  int64_t bytes = 1024 + schedule.getTileM() * keys +
                  schedule.getStages() * schedule.getTileN() * (keys + values);
  if (schedule.getPersistent() || queryKeyDim != valueDim)
    bytes += schedule.getTileM() * values;
  return bytes;
}

/// Measured on an H200 with bf16 at 16384 tokens and some 2048 columns: the
/// fastest for long sequences that ptxas compiles without spills.
static hopper::ScheduleAttr chooseSchedule(AttentionLikeOpInterface op) {
  int64_t dim = std::max(op.getQueryKeyDim(), op.getValueDim());
  bool isMasked = !op.getMask().empty();
  auto get = [&](int64_t tileM, int64_t tileN, int64_t registers,
                 bool persistent, bool pingPong, bool qInRegisters) {
    return hopper::ScheduleAttr::get(op.getContext(), tileM, tileN,
                                     /*stages=*/2, registers,
                                     /*headGroup=*/isMasked ? 8 : 1,
                                     /*reverse=*/isMasked, persistent, pingPong,
                                     qInRegisters);
  };
  hopper::ScheduleAttr schedule;
  if (readsPerKey(op.getScore(), kNumScoreArgs - 1) ||
      readsPerKey(op.getMask(), kNumMaskArgs - 1))
    // Addresses and what is read take registers, too.
    schedule = get(128, dim <= 64 ? 96 : 64, 232, true, true, false);
  else if (dim <= 64)
    schedule = get(192, 128, 160, true, true, false);
  else if (dim <= 96)
    schedule = get(192, 96, 160, true, isMasked, false);
  else if (dim <= 128 && isMasked)
    schedule = get(128, 128, 232, true, true, true);
  else if (dim <= 128)
    schedule = get(192, 80, 160, true, false, false);
  else if (dim <= 192)
    schedule =
        get(128, op.getValueDim() <= 128 ? 112 : 80, 240, true, true, false);
  else
    schedule = get(128, 80, 240, false, true, false);
  // Smaller tiles for pairs of head dimensions that need more memory.
  while (getSharedBytes(schedule, op.getQueryKeyDim(), op.getValueDim()) >
             kSharedBytes &&
         schedule.getTileN() > 16)
    schedule = get(schedule.getTileM(), schedule.getTileN() - 16,
                   schedule.getRegisters(), schedule.getPersistent(),
                   schedule.getPingPong(), schedule.getQInRegisters());
  return schedule;
}

namespace {
struct AttnHopperAssignSchedule
    : public mlir::attn::impl::AttnHopperAssignSchedulePassBase<
          AttnHopperAssignSchedule> {
  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([&](AttentionLikeOpInterface op) {
      for (int64_t dim : {op.getQueryKeyDim(), op.getValueDim()})
        if (dim % 8 != 0 || dim > 256) {
          op.emitError("expects head dimensions that are multiples of 8 up to "
                       "256 on a GPU, but got ")
              << dim << "; run with --target=cpu";
          return WalkResult::interrupt();
        }
      if (!op->hasAttr("schedule"))
        op->setAttr("schedule", chooseSchedule(op));
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
