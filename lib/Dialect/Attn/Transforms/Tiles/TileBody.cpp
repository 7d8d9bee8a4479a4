//===- TileBody.cpp - The program of one worker ---------------------------===//

#include "TileBody.h"
#include "RowTerms.h"
#include "Sparsity/GatheredKeys.h"
#include "Sparsity/KeyLists.h"
#include "TileClasses.h"
#include "TileScores.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Constants
//===----------------------------------------------------------------------===//

TileState mlir::attn::createFirstState(OpBuilder &builder, Location loc,
                                       FloatType type, int64_t valueDim,
                                       int64_t numQueries, double max) {
  auto rowType = VectorType::get({numQueries}, type);
  FloatAttr from = std::isinf(max) ? FloatAttr() : builder.getF64FloatAttr(max);
  auto start = OnlineStartOp::create(
      builder, loc, VectorType::get({valueDim, numQueries}, type), rowType,
      rowType, from);
  return {start.getAcc(), start.getMax(), start.getSum()};
}

//===----------------------------------------------------------------------===//
// Key loops
//===----------------------------------------------------------------------===//

namespace {
/// Emits the loops over the keys for one Q block.
class KeyLoops {
public:
  KeyLoops(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
           const BlockMetadata &metadata, BoundsCheckSites *sites)
      : builder(builder), op(op), attention(op), form(op), rows(rows),
        metadata(metadata), sites(sites), loc(op.getLoc()),
        accType(attention.getAccumulatorType()), schedule(op.getScheduleAttr()),
        numQueries(schedule.getTileM()), numKeys(schedule.getTileN()) {}

  FailureOr<TileState> emit(TileState state);

private:
  LogicalResult emitPrologue();
  std::pair<Value, Value> emitNeededRange(Value lo, Value hi);
  /// Says of tiles what the `tiles` region says.
  LogicalResult emitClasses(TileLoopOp loop, TileClasses &classes);
  FailureOr<TileState> emitTile(Value key, TileState state);
  TilePairs getPairs(Value key);
  RegionVectorizer createVectorizer(Value key);

  Value index(int64_t value) { return createIndex(builder, loc, value); }
  Value min(Value a, Value b) {
    return arith::MinSIOp::create(builder, loc, a, b);
  }
  Value max(Value a, Value b) {
    return arith::MaxSIOp::create(builder, loc, a, b);
  }
  TileValue emitPositions(Value base, unsigned which, TileKind kind);
  Value withOffset(Value local, unsigned which) {
    return attn::withOffset(builder, op, local, which);
  }

  OpBuilder &builder;
  OnlineAttentionOp op;
  AttentionLikeOpInterface attention;
  ScoreForm form;
  const TileRows &rows;
  const BlockMetadata &metadata;
  BoundsCheckSites *sites;
  Location loc;
  FloatType accType;
  ScheduleAttrInterface schedule;
  int64_t numQueries, numKeys;

  // Set by emitPrologue.
  Value numAllKeys, keyBatch, keyHead, queries;
  RowFactors factors;
  TileValue queryPositions, rowActive;
  std::optional<AffineBias> bias;
  /// Whether some tiles need no predicate.
  bool hasFull = false;
};
} // namespace

/// From a position in the whole on.
TileValue KeyLoops::emitPositions(Value base, unsigned which, TileKind kind) {
  Value start = withOffset(base, which);
  int64_t length = kind == TileKind::Key ? numKeys : numQueries;
  return {attn::emitPositions(builder, loc, start, length), kind, start};
}

/// What is computed once for the Q block.
LogicalResult KeyLoops::emitPrologue() {
  KeyPlace place = emitKeyPlace(builder, op, rows.batch, rows.head);
  numAllKeys = place.numKeys;
  keyBatch = place.batch;
  keyHead = place.head;
  queries = convertTile(builder, loc,
                        readColumns(builder, loc, op.getQuery(),
                                    attention.getLayout(0), rows, numQueries),
                        accType);
  FailureOr<RowFactors> ofRows = emitRowFactors(builder, op, rows);
  if (failed(ofRows))
    return failure();
  factors = *ofRows;
  if (factors.areNegative)
    queries =
        NegateQueriesOp::create(builder, loc, queries, factors.areNegative);
  queryPositions = emitPositions(rows.row, 2, TileKind::Query);
  auto type = VectorType::get({numQueries}, builder.getIndexType());
  Value end = vector::BroadcastOp::create(builder, loc, type,
                                          withOffset(rows.rowEnd, 2));
  rowActive = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     queryPositions.value, end),
               TileKind::Query};
  // Reads that are checked are those of each pair.
  if (sites || !form.bias)
    return success();
  double factor = form.bias->factor * op.getScale().convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return success();
  bias.emplace(op, *form.bias, TileValue{withOffset(rows.batch, 0)},
               TileValue{withOffset(rows.head, 1)}, queryPositions, numQueries);
  return bias->emitSlope(builder);
}

FailureOr<KeyBounds> mlir::attn::emitKeyBounds(OpBuilder &builder,
                                               OnlineAttentionOp op,
                                               const TileRows &rows,
                                               Value numKeys) {
  Location loc = op.getLoc();
  Region &blocks = op.getBlocks();
  Value zero = createIndex(builder, loc, 0);
  if (blocks.empty())
    return KeyBounds{zero, zero, numKeys, numKeys};
  // Unlike the mask, the bounds are computed even if no query needs them: no
  // read and no division may stop the process. They are numbers.
  RegionVectorizer values(builder, loc, /*numKeys=*/1, /*numQueries=*/1,
                          /*sites=*/nullptr);
  SmallVector<Value> arguments = {rows.batch, rows.head, rows.row, rows.rowEnd,
                                  numKeys};
  llvm::append_range(arguments, op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(blocks.getArguments(), arguments))
    values.set(argument, {value});
  for (Operation &inner : blocks.front().without_terminator())
    if (failed(values.emit(inner)))
      return failure();
  auto bound = [&](unsigned number) {
    return values.get(blocks.front().getTerminator()->getOperand(number)).value;
  };
  return KeyBounds{bound(0), bound(1), bound(2), bound(3)};
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
  FailureOr<KeyBounds> bounds = emitKeyBounds(builder, op, rows, numAllKeys);
  if (failed(bounds))
    return failure();
  Value lo = emitTileBegin(builder, loc, bounds->lo, bounds->hi, numKeys),
        hi = bounds->hi;
  std::optional<TileClasses> classes;
  if (hasClasses) {
    classes.emplace(builder, op, rows, metadata, numQueries);
    if (failed(classes->emitRows()))
      return failure();
    if (metadata.needed)
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
    emitFullWithin(builder, *loop, bounds->fullLo, bounds->fullHi);
    loop->setOnlyLastPartial(isLastAlonePartial(op, rows));
  }
  return getState(*loop);
}

/// The part of the keys from `lo` to `hi` that has the tiles that are needed.
std::pair<Value, Value> KeyLoops::emitNeededRange(Value lo, Value hi) {
  auto [first, last] = readBlockMinMax(builder, loc, *metadata.needed, rows,
                                       numQueries, /*keyTile=*/Value());
  auto getKey = [&](Value number) -> Value {
    Value position = arith::IndexCastOp::create(builder, loc,
                                                builder.getIndexType(), number);
    return arith::MulIOp::create(builder, loc, position, index(numKeys));
  };
  Value end = arith::AddIOp::create(builder, loc, getKey(last), index(numKeys));
  return {max(lo, getKey(first)), min(hi, end)};
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
      failed(emitTileClass(builder, loop, loop.getNeeded(), emitNeeded)))
    return failure();
  if (hasFull && failed(emitTileClass(builder, loop, loop.getFull(), emitFull)))
    return failure();
  return success();
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
    return convertTile(builder, loc, tile, accType);
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
  auto emitScores = [&] {
    RegionVectorizer vectorizer = createVectorizer(key);
    return emitTileScores(builder, op, form, vectorizer, getPairs(key),
                          products, TileKind::Tile);
  };
  auto emitWeights = [&] {
    RegionVectorizer vectorizer = createVectorizer(key);
    return emitTileWeights(builder, op, form, vectorizer, getPairs(key),
                           products, TileKind::Tile);
  };
  return emitSoftmaxSteps(
      builder, op, form, state, emitScores, emitWeights,
      [&] { return read(op.getValue(), attention.getLayout(2)); },
      factors.magnitudes);
}

/// The pairs of a tile.
TilePairs KeyLoops::getPairs(Value key) {
  TilePairs pairs;
  pairs.batch = {withOffset(rows.batch, 0)};
  pairs.head = {withOffset(rows.head, 1)};
  pairs.query = queryPositions;
  pairs.key = emitPositions(key, 3, TileKind::Key);
  pairs.active = rowActive;
  pairs.bias = bias ? &*bias : nullptr;
  pairs.keyEnd = withOffset(numAllKeys, 3);
  // Reads that are checked are those of each pair.
  pairs.spreadsDiagonals = !sites && schedule.spreadsDiagonals();
  // What is read under a predicate is not checked elsewhere.
  pairs.guardReads = sites || !hasFull;
  return pairs;
}

RegionVectorizer KeyLoops::createVectorizer(Value key) {
  RegionVectorizer vectorizer(builder, loc, numKeys, numQueries, sites);
  // Tiles start at multiples of their size, unless they count from elsewhere,
  // and those of queries at those of what is computed by itself.
  for (Region *region : {&op.getMask(), &op.getScore()}) {
    if (region->empty() || !op.getOffsets().empty())
      continue;
    unsigned first = region == &op.getMask() ? 2 : 3;
    vectorizer.setStart(region->getArgument(first), rows.row,
                        schedule.getRowAlignment(), numQueries);
    vectorizer.setStart(region->getArgument(first + 1), key, numKeys, numKeys);
  }
  return vectorizer;
}

static FailureOr<TileState>
emitAnyKeyLoops(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
                TileState state, const BlockMetadata &metadata,
                BoundsCheckSites *sites) {
  if (metadata.unions)
    return emitGatheredLoop(builder, op, rows, state, metadata.unions, sites);
  if (isa<RowScheduleAttr>(op.getScheduleAttr()))
    return emitKeyListLoop(builder, op, rows, state, sites);
  return KeyLoops(builder, op, rows, metadata, sites).emit(state);
}

FailureOr<TileState> mlir::attn::emitKeyLoops(
    OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
    TileState state, const BlockMetadata &metadata, BoundsCheckSites *sites) {
  if (!op.getRows().empty() && !state.acc.getDefiningOp<OnlineStartOp>())
    return op.emitError("expects an attention with a rows region to start from "
                        "a state without a key");
  FailureOr<TileState> after =
      emitAnyKeyLoops(builder, op, rows, state, metadata, sites);
  if (failed(after) || op.getRows().empty())
    return after;
  return emitRowTerms(builder, op, rows, *after);
}
