//===- TileScores.cpp - Scores of a tile ----------------------------------===//

#include "TileScores.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::createFloat(OpBuilder &builder, Location loc, Type type,
                              double value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr attribute = FloatAttr::get(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value mlir::attn::contractTiles(OpBuilder &builder, Location loc, Value lhs,
                                Value rhs, Value acc, bool isTransposed) {
  AffineExpr row, query, inner;
  bindDims(builder.getContext(), row, query, inner);
  auto map = [&](AffineExpr a, AffineExpr b) {
    return AffineMap::get(3, 0, {a, b}, builder.getContext());
  };
  auto iterator = [&](vector::IteratorType type) {
    return vector::IteratorTypeAttr::get(builder.getContext(), type);
  };
  Attribute parallel = iterator(vector::IteratorType::parallel);
  Attribute reduction = iterator(vector::IteratorType::reduction);
  return vector::ContractionOp::create(
      builder, loc, lhs, rhs, acc,
      builder.getAffineMapArrayAttr(
          {isTransposed ? map(inner, row) : map(row, inner), map(inner, query),
           map(row, query)}),
      builder.getArrayAttr({parallel, parallel, reduction}));
}

Value mlir::attn::emitShared(OpBuilder &builder, Location loc, Value tensor,
                             unsigned number, Value position) {
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  int64_t extent = cast<RankedTensorType>(tensor.getType()).getDimSize(number);
  if (extent == 1)
    return index(0);
  if (!ShapedType::isDynamic(extent))
    return position;
  Value isOne = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::eq,
      tensor::DimOp::create(builder, loc, tensor, number), index(1));
  return arith::SelectOp::create(builder, loc, isOne, index(0), position);
}

FailureOr<TileLoopOp> mlir::attn::emitKeyLoop(
    OpBuilder &builder, Location loc, Value lo, Value hi, int64_t step,
    TileState state,
    function_ref<FailureOr<TileState>(Value, TileState)> body) {
  auto loop = TileLoopOp::create(builder, loc, lo, hi, step,
                                 ValueRange{state.acc, state.max, state.sum});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&loop.getBody().front());
  FailureOr<TileState> next =
      body(loop.getInductionVar(),
           {loop.getRegionIterArg(0), loop.getRegionIterArg(1),
            loop.getRegionIterArg(2)});
  if (failed(next))
    return failure();
  YieldOp::create(builder, loc, ValueRange{next->acc, next->max, next->sum});
  return loop;
}

TileState mlir::attn::getState(TileLoopOp loop) {
  return {loop.getResult(0), loop.getResult(1), loop.getResult(2)};
}

FailureOr<ValueRange>
mlir::attn::emitStep(OpBuilder &builder, Location loc, StringRef name,
                     function_ref<FailureOr<SmallVector<Value>>()> body) {
  // The types of the results are known when the body is.
  Block block;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    FailureOr<SmallVector<Value>> yielded = body();
    if (failed(yielded))
      return failure();
    YieldOp::create(builder, loc, *yielded);
  }
  auto step = StepOp::create(builder, loc, name,
                             block.getTerminator()->getOperandTypes());
  Block &stepBlock = step.getBody().front();
  stepBlock.getOperations().splice(stepBlock.end(), block.getOperations());
  return ValueRange(step.getResults());
}

Value mlir::attn::emitStep(OpBuilder &builder, Location loc, StringRef name,
                           function_ref<Value()> body) {
  auto emit = [&]() -> FailureOr<SmallVector<Value>> {
    return SmallVector<Value>{body()};
  };
  return emitStep(builder, loc, name, emit)->front();
}

FailureOr<TileState>
mlir::attn::emitSoftmaxSteps(OpBuilder &builder, OnlineAttentionOp op,
                             TileState state,
                             function_ref<FailureOr<Value>()> emitScores,
                             function_ref<Value()> loadValues) {
  Location loc = op.getLoc();
  auto emitSoftmax = [&]() -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> scores = emitScores();
    if (failed(scores))
      return failure();
    auto step = OnlineStepOp::create(builder, loc, *scores, state.acc,
                                     state.max, state.sum, op.getRescale());
    return SmallVector<Value>(step.getResults());
  };
  FailureOr<ValueRange> step = emitStep(builder, loc, "softmax", emitSoftmax);
  if (failed(step))
    return failure();
  Value probabilities = (*step)[0], acc = (*step)[1];
  Value values = emitStep(builder, loc, "load_v", loadValues);
  Value newAcc = emitStep(builder, loc, "pv", [&] {
    return contractTiles(builder, loc, values, probabilities, acc,
                         /*isTransposed=*/true);
  });
  return TileState{newAcc, (*step)[2], (*step)[3]};
}

KeyPlace mlir::attn::emitKeyPlace(OpBuilder &builder, OnlineAttentionOp op,
                                  const TileRows &rows) {
  AttentionLikeOpInterface attention = op;
  Location loc = op.getLoc();
  Layout qLayout = attention.getLayout(0), kLayout = attention.getLayout(1);
  auto dim = [&](Value tensor, unsigned number) -> Value {
    return tensor::DimOp::create(builder, loc, tensor, number);
  };
  KeyPlace place;
  place.numKeys = dim(op.getKey(), kLayout.s);
  // The batch of k and v is that of q, or 1 for all.
  place.batch = emitShared(builder, loc, op.getKey(), kLayout.b, rows.batch);
  Value group = arith::DivUIOp::create(
      builder, loc, dim(op.getQuery(), qLayout.h), dim(op.getKey(), kLayout.h));
  place.head = arith::DivUIOp::create(builder, loc, rows.head, group);
  return place;
}

FailureOr<Value> mlir::attn::emitTileScores(OpBuilder &builder,
                                            OnlineAttentionOp op,
                                            RegionVectorizer &vectorizer,
                                            const TilePairs &pairs,
                                            Value products, TileKind kind) {
  constexpr double log2e = 1.4426950408889634074;
  Location loc = op.getLoc();
  double scale = op.getScale().convertToDouble();
  auto multiply = [&](Value value, double factor) -> Value {
    if (factor == 1.0)
      return value;
    return arith::MulFOp::create(
        builder, loc, value,
        createFloat(builder, loc, value.getType(), factor));
  };
  SmallVector<TileValue> arguments = {pairs.batch, pairs.head, pairs.query,
                                      pairs.key};
  for (Value capture : op.getCaptures())
    arguments.push_back({capture});
  auto getActive = [&](TileValue allowed) {
    return pairs.active.value ? vectorizer.logicalAnd(pairs.active, allowed)
                              : allowed;
  };
  auto emitAllowed = [&]() -> FailureOr<TileValue> {
    TileValue exist = pairs.allowed;
    if (pairs.keyEnd) {
      Value end = vectorizer.broadcast({pairs.keyEnd}, pairs.key.kind);
      exist = {arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     pairs.key.value, end),
               pairs.key.kind};
    }
    if (op.getMask().empty())
      return exist;
    FailureOr<TileValue> mask =
        vectorizer.run(op.getMask(), arguments, getActive(exist));
    if (failed(mask))
      return failure();
    return vectorizer.logicalAnd(exist, *mask);
  };
  TileValue allowed;
  TileValue active = pairs.active;
  if (pairs.guardReads) {
    FailureOr<TileValue> known = emitAllowed();
    if (failed(known))
      return failure();
    allowed = *known;
    active = getActive(allowed);
  }
  if (!active.value)
    active = {
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true))};

  Value scores;
  if (op.getScore().empty()) {
    scores = multiply(products, scale * log2e);
  } else {
    SmallVector<TileValue> scoreArguments = {{multiply(products, scale), kind}};
    llvm::append_range(scoreArguments, arguments);
    FailureOr<TileValue> score =
        vectorizer.run(op.getScore(), scoreArguments, active);
    if (failed(score))
      return failure();
    scores = multiply(vectorizer.broadcast(*score, kind), log2e);
  }
  auto mask = MaskTileOp::create(builder, loc, scores);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&mask.getAllowed().front());
  if (!pairs.guardReads) {
    FailureOr<TileValue> known = emitAllowed();
    if (failed(known))
      return failure();
    allowed = *known;
  }
  YieldOp::create(builder, loc, vectorizer.broadcast(allowed, kind));
  return mask.getResult();
}
