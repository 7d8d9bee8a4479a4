//===- Tile.cpp - Cut attentions into loops over tiles --------------------===//

#include "Sparsity/GatheredKeys.h"
#include "Sparsity/KeyLists.h"
#include "TileBody.h"
#include "TileGrid.h"
#include "WorkerLoop.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNTILEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Destinations
//===----------------------------------------------------------------------===//

/// Offsets and sizes of the rows of one tile in a destination of rank 4 (o,
/// acc) or 3 (lse, max, sum).
static void getSlice(OpBuilder &builder, Value destination, Layout layout,
                     const TileRows &rows, OpFoldResult numRows,
                     SmallVectorImpl<OpFoldResult> &offsets,
                     SmallVectorImpl<OpFoldResult> &sizes) {
  auto type = cast<RankedTensorType>(destination.getType());
  OpFoldResult batch = rows.batch, head = rows.head, row = rows.row;
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  if (type.getRank() == 3) {
    llvm::append_range(offsets, layout.arrangeRows(batch, head, row));
    llvm::append_range(sizes, layout.arrangeRows(one, one, numRows));
    return;
  }
  OpFoldResult dim = builder.getIndexAttr(type.getDimSize(layout.d));
  llvm::append_range(offsets, layout.arrange(batch, head, row, zero));
  llvm::append_range(sizes, layout.arrange(one, one, numRows, dim));
}

/// Writes a tile vector into its slice of a destination.
static Value writeTile(OpBuilder &builder, Location loc, Value vector,
                       Value slice, Layout layout) {
  auto sliceType = cast<RankedTensorType>(slice.getType());
  auto type = cast<VectorType>(vector.getType());
  SmallVector<AffineExpr> dims;
  SmallVector<bool> inBounds;
  unsigned seq = layout.s;
  if (sliceType.getRank() == 4) {
    dims.push_back(builder.getAffineDimExpr(layout.d));
    inBounds.push_back(true);
  } else {
    seq = layout.rowDim(seq);
  }
  dims.push_back(builder.getAffineDimExpr(seq));
  inBounds.push_back(sliceType.getDimSize(seq) == type.getShape().back());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> indices(sliceType.getRank(), zero);
  AffineMap map =
      AffineMap::get(sliceType.getRank(), 0, dims, builder.getContext());
  return vector::TransferWriteOp::create(builder, loc, vector, slice, indices,
                                         map, inBounds)
      .getResult();
}

FailureOr<SmallVector<Value>>
mlir::attn::emitGrid(RewriterBase &rewriter, Location loc, Value ofRows,
                     Layout layout, ValueRange outs, ArrayRef<Layout> layouts,
                     ScheduleAttrInterface schedule, EmitTile emitTile) {
  int64_t tileM = schedule.getTileM();
  auto dim = [&](unsigned number) {
    return tensor::getMixedSize(rewriter, loc, ofRows, number);
  };
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  OpFoldResult numRows = dim(layout.s);
  OpFoldResult numTiles = affine::makeComposedFoldedAffineApply(
      rewriter, loc, s0.ceilDiv(tileM), {numRows});
  SmallVector<OpFoldResult> grid = {dim(layout.b), dim(layout.h), numTiles};
  scf::ForallOp forall = createWorkerLoop(rewriter, loc, grid, outs, schedule);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids(forall.getInductionVars());
  OpFoldResult row = affine::makeComposedFoldedAffineApply(
      rewriter, loc, s0 * tileM, {OpFoldResult(ids[2])});
  // The last tile may be short; a static length that divides has no such tile.
  OpFoldResult extent = rewriter.getIndexAttr(tileM);
  std::optional<int64_t> staticRows = getConstantIntValue(numRows);
  if (tileM != 1 && (!staticRows || *staticRows % tileM != 0))
    extent = affine::makeComposedFoldedAffineMin(
        rewriter, loc,
        AffineMap::get(0, 2, {s1 - s0, rewriter.getAffineConstantExpr(tileM)},
                       rewriter.getContext()),
        {row, numRows});
  TileRows rows;
  rows.batch = ids[0];
  rows.head = ids[1];
  rows.row = getValueOrCreateConstantIndexOp(rewriter, loc, row);
  rows.haveParts = getConstantIntValue(numTiles) != 1 && isa<Value>(extent);
  rows.count = dyn_cast<Value>(extent);
  rows.rowEnd = arith::AddIOp::create(
      rewriter, loc, rows.row,
      getValueOrCreateConstantIndexOp(rewriter, loc, extent));

  FailureOr<SmallVector<Value>> vectors =
      emitTile(rewriter, rows, forall.getRegionIterArgs());
  if (failed(vectors))
    return failure();
  for (auto [out, vector, layout] :
       llvm::zip_equal(forall.getRegionIterArgs(), *vectors, layouts)) {
    SmallVector<OpFoldResult> offsets, sizes;
    getSlice(rewriter, out, layout, rows, extent, offsets, sizes);
    SmallVector<OpFoldResult> strides(offsets.size(), rewriter.getIndexAttr(1));
    Value slice = tensor::ExtractSliceOp::create(rewriter, loc, out, offsets,
                                                 sizes, strides);
    Value written = writeTile(rewriter, loc, vector, slice, layout);
    OpBuilder::InsertionGuard inParallel(rewriter);
    rewriter.setInsertionPointToEnd(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(rewriter, loc, written, out, offsets,
                                          sizes, strides);
  }
  return SmallVector<Value>(forall.getResults());
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

/// The number that a tensor is filled with wherever it is read, if it is one.
static std::optional<double> getFilling(Value tensor) {
  auto fill = tensor.getDefiningOp<linalg::FillOp>();
  FloatAttr constant;
  if (!fill || !matchPattern(fill.getInputs()[0], m_Constant(&constant)))
    return std::nullopt;
  return constant.getValueAsDouble();
}

/// The state of `op` before its first key, for one Q block. `inits`
/// holds acc, max and sum as they are seen where the state is read.
static TileState emitInitialState(OpBuilder &builder, OnlineAttentionOp op,
                                  const TileRows &rows, ValueRange inits) {
  AttentionLikeOpInterface attention = op;
  int64_t numQueries = op.getScheduleAttr().getTileM();
  Location loc = op.getLoc();
  std::optional<double> max = getFilling(op.getMaxInit());
  if (max && getFilling(op.getAccInit()) == 0.0 &&
      getFilling(op.getSumInit()) == 0.0)
    return createFirstState(builder, loc, attention.getAccumulatorType(),
                            attention.getValueDim(), numQueries, *max);
  Layout layout = attention.getLayout(3);
  return {readColumns(builder, loc, inits[0], layout, rows, numQueries),
          readRows(builder, loc, inits[1], layout, rows, numQueries),
          readRows(builder, loc, inits[2], layout, rows, numQueries)};
}

/// Names the captures of `op` in reports: by the argument that they are, or by
/// their position.
static void nameCaptures(OnlineAttentionOp op, BoundsCheckSites *sites) {
  if (!sites)
    return;
  sites->captureNames.clear();
  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    std::string name = "capture " + std::to_string(number);
    auto argument = dyn_cast<BlockArgument>(capture);
    auto function =
        argument
            ? dyn_cast<FunctionOpInterface>(argument.getOwner()->getParentOp())
            : FunctionOpInterface();
    if (function)
      if (auto given = function.getArgAttrOfType<StringAttr>(
              argument.getArgNumber(), kNameAttrName))
        name = "'" + given.str() + "'";
    sites->captureNames.push_back(name);
  }
}

static LogicalResult requireSchedule(OnlineAttentionOp op) {
  bool hasLists = hasKeyLists(op);
  if (SparsityAttr sparsity = op.getSparsityAttr(); sparsity && !hasLists)
    return op.emitError("expects no sparsity but lists with blocks of 1x1, but "
                        "got ")
           << sparsity
           << ": attn-expand-sparsity, before attn-tile, makes it a mask, but "
              "on a GPU no lists";
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  if (!schedule)
    return op.emitError("expects a schedule: run attn-assign-schedule before "
                        "attn-tile");
  if (gathersKeys(op)) {
    if (!op.getOffsets().empty())
      return op.emitError("expects no offsets with gathered keys: run "
                          "attn-tile before the attention is cut");
    if (schedule.getTileN() % kWordKeys == 0)
      return success();
    return op.emitError("expects tile_n to be a multiple of ")
           << kWordKeys << " for gathered keys, but got " << schedule
           << "; leave it out, and the compiler chooses one";
  }
  auto ofRows = dyn_cast<RowScheduleAttr>(schedule);
  if (hasLists && ofRows && ofRows.getQueries() != 1)
    return op.emitError("expects a schedule without queries, as each query has "
                        "a list of keys of its own, but got ")
           << schedule << "; leave it out, and the compiler chooses one";
  if (!hasLists || ofRows)
    return success();
  return op.emitError("expects a #attn.row_schedule, as each query has a list "
                      "of keys, but got ")
         << schedule << "; leave it out, and the compiler chooses one";
}

/// An index out of range is an error, which the class of a tile must not hide:
/// with checks, a mask that reads a capture for each position has no classes.
static void forgetReads(RewriterBase &rewriter, OnlineAttentionOp op) {
  bool reads = op.getTiles()
                   .walk([](RangeOverOp range) {
                     return range.getBody().walk([](tensor::ExtractOp) {
                       return WalkResult::interrupt();
                     });
                   })
                   .wasInterrupted();
  if (reads)
    rewriter.eraseBlock(&op.getTiles().front());
}

/// Says how many queries a worker has, where its tile may be larger.
static void emitCount(OpBuilder &builder, OnlineAttentionOp op,
                      const TileRows &rows) {
  if (rows.count && isa<ScheduleAttr>(op.getScheduleAttr()))
    TileQueriesOp::create(builder, op.getLoc(), rows.count);
}

static LogicalResult tileFinalize(RewriterBase &rewriter, FinalizeOp op,
                                  BoundsCheckSites *sites) {
  Location loc = op.getLoc();
  OnlineAttentionOp online = op.getOwnProducer();
  if (online && failed(requireSchedule(online)))
    return failure();
  // A finalize on its own is elementwise: any tile serves.
  ScheduleAttrInterface schedule =
      online ? online.getScheduleAttr()
             : ScheduleAttrInterface(ScheduleAttr::get(
                   op.getContext(), /*tileM=*/64, /*tileN=*/64,
                   /*lanes=*/8, /*unrollM=*/1, /*unrollN=*/1));
  int64_t tileM = schedule.getTileM();
  Layout layout = op.getAccLayout();
  if (online)
    nameCaptures(online, sites);
  rewriter.setInsertionPoint(op);
  if (online && sites)
    forgetReads(rewriter, online);
  FailureOr<BlockMetadata> metadata = emitBlockMetadata(rewriter, online);
  if (failed(metadata))
    return failure();
  auto emitTile = [&](OpBuilder &builder, const TileRows &rows,
                      ValueRange) -> FailureOr<SmallVector<Value>> {
    FailureOr<TileState> state;
    if (online) {
      emitCount(builder, online, rows);
      state = emitKeyLoops(
          builder, online, rows,
          emitInitialState(builder, online, rows, online.getOuts()), *metadata,
          sites);
    } else {
      state =
          TileState{readColumns(builder, loc, op.getAcc(), layout, rows, tileM),
                    readRows(builder, loc, op.getMax(), layout, rows, tileM),
                    readRows(builder, loc, op.getSum(), layout, rows, tileM)};
    }
    if (failed(state))
      return failure();
    Type element = getElementTypeOrSelf(op.getOuts()[0].getType());
    auto normalized = NormalizeOp::create(
        builder, loc, cast<VectorType>(state->acc.getType()).clone(element),
        state->max.getType(), state->acc, state->max, state->sum);
    return SmallVector<Value>(
        normalized->getResults().take_front(op.getOuts().size()));
  };
  FailureOr<SmallVector<Value>> results = emitGrid(
      rewriter, loc, op.getOuts()[0], layout, op.getOuts(),
      SmallVector<Layout>(op.getOuts().size(), layout), schedule, emitTile);
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  if (online)
    rewriter.eraseOp(online);
  return success();
}

static LogicalResult tileOnline(RewriterBase &rewriter, OnlineAttentionOp op,
                                BoundsCheckSites *sites) {
  if (failed(requireSchedule(op)))
    return failure();
  nameCaptures(op, sites);
  rewriter.setInsertionPoint(op);
  if (sites)
    forgetReads(rewriter, op);
  FailureOr<BlockMetadata> metadata = emitBlockMetadata(rewriter, op);
  if (failed(metadata))
    return failure();
  auto emitTile = [&](OpBuilder &builder, const TileRows &rows,
                      ValueRange outs) -> FailureOr<SmallVector<Value>> {
    emitCount(builder, op, rows);
    FailureOr<TileState> state = emitKeyLoops(
        builder, op, rows, emitInitialState(builder, op, rows, outs), *metadata,
        sites);
    if (failed(state))
      return failure();
    return SmallVector<Value>{state->acc, state->max, state->sum};
  };
  Layout layout =
      cast<AttentionLikeOpInterface>(op.getOperation()).getLayout(3);
  FailureOr<SmallVector<Value>> results =
      emitGrid(rewriter, op.getLoc(), op.getOuts()[0], layout, op.getOuts(),
               SmallVector<Layout>(op.getOuts().size(), layout),
               op.getScheduleAttr(), emitTile);
  if (failed(results))
    return failure();
  rewriter.replaceOp(op, *results);
  return success();
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

/// One text for each number that a checked read can report, with %0 for the
/// index and %1 for the extent.
static void recordSites(Operation *root, const BoundsCheckSites &sites) {
  if (sites.sites.empty())
    return;
  // Behind those of other reports.
  SmallVector<Attribute> texts = getSites(root);
  for (const BoundsCheckSites::Site &site : sites.sites) {
    std::string text = getLocationText(site.loc);
    llvm::raw_string_ostream(text)
        << (text.empty() ? "" : ": ") << "error: expects an index below %1 in "
        << "dimension " << site.dimension << " of " << site.capture
        << ", but got %0";
    texts.push_back(StringAttr::get(root->getContext(), text));
  }
  setSites(root, texts);
}

namespace {
struct AttnTile : public mlir::attn::impl::AttnTilePassBase<AttnTile> {
  using AttnTilePassBase::AttnTilePassBase;

  void runOnOperation() override {
    WalkResult walk = getOperation()->walk([](AttentionOp op) {
      op.emitError("expects no attn.attention: run attn-online-softmax before "
                   "attn-tile");
      return WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return signalPassFailure();
    BoundsCheckSites sites;
    sites.first = getSites(getOperation()).size();
    BoundsCheckSites *sitesOrNull = boundsCheck ? &sites : nullptr;
    IRRewriter rewriter(&getContext());
    SmallVector<FinalizeOp> finalizes;
    getOperation()->walk([&](FinalizeOp op) { finalizes.push_back(op); });
    for (FinalizeOp op : finalizes)
      if (failed(tileFinalize(rewriter, op, sitesOrNull)))
        return signalPassFailure();
    SmallVector<OnlineAttentionOp> onlines;
    getOperation()->walk([&](OnlineAttentionOp op) { onlines.push_back(op); });
    for (OnlineAttentionOp op : onlines)
      if (failed(tileOnline(rewriter, op, sitesOrNull)))
        return signalPassFailure();
    recordSites(getOperation(), sites);
  }
};
} // namespace
