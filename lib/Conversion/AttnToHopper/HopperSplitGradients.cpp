//===- HopperSplitGradients.cpp - dq by a kernel of its own ---------------===//
//
// A warpgroup cannot hold dk and dv of 64 keys with more than 128 columns, so
// two share out 64 keys, and what each 64 of them add to dq goes to memory: as
// many bytes as tensor cores take time for. Work tiles of queries keep dq in
// registers, and compute scores again: seven products in place of five.
//
//===----------------------------------------------------------------------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERSPLITGRADIENTSPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Whether both kernels are faster than one: with more than 128 columns.
static bool needsParts(AttentionGradOp op) {
  AttentionLikeOpInterface attention = op;
  return haveTiles(op) && !op.getScheduleAttr() &&
         std::max(attention.getQueryKeyDim(), attention.getValueDim()) > 128 &&
         op.getOutOf(kGradQuery) && op.getWrt().size() > 1;
}

namespace {
struct AttnHopperSplitGradients
    : public mlir::attn::impl::AttnHopperSplitGradientsPassBase<
          AttnHopperSplitGradients> {
  void runOnOperation() override {
    SmallVector<AttentionGradOp> ops;
    getOperation().walk([&](AttentionGradOp op) {
      if (needsParts(op))
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (AttentionGradOp op : ops) {
      rewriter.setInsertionPoint(op);
      // That of queries is the first one.
      AttentionGradOp queries = cloneGradients(rewriter, op, {0});
      auto others =
          llvm::to_vector(llvm::seq<unsigned>(1, op->getNumResults()));
      SmallVector<Value> results(queries.getResults());
      llvm::append_range(results,
                         cloneGradients(rewriter, op, others).getResults());
      rewriter.replaceOp(op, results);
    }
  }
};
} // namespace
