//===- PackGQA.cpp - Tiles of several heads of a group --------------------===//
//
// Heads that share keys and values become rows of one head, so that a tile of
// these rows reads the keys once for all of them. Regions get the head and the
// query of a row by arithmetic, which attn-tile computes for each column of a
// tile; nothing else differs from an attention with fewer heads and more rows.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNPACKGQAPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
class HeadPacker {
public:
  HeadPacker(RewriterBase &rewriter, OnlineAttentionOp op)
      : rewriter(rewriter), op(op), attention(op), loc(op.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult verify();
  FinalizeOp getFinalize();
  Value pack(Value tensor, int64_t heads, int64_t rows);
  Value packInit(Value init, int64_t heads, int64_t rows);
  void rewriteRegion(Region &region, unsigned head);
  void rewriteBounds(Region &region);
  template <typename OpTy> Value emit(Value a, Value b) {
    return rewriter.createOrFold<OpTy>(loc, a, b);
  }
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(rewriter, loc, value);
  }

  RewriterBase &rewriter;
  OnlineAttentionOp op;
  AttentionLikeOpInterface attention;
  Location loc;
  /// Heads that become one.
  Value count;
};
} // namespace

/// What takes the whole state of the attention, or null.
FinalizeOp HeadPacker::getFinalize() {
  Value acc = op->getResult(0);
  auto finalize = acc.hasOneUse()
                      ? dyn_cast<FinalizeOp>(*acc.getUsers().begin())
                      : FinalizeOp();
  if (!finalize)
    return nullptr;
  Value state[] = {finalize.getAcc(), finalize.getMax(), finalize.getSum()};
  for (auto [result, operand] : llvm::zip_equal(op->getResults(), state))
    if (result != operand || !result.hasOneUse())
      return nullptr;
  return finalize;
}

LogicalResult HeadPacker::verify() {
  auto reject = [&](StringRef expected, StringRef got) {
    return op.emitError("expects ") << expected << " with pack_gqa, but got "
                                    << got << "; leave out pack_gqa";
  };
  if (op.getSparsityAttr())
    return reject("no sparsity", "one");
  if (!op.getOffsets().empty())
    return reject("an attention that starts at 0", "offsets");
  if (!op.getTiles().empty())
    return reject("a mask whose keys are one interval", "a tiles region");
  // Bounds of one head would be wrong for the others of its tile.
  Region &blocks = op.getBlocks();
  if (!blocks.empty() && !blocks.getArgument(1).use_empty())
    return reject("bounds of keys that are those of all heads",
                  "some that depend on the head");
  if (!getFinalize())
    return reject("a state that one attn.finalize takes", "another use");
  for (Value init : op.getOuts())
    if (!init.getDefiningOp<linalg::FillOp>())
      return reject("a state that starts filled", "another one");
  return success();
}

/// The type of packed heads.
static RankedTensorType getPackedType(Value tensor, int64_t heads,
                                      int64_t rows) {
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<int64_t> shape(type.getShape());
  shape[heads] = shape[rows] = ShapedType::kDynamic;
  return RankedTensorType::get(shape, type.getElementType());
}

Value HeadPacker::pack(Value tensor, int64_t heads, int64_t rows) {
  return PackGQAOp::create(rewriter, loc, getPackedType(tensor, heads, rows),
                           tensor, count, heads, rows);
}

/// A state that is filled with the same, for packed heads.
Value HeadPacker::packInit(Value init, int64_t heads, int64_t rows) {
  auto fill = init.getDefiningOp<linalg::FillOp>();
  SmallVector<OpFoldResult> sizes = tensor::getMixedSizes(rewriter, loc, init);
  auto size = [&](int64_t dim) {
    return getValueOrCreateConstantIndexOp(rewriter, loc, sizes[dim]);
  };
  SmallVector<Value> dynamic;
  RankedTensorType type = getPackedType(init, heads, rows);
  for (int64_t dim = 0; dim < type.getRank(); ++dim) {
    if (dim == heads)
      dynamic.push_back(emit<arith::DivUIOp>(size(dim), count));
    else if (dim == rows)
      dynamic.push_back(emit<arith::MulIOp>(size(dim), count));
    else if (type.isDynamicDim(dim))
      dynamic.push_back(size(dim));
  }
  Value empty = tensor::EmptyOp::create(rewriter, loc, type, dynamic);
  return linalg::FillOp::create(rewriter, loc, fill.getInputs()[0], empty)
      .getResult(0);
}

/// Replaces the head and the query, arguments `head` and `head + 1`, by those
/// of a row of packed heads.
void HeadPacker::rewriteRegion(Region &region, unsigned head) {
  if (region.empty())
    return;
  Block &block = region.front();
  Value size = block.addArgument(rewriter.getIndexType(), loc);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&block);
  Value packed = block.getArgument(head), row = block.getArgument(head + 1);
  if (!row.use_empty()) {
    Value query = arith::DivUIOp::create(rewriter, loc, row, size);
    row.replaceAllUsesExcept(query, query.getDefiningOp());
  }
  if (!packed.use_empty()) {
    Value inGroup = arith::RemUIOp::create(rewriter, loc, row, size);
    Value first = arith::MulIOp::create(rewriter, loc, packed, size);
    Value plain = arith::AddIOp::create(rewriter, loc, first, inGroup);
    packed.replaceAllUsesExcept(plain, first.getDefiningOp());
  }
}

/// Bounds of the queries that rows from `i0` to `i1` are of.
void HeadPacker::rewriteBounds(Region &region) {
  if (region.empty())
    return;
  Block &block = region.front();
  Value size = block.addArgument(rewriter.getIndexType(), loc);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(&block);
  Value first = block.getArgument(2), end = block.getArgument(3);
  if (!first.use_empty()) {
    Value query = arith::DivUIOp::create(rewriter, loc, first, size);
    first.replaceAllUsesExcept(query, query.getDefiningOp());
  }
  if (!end.use_empty()) {
    // A tile has a row.
    Value last = arith::SubIOp::create(rewriter, loc, end, index(1));
    Value query = arith::DivUIOp::create(rewriter, loc, last, size);
    Value queryEnd = arith::AddIOp::create(rewriter, loc, query, index(1));
    end.replaceAllUsesExcept(queryEnd, last.getDefiningOp());
  }
}

LogicalResult HeadPacker::run() {
  if (failed(verify()))
    return failure();
  FinalizeOp finalize = getFinalize();
  rewriter.setInsertionPoint(op);
  Layout query = attention.getLayout(0), key = attention.getLayout(1),
         out = attention.getLayout(3);
  count =
      PackedCountOp::create(rewriter, loc, op.getQuery(), query.h, op.getKey(),
                            key.h, op.getScheduleAttr().getMostPackedHeads());
  auto headDim = static_cast<int64_t>(out.rowDim(out.h)),
       rowDim = static_cast<int64_t>(out.rowDim(out.s));
  SmallVector<Value> state = {packInit(op.getAccInit(), out.h, out.s),
                              packInit(op.getMaxInit(), headDim, rowDim),
                              packInit(op.getSumInit(), headDim, rowDim)};
  SmallVector<Value> captures(op.getCaptures());
  captures.push_back(count);
  auto online = OnlineAttentionOp::create(
      rewriter, loc, TypeRange(ValueRange(state)),
      pack(op.getQuery(), query.h, query.s), op.getKey(), op.getValue(),
      captures, /*sparsityOperands=*/ValueRange(), /*offsets=*/ValueRange(),
      state, op.getScaleAttr(), op.getLayoutsAttr(), op.getScheduleAttr(),
      /*sparsity=*/SparsityAttr(), op.getRescaleAttr());
  online->setDiscardableAttrs(op->getDiscardableAttrDictionary());
  for (auto [from, to] :
       llvm::zip_equal(op->getRegions(), online->getRegions()))
    rewriter.inlineRegionBefore(from, to, to.end());
  rewriteRegion(online.getScore(), kNumScoreArgs - 3);
  rewriteRegion(online.getMask(), kNumMaskArgs - 3);
  rewriteRegion(online.getRows(), kNumRowsArgs - 2);
  rewriteBounds(online.getBlocks());

  rewriter.setInsertionPoint(finalize);
  SmallVector<std::pair<int64_t, int64_t>> dims = {{out.h, out.s},
                                                   {headDim, rowDim}};
  SmallVector<Value> outs;
  for (auto [value, dim] : llvm::zip(finalize.getOuts(), dims))
    outs.push_back(pack(value, dim.first, dim.second));
  auto packed =
      FinalizeOp::create(rewriter, loc, TypeRange(ValueRange(outs)),
                         online->getResult(0), online->getResult(1),
                         online->getResult(2), outs, finalize.getLayoutAttr());
  SmallVector<Value> results;
  for (auto [value, old, dim] :
       llvm::zip(packed->getResults(), finalize->getResults(), dims))
    results.push_back(UnpackHeadsOp::create(rewriter, loc, old.getType(), value,
                                            count, dim.first, dim.second));
  rewriter.replaceOp(finalize, results);
  rewriter.eraseOp(op);
  return success();
}

namespace {
struct AttnPackGQA : public mlir::attn::impl::AttnPackGQAPassBase<AttnPackGQA> {
  void runOnOperation() override {
    SmallVector<OnlineAttentionOp> ops;
    getOperation()->walk([&](OnlineAttentionOp op) {
      ScheduleAttrInterface schedule = op.getScheduleAttr();
      if (schedule && schedule.getMostPackedHeads() > 1)
        ops.push_back(op);
    });
    IRRewriter rewriter(&getContext());
    for (OnlineAttentionOp op : ops)
      if (failed(HeadPacker(rewriter, op).run()))
        return signalPassFailure();
  }
};
} // namespace
