//===- LiftMask.cpp - Derive what a tile needs from its mask --------------===//

#include "Gradients/GradientBounds.h"
#include "MaskLifter.h"
#include "attn/Analysis/MaskBounds.h"
#include "attn/Analysis/MaskCost.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"

using namespace mlir;
using namespace mlir::attn;

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNLIFTMASKPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

static void clear(Region &region) {
  region.dropAllReferences();
  region.getBlocks().clear();
}

/// Makes a mask that is the same for all pairs of queries and keys of any tile
/// `false`, or none.
static void replaceMask(RewriterBase &rewriter, AttentionLikeOpInterface op,
                        bool allowed) {
  rewriter.modifyOpInPlace(op, [&] {
    if (allowed)
      return clear(op.getMask());
    Operation *yield = op.getMask().front().getTerminator();
    OpBuilder builder(yield);
    yield->setOperand(
        0, arith::ConstantIntOp::create(builder, op.getLoc(), 0, /*width=*/1));
  });
  cleanUpRegions(op);
}

/// Fills `tiles` from the mask, if that tells tiles apart. A mask that is the
/// same for all of them is replaced, which is returned.
static bool fillTiles(RewriterBase &rewriter, AttentionLikeOpInterface op,
                      Region &tiles) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.modifyOpInPlace(op, [&] {
    SmallVector<Type> types(kNumTilesArgs, rewriter.getIndexType());
    llvm::append_range(types, op.getCaptures().getTypes());
    SmallVector<Location> locs(types.size(), op.getLoc());
    // Not through the rewriter, so that a block that is given up leaves no
    // trace with listeners.
    OpBuilder builder(op.getContext());
    builder.createBlock(&tiles, tiles.end(), types, locs);
    MaskLifter::Ternary lifted = MaskLifter(builder, op.getLoc(), op).lift();
    YieldOp::create(builder, op.getLoc(), ValueRange{lifted.may, lifted.must});
  });
  cleanUpRegions(op);

  auto yielded = tiles.front().getTerminator()->getOperands();
  bool isNever = matchPattern(yielded[0], m_Zero());
  if (isNever || matchPattern(yielded[1], m_One())) {
    rewriter.modifyOpInPlace(op, [&] { clear(tiles); });
    replaceMask(rewriter, op, /*allowed=*/!isNever);
    return true;
  }
  if (matchPattern(yielded[0], m_One()) && matchPattern(yielded[1], m_Zero())) {
    rewriter.modifyOpInPlace(op, [&] { clear(tiles); });
    return false;
  }
  remark::passed(op.getLoc(), remark::RemarkOpts::name("lifted")
                                  .category(kRemarkCategory)
                                  .function(getFunctionName(op)))
      << remark::add("the mask tells the class of each tile");
  return false;
}

static bool mayLift(AttentionLikeOpInterface op, Region &tiles) {
  return !op.getMask().empty() && tiles.empty() && op.getOffsets().empty() &&
         !op->hasAttr(kWholeAttrName);
}

void mlir::attn::liftMask(RewriterBase &rewriter, OnlineAttentionOp op,
                          bool evenIntervals) {
  if (!mayLift(op, op.getTiles()) ||
      (!evenIntervals && MaskBounds(op).areIntervals()) ||
      !fillTiles(rewriter, op, op.getTiles()))
    return;
  rewriter.modifyOpInPlace(op, [&] { clear(op.getBlocks()); });
  classifyBlocks(rewriter, op);
}

void mlir::attn::liftMask(RewriterBase &rewriter, AttentionGradOp op,
                          bool evenIntervals) {
  if (mayLift(op, op.getTiles()) && (evenIntervals || !boundsQueries(op)))
    fillTiles(rewriter, op, op.getTiles());
}

/// Tells what the mask of tiles that need it costs.
static void reportCost(AttentionLikeOpInterface op) {
  if (!op.getMask().empty())
    remark::analysis(op.getLoc(), remark::RemarkOpts::name("mask-cost")
                                      .category(kRemarkCategory)
                                      .function(getFunctionName(op)))
        << remark::add("{0}", getMaskCost(op.getMask()).describe());
}

namespace {
struct LiftMask : public attn::impl::AttnLiftMaskPassBase<LiftMask> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](OnlineAttentionOp op) { liftMask(rewriter, op); });
    getOperation()->walk([&](AttentionGradOp op) { liftMask(rewriter, op); });
    getOperation()->walk(reportCost);
  }
};
} // namespace
