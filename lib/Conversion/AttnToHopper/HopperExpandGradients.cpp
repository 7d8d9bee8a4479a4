//===- HopperExpandGradients.cpp - Gradients that have no tiles -----------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPEREXPANDGRADIENTSPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether there is no kernel for a gradient, but one for attentions like it.
static bool needsAttentions(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  return !haveTiles(op) &&
         !isa_and_nonnull<hopper::ScheduleAttr>(op.getScheduleAttr()) &&
         !attention.getAccumulatorType().isF64();
}

namespace {
struct AttnHopperExpandGradients
    : public mlir::attn::impl::AttnHopperExpandGradientsPassBase<
          AttnHopperExpandGradients> {
  void runOnOperation() override {
    SmallVector<AttentionGradOp> ops;
    getOperation().walk([&](AttentionGradOp op) {
      if (needsAttentions(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionGradOp op : ops) {
      FailureOr<SmallVector<Value>> results = lowerToAttentions(rewriter, op);
      if (failed(results))
        return signalPassFailure();
      rewriter.replaceOp(op, *results);
    }
  }
};
} // namespace
