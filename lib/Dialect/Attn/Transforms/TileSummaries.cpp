//===- TileSummaries.cpp - Ranges of captures for tiles of keys -----------===//

#include "TileSummaries.h"
#include "GatheredKeys.h"
#include "RegionSlice.h"
#include "RegionVectorizer.h"
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

//===----------------------------------------------------------------------===//
// One range
//===----------------------------------------------------------------------===//

/// The ends of an integer type, with true as the largest i1.
static std::pair<Value, Value> createEnds(OpBuilder &builder, Location loc,
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

/// Whether `high` is `low` + 1 over any tile.
static bool isSingle(Value low, Value high, Region &tiles,
                     ScheduleAttrInterface schedule) {
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
    return first->getOperand(0) == tiles.getArgument(number) &&
           end.getLhs() == tiles.getArgument(number + 1) &&
           *divisor % size == 0;
  };
  return isTile(2, schedule.getTileM()) || isTile(4, schedule.getTileN());
}

SmallVector<bool> mlir::attn::getSingleDims(RangeOp range,
                                            ScheduleAttrInterface schedule) {
  SmallVector<bool> result;
  for (auto [low, high] : llvm::zip_equal(range.getLows(), range.getHighs()))
    result.push_back(isSingle(low, high, *range->getParentRegion(), schedule));
  return result;
}

std::pair<Value, Value> mlir::attn::emitRange(OpBuilder &builder, Location loc,
                                              Value source, ValueRange lows,
                                              ValueRange highs,
                                              ArrayRef<bool> isSingle) {
  Type type = getElementTypeOrSelf(source.getType());
  bool isBoolean = type.isInteger(1);
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
  // may be more.
  SmallVector<Value> indices;
  std::function<std::pair<Value, Value>(Value, Value)> emitLoops =
      [&](Value min, Value max) -> std::pair<Value, Value> {
    size_t dim = indices.size();
    if (dim == lows.size()) {
      Value element = tensor::ExtractOp::create(builder, loc, source, indices);
      if (isBoolean)
        return {arith::AndIOp::create(builder, loc, min, element),
                arith::OrIOp::create(builder, loc, max, element)};
      return {arith::MinSIOp::create(builder, loc, min, element),
              arith::MaxSIOp::create(builder, loc, max, element)};
    }
    indices.push_back(lows[dim]);
    if (isSingle[dim]) {
      auto result = emitLoops(min, max);
      indices.pop_back();
      return result;
    }
    auto loop = scf::ForOp::create(builder, loc, lows[dim], highs[dim], one,
                                   ValueRange{min, max});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    indices.back() = loop.getInductionVar();
    auto [newMin, newMax] =
        emitLoops(loop.getRegionIterArg(0), loop.getRegionIterArg(1));
    indices.pop_back();
    scf::YieldOp::create(builder, loc, ValueRange{newMin, newMax});
    return {loop.getResult(0), loop.getResult(1)};
  };
  // Nothing outside is read.
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isInside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto [min, max] = emitLoops(most, least);
  scf::YieldOp::create(builder, loc, ValueRange{min, max});
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, ValueRange{least, most});
  return {branch.getResult(0), branch.getResult(1)};
}

//===----------------------------------------------------------------------===//
// All tiles of keys
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

FailureOr<TileSummary> mlir::attn::emitTable(RewriterBase &rewriter,
                                             OnlineAttentionOp op, Location loc,
                                             TileDependence dependence,
                                             Type element, EmitElement emit) {
  AttentionLikeOpInterface attention = op;
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  int64_t tileSize =
      dependence.rows ? schedule.getTileM() : schedule.getTileN();
  Layout qLayout = attention.getLayout(0), kLayout = attention.getLayout(1);
  OpFoldResult length =
      dependence.rows
          ? tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.s)
          : tensor::getMixedSize(rewriter, loc, op.getKey(), kLayout.s);
  OpFoldResult one = rewriter.getIndexAttr(1);
  AffineExpr s0, s1;
  bindSymbols(rewriter.getContext(), s0, s1);
  SmallVector<OpFoldResult> sizes = {
      dependence.batch
          ? tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.b)
          : one,
      dependence.head
          ? tensor::getMixedSize(rewriter, loc, op.getQuery(), qLayout.h)
          : one,
      affine::makeComposedFoldedAffineApply(rewriter, loc, s0.ceilDiv(tileSize),
                                            {length})};
  SmallVector<Value> tables;
  for (unsigned which = 0; which < 2; ++which)
    tables.push_back(tensor::EmptyOp::create(rewriter, loc, sizes, element));
  SmallVector<Attribute> workers;
  for (int64_t dim = 0; dim < 3; ++dim)
    workers.push_back(WorkerAttr::get(rewriter.getContext(), dim));
  auto forall = scf::ForallOp::create(rewriter, loc, sizes, tables,
                                      rewriter.getArrayAttr(workers));
  forall->setDiscardableAttr(kScheduleAttrName, schedule);

  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids(forall.getInductionVars());
  Value size = arith::ConstantIndexOp::create(rewriter, loc, tileSize);
  Value begin = arith::MulIOp::create(rewriter, loc, ids[2], size);
  Value end = arith::MinSIOp::create(
      rewriter, loc, arith::AddIOp::create(rewriter, loc, begin, size),
      getValueOrCreateConstantIndexOp(rewriter, loc, length));

  auto answers = emit(ids, begin, end);
  if (failed(answers))
    return failure();
  Value zero = arith::ConstantIndexOp::create(rewriter, loc, 0);
  SmallVector<OpFoldResult> offsets(ids.begin(), ids.end());
  SmallVector<OpFoldResult> ones(3, one);
  Value values[] = {answers->first, answers->second};
  for (auto [table, value] :
       llvm::zip_equal(forall.getRegionIterArgs(), values)) {
    Value slice = tensor::ExtractSliceOp::create(rewriter, loc, table, offsets,
                                                 ones, ones);
    Value written = tensor::InsertOp::create(rewriter, loc, value, slice,
                                             ValueRange{zero, zero, zero});
    OpBuilder::InsertionGuard inParallel(rewriter);
    rewriter.setInsertionPointToEnd(forall.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(rewriter, loc, written, table,
                                          offsets, ones, ones);
  }
  return TileSummary{forall.getResult(0), forall.getResult(1), dependence};
}

/// Fills the tables of one range.
static FailureOr<TileSummary> emitSummary(RewriterBase &rewriter,
                                          OnlineAttentionOp op, RangeOp range,
                                          TileDependence dependence) {
  Location loc = range.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  auto emit = [&](ValueRange ids, Value begin,
                  Value end) -> FailureOr<std::pair<Value, Value>> {
    Region &tiles = op.getTiles();
    RegionVectorizer values(rewriter, loc, schedule.getTileN(),
                            schedule.getTileM(), /*sites=*/nullptr);
    // Of rows and keys, one is not asked for.
    SmallVector<Value> arguments = {ids[0], ids[1], begin, end, begin, end};
    llvm::append_range(arguments, op.getCaptures());
    for (auto [argument, value] :
         llvm::zip_equal(tiles.getArguments(), arguments))
      values.set(argument, {value});
    for (Operation *inner : getRegionSlice(tiles, range.getMin()))
      if (inner != range.getOperation() && failed(values.emit(*inner)))
        return failure();
    auto get = [&](OperandRange indices) {
      return llvm::map_to_vector(
          indices, [&](Value index) { return values.get(index).value; });
    };
    return emitRange(rewriter, loc, values.get(range.getSource()).value,
                     get(range.getLows()), get(range.getHighs()),
                     getSingleDims(range, schedule));
  };
  return emitTable(rewriter, op, loc, dependence, range.getMin().getType(),
                   emit);
}

FailureOr<TileSummaries> mlir::attn::emitTileSummaries(RewriterBase &rewriter,
                                                       OnlineAttentionOp op) {
  TileSummaries summaries;
  if (gathersKeys(op)) {
    summaries.unions = emitListUnions(rewriter, op);
    return summaries;
  }
  if (!hasTileClasses(op))
    return summaries;
  DenseMap<Value, TileDependence> dependence = getTileDependence(op.getTiles());
  // A worker that has one loop over keys asks for nothing as it goes.
  bool ofRows = op.getScheduleAttr().hasSingleKeyLoop();
  for (RangeOp range : op.getTiles().getOps<RangeOp>()) {
    TileDependence own = dependence.lookup(range.getMin());
    if (own.rows ? own.keys || !ofRows : !own.keys)
      continue;
    FailureOr<TileSummary> summary = emitSummary(rewriter, op, range, own);
    if (failed(summary))
      return failure();
    summaries.ranges[range] = *summary;
  }
  // Where something is launched before in any case.
  if (ofRows && !summaries.ranges.empty() &&
      failed(emitNeededTiles(rewriter, op, summaries)))
    return failure();
  return summaries;
}

std::pair<Value, Value> mlir::attn::readTileSummary(OpBuilder &builder,
                                                    Location loc,
                                                    const TileSummary &summary,
                                                    Value batch, Value head,
                                                    Value tile) {
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value indices[] = {summary.dependence.batch ? batch : zero,
                     summary.dependence.head ? head : zero, tile};
  return {tensor::ExtractOp::create(builder, loc, summary.min, indices),
          tensor::ExtractOp::create(builder, loc, summary.max, indices)};
}
