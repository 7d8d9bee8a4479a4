//===- KeyLists.cpp - The program of a query on its own -------------------===//
//
// A query with a list of keys is a tile of its own, of one column; so is any
// query if the schedule says so, with the keys between the bounds of its mask
// for a list. Steps of these that have no allowed key are passed over where
// bounds do not say all. The steps of the loop are those of a dense tile, but
// that the rows of keys and values are where the list says, so that they are
// gathered. Regions see the query as a scalar and the keys as a vector of
// positions.
//
//===----------------------------------------------------------------------===//

#include "KeyLists.h"
#include "KeyProducts.h"
#include "Tiles/RowTerms.h"
#include "Tiles/TileScores.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::hasKeyLists(AttentionLikeOpInterface op) {
  SparsityAttr sparsity = op.getSparsityAttr();
  return sparsity && sparsity.isLists() && sparsity.isElementwise();
}

namespace {
class KeyListLoop {
public:
  KeyListLoop(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
              BoundsCheckSites *sites)
      : builder(builder), op(op), attention(op), form(op), rows(rows),
        sites(sites), loc(op.getLoc()), accType(attention.getAccumulatorType()),
        numKeys(op.getScheduleAttr().getTileN()), captured(builder, op, rows) {}

  FailureOr<TileState> emit(TileState state);

private:
  /// The keys of a step.
  struct Keys {
    /// Positions in the whole and in `key`, vector<N>.
    Value positions, locals;
    /// Which of them there are, vector<N>.
    Value exist;
  };

  LogicalResult emitPrologue();
  LogicalResult emitBounds();
  Keys emitKeys(Value first);
  FailureOr<Value> emitNeeded(Value first);
  Value emitQuery();
  Value gatherRows(Value tensor, Layout layout, const Keys &keys);
  TilePairs getPairs(const Keys &keys);
  RegionVectorizer createVectorizer() const;
  FailureOr<TileState> emitTile(Value first, TileState state);

  Value index(int64_t value) { return createIndex(builder, loc, value); }
  Value dim(Value tensor, unsigned number) {
    return tensor::DimOp::create(builder, loc, tensor, number);
  }
  Value withOffset(Value local, unsigned which) {
    return attn::withOffset(builder, op, local, which);
  }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value castShape(Value value, ArrayRef<int64_t> shape) {
    auto type = VectorType::get(shape, getElementTypeOrSelf(value.getType()));
    return vector::ShapeCastOp::create(builder, loc, type, value);
  }
  Value toIndex(Value value) {
    Type type = builder.getIndexType();
    if (auto vector = dyn_cast<VectorType>(value.getType()))
      type = vector.clone(type);
    return arith::IndexCastOp::create(builder, loc, type, value);
  }
  Value extend(Value value) {
    return convertTile(builder, loc, value, accType);
  }

  OpBuilder &builder;
  OnlineAttentionOp op;
  AttentionLikeOpInterface attention;
  ScoreForm form;
  const TileRows &rows;
  BoundsCheckSites *sites;
  Location loc;
  FloatType accType;
  int64_t numKeys;

  // Set by emitPrologue.
  KeyPlace place;
  Value query;
  /// The part of the columns that is the list, or of the keys.
  Value begin, end;
  /// What all scores of the query are multiplied by, or null.
  Value factor;
  KeyProducts captured;
};
} // namespace

/// The query as vector<D x 1>.
Value KeyListLoop::emitQuery() {
  Value tensor = op.getQuery();
  Layout layout = attention.getLayout(0);
  auto type = cast<RankedTensorType>(tensor.getType());
  int64_t length = type.getDimSize(layout.d);
  Value read = createRead(
      builder, loc, VectorType::get({length}, type.getElementType()), tensor,
      layout.arrange(rows.batch, rows.head, rows.row, index(0)), {layout.d},
      {true});
  return castShape(extend(read), {length, 1});
}

/// Without a list, the keys between the bounds of the mask, in order.
LogicalResult KeyListLoop::emitBounds() {
  FailureOr<KeyBounds> bounds = emitKeyBounds(builder, op, rows, place.numKeys);
  if (failed(bounds))
    return failure();
  begin = emitTileBegin(builder, loc, bounds->lo, bounds->hi, numKeys);
  end = bounds->hi;
  return success();
}

LogicalResult KeyListLoop::emitPrologue() {
  place = emitKeyPlace(builder, op, rows.batch, rows.head);
  query = emitQuery();
  // Reads that are checked are single ones.
  if (!sites)
    captured.emitRows();
  if (!hasKeyLists(attention))
    return emitBounds();
  Value offsets = op.getSparsityOperands()[0];
  Value columns = op.getSparsityOperands()[1];
  int64_t rank = cast<RankedTensorType>(offsets.getType()).getRank();
  SmallVector<Value> position = {withOffset(rows.batch, 0),
                                 withOffset(rows.head, 1),
                                 withOffset(rows.row, 2)};
  position.erase(position.begin(), position.end() - rank);
  for (int64_t number = 0; number + 1 < rank; ++number)
    position[number] =
        emitShared(builder, loc, offsets, number, position[number]);
  Value always =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  auto read = [&] {
    return toIndex(GatherOp::create(builder, loc,
                                    getElementTypeOrSelf(offsets.getType()),
                                    offsets, position, always, IntegerAttr()));
  };
  Value first = read();
  position.back() =
      arith::AddIOp::create(builder, loc, position.back(), index(1));
  // Whatever the offsets are, the loop ends, and nothing else is read.
  begin = arith::MaxSIOp::create(builder, loc, first, index(0));
  end = arith::MinSIOp::create(builder, loc, read(), dim(columns, 0));
  return success();
}

KeyListLoop::Keys KeyListLoop::emitKeys(Value first) {
  auto type = VectorType::get({numKeys}, builder.getIndexType());
  Value numbers = emitPositions(builder, loc, first, numKeys);
  bool hasLists = hasKeyLists(attention);
  // The mask says which keys are between its bounds, and queries that are
  // computed together have all of them in common.
  Value inList =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, numbers,
                            broadcast(hasLists ? end : place.numKeys, type));
  if (!hasLists) {
    Value positions = numbers;
    if (!op.getOffsets().empty())
      positions = arith::AddIOp::create(builder, loc, numbers,
                                        broadcast(op.getOffsets()[3], type));
    return {positions, numbers, inList};
  }
  Value columns = op.getSparsityOperands()[1];
  auto listType =
      VectorType::get({numKeys}, getElementTypeOrSelf(columns.getType()));
  Keys keys;
  keys.positions = toIndex(GatherOp::create(
      builder, loc, listType, columns, first, inList, /*site=*/IntegerAttr(),
      /*rowDim=*/builder.getI64IntegerAttr(0), /*columnDim=*/IntegerAttr()));
  keys.locals = keys.positions;
  if (!op.getOffsets().empty())
    keys.locals = arith::SubIOp::create(builder, loc, keys.positions,
                                        broadcast(op.getOffsets()[3], type));
  // One unsigned comparison covers both ends.
  Value inKeys =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                            keys.locals, broadcast(place.numKeys, type));
  keys.exist = arith::AndIOp::create(builder, loc, inList, inKeys);
  return keys;
}

/// Rows of a tensor as vector<N x D>, 0 where there is no key.
Value KeyListLoop::gatherRows(Value tensor, Layout layout, const Keys &keys) {
  return extend(attn::gatherRows(builder, loc, tensor, layout, place,
                                 keys.locals, keys.exist));
}

/// The pairs of a tile of keys and the query.
TilePairs KeyListLoop::getPairs(const Keys &keys) {
  TilePairs pairs;
  pairs.batch = {withOffset(rows.batch, 0)};
  pairs.head = {withOffset(rows.head, 1)};
  pairs.query = {withOffset(rows.row, 2)};
  pairs.key = {keys.positions, TileKind::Key};
  pairs.allowed = {keys.exist, TileKind::Key};
  pairs.guardReads = true;
  pairs.factor = factor;
  return pairs;
}

RegionVectorizer KeyListLoop::createVectorizer() const {
  RegionVectorizer vectorizer(builder, loc, numKeys, /*numQueries=*/1, sites);
  vectorizer.setUnrolled();
  captured.set(vectorizer);
  return vectorizer;
}

/// Whether the mask allows a key of a step.
FailureOr<Value> KeyListLoop::emitNeeded(Value first) {
  RegionVectorizer vectorizer = createVectorizer();
  TilePairs pairs = getPairs(emitKeys(first));
  SmallVector<TileValue> arguments = {pairs.batch, pairs.head, pairs.query,
                                      pairs.key};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  FailureOr<TileValue> mask =
      vectorizer.run(op.getMask(), arguments, pairs.allowed);
  if (failed(mask))
    return failure();
  TileValue allowed = vectorizer.logicalAnd(pairs.allowed, *mask);
  return vector::ReductionOp::create(
             builder, loc, vector::CombiningKind::OR,
             vectorizer.broadcast(allowed, TileKind::Key))
      .getResult();
}

FailureOr<TileState> KeyListLoop::emitTile(Value first, TileState state) {
  auto emitOfList = [&]() -> FailureOr<SmallVector<Value>> {
    Keys keys = emitKeys(first);
    return SmallVector<Value>{keys.positions, keys.locals, keys.exist};
  };
  ValueRange positions = *emitStep(builder, loc, "positions", emitOfList);
  Keys keys = {positions[0], positions[1], positions[2]};
  Value rows = emitStep(builder, loc, "load_k", [&] {
    return gatherRows(op.getKey(), attention.getLayout(1), keys);
  });
  Value products = emitStep(builder, loc, "qk", [&] {
    auto type = VectorType::get({numKeys, 1}, accType);
    return contractTiles(builder, loc, rows, query,
                         createFloat(builder, loc, type, 0.0),
                         /*isTransposed=*/false);
  });
  captured.emit(keys.positions, keys.exist);
  auto emitColumn = [&]() -> FailureOr<Value> {
    RegionVectorizer vectorizer = createVectorizer();
    FailureOr<Value> scores =
        emitTileScores(builder, op, form, vectorizer, getPairs(keys),
                       castShape(products, {numKeys}), TileKind::Key);
    if (failed(scores))
      return failure();
    return castShape(*scores, {numKeys, 1});
  };
  auto emitWeights = [&] {
    RegionVectorizer vectorizer = createVectorizer();
    return emitTileWeights(builder, op, form, vectorizer, getPairs(keys),
                           castShape(products, {numKeys}), TileKind::Key);
  };
  return emitSoftmaxSteps(
      builder, op, form, state, emitColumn, emitWeights,
      [&] { return gatherRows(op.getValue(), attention.getLayout(2), keys); });
}

FailureOr<TileState> KeyListLoop::emit(TileState state) {
  if (failed(emitPrologue()))
    return failure();
  FailureOr<Value> ofRow = emitRowFactor(builder, op, rows);
  if (failed(ofRow))
    return failure();
  factor = *ofRow;
  FailureOr<TileLoopOp> loop = emitKeyLoop(
      builder, loc, begin, end, numKeys, state,
      [&](Value key, TileState before) { return emitTile(key, before); });
  if (failed(loop))
    return failure();
  // Reads that are checked are those of pairs.
  bool isBounded = op.getMask().empty() ||
                   (!op.getBlocks().empty() && op.getTiles().empty());
  if (!hasKeyLists(attention) && !isBounded && !sites &&
      failed(emitTileClass(builder, *loop, loop->getNeeded(),
                           [&](Value first) { return emitNeeded(first); })))
    return failure();
  return getState(*loop);
}

FailureOr<TileState> mlir::attn::emitKeyListLoop(OpBuilder &builder,
                                                 OnlineAttentionOp op,
                                                 const TileRows &rows,
                                                 TileState state,
                                                 BoundsCheckSites *sites) {
  return KeyListLoop(builder, op, rows, sites).emit(state);
}
