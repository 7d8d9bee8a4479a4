//===- ConvertAttnToCPU.cpp - Lower tiles to loops on hardware vectors ----===//

#include "Reports.h"
#include "RowLowering.h"
#include "TileLowering.h"
#include "attn/Conversion/AttnToCPU/Passes.h"

namespace mlir::attn {
#define GEN_PASS_DEF_CONVERTATTNTOCPUPASS
#include "attn/Conversion/AttnToCPU/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Checks what the lowering relies on: tiles are on buffers.
static LogicalResult verifyOnBuffers(scf::ForallOp loop) {
  WalkResult walk = loop->walk([](Operation *op) {
    for (Type type : op->getOperandTypes())
      if (isa<TensorType>(type)) {
        op->emitError("expects tiles on buffers, but got an operand of type ")
            << type << ": run attn-bufferize before convert-attn-to-cpu";
        return WalkResult::interrupt();
      }
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// Sums in words are those of many threads; a CPU adds in order.
static LogicalResult verifyNoExactSums(Operation *root) {
  WalkResult walk = root->walk([](Operation *op) {
    auto scatter = dyn_cast<ScatterOp>(op);
    if (!isa<ExactSumOp>(op) &&
        !(scatter && scatter.getMode() == ScatterMode::Exact))
      return WalkResult::advance();
    op->emitError("expects sums in order, but got exact ones, which are for a "
                  "GPU");
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

namespace {
struct ConvertAttnToCPU
    : public mlir::attn::impl::ConvertAttnToCPUPassBase<ConvertAttnToCPU> {
  void runOnOperation() override {
    if (failed(verifyNoExactSums(getOperation())))
      return signalPassFailure();
    SmallVector<scf::ForallOp> loops;
    getOperation()->walk([&](scf::ForallOp loop) {
      if (loop->hasAttr(kScheduleAttrName))
        loops.push_back(loop);
    });
    for (scf::ForallOp loop : loops) {
      if (auto schedule =
              loop->getAttrOfType<RowScheduleAttr>(kScheduleAttrName)) {
        if (failed(verifyOnBuffers(loop)) ||
            failed(RowLowering(loop, schedule).run()))
          return signalPassFailure();
        continue;
      }
      auto schedule = loop->getAttrOfType<ScheduleAttr>(kScheduleAttrName);
      if (!schedule) {
        loop.emitError("expects a #attn.schedule for a CPU, but got ")
            << loop->getAttr(kScheduleAttrName)
            << "; leave it out, and the compiler chooses one";
        return signalPassFailure();
      }
      if (failed(verifyOnBuffers(loop)) ||
          failed(TileLowering(loop, schedule).run()))
        return signalPassFailure();
      loop->removeAttr(kScheduleAttrName);
    }
    if (failed(lowerReports(getOperation())))
      return signalPassFailure();
  }
};
} // namespace
