//===- HopperPadHeadDims.cpp - Tiles for any head dimension ---------------===//
//
// Matrix instructions take head dimensions that are multiples of 8. With zeros
// behind the columns that there are, products are the same, and so are the
// results in those columns.
//
//===----------------------------------------------------------------------===//

#include "EmptyTensors.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERPADHEADDIMSPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

static int64_t getPadded(int64_t dim) { return llvm::alignTo(dim, 8); }

/// Whether columns of zeros are all that tiles want.
static bool needsPadding(AttentionLikeOpInterface op) {
  return haveMatrixInstructions(op) && !areHeadDimsSupported(op) &&
         areHeadDimsSupported(op, getPadded(op.getQueryKeyDim()),
                              getPadded(op.getValueDim())) &&
         !isa_and_nonnull<RowScheduleAttr>(op->getAttr("schedule"));
}

/// The extents of a tensor with the columns of a padded one.
static SmallVector<OpFoldResult>
getPaddedSizes(OpBuilder &builder, ArrayRef<OpFoldResult> sizes, unsigned dim) {
  SmallVector<OpFoldResult> padded(sizes);
  padded[dim] =
      builder.getIndexAttr(getPadded(*getConstantIntValue(sizes[dim])));
  return padded;
}

/// A tensor with columns of zeros behind its own.
static Value pad(OpBuilder &builder, Location loc, Value tensor, unsigned dim) {
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(builder, loc, tensor);
  Type element = getElementTypeOrSelf(tensor.getType());
  Value zeros =
      createZeros(builder, loc, getPaddedSizes(builder, sizes, dim), element);
  if (isEmpty(tensor))
    return zeros;
  SmallVector<OpFoldResult> offsets(4, builder.getIndexAttr(0)),
      ones(4, builder.getIndexAttr(1));
  return tensor::InsertSliceOp::create(builder, loc, tensor, zeros, offsets,
                                       sizes, ones);
}

/// The layout of a result, as the operation numbers them; none where it has no
/// columns.
static std::optional<unsigned> getLayoutOf(AttentionOp op, unsigned result) {
  return result == 0 ? std::optional(3u) : std::nullopt;
}
static std::optional<unsigned> getLayoutOf(AttentionGradOp op,
                                           unsigned result) {
  int64_t input = op.getWrt()[result];
  return input < kGradCapture ? std::optional<unsigned>(input) : std::nullopt;
}

template <typename OpTy>
static void padHeadDims(RewriterBase &rewriter, OpTy op) {
  Location loc = op.getLoc();
  AttentionLikeOpInterface attention = op;
  rewriter.setInsertionPoint(op);
  auto padded = cast<OpTy>(rewriter.clone(*op));
  // That of the head dimension that there is.
  padded.setScaleAttr(rewriter.getF64FloatAttr(op.getEffectiveScale()));
  auto isPadded = [&](Value tensor, unsigned layout) {
    int64_t dim = cast<RankedTensorType>(tensor.getType())
                      .getDimSize(attention.getLayout(layout).d);
    return dim != getPadded(dim);
  };
  rewriter.setInsertionPoint(padded);
  auto padOperand = [&](OpOperand &operand, unsigned layout) {
    if (isPadded(operand.get(), layout))
      operand.set(
          pad(rewriter, loc, operand.get(), attention.getLayout(layout).d));
  };
  padOperand(padded.getQueryMutable(), 0);
  padOperand(padded.getKeyMutable(), 1);
  padOperand(padded.getValueMutable(), 2);
  if constexpr (std::is_same_v<OpTy, AttentionGradOp>) {
    padOperand(padded.getOutputMutable(), 3);
    padOperand(padded.getOutputGradMutable(), 3);
  }
  SmallVector<OpFoldResult> offsets(4, rewriter.getIndexAttr(0)),
      ones(4, rewriter.getIndexAttr(1));
  SmallVector<Value> results;
  for (Value result : padded->getResults()) {
    unsigned number = results.size();
    std::optional<unsigned> layout = getLayoutOf(op, number);
    if (!layout || !isPadded(result, *layout)) {
      results.push_back(result);
      continue;
    }
    OpOperand &out = padded.getOutsMutable()[number];
    Value whole = out.get();
    rewriter.setInsertionPoint(padded);
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, whole);
    out.set(tensor::EmptyOp::create(
        rewriter, loc,
        getPaddedSizes(rewriter, sizes, attention.getLayout(*layout).d),
        getElementTypeOrSelf(whole.getType())));
    result.setType(out.get().getType());
    if (isEmpty(whole)) {
      results.push_back(createZeros(rewriter, loc, sizes,
                                    getElementTypeOrSelf(whole.getType())));
      continue;
    }
    rewriter.setInsertionPointAfter(padded);
    results.push_back(tensor::ExtractSliceOp::create(
        rewriter, loc, cast<RankedTensorType>(whole.getType()), result, offsets,
        sizes, ones));
  }
  rewriter.replaceOp(op, results);
}

namespace {
struct AttnHopperPadHeadDims
    : public mlir::attn::impl::AttnHopperPadHeadDimsPassBase<
          AttnHopperPadHeadDims> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation().walk([&](AttentionLikeOpInterface op) {
      if (!needsPadding(op))
        return;
      if (auto attention = dyn_cast<AttentionOp>(*op))
        padHeadDims(rewriter, attention);
      else if (auto gradient = dyn_cast<AttentionGradOp>(*op))
        padHeadDims(rewriter, gradient);
    });
  }
};
} // namespace
