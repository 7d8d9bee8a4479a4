//===- BlockMetadata.cpp - Ranges of captures for KV blocks ---------------===//

#include "BlockMetadata.h"
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
// One range
//===----------------------------------------------------------------------===//

std::pair<Value, Value> mlir::attn::createEnds(OpBuilder &builder, Location loc,
                                               Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt min = APInt::getSignedMinValue(width),
        max = APInt::getSignedMaxValue(width);
  if (width == 1)
    std::swap(min, max);
  auto create = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  return {create(min), create(max)};
}

/// The least and the largest of what they were and of `element`.
static std::pair<Value, Value> include(OpBuilder &builder, Location loc,
                                       Value min, Value max, Value element) {
  if (element.getType().isInteger(1))
    return {arith::AndIOp::create(builder, loc, min, element),
            arith::OrIOp::create(builder, loc, max, element)};
  return {arith::MinSIOp::create(builder, loc, min, element),
          arith::MaxSIOp::create(builder, loc, max, element)};
}

/// Whether `high` is `low` + 1 over any tile.
static bool isSingle(Value low, Value high, const TileQuestions &questions) {
  auto add = high.getDefiningOp<arith::AddIOp>();
  if (!add || !matchPattern(add.getRhs(), m_One()))
    return false;
  if (add.getLhs() == low)
    return true;
  // Both ends of a tile over the extent of a block, where a tile lies in one.
  Operation *first = low.getDefiningOp(), *last = add.getLhs().getDefiningOp();
  std::optional<int64_t> divisor = getDivisor(first);
  if (!divisor || divisor != getDivisor(last))
    return false;
  auto end = last->getOperand(0).getDefiningOp<arith::SubIOp>();
  if (!end || !matchPattern(end.getRhs(), m_One()))
    return false;
  auto isTile = [&](unsigned number, int64_t size) {
    return first->getOperand(0) == questions.tiles->getArgument(number) &&
           end.getLhs() == questions.tiles->getArgument(number + 1) &&
           *divisor % size == 0;
  };
  return isTile(2, questions.numQueries) || isTile(4, questions.numKeys);
}

SmallVector<bool> mlir::attn::getSingleDims(RangeOp range,
                                            const TileQuestions &questions) {
  SmallVector<bool> result;
  for (auto [low, high] : llvm::zip_equal(range.getLows(), range.getHighs()))
    result.push_back(isSingle(low, high, questions));
  return result;
}

std::pair<Value, Value> mlir::attn::emitRange(OpBuilder &builder, Location loc,
                                              Value source, ValueRange lows,
                                              ValueRange highs,
                                              ArrayRef<bool> isSingle) {
  Type type = getElementTypeOrSelf(source.getType());
  auto [least, most] = createEnds(builder, loc, type);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value isInside =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    isInside = arith::AndIOp::create(
        builder, loc, isInside,
        arith::CmpIOp::create(builder, loc, predicate, a, b));
  };
  for (auto [dim, low, high] : llvm::enumerate(lows, highs)) {
    Value extent = tensor::DimOp::create(builder, loc, source, dim);
    require(arith::CmpIPredicate::sge, low, zero);
    if (!isSingle[dim])
      require(arith::CmpIPredicate::slt, low, high);
    require(arith::CmpIPredicate::sle, high, extent);
  }

  // Around the read of one element a loop for each dimension along which there
  // may be more. That of the last one is outermost: threads that share it out
  // read next to each other.
  SmallVector<Value> indices(lows.begin(), lows.end());
  std::function<std::pair<Value, Value>(size_t, Value, Value)> emitLoops =
      [&](size_t numLeft, Value min, Value max) -> std::pair<Value, Value> {
    while (numLeft > 0 && isSingle[numLeft - 1])
      --numLeft;
    if (numLeft == 0) {
      Value element = tensor::ExtractOp::create(builder, loc, source, indices);
      return include(builder, loc, min, max, element);
    }
    size_t dim = numLeft - 1;
    auto loop = scf::ForOp::create(builder, loc, lows[dim], highs[dim], one,
                                   ValueRange{min, max});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    indices[dim] = loop.getInductionVar();
    auto [newMin, newMax] =
        emitLoops(dim, loop.getRegionIterArg(0), loop.getRegionIterArg(1));
    scf::YieldOp::create(builder, loc, ValueRange{newMin, newMax});
    return {loop.getResult(0), loop.getResult(1)};
  };
  // Nothing outside is read.
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isInside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto [min, max] = emitLoops(lows.size(), most, least);
  scf::YieldOp::create(builder, loc, ValueRange{min, max});
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, ValueRange{least, most});
  return {branch.getResult(0), branch.getResult(1)};
}

FailureOr<std::pair<Value, Value>>
mlir::attn::emitRangeOver(OpBuilder &builder, RangeOverOp range,
                          RegionVectorizer &values, bool isShared) {
  Location loc = range.getLoc();
  Type type = range.getMin().getType();
  auto [least, most] = createEnds(builder, loc, type);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Block &body = range.getBody().front();
  // Of queries and keys, the inner loop is that over keys, which lie next to
  // each other. Threads that share out the outer one read next to each other,
  // and compute once what belongs to their key, where that is over keys.
  SmallVector<unsigned> order =
      llvm::to_vector(llvm::seq<unsigned>(0, body.getNumArguments()));
  if (isShared)
    std::reverse(order.begin(), order.end());
  auto isInner = [&](Value value) {
    return value == body.getArgument(order.back()) && order.size() > 1;
  };
  SmallPtrSet<Operation *, 16> inner;
  for (Operation &op : body)
    op.walk([&](Operation *nested) {
      if (llvm::any_of(nested->getOperands(), [&](Value operand) {
            return isInner(operand) || inner.contains(operand.getDefiningOp());
          }))
        inner.insert(&op);
    });
  SmallVector<scf::ForOp, 2> loops;
  SmallVector<Value, 2> state = {most, least};
  OpBuilder::InsertionGuard guard(builder);
  auto enter = [&](unsigned number) {
    auto loop = scf::ForOp::create(
        builder, loc, values.get(range.getLows()[number]).value,
        values.get(range.getHighs()[number]).value, one, state);
    if (!loops.empty())
      scf::YieldOp::create(builder, loc, loop.getResults());
    builder.setInsertionPointToStart(loop.getBody());
    values.set(body.getArgument(number), {loop.getInductionVar()});
    state.assign(loop.getRegionIterArgs().begin(),
                 loop.getRegionIterArgs().end());
    loops.push_back(loop);
  };
  // Once some are true and some are not, no other matters.
  auto skipKnown = [&] {
    Value yes =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    Value isKnown = arith::AndIOp::create(
        builder, loc, arith::XOrIOp::create(builder, loc, state[0], yes),
        state[1]);
    auto branch =
        scf::IfOp::create(builder, loc, TypeRange{type, type}, isKnown,
                          /*withElseRegion=*/true);
    scf::YieldOp::create(builder, loc, branch.getResults());
    builder.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(builder, loc, state);
    builder.setInsertionPointToStart(branch.elseBlock());
  };
  for (unsigned number : order) {
    if (!loops.empty() && !isShared && type.isInteger(1))
      skipKnown();
    enter(number);
    bool isInnermost = number == order.back();
    for (Operation &op : body.without_terminator())
      if (inner.contains(&op) == isInnermost || order.size() == 1)
        if (failed(values.emit(op)))
          return failure();
  }
  auto [min, max] =
      include(builder, loc, state[0], state[1],
              values.get(body.getTerminator()->getOperand(0)).value);
  scf::YieldOp::create(builder, loc, ValueRange{min, max});
  return std::pair<Value, Value>(loops.front().getResult(0),
                                 loops.front().getResult(1));
}

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
    min = include(builder, loc, min, max, low).first;
    max = include(builder, loc, min, max, high).second;
  }
  return {min, max};
}
