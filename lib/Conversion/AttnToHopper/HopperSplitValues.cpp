//===- HopperSplitValues.cpp - Tiles for wide values ----------------------===//
//
// The accumulator of a Q block has a column for each of its values, in the
// registers of a warpgroup, which has enough for 256. Values are weighted
// independently of each other, so that columns of values are attentions with
// the same queries and keys.
//
//===----------------------------------------------------------------------===//

#include "EmptyTensors.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERSPLITVALUESPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// Columns of each part, the last of which may have fewer: as even as multiples
/// of 8 are.
static int64_t getPartColumns(int64_t columns) {
  int64_t parts = llvm::divideCeil(columns, kMostValueColumns);
  return llvm::alignTo(llvm::divideCeil(columns, parts), 8);
}

/// Whether parts of the values are all that tiles want. Lists of single keys
/// have another form.
static bool needsParts(AttentionOp op) {
  AttentionLikeOpInterface attention = op;
  return haveMatrixInstructions(op) && !hasKeyLists(op) &&
         attention.getValueDim() > kMostValueColumns &&
         attention.getQueryKeyDim() <= kMostKeyColumns &&
         !isa_and_nonnull<RowScheduleAttr>(op->getAttr("schedule"));
}

static void splitValues(RewriterBase &rewriter, AttentionOp op) {
  Location loc = op.getLoc();
  AttentionLikeOpInterface attention = op;
  unsigned valueColumns = attention.getLayout(2).d,
           outColumns = attention.getLayout(3).d;
  int64_t columns = attention.getValueDim(), size = getPartColumns(columns);
  rewriter.setInsertionPoint(op);
  SmallVector<OpFoldResult> ones(4, rewriter.getIndexAttr(1));
  auto getSizes = [&](Value tensor, unsigned dim, int64_t own) {
    SmallVector<OpFoldResult> sizes =
        tensor::getMixedSizes(rewriter, loc, tensor);
    sizes[dim] = rewriter.getIndexAttr(own);
    return sizes;
  };
  auto getOffsets = [&](unsigned dim, int64_t first) {
    SmallVector<OpFoldResult> offsets(4, rewriter.getIndexAttr(0));
    offsets[dim] = rewriter.getIndexAttr(first);
    return offsets;
  };
  Value whole = op.getOuts()[0];
  SmallVector<Value> results;
  for (int64_t first = 0; first < columns; first += size) {
    int64_t own = std::min(size, columns - first);
    auto part = cast<AttentionOp>(rewriter.clone(*op));
    rewriter.setInsertionPoint(part);
    SmallVector<OpFoldResult> ofValues =
        getSizes(op.getValue(), valueColumns, own);
    Value values;
    if (isEmpty(op.getValue()))
      values = createZeros(rewriter, loc, ofValues,
                           getElementTypeOrSelf(op.getValue().getType()));
    else
      values = tensor::ExtractSliceOp::create(rewriter, loc, op.getValue(),
                                              getOffsets(valueColumns, first),
                                              ofValues, ones);
    part.getValueMutable().set(values);
    SmallVector<OpFoldResult> sizes =
        getSizes(op.getOuts()[0], outColumns, own);
    part.getOutsMutable()[0].set(tensor::EmptyOp::create(
        rewriter, loc, sizes, getElementTypeOrSelf(whole.getType())));
    Value result = part->getResult(0);
    result.setType(part.getOuts()[0].getType());
    rewriter.setInsertionPointAfter(part);
    if (!isEmpty(whole))
      whole = tensor::InsertSliceOp::create(rewriter, loc, result, whole,
                                            getOffsets(outColumns, first),
                                            sizes, ones);
    // All parts have the same log-sum-exp.
    if (results.empty())
      llvm::append_range(results, part->getResults());
  }
  if (isEmpty(whole))
    whole =
        createZeros(rewriter, loc, tensor::getMixedSizes(rewriter, loc, whole),
                    getElementTypeOrSelf(whole.getType()));
  results.front() = whole;
  rewriter.replaceOp(op, results);
}

namespace {
struct AttnHopperSplitValues
    : public mlir::attn::impl::AttnHopperSplitValuesPassBase<
          AttnHopperSplitValues> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<AttentionOp> wide;
    getOperation().walk([&](AttentionOp op) {
      if (needsParts(op))
        wide.push_back(op);
    });
    for (AttentionOp op : wide)
      splitValues(rewriter, op);
  }
};
} // namespace
