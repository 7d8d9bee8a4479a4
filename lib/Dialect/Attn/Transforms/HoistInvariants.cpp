//===- HoistInvariants.cpp - Move code out of loops over keys -------------===//

#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOISTINVARIANTSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;

namespace {
struct AttnHoistInvariants
    : public mlir::attn::impl::AttnHoistInvariantsPassBase<
          AttnHoistInvariants> {
  void runOnOperation() override {
    // From inside out, so that code can leave several loops.
    getOperation()->walk([](scf::ForOp loop) { moveLoopInvariantCode(loop); });
  }
};
} // namespace
