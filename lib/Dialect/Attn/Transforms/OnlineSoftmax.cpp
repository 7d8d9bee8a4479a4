//===- OnlineSoftmax.cpp - Make softmax associative over keys -------------===//

#include "Filled.h"
#include "attn/Analysis/ScoreRange.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/APFloat.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNONLINESOFTMAXPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What the maximum of scores that are all in one range may start as, in base
/// 2, so that it need not grow: no power of a score above it overflows, nor do
/// sums of many, and none below it loses digits where it is rounded.
static std::optional<double> getBoundedStart(AttentionOp op) {
  constexpr double log2e = llvm::numbers::log2e, mostExponent = 80;
  if (op.getScore().empty())
    return std::nullopt;
  FloatRange range = getScoreRange(op.getScore());
  auto type = cast<RankedTensorType>(op.getQuery().getType());
  const llvm::fltSemantics &semantics =
      cast<FloatType>(type.getElementType()).getFloatSemantics();
  double most = std::min<double>(
      mostExponent, llvm::APFloat::semanticsMaxExponent(semantics) - 2);
  // Not for infinite ranges, whose width is infinite or NaN.
  if (!((range.high - range.low) * log2e <= 2 * most))
    return std::nullopt;
  return std::max(range.low * log2e, range.high * log2e - most);
}

FailureOr<FinalizeOp> mlir::attn::lowerToOnline(RewriterBase &rewriter,
                                                AttentionOp op,
                                                Rescale rescale) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  FloatType accType = attention.getAccumulatorType();
  Layout layout = attention.getLayout(3);

  // The destination of o has the extents of q and the head dimension of v.
  SmallVector<OpFoldResult> accSizes =
      tensor::getMixedSizes(rewriter, loc, op.getOuts()[0]);
  SmallVector<OpFoldResult> rowSizes(accSizes);
  rowSizes.erase(rowSizes.begin() + layout.d);

  Value acc = createFilled(rewriter, loc, accSizes, accType, 0);
  double first = -INFINITY;
  if (rescale == Rescale::Lazy)
    if (std::optional<double> start = getBoundedStart(op)) {
      rescale = Rescale::Never;
      first = *start;
    }
  Value max = createFilled(rewriter, loc, rowSizes, accType, first);
  Value sum = createFilled(rewriter, loc, rowSizes, accType, 0);
  SmallVector<Value> state = {acc, max, sum};
  auto online = OnlineAttentionOp::create(
      rewriter, loc, TypeRange(ValueRange(state)), op.getQuery(), op.getKey(),
      op.getValue(), op.getCaptures(), op.getSparsityOperands(),
      op.getOffsets(), state, rewriter.getF64FloatAttr(op.getEffectiveScale()),
      op.getLayoutsAttr(), op.getScheduleAttr(), op.getSparsityAttr(),
      RescaleAttr::get(op.getContext(), rescale));
  online->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  rewriter.inlineRegionBefore(op.getScore(), online.getScore(),
                              online.getScore().end());
  rewriter.inlineRegionBefore(op.getMask(), online.getMask(),
                              online.getMask().end());

  AffineMapAttr layoutAttr;
  if (!(layout == Layout()))
    layoutAttr = AffineMapAttr::get(layout.getMap(op.getContext()));
  auto finalize = FinalizeOp::create(
      rewriter, loc, op->getResultTypes(), online.getOutputs()[0],
      online.getOutputs()[1], online.getOutputs()[2], op.getOuts(), layoutAttr);
  rewriter.replaceOp(op, finalize);
  return finalize;
}

namespace {
struct AttnOnlineSoftmax
    : public mlir::attn::impl::AttnOnlineSoftmaxPassBase<AttnOnlineSoftmax> {
  using AttnOnlineSoftmaxPassBase::AttnOnlineSoftmaxPassBase;

  void runOnOperation() override {
    SmallVector<AttentionOp> ops;
    getOperation()->walk([&](AttentionOp op) { ops.push_back(op); });
    IRRewriter rewriter(&getContext());
    for (AttentionOp op : ops) {
      rewriter.setInsertionPoint(op);
      if (failed(lowerToOnline(rewriter, op, rescale)))
        return signalPassFailure();
    }
  }
};
} // namespace
