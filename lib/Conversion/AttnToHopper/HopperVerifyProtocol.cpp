//===- HopperVerifyProtocol.cpp - Prove that roles fit together -----------===//

#include "Protocol.h"
#include "attn/Conversion/AttnToHopper/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERVERIFYPROTOCOLPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The first partition fills all channels, and the other one reads them.
FailureOr<protocol::Roles> protocol::Roles::get(hopper::WarpSpecializeOp op) {
  if (op.getBodies().size() != 2)
    return op.emitOpError("expects a producer and consumers, or '")
           << hopper::kProtocolCheckedAttrName << "', but got "
           << op.getBodies().size() << " partitions";
  for (unsigned number : {0, 1}) {
    WalkResult walk = op.getBodies()[number].walk([&](Operation *inner) {
      bool isOfProducer = isa<hopper::PutOp, hopper::PostOp>(inner);
      bool isOther = isa<hopper::PutVectorOp, hopper::PutFragmentOp>(inner);
      if (auto get = dyn_cast<hopper::GetOp>(inner))
        isOther = static_cast<bool>(get.getCondition());
      if (auto release = dyn_cast<hopper::ReleaseOp>(inner))
        isOther = static_cast<bool>(release.getCondition());
      if (!isOther && (!isEvent(inner) || isOfProducer == (number == 0)))
        return WalkResult::advance();
      inner->emitOpError("expects the first partition to fill channels and the "
                         "second one to read them, or '")
          << hopper::kProtocolCheckedAttrName << "' of hopper.warp_specialize";
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return failure();
  }
  return Roles{op, &op.getBodies()[0], &op.getBodies()[1],
               op.getPartition(1).getReplicas()};
}

namespace {
struct AttnHopperVerifyProtocol
    : public mlir::attn::impl::AttnHopperVerifyProtocolPassBase<
          AttnHopperVerifyProtocol> {
  void runOnOperation() override {
    WalkResult walk = getOperation().walk([](hopper::WarpSpecializeOp op) {
      if (op->hasAttr(hopper::kProtocolCheckedAttrName))
        return WalkResult::advance();
      FailureOr<protocol::Roles> roles = protocol::Roles::get(op);
      return WalkResult(success(succeeded(roles) &&
                                succeeded(protocol::verifyConsumer(*roles)) &&
                                succeeded(protocol::verifyRoles(*roles))));
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    markAllAnalysesPreserved();
  }
};
} // namespace
