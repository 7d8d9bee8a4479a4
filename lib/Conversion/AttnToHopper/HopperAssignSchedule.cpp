//===- HopperAssignSchedule.cpp - Choose how attentions run on a GPU ------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERASSIGNSCHEDULEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnHopperAssignSchedule
    : public mlir::attn::impl::AttnHopperAssignSchedulePassBase<
          AttnHopperAssignSchedule> {
  using AttnHopperAssignSchedulePassBase::AttnHopperAssignSchedulePassBase;

  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([&](AttentionLikeOpInterface op) {
      for (int64_t dim : {op.getQueryKeyDim(), op.getValueDim()})
        if (!isHeadDimSupported(dim)) {
          op.emitError("expects head dimensions that are multiples of 8 up to "
                       "256 on a GPU, but got ")
              << dim << "; run with --target=cpu";
          return WalkResult::interrupt();
        }
      if (hasKeyLists(op) && !op->hasAttr(kGatheredAttrName)) {
        if (!op->hasAttr("schedule"))
          op->setAttr("schedule", getRowSchedule(op));
        return WalkResult::advance();
      }
      SmallVector<HopperSchedule> schedules = getHopperSchedules(op);
      if (list)
        for (const HopperSchedule &schedule : schedules)
          op.emitRemark(schedule.isForAnyStrides ? "for any strides: "
                        : schedule.isForFewTiles ? "for few tiles: "
                        : schedule.isLastResort  ? "last resort: "
                                                 : "schedule: ")
              << schedule.schedule;
      if (!op->hasAttr("schedule"))
        op->setAttr("schedule", schedules.front().schedule);
      return WalkResult::advance();
    });
    if (walk.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
