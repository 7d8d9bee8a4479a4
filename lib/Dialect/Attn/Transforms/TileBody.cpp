//===- TileBody.cpp - The program of one worker ---------------------------===//

#include "TileBody.h"
#include "GatheredKeys.h"
#include "KeyLists.h"
#include "TileClasses.h"
#include "TileScores.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
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

TileState mlir::attn::createFirstState(OpBuilder &builder, Location loc,
                                       FloatType type, int64_t valueDim,
                                       int64_t numQueries, double max) {
  auto rowType = VectorType::get({numQueries}, type);
  return {createFloat(builder, loc,
                      VectorType::get({valueDim, numQueries}, type), 0.0),
          createFloat(builder, loc, rowType, max),
          createFloat(builder, loc, rowType, 0.0)};
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value mlir::attn::createRead(OpBuilder &builder, Location loc, VectorType type,
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

  LogicalResult emitPrologue();
  FailureOr<Bounds> emitBounds();
  std::pair<Value, Value> emitNeededRange(Value lo, Value hi);
  /// Says of tiles what the `tiles` region says.
  LogicalResult emitClasses(TileLoopOp loop, TileClasses &classes);
  /// Says that tiles within bounds are full.
  void emitInterval(TileLoopOp loop, const Bounds &bounds);
  FailureOr<TileState> emitTile(Value key, TileState state);
  FailureOr<Value> emitScores(Value key, Value products);

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
  TileValue emitPositions(Value base, unsigned which, TileKind kind);
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
  Value numAllKeys, keyBatch, keyHead, queries;
  TileValue queryPositions, rowActive;
  std::optional<AffineBias> bias;
  /// Whether some tiles need no predicate.
  bool hasFull = false;
};
} // namespace

Value KeyLoops::withOffset(Value local, unsigned which) {
  if (op.getOffsets().empty())
    return local;
  return arith::AddIOp::create(builder, loc, local, op.getOffsets()[which]);
}

/// From a position in the whole on.
TileValue KeyLoops::emitPositions(Value base, unsigned which, TileKind kind) {
  Value start = withOffset(base, which);
  int64_t length = kind == TileKind::Key ? numKeys : numQueries;
  return {attn::emitPositions(builder, loc, start, length), kind, start};
}

/// What is computed once for the tile of queries.
LogicalResult KeyLoops::emitPrologue() {
  KeyPlace place = emitKeyPlace(builder, op, rows);
  numAllKeys = place.numKeys;
  keyBatch = place.batch;
  keyHead = place.head;
  queries = convertFloat(builder, loc,
                         readColumns(builder, loc, op.getQuery(),
                                     attention.getLayout(0), rows, numQueries),
                         accType);
  queryPositions = emitPositions(rows.row, 2, TileKind::Query);
  auto type = VectorType::get({numQueries}, builder.getIndexType());
  Value end = vector::BroadcastOp::create(builder, loc, type,
                                          withOffset(rows.rowEnd, 2));
  rowActive = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     queryPositions.value, end),
               TileKind::Query};
  // Reads that are checked are those of each pair.
  std::optional<KeyBias> keyBias = sites ? std::nullopt : getKeyBias(op);
  double factor =
      keyBias ? keyBias->factor * op.getScale().convertToDouble() : 0;
  if (!(factor > 0) || !std::isfinite(factor))
    return success();
  bias.emplace(op, *keyBias, TileValue{withOffset(rows.batch, 0)},
               TileValue{withOffset(rows.head, 1)}, queryPositions, numQueries);
  return bias->emitSlope(builder);
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

/// Whether some pair of a tile may be allowed, and whether all are, as the
/// `tiles` region yields it.
static OperandRange getTileClass(OnlineAttentionOp op) {
  return op.getTiles().front().getTerminator()->getOperands();
}

FailureOr<TileState> KeyLoops::emit(TileState state) {
  if (failed(emitPrologue()))
    return failure();
  bool hasClasses = hasTileClasses(op);
  // Nothing may be known of the mask.
  bool isBounded = !op.getBlocks().empty() || op.getMask().empty();
  Bounds bounds = {index(0), Value(), Value(), numAllKeys};
  if (isBounded) {
    FailureOr<Bounds> known = emitBounds();
    if (failed(known))
      return failure();
    bounds = *known;
  }
  Value lo = emitBegin(bounds), hi = bounds.hi;
  std::optional<TileClasses> classes;
  if (hasClasses) {
    classes.emplace(builder, op, rows, summaries);
    if (failed(classes->emitRows()))
      return failure();
    if (summaries.needed)
      std::tie(lo, hi) = emitNeededRange(lo, hi);
  }
  hasFull =
      hasClasses ? !matchPattern(getTileClass(op)[1], m_Zero()) : isBounded;
  FailureOr<TileLoopOp> loop = emitKeyLoop(
      builder, loc, lo, hi, numKeys, state,
      [&](Value key, TileState before) { return emitTile(key, before); });
  if (failed(loop))
    return failure();
  if (hasClasses) {
    if (failed(emitClasses(*loop, *classes)))
      return failure();
  } else if (hasFull) {
    emitInterval(*loop, bounds);
  }
  return getState(*loop);
}

/// Where the loop over keys starts: at a multiple of the size of a tile.
Value KeyLoops::emitBegin(const Bounds &bounds) {
  if (matchPattern(bounds.lo, m_Zero()))
    return bounds.lo;
  Value begin = roundDown(bounds.lo);
  // Where no key is allowed, the loop must not start at the tile around lo.
  Value isEmpty = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                        bounds.lo, bounds.hi);
  return arith::SelectOp::create(builder, loc, isEmpty, bounds.hi, begin);
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

/// Emits what a class region yields, which `emit` makes of the start of a tile.
static LogicalResult emitClass(OpBuilder &builder, TileLoopOp loop,
                               Region &region,
                               function_ref<FailureOr<Value>(Value)> emit) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.addClass(region));
  FailureOr<Value> yielded = emit(region.getArgument(0));
  if (succeeded(yielded))
    YieldOp::create(builder, loop.getLoc(), *yielded);
  return failure(failed(yielded));
}

LogicalResult KeyLoops::emitClasses(TileLoopOp loop, TileClasses &classes) {
  auto emitEnd = [&](Value key) -> Value {
    return arith::AddIOp::create(builder, loc, key, index(numKeys));
  };
  auto emitNeeded = [&](Value key) -> FailureOr<Value> {
    FailureOr<TileClasses::TileClass> tile =
        classes.emit(key, min(emitEnd(key), numAllKeys));
    if (failed(tile))
      return failure();
    return tile->may;
  };
  auto emitFull = [&](Value key) -> FailureOr<Value> {
    Value end = emitEnd(key);
    FailureOr<TileClasses::TileClass> tile =
        classes.emit(key, min(end, numAllKeys));
    if (failed(tile))
      return failure();
    // The last, ragged tile has a predicate for the keys that there are not.
    Value isWhole = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle, end, numAllKeys);
    return arith::AndIOp::create(builder, loc, tile->must, isWhole).getResult();
  };
  if (!matchPattern(getTileClass(op)[0], m_One()) &&
      failed(emitClass(builder, loop, loop.getNeeded(), emitNeeded)))
    return failure();
  if (hasFull && failed(emitClass(builder, loop, loop.getFull(), emitFull)))
    return failure();
  return success();
}

void KeyLoops::emitInterval(TileLoopOp loop, const Bounds &bounds) {
  loop.getFullLowerMutable().assign(bounds.fullLo);
  loop.getFullUpperMutable().assign(bounds.fullHi);
  (void)emitClass(
      builder, loop, loop.getFull(), [&](Value key) -> FailureOr<Value> {
        Value end = arith::AddIOp::create(builder, loc, key, index(numKeys));
        Value isFull = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sle, end, bounds.fullHi);
        if (matchPattern(bounds.fullLo, m_Zero()))
          return isFull;
        Value isBehind = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, key, bounds.fullLo);
        return arith::AndIOp::create(builder, loc, isBehind, isFull)
            .getResult();
      });
  if (isLastAlonePartial(op, rows))
    loop.setOnlyLastPartial(true);
}

FailureOr<TileState> KeyLoops::emitTile(Value key, TileState state) {
  auto read = [&](Value tensor, Layout layout) {
    auto type = cast<RankedTensorType>(tensor.getType());
    Value tile =
        createRead(builder, loc,
                   VectorType::get({numKeys, type.getDimSize(layout.d)},
                                   type.getElementType()),
                   tensor, layout.arrange(keyBatch, keyHead, key, index(0)),
                   {layout.s, layout.d}, {false, true});
    return convertFloat(builder, loc, tile, accType);
  };
  Value keys = emitStep(builder, loc, "load_k", [&] {
    return read(op.getKey(), attention.getLayout(1));
  });
  Value products = emitStep(builder, loc, "qk", [&] {
    auto type = VectorType::get({numKeys, numQueries}, accType);
    return contractTiles(builder, loc, keys, queries,
                         createFloat(builder, loc, type, 0.0),
                         /*isTransposed=*/false);
  });
  return emitSoftmaxSteps(
      builder, op, state, [&] { return emitScores(key, products); },
      [&] { return read(op.getValue(), attention.getLayout(2)); });
}

FailureOr<Value> KeyLoops::emitScores(Value key, Value products) {
  RegionVectorizer vectorizer(builder, loc, numKeys, numQueries, sites);
  TilePairs pairs;
  pairs.batch = {withOffset(rows.batch, 0)};
  pairs.head = {withOffset(rows.head, 1)};
  pairs.query = queryPositions;
  pairs.key = emitPositions(key, 3, TileKind::Key);
  pairs.active = rowActive;
  pairs.bias = bias ? &*bias : nullptr;
  pairs.keyEnd = withOffset(numAllKeys, 3);
  // What is read under a predicate is not checked elsewhere.
  pairs.guardReads = sites || !hasFull;
  // Tiles start at multiples of their size, unless they count from elsewhere,
  // or those of queries from the end.
  bool areRowsAligned = schedule.getRowAlignment() % numQueries == 0;
  for (Region *region : {&op.getMask(), &op.getScore()}) {
    if (region->empty() || !op.getOffsets().empty())
      continue;
    unsigned first = region == &op.getMask() ? 2 : 3;
    if (areRowsAligned)
      vectorizer.setStart(region->getArgument(first), rows.row, numQueries);
    vectorizer.setStart(region->getArgument(first + 1), key, numKeys);
  }
  return emitTileScores(builder, op, vectorizer, pairs, products,
                        TileKind::Tile);
}

FailureOr<TileState> mlir::attn::emitKeyLoops(
    OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
    TileState state, const TileSummaries &summaries, BoundsCheckSites *sites) {
  if (summaries.unions)
    return emitGatheredLoop(builder, op, rows, state, summaries.unions, sites);
  if (isa<RowScheduleAttr>(op.getScheduleAttr()))
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
