//===- BlockMetadata.cpp - Ranges of captures for KV blocks ---------------===//

#include "BlockMetadata.h"
#include "RangeLoops.h"
#include "Sparsity/GatheredKeys.h"
#include "TileClasses.h"
#include "WorkerLoop.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

DenseMap<Value, TileDependence> mlir::attn::getTileDependence(Region &tiles) {
  DenseMap<Value, TileDependence> dependence;
  for (BlockArgument argument : tiles.getArguments()) {
    unsigned number = argument.getArgNumber();
    TileDependence &own = dependence[argument];
    own.batch = number == 0;
    own.head = number == 1;
    own.rows = number == 2 || number == 3;
    own.keys = number == 4 || number == 5;
  }
  for (Operation &op : tiles.front()) {
    TileDependence own;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        TileDependence of = dependence.lookup(operand);
        own.batch |= of.batch;
        own.head |= of.head;
        own.rows |= of.rows;
        own.keys |= of.keys;
      }
    });
    for (Value result : op.getResults())
      dependence[result] = own;
  }
  return dependence;
}

TileQuestions::TileQuestions(OnlineAttentionOp op)
    : op(op), tiles(&op.getTiles()), schedule(op.getScheduleAttr()),
      numQueries(schedule.getTileM()), numKeys(schedule.getTileN()),
      partRows(schedule.getPartitionRows()) {}

/// Work tiles have keys.
TileQuestions::TileQuestions(AttentionGradOp op)
    : op(op), tiles(&op.getTiles()), schedule(op.getScheduleAttr()),
      numQueries(schedule.getTileN()), numKeys(schedule.getTileM()),
      partRows(numQueries) {}

//===----------------------------------------------------------------------===//
// All tiles
//===----------------------------------------------------------------------===//

bool mlir::attn::hasTileClasses(OnlineAttentionOp op) {
  // A query on its own asks its mask for each key.
  if (!op || op.getTiles().empty() ||
      isa<RowScheduleAttr>(op.getScheduleAttr()))
    return false;
  // A loop that passes over no tile gains little where all else is one loop.
  Value may = op.getTiles().front().getTerminator()->getOperand(0);
  return !op.getScheduleAttr().hasSingleKeyLoop() ||
         !matchPattern(may, m_One());
}

FailureOr<BlockMinMax> mlir::attn::emitTable(RewriterBase &rewriter,
                                             const TileQuestions &questions,
                                             Location loc,
                                             TileDependence dependence,
                                             Type element, EmitElement emit) {
  AttentionLikeOpInterface op = questions.op;
  Layout qLayout = op.getLayout(0), kLayout = op.getLayout(1);
  OpFoldResult one = rewriter.getIndexAttr(1);
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  SmallVector<OpFoldResult> sizes = {
      dependence.batch
          ? tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.b)
          : one,
      dependence.head
          ? tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.h)
          : one};
  OpFoldResult lengths[] = {
      tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.s),
      tensor::getMixedSize(rewriter, loc, op.getKey(), kLayout.s)};
  int64_t tileSizes[] = {questions.partRows, questions.numKeys};
  bool isAlong[] = {dependence.rows, dependence.keys};
  for (unsigned axis = 0; axis < 2; ++axis)
    if (isAlong[axis])
      sizes.push_back(affine::makeComposedFoldedAffineApply(
          rewriter, loc, s0.ceilDiv(tileSizes[axis]), {lengths[axis]}));
  SmallVector<Value> tables;
  for (unsigned which = 0; which < 2; ++which)
    tables.push_back(tensor::EmptyOp::create(rewriter, loc, sizes, element));
  scf::ForallOp forall =
      createWorkerLoop(rewriter, loc, sizes, tables, questions.schedule);
  markPreparation(forall, op);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids(forall.getInductionVars());
  TileSpan spans[2];
  unsigned next = 2;
  for (unsigned axis = 0; axis < 2; ++axis) {
    if (!isAlong[axis])
      continue;
    Value size = arith::ConstantIndexOp::create(rewriter, loc, tileSizes[axis]);
    Value begin = arith::MulIOp::create(rewriter, loc, ids[next++], size);
    Value end = arith::MinSIOp::create(
        rewriter, loc, arith::AddIOp::create(rewriter, loc, begin, size),
        getValueOrCreateConstantIndexOp(rewriter, loc, lengths[axis]));
    spans[axis] = {begin, end};
  }

  auto answers = emit(ids, spans[0], spans[1]);
  if (failed(answers))
    return failure();
  writeElements(rewriter, forall, ids, {answers->first, answers->second});
  return BlockMinMax{forall.getResult(0), forall.getResult(1), dependence,
                     questions.partRows};
}

/// Fills the tables of one range.
static FailureOr<BlockMinMax> emitMinMax(RewriterBase &rewriter,
                                         const TileQuestions &questions,
                                         Operation &range,
                                         TileDependence dependence,
                                         const BlockMetadata &metadata) {
  auto emit = [&](ValueRange ids, TileSpan rows, TileSpan keys) {
    TileRows tile = {ids[0], ids[1], rows.begin, rows.end};
    return TileClasses(rewriter, questions, tile, metadata, questions.partRows)
        .emitRange(range, keys);
  };
  return emitTable(rewriter, questions, range.getLoc(), dependence,
                   range.getResult(0).getType(), emit);
}

LogicalResult mlir::attn::emitRangeTables(RewriterBase &rewriter,
                                          const TileQuestions &questions,
                                          BlockMetadata &metadata) {
  DenseMap<Value, TileDependence> dependence =
      getTileDependence(*questions.tiles);
  // A worker that has one loop over keys asks for nothing as it goes.
  bool ofRows = questions.schedule.hasSingleKeyLoop();
  for (Operation &range : questions.tiles->front()) {
    auto over = dyn_cast<RangeOverOp>(range);
    if (!over && !isa<RangeOp>(range))
      continue;
    TileDependence own = dependence.lookup(range.getResult(0));
    // A box of rows and keys is looked at where it is asked for; pairs are
    // evaluated once for all heads.
    bool isOfPairs = over && over.getLows().size() == 2;
    if (!isOfPairs && (own.rows ? own.keys || !ofRows : !own.keys))
      continue;
    FailureOr<BlockMinMax> minMax =
        emitMinMax(rewriter, questions, range, own, metadata);
    if (failed(minMax))
      return failure();
    metadata.ranges[&range] = *minMax;
  }
  return success();
}

FailureOr<BlockMetadata> mlir::attn::emitBlockMetadata(RewriterBase &rewriter,
                                                       OnlineAttentionOp op) {
  BlockMetadata metadata;
  if (gathersKeys(op)) {
    metadata.unions = emitKeyUnion(rewriter, op);
    return metadata;
  }
  if (!hasTileClasses(op))
    return metadata;
  if (failed(emitRangeTables(rewriter, op, metadata)))
    return failure();
  // This table is worth a launch only where another one needs it anyway.
  if (op.getScheduleAttr().hasSingleKeyLoop() && !metadata.ranges.empty() &&
      failed(emitNeededTiles(rewriter, op, metadata)))
    return failure();
  return metadata;
}

std::pair<Value, Value>
mlir::attn::readBlockMinMax(OpBuilder &builder, Location loc,
                            const BlockMinMax &minMax, const TileRows &rows,
                            int64_t numRows, Value keyTile) {
  ScalarBuilder b(loc, builder);
  auto read = [&](Value part) -> std::pair<Value, Value> {
    SmallVector<Value, 4> indices = {
        minMax.dependence.batch ? rows.batch : b.index(0),
        minMax.dependence.head ? rows.head : b.index(0)};
    if (part)
      indices.push_back(part);
    if (minMax.dependence.keys)
      indices.push_back(keyTile);
    return {tensor::ExtractOp::create(builder, loc, minMax.min, indices),
            tensor::ExtractOp::create(builder, loc, minMax.max, indices)};
  };
  if (!minMax.dependence.rows)
    return read(Value());
  Value first = b.divU(rows.row, minMax.partRows);
  int64_t numParts = numRows / minMax.partRows;
  if (numParts == 1)
    return read(first);
  // There may be fewer rows; where there are none, of a warpgroup beyond the
  // end, any part will do.
  Value last = b.divU(b.sub(rows.rowEnd, 1), minMax.partRows);
  auto [min, max] = read(b.minU(first, last));
  for (int64_t number : llvm::seq<int64_t>(1, numParts)) {
    auto [low, high] = read(b.minU(b.add(first, number), last));
    std::tie(min, max) = include(builder, loc, {min, max}, {low, high});
  }
  return {min, max};
}
