//===- HopperAssignSchedule.cpp - Choose how attentions run on a GPU ------===//

#include "attn/Conversion/AttnToHopper/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERASSIGNSCHEDULEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Measured on an H200 with bf16 at 16384 tokens and 2048 columns: the fastest
/// that ptxas compiles without spills.
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
  if (dim <= 64)
    return get(192, 128, 160, true, true, false);
  if (dim <= 128)
    return isMasked ? get(128, 128, 240, true, true, true)
                    : get(192, 80, 160, true, false, false);
  return get(128, 80, 240, false, true, false);
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
