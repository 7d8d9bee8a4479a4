//===- HopperVerifyProtocol.cpp - Prove that roles fit together -----------===//

#include "Protocol.h"
#include "attn/Conversion/AttnToHopper/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERVERIFYPROTOCOLPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
struct AttnHopperVerifyProtocol
    : public mlir::attn::impl::AttnHopperVerifyProtocolPassBase<
          AttnHopperVerifyProtocol> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([](hopper::WarpSpecializeOp roles) {
      // With an order, hopper-check-protocol has checked the loop before it was
      // cut into partitions.
      auto kernel = roles->getParentOfType<gpu::GPUFuncOp>();
      auto schedule = kernel->getAttrOfType<hopper::ScheduleAttr>(
          hopper::kScheduleAttrName);
      if (schedule && schedule.getOrder())
        return WalkResult::advance();
      return WalkResult(success(succeeded(protocol::verifyConsumer(roles)) &&
                                succeeded(protocol::verifyRoles(roles))));
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
