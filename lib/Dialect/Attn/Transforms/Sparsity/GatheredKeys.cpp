//===- GatheredKeys.cpp - Tiles of the keys in lists ----------------------===//
//
// Queries next to each other often have keys in common. A tile of them then
// computes with the keys that some of its lists hold, as a dense tile does with
// all keys, but that rows of keys and values are gathered. Positions in what is
// gathered say where a pair's bit is; regions see the positions of the keys.
//
//===----------------------------------------------------------------------===//

#include "GatheredKeys.h"
#include "Tiles/RowTerms.h"
#include "Tiles/TileScores.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn;

/// Bits of a position on a target whose schedules have one loop over keys.
static constexpr int64_t kPositionBits = 30;

bool mlir::attn::gathersKeys(OnlineAttentionOp op) {
  if (!op || !hasKeyLists(op))
    return false;
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  return schedule && !isa<RowScheduleAttr>(schedule) &&
         schedule.hasSingleKeyLoop();
}

KeyUnionOp mlir::attn::emitKeyUnion(RewriterBase &rewriter,
                                    OnlineAttentionOp op) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  Value rows = op.getSparsityOperands()[0],
        columns = op.getSparsityOperands()[1];
  auto getLength = [&](Value tensor, unsigned dim) -> Value {
    return tensor::DimOp::create(rewriter, loc, tensor, dim);
  };
  return KeyUnionOp::create(
      rewriter, loc,
      KeyUnionOp::getTableTypes(cast<ShapedType>(rows.getType()),
                                schedule.getTileM(), schedule.getTileN()),
      rows, columns, getLength(op.getQuery(), attention.getLayout(0).s),
      getLength(op.getKey(), attention.getLayout(1).s),
      /*into=*/ValueRange(), schedule.getTileM(), schedule.getTileN());
}

namespace {
class GatheredLoop {
public:
  GatheredLoop(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows,
               KeyUnionOp unions, BoundsCheckSites *sites)
      : builder(builder), op(op), attention(op), form(op), rows(rows),
        unions(unions), sites(sites), loc(op.getLoc()),
        accType(attention.getAccumulatorType()),
        numQueries(op.getScheduleAttr().getTileM()),
        numKeys(op.getScheduleAttr().getTileN()) {}

  FailureOr<TileState> emit(TileState state);

private:
  void emitPrologue();
  FailureOr<TileState> emitTile(Value key, TileState state);
  Value gatherRows(Value tensor, Layout layout, Value numbers);
  Value emitBits(Value page);
  Value poison(Value sum);

  Value index(int64_t value) { return createIndex(builder, loc, value); }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value broadcastKeys(Value value, int64_t columns) {
    auto type = cast<VectorType>(value.getType());
    Value column = vector::ShapeCastOp::create(
        builder, loc, VectorType::get({numKeys, 1}, type.getElementType()),
        value);
    return broadcast(
        column, VectorType::get({numKeys, columns}, type.getElementType()));
  }
  Value step(int64_t length) {
    return vector::StepOp::create(
        builder, loc, VectorType::get({length}, builder.getIndexType()));
  }
  Value splat(VectorType type, int64_t value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            type, builder.getIntegerAttr(type.getElementType(), value)));
  }
  Value extend(Value value) {
    return convertTile(builder, loc, value, accType);
  }
  /// What is outside of a table or tensor reads as 0.
  Value gather(Type type, Value source, ValueRange indices) {
    Value always =
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
    return GatherOp::create(builder, loc, type, source, indices, always,
                            IntegerAttr());
  }

  OpBuilder &builder;
  OnlineAttentionOp op;
  AttentionLikeOpInterface attention;
  ScoreForm form;
  const TileRows &rows;
  KeyUnionOp unions;
  BoundsCheckSites *sites;
  Location loc;
  FloatType accType;
  int64_t numQueries, numKeys;

  // Set by emitPrologue.
  KeyPlace place;
  Value queries;
  TilePairs pairs;
  /// The first page of the tile, and how many keys are on it and those after.
  Value firstPage, count;
};
} // namespace

void GatheredLoop::emitPrologue() {
  place = emitKeyPlace(builder, op, rows.batch, rows.head);
  queries = extend(readColumns(builder, loc, op.getQuery(),
                               attention.getLayout(0), rows, numQueries));
  Value positions = emitPositions(builder, loc, rows.row, numQueries);
  Value end = broadcast(rows.rowEnd, positions.getType());
  pairs.batch = {rows.batch};
  pairs.head = {rows.head};
  pairs.query = {positions, TileKind::Query, rows.row};
  pairs.active = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        positions, end),
                  TileKind::Query};

  Value places = unions.getTable(0);
  Value tile =
      arith::DivUIOp::create(builder, loc, rows.row, index(numQueries));
  auto read = [&](int64_t number) -> Value {
    Value element = tensor::ExtractOp::create(
        builder, loc, places,
        ValueRange{emitShared(builder, loc, places, 0, rows.batch),
                   emitShared(builder, loc, places, 1, rows.head), tile,
                   index(number)});
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      element);
  };
  firstPage = read(0);
  count = read(1);
}

/// The rows with these numbers as vector<N x D>, 0 where there is none.
Value GatheredLoop::gatherRows(Value tensor, Layout layout, Value numbers) {
  auto type = VectorType::get({numKeys}, builder.getI1Type());
  Value always = arith::ConstantOp::create(builder, loc,
                                           DenseElementsAttr::get(type, true));
  return extend(
      attn::gatherRows(builder, loc, tensor, layout, place, numbers, always));
}

/// Which pairs of a page the lists hold.
Value GatheredLoop::emitBits(Value page) {
  auto type = VectorType::get({numKeys, numQueries}, builder.getI32Type());
  Value keys = step(numKeys);
  Value size = splat(cast<VectorType>(keys.getType()), kWordKeys);
  Value word = broadcastKeys(arith::DivUIOp::create(builder, loc, keys, size),
                             numQueries);
  Value query = broadcast(step(numQueries), type.clone(builder.getIndexType()));
  Value words = gather(type, unions.getTable(2), ValueRange{page, word, query});
  Value place = arith::IndexCastOp::create(
      builder, loc, VectorType::get({numKeys}, builder.getI32Type()),
      arith::RemUIOp::create(builder, loc, keys, size));
  Value shifted = arith::ShRUIOp::create(builder, loc, words,
                                         broadcastKeys(place, numQueries));
  Value bits = arith::AndIOp::create(builder, loc, shifted, splat(type, 1));
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne, bits,
                               splat(type, 0));
}

FailureOr<TileState> GatheredLoop::emitTile(Value key, TileState state) {
  Value page = arith::AddIOp::create(
      builder, loc, firstPage,
      arith::DivUIOp::create(builder, loc, key, index(numKeys)));
  auto indexType = VectorType::get({numKeys}, builder.getIndexType());
  Value numbers = emitStep(builder, loc, "positions", [&]() -> Value {
    return arith::IndexCastOp::create(
        builder, loc, indexType,
        gather(indexType.clone(builder.getI32Type()), unions.getTable(1),
               ValueRange{page, step(numKeys)}));
  });
  Value keys = emitStep(builder, loc, "load_k", [&] {
    return gatherRows(op.getKey(), attention.getLayout(1), numbers);
  });
  Value products = emitStep(builder, loc, "qk", [&] {
    auto type = VectorType::get({numKeys, numQueries}, accType);
    return contractTiles(builder, loc, keys, queries,
                         createFloat(builder, loc, type, 0.0),
                         /*isTransposed=*/false);
  });
  RegionVectorizer vectorizer(builder, loc, numKeys, numQueries, sites);
  auto prepare = [&] {
    // So many bits that differences of positions fit 32. The number of all
    // keys, which is no key, may lose its one bit: no pair with it is allowed.
    Value positions = arith::AndIOp::create(
        builder, loc, numbers,
        splat(indexType, (int64_t(1) << kPositionBits) - 1));
    pairs.key = {positions, TileKind::Key};
    pairs.allowed = {emitBits(page), TileKind::Tile};
    pairs.guardReads = true;
    vectorizer.setKeyEnd(place.numKeys);
    for (Region *region : {&op.getMask(), &op.getScore()})
      if (!region->empty())
        vectorizer.setStart(
            region->getArgument(region == &op.getMask() ? 2 : 3), rows.row,
            op.getScheduleAttr().getRowAlignment(), numQueries);
  };
  auto emitScores = [&] {
    prepare();
    return emitTileScores(builder, op, form, vectorizer, pairs, products,
                          TileKind::Tile);
  };
  auto emitWeights = [&] {
    prepare();
    return emitTileWeights(builder, op, form, vectorizer, pairs, products,
                           TileKind::Tile);
  };
  return emitSoftmaxSteps(
      builder, op, form, state, emitScores, emitWeights, [&] {
        return gatherRows(op.getValue(), attention.getLayout(2), numbers);
      });
}

/// NaN for a tile whose keys are not known.
Value GatheredLoop::poison(Value sum) {
  auto type = cast<VectorType>(sum.getType());
  Value isUnknown = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::slt, count, index(0));
  Value nan =
      createFloat(builder, loc, type, std::numeric_limits<double>::quiet_NaN());
  return arith::SelectOp::create(
      builder, loc, broadcast(isUnknown, type.clone(builder.getI1Type())), nan,
      sum);
}

FailureOr<TileState> GatheredLoop::emit(TileState state) {
  emitPrologue();
  FailureOr<Value> factor = emitRowFactor(builder, op, rows);
  if (failed(factor))
    return failure();
  pairs.factor = *factor;
  FailureOr<TileLoopOp> loop = emitKeyLoop(
      builder, loc, index(0), count, numKeys, state,
      [&](Value place, TileState before) { return emitTile(place, before); });
  if (failed(loop))
    return failure();
  TileState after = getState(*loop);
  after.sum = poison(after.sum);
  return after;
}

FailureOr<TileState>
mlir::attn::emitGatheredLoop(OpBuilder &builder, OnlineAttentionOp op,
                             const TileRows &rows, TileState state,
                             KeyUnionOp unions, BoundsCheckSites *sites) {
  return GatheredLoop(builder, op, rows, unions, sites).emit(state);
}
