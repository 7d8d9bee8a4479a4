//===- TileBody.cpp - The program of one worker ---------------------------===//

#include "TileBody.h"
#include "GatheredKeys.h"
#include "KeyLists.h"
#include "TileClasses.h"
#include "TileScores.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/APFloat.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

static Value createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

static Value createNegativeInfinity(OpBuilder &builder, Location loc,
                                    Type type) {
  return createFloat(builder, loc, type, -INFINITY);
}

TileState mlir::attn::createNeutralState(OpBuilder &builder, Location loc,
                                         FloatType type, int64_t valueDim,
                                         int64_t numQueries) {
  auto rowType = VectorType::get({numQueries}, type);
  return {createFloat(builder, loc,
                      VectorType::get({valueDim, numQueries}, type), 0.0),
          createNegativeInfinity(builder, loc, rowType),
          createFloat(builder, loc, rowType, 0.0)};
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

static Value createRead(OpBuilder &builder, Location loc, VectorType type,
                        Value tensor, ArrayRef<Value> indices,
                        ArrayRef<unsigned> dims, ArrayRef<bool> inBounds) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(builder.getAffineDimExpr(dim));
  AffineMap map =
      AffineMap::get(indices.size(), 0, results, builder.getContext());
  Value padding = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  return vector::TransferReadOp::create(builder, loc, type, tensor, indices,
                                        padding, map, inBounds);
}

Value mlir::attn::readColumns(OpBuilder &builder, Location loc, Value tensor,
                              Layout layout, const TileRows &rows,
                              int64_t numQueries) {
  auto tensorType = cast<RankedTensorType>(tensor.getType());
  auto type = VectorType::get({tensorType.getDimSize(layout.d), numQueries},
                              tensorType.getElementType());
  Value zero = createIndex(builder, loc, 0);
  return createRead(builder, loc, type, tensor,
                    layout.arrange(rows.batch, rows.head, rows.row, zero),
                    {layout.d, layout.s}, {true, false});
}

Value mlir::attn::readRows(OpBuilder &builder, Location loc, Value tensor,
                           Layout layout, const TileRows &rows,
                           int64_t numQueries) {
  auto type =
      VectorType::get({numQueries}, getElementTypeOrSelf(tensor.getType()));
  return createRead(builder, loc, type, tensor,
                    layout.arrangeRows(rows.batch, rows.head, rows.row),
                    {layout.rowDim(layout.s)}, {false});
}

/// `value` converted to element type `type`.
static Value convertFloat(OpBuilder &builder, Location loc, Value value,
                          Type type) {
  Type source = getElementTypeOrSelf(value.getType());
  if (source == type)
    return value;
  Type target = type;
  if (auto vector = dyn_cast<VectorType>(value.getType()))
    target = vector.clone(type);
  if (source.getIntOrFloatBitWidth() < type.getIntOrFloatBitWidth())
    return arith::ExtFOp::create(builder, loc, target, value);
  return arith::TruncFOp::create(builder, loc, target, value);
}

//===----------------------------------------------------------------------===//
// Key loops
//===----------------------------------------------------------------------===//

namespace {
/// Emits the loops over the keys for one tile of queries.
class KeyLoops {
public:
  KeyLoops(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
           const TileSummaries &summaries, BoundsCheckSites *sites)
      : builder(builder), op(op), attention(op), rows(rows),
        summaries(summaries), sites(sites), loc(op.getLoc()),
        accType(attention.getAccumulatorType()), schedule(op.getScheduleAttr()),
        numQueries(schedule.getTileM()), numKeys(schedule.getTileN()) {}

  FailureOr<TileState> emit(TileState state);

private:
  /// Bounds of the keys that the rows need; see the `blocks` region.
  struct Bounds {
    Value lo, fullLo, fullHi, hi;
  };

  void emitPrologue();
  FailureOr<Bounds> emitBounds();
  /// Whether a tile of keys needs the predicate.
  enum class Predicate { Never, Always, ByTile };

  FailureOr<TileState> emitLoop(Value lo, Value hi, Predicate predicate,
                                TileState state);
  std::pair<Value, Value> emitNeededRange(Value lo, Value hi);
  /// One loop that asks the `tiles` region about each tile.
  FailureOr<TileState> emitLoopByClass(Value lo, Value hi, TileState state);
  FailureOr<TileState> emitStep(Value key, Predicate predicate,
                                TileState state);
  FailureOr<Value> emitScores(Value key, bool masked, Value scores);
  FailureOr<Value> emitScoresByTile(Value key, Value scores);
  Value emitIsFull(Value key);

  Value index(int64_t value) { return createIndex(builder, loc, value); }
  Value emitBegin(const Bounds &bounds);
  Value roundDown(Value value) {
    Value tile = index(numKeys);
    return arith::MulIOp::create(
        builder, loc, arith::DivUIOp::create(builder, loc, value, tile), tile);
  }
  Value min(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value max(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  /// `base + offset[which] + step` as a vector of `length` indices.
  Value emitPositions(Value base, unsigned which, int64_t length);
  Value withOffset(Value local, unsigned which);

  OpBuilder &builder;
  OnlineAttentionOp op;
  AttentionLikeOpInterface attention;
  const TileRows &rows;
  const TileSummaries &summaries;
  BoundsCheckSites *sites;
  Location loc;
  FloatType accType;
  ScheduleAttrInterface schedule;
  int64_t numQueries, numKeys;

  // Set by emitPrologue.
  Value numAllKeys, keyBatch, keyHead, queries, queryPositions;
  TileValue rowActive;
  /// With Predicate::ByTile, the keys that all rows allow, or whether the tile
  /// is one that they do.
  Value fullLo, fullHi, tileIsFull;
};
} // namespace

Value KeyLoops::withOffset(Value local, unsigned which) {
  if (op.getOffsets().empty())
    return local;
  return arith::AddIOp::create(builder, loc, local, op.getOffsets()[which]);
}

Value KeyLoops::emitPositions(Value base, unsigned which, int64_t length) {
  auto type = VectorType::get({length}, builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, type);
  Value start =
      vector::BroadcastOp::create(builder, loc, type, withOffset(base, which));
  return arith::AddIOp::create(builder, loc, start, step);
}

/// What is computed once for the tile of queries.
void KeyLoops::emitPrologue() {
  KeyPlace place = emitKeyPlace(builder, op, rows);
  numAllKeys = place.numKeys;
  keyBatch = place.batch;
  keyHead = place.head;
  queries = convertFloat(builder, loc,
                         readColumns(builder, loc, op.getQuery(),
                                     attention.getLayout(0), rows, numQueries),
                         accType);
  queryPositions = emitPositions(rows.row, 2, numQueries);
  auto type = VectorType::get({numQueries}, builder.getIndexType());
  Value end = vector::BroadcastOp::create(builder, loc, type,
                                          withOffset(rows.rowEnd, 2));
  rowActive = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     queryPositions, end),
               TileKind::Query};
}

FailureOr<KeyLoops::Bounds> KeyLoops::emitBounds() {
  Region &blocks = op.getBlocks();
  if (!blocks.empty()) {
    // Unlike the mask, the bounds are computed even if no query needs them: no
    // read and no division may stop the process.
    RegionVectorizer values(builder, loc, numKeys, numQueries,
                            /*sites=*/nullptr);
    SmallVector<Value> arguments = {rows.batch, rows.head, rows.row,
                                    rows.rowEnd, numAllKeys};
    llvm::append_range(arguments, op.getCaptures());
    for (auto [argument, value] :
         llvm::zip_equal(blocks.getArguments(), arguments))
      values.set(argument, {value});
    for (Operation &inner : blocks.front().without_terminator())
      if (failed(values.emit(inner)))
        return failure();
    auto bound = [&](unsigned number) {
      return values.get(blocks.front().getTerminator()->getOperand(number))
          .value;
    };
    return Bounds{bound(0), bound(1), bound(2), bound(3)};
  }
  // Without a mask all keys are allowed.
  Value zero = index(0);
  return Bounds{zero, zero, numAllKeys, numAllKeys};
}

FailureOr<TileState> KeyLoops::emit(TileState state) {
  emitPrologue();
  if (hasTileClasses(op)) {
    if (op.getBlocks().empty())
      return emitLoopByClass(index(0), numAllKeys, state);
    FailureOr<Bounds> bounds = emitBounds();
    if (failed(bounds))
      return failure();
    return emitLoopByClass(emitBegin(*bounds), bounds->hi, state);
  }
  // Nothing known of the mask: the predicate is kept everywhere.
  if (op.getBlocks().empty() && !op.getMask().empty())
    return emitLoop(index(0), numAllKeys, Predicate::Always, state);
  FailureOr<Bounds> known = emitBounds();
  if (failed(known))
    return failure();
  const Bounds &bounds = *known;
  if (schedule.hasSingleKeyLoop()) {
    fullLo = bounds.fullLo;
    fullHi = bounds.fullHi;
    return emitLoop(emitBegin(bounds), bounds.hi, Predicate::ByTile, state);
  }
  // Tiles start at multiples of their size, so each tile has one class.
  Value begin = roundDown(bounds.lo);
  Value fullBegin = min(roundDown(arith::AddIOp::create(
                            builder, loc, bounds.fullLo, index(numKeys - 1))),
                        bounds.hi);
  FailureOr<TileState> result = state;
  if (matchPattern(bounds.fullLo, m_Zero())) {
    fullBegin = begin;
  } else {
    result = emitLoop(emitBegin(bounds), fullBegin, Predicate::Always, state);
  }
  Value fullEnd = max(roundDown(bounds.fullHi), fullBegin);
  if (succeeded(result))
    result = emitLoop(fullBegin, fullEnd, Predicate::Never, *result);
  if (succeeded(result))
    result = emitLoop(fullEnd, bounds.hi, Predicate::Always, *result);
  return result;
}

/// Where the loop over keys starts: at a multiple of the size of a tile.
Value KeyLoops::emitBegin(const Bounds &bounds) {
  Value begin = roundDown(bounds.lo);
  if (matchPattern(bounds.lo, m_Zero()))
    return begin;
  // Where no key is allowed, the loop must not start at the tile around lo.
  Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        bounds.lo, bounds.hi);
  return arith::SelectOp::create(builder, loc, isEmpty, bounds.hi, begin);
}

FailureOr<TileState> KeyLoops::emitLoop(Value lo, Value hi, Predicate predicate,
                                        TileState state) {
  return emitKeyLoop(builder, loc, lo, hi, index(numKeys), state,
                     [&](Value key, TileState before) {
                       return emitStep(key, predicate, before);
                     });
}

/// The part of the keys from `lo` to `hi` that has the tiles that are needed.
std::pair<Value, Value> KeyLoops::emitNeededRange(Value lo, Value hi) {
  Value tile =
      arith::DivUIOp::create(builder, loc, rows.row, index(numQueries));
  auto [first, last] = readTileSummary(builder, loc, *summaries.needed,
                                       rows.batch, rows.head, tile);
  auto getKey = [&](Value number) -> Value {
    Value position = arith::IndexCastOp::create(builder, loc,
                                                builder.getIndexType(), number);
    return arith::MulIOp::create(builder, loc, position, index(numKeys));
  };
  Value end = arith::AddIOp::create(builder, loc, getKey(last), index(numKeys));
  return {max(lo, getKey(first)), min(hi, end)};
}

FailureOr<TileState> KeyLoops::emitLoopByClass(Value lo, Value hi,
                                               TileState state) {
  TileClasses classes(builder, op, rows, summaries);
  if (failed(classes.emitRows()))
    return failure();
  if (summaries.needed)
    std::tie(lo, hi) = emitNeededRange(lo, hi);
  SmallVector<Value> inits = {state.acc, state.max, state.sum};
  auto loop = scf::ForOp::create(builder, loc, lo, hi, index(numKeys), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value key = loop.getInductionVar();
  Value whole = arith::AddIOp::create(builder, loc, key, index(numKeys));
  FailureOr<TileClasses::TileClass> tile =
      classes.emit(key, min(whole, numAllKeys));
  if (failed(tile))
    return failure();
  // The last, ragged tile has a predicate for the keys that there are not.
  Value isWhole = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                        whole, numAllKeys);
  Value isFull = arith::AndIOp::create(builder, loc, tile->must, isWhole);

  TileState before = {loop.getRegionIterArg(0), loop.getRegionIterArg(1),
                      loop.getRegionIterArg(2)};
  SmallVector<Type> types(ValueRange(inits).getTypes());
  auto emitYield = [&](const TileState &after) {
    scf::YieldOp::create(builder, loc,
                         ValueRange{after.acc, after.max, after.sum});
  };
  /// A choice between two steps, or a step and none.
  auto emitChoice =
      [&](Value condition, function_ref<FailureOr<TileState>()> yes,
          function_ref<FailureOr<TileState>()> no) -> FailureOr<TileState> {
    if (matchPattern(condition, m_Zero()))
      return no();
    auto branch = scf::IfOp::create(builder, loc, types, condition,
                                    /*withElseRegion=*/true);
    OpBuilder::InsertionGuard inBranch(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    FailureOr<TileState> then = yes();
    if (failed(then))
      return failure();
    emitYield(*then);
    builder.setInsertionPointToStart(branch.elseBlock());
    FailureOr<TileState> otherwise = no();
    if (failed(otherwise))
      return failure();
    emitYield(*otherwise);
    return TileState{branch.getResult(0), branch.getResult(1),
                     branch.getResult(2)};
  };
  bool isNeverFull = matchPattern(tile->must, m_Zero());
  FailureOr<TileState> after = emitChoice(
      tile->may,
      [&] {
        if (schedule.hasSingleKeyLoop()) {
          tileIsFull = isFull;
          return emitStep(
              key, isNeverFull ? Predicate::Always : Predicate::ByTile, before);
        }
        return emitChoice(
            isNeverFull ? tile->must : isFull,
            [&] { return emitStep(key, Predicate::Never, before); },
            [&] { return emitStep(key, Predicate::Always, before); });
      },
      [&] { return FailureOr<TileState>(before); });
  if (failed(after))
    return failure();
  emitYield(*after);
  return TileState{loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

FailureOr<TileState> KeyLoops::emitStep(Value key, Predicate predicate,
                                        TileState state) {
  auto read = [&](Value tensor, Layout layout) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Value tile =
        createRead(builder, loc,
                   VectorType::get({numKeys, type.getDimSize(layout.d)},
                                   type.getElementType()),
                   tensor, layout.arrange(keyBatch, keyHead, key, index(0)),
                   {layout.s, layout.d}, {predicate == Predicate::Never, true});
    return convertFloat(builder, loc, tile, accType);
  };

  auto scoreType = VectorType::get({numKeys, numQueries}, accType);
  Value products = contractTiles(
      builder, loc, read(op.getKey(), attention.getLayout(1)), queries,
      createFloat(builder, loc, scoreType, 0.0), /*isTransposed=*/false);
  FailureOr<Value> scores =
      predicate == Predicate::ByTile
          ? emitScoresByTile(key, products)
          : emitScores(key, predicate == Predicate::Always, products);
  if (failed(scores))
    return failure();
  auto step = OnlineStepOp::create(builder, loc, *scores, state.acc, state.max,
                                   state.sum);
  Value acc = contractTiles(
      builder, loc, read(op.getValue(), attention.getLayout(2)),
      step.getProbabilities(), step.getNewAcc(), /*isTransposed=*/true);
  return TileState{acc, step.getNewMax(), step.getNewSum()};
}

FailureOr<Value> KeyLoops::emitScores(Value key, bool masked, Value products) {
  RegionVectorizer vectorizer(builder, loc, numKeys, numQueries, sites);
  TilePairs pairs;
  pairs.batch = {withOffset(rows.batch, 0)};
  pairs.head = {withOffset(rows.head, 1)};
  pairs.query = {queryPositions, TileKind::Query};
  pairs.key = {emitPositions(key, 3, numKeys), TileKind::Key};
  pairs.active = rowActive;
  if (masked) {
    Value end = vector::BroadcastOp::create(
        builder, loc, pairs.key.value.getType(), withOffset(numAllKeys, 3));
    pairs.allowed = {arith::CmpIOp::create(builder, loc,
                                           arith::CmpIPredicate::slt,
                                           pairs.key.value, end),
                     TileKind::Key};
  }
  // Tiles start at multiples of their size, unless they count from elsewhere.
  for (Region *region : {&op.getMask(), &op.getScore()}) {
    if (region->empty() || !op.getOffsets().empty())
      continue;
    unsigned first = region == &op.getMask() ? 2 : 3;
    vectorizer.setStart(region->getArgument(first), rows.row, numQueries);
    vectorizer.setStart(region->getArgument(first + 1), key, numKeys);
  }
  return emitTileScores(builder, op, vectorizer, pairs, products,
                        TileKind::Tile);
}

/// Whether all pairs of a tile are allowed.
Value KeyLoops::emitIsFull(Value key) {
  if (tileIsFull)
    return tileIsFull;
  Value end = arith::AddIOp::create(builder, loc, key, index(numKeys));
  Value isFull = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sle,
                                       end, fullHi);
  if (!matchPattern(fullLo, m_Zero())) {
    Value isBehind = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, key, fullLo);
    isFull = arith::AndIOp::create(builder, loc, isBehind, isFull);
  }
  return isFull;
}

/// The scores with the predicate or without, whichever the tile needs.
FailureOr<Value> KeyLoops::emitScoresByTile(Value key, Value products) {
  auto branch =
      scf::IfOp::create(builder, loc, products.getType(), emitIsFull(key),
                        /*withElseRegion=*/true);
  for (bool masked : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(masked ? branch.elseBlock()
                                            : branch.thenBlock());
    FailureOr<Value> scores = emitScores(key, masked, products);
    if (failed(scores))
      return failure();
    auto yield = scf::YieldOp::create(builder, loc, *scores);
    if (masked)
      yield->setAttr(kMaskedAttrName, builder.getUnitAttr());
  }
  return branch.getResult(0);
}

FailureOr<TileState> mlir::attn::emitKeyLoops(
    OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
    TileState state, const TileSummaries &summaries, BoundsCheckSites *sites) {
  if (summaries.unions)
    return emitGatheredLoop(builder, op, rows, state, summaries.unions, sites);
  if (hasKeyLists(op))
    return emitKeyListLoop(builder, op, rows, state, sites);
  return KeyLoops(builder, op, rows, summaries, sites).emit(state);
}

//===----------------------------------------------------------------------===//
// Finalize
//===----------------------------------------------------------------------===//

SmallVector<Value> mlir::attn::emitFinalize(OpBuilder &builder, Location loc,
                                            TileState state, Type elementType,
                                            bool wantLse) {
  Type rowType = state.sum.getType();
  Value zero = createFloat(builder, loc, rowType, 0.0);
  Value one = createFloat(builder, loc, rowType, 1.0);
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        state.sum, zero);
  // Rows without an allowed key: acc is 0, so any finite factor gives 0.
  Value divisor =
      arith::SelectOp::create(builder, loc, isEmpty, one, state.sum);
  Value factor = arith::DivFOp::create(builder, loc, one, divisor);
  Value factors =
      vector::BroadcastOp::create(builder, loc, state.acc.getType(), factor);
  Value o = arith::MulFOp::create(builder, loc, state.acc, factors);
  SmallVector<Value> results = {convertFloat(builder, loc, o, elementType)};
  if (wantLse) {
    constexpr double ln2 = 0.69314718055994530942;
    Value log = math::Log2Op::create(builder, loc, divisor);
    Value lse = arith::MulFOp::create(
        builder, loc, arith::AddFOp::create(builder, loc, state.max, log),
        createFloat(builder, loc, rowType, ln2));
    results.push_back(arith::SelectOp::create(
        builder, loc, isEmpty, createNegativeInfinity(builder, loc, rowType),
        lse));
  }
  return results;
}
