//===- TileScores.cpp - Scores of a tile ----------------------------------===//

#include "TileScores.h"
#include "DiagonalScores.h"
#include "attn/Analysis/Diagonals.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

FailureOr<TileLoopOp> mlir::attn::emitKeyLoop(
    OpBuilder &builder, Location loc, Value lo, Value hi, int64_t step,
    TileState state,
    function_ref<FailureOr<TileState>(Value, TileState)> body) {
  auto loop = TileLoopOp::create(builder, loc, lo, hi, step,
                                 ValueRange{state.acc, state.max, state.sum});
  loop.setOnline(true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&loop.getBody().front());
  FailureOr<TileState> next =
      body(loop.getInductionVar(), {loop.getRegionIterArg(TileLoopOp::Acc),
                                    loop.getRegionIterArg(TileLoopOp::Max),
                                    loop.getRegionIterArg(TileLoopOp::Sum)});
  if (failed(next))
    return failure();
  YieldOp::create(builder, loc, ValueRange{next->acc, next->max, next->sum});
  return loop;
}

TileState mlir::attn::getState(TileLoopOp loop) {
  return {loop.getResult(TileLoopOp::Acc), loop.getResult(TileLoopOp::Max),
          loop.getResult(TileLoopOp::Sum)};
}

FailureOr<TileState>
mlir::attn::emitSoftmaxSteps(OpBuilder &builder, OnlineAttentionOp op,
                             const ScoreForm &form, TileState state,
                             function_ref<FailureOr<Value>()> emitScores,
                             function_ref<FailureOr<Value>()> emitWeights,
                             function_ref<Value()> loadValues, Value factors) {
  Location loc = op.getLoc();
  auto emitSoftmax = [&]() -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> scores = emitScores();
    if (failed(scores))
      return failure();
    auto step = OnlineStepOp::create(
        builder, loc, *scores, state.acc, state.max, state.sum, factors,
        op.getRescale(), llvm::APFloat(form.factor));
    SmallVector<Value> results(step.getResults());
    if (!getWeight(op))
      return results;
    // Sums are those of probabilities without weights. Both have the shape that
    // weights are computed in.
    FailureOr<Value> weights = emitWeights();
    if (failed(weights))
      return failure();
    Type tile = results[0].getType();
    auto cast = [&](Value value, Type type) -> Value {
      return value.getType() == type
                 ? value
                 : vector::ShapeCastOp::create(builder, loc, type, value);
    };
    results[0] =
        cast(arith::MulFOp::create(
                 builder, loc, cast(results[0], weights->getType()), *weights),
             tile);
    return results;
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

//===----------------------------------------------------------------------===//
// Predicates
//===----------------------------------------------------------------------===//

namespace {
/// The conditions of a mask, which all have to hold: bounds of positions of
/// keys, and others.
struct TileConditions {
  SmallVector<TileValue> positions, others;

  void add(Value condition, RegionVectorizer &vectorizer);
};
} // namespace

/// Adds a condition of a region, whose parts have been computed.
void TileConditions::add(Value condition, RegionVectorizer &vectorizer) {
  TileValue tile = vectorizer.get(condition);
  auto both = condition.getDefiningOp<arith::AndIOp>();
  if (both && !tile.limit.keys) {
    add(both.getLhs(), vectorizer);
    add(both.getRhs(), vectorizer);
    return;
  }
  auto compare = condition.getDefiningOp<arith::CmpIOp>();
  bool isBound = compare &&
                 compare.getPredicate() != arith::CmpIPredicate::eq &&
                 compare.getPredicate() != arith::CmpIPredicate::ne;
  bool isOnPositions =
      tile.limit.keys || (isBound && compare.getLhs().getType().isIndex() &&
                          isAlong(tile.kind, TileKind::Key));
  (isOnPositions ? positions : others).push_back(tile);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

/// Takes positive constants off a score, as the exponent is rounded once. Each
/// of them is a normal number, and so is their product.
ScoreForm::ScoreForm(OnlineAttentionOp op) : bias(getKeyBias(op)) {
  if (bias && op.getScheduleAttr().spreadsDiagonals() &&
      !Diagonals(op).values.empty())
    bias.reset();
  auto isFactor = [](double factor) {
    return factor > 0 && std::isnormal(static_cast<float>(factor));
  };
  if (!changesScores(op)) {
    double scale = op.getScale().convertToDouble() * llvm::numbers::log2e;
    factor = isFactor(scale) ? scale : 1;
    return;
  }
  value = op.getScore().front().getTerminator()->getOperand(0);
  factor = llvm::numbers::log2e;
  // That of a bias is counted with the bias.
  if (bias)
    return;
  while (auto multiply = value.getDefiningOp<arith::MulFOp>()) {
    FloatAttr constant;
    bool isSecond = matchPattern(multiply.getRhs(), m_Constant(&constant));
    if (!isSecond && !matchPattern(multiply.getLhs(), m_Constant(&constant)))
      break;
    double own = constant.getValueAsDouble();
    if (!isFactor(own) || !isFactor(factor * own))
      break;
    value = isSecond ? multiply.getLhs() : multiply.getRhs();
    factor *= own;
  }
}

namespace {
/// Emits the scores of one tile.
class ScoreEmitter {
public:
  ScoreEmitter(OpBuilder &builder, OnlineAttentionOp op, const ScoreForm &form,
               RegionVectorizer &vectorizer, const TilePairs &pairs,
               TileKind kind)
      : builder(builder), op(op), form(form), vectorizer(vectorizer),
        pairs(pairs), kind(kind), loc(op.getLoc()),
        arguments({pairs.batch, pairs.head, pairs.query, pairs.key}) {
    for (Value capture : op.getCaptures())
      arguments.push_back({capture});
    if (pairs.keyEnd)
      vectorizer.setKeyEnd(pairs.keyEnd);
  }

  FailureOr<Value> emit(Value products);
  FailureOr<Value> emitWeights(Value products);

private:
  LogicalResult emitConditions();
  FailureOr<TileValue> emitActive();
  FailureOr<Value> emitScore(Value products, TileValue active);
  LogicalResult emitDiagonals();
  TileValue getActive(TileValue allowed) {
    return pairs.active.value ? vectorizer.logicalAnd(pairs.active, allowed)
                              : allowed;
  }
  Value multiply(Value value, double factor) {
    if (factor == 1.0)
      return value;
    return arith::MulFOp::create(
        builder, loc, value,
        createFloat(builder, loc, value.getType(), factor));
  }

  OpBuilder &builder;
  OnlineAttentionOp op;
  const ScoreForm &form;
  RegionVectorizer &vectorizer;
  const TilePairs &pairs;
  TileKind kind;
  Location loc;
  SmallVector<TileValue> arguments;
  /// Which pairs there are keys for, and which of all the mask allows, too.
  TileValue exist, allowed;
  /// Those of `allowed` but for the number of keys, if the last tile alone is
  /// to ask for that; or null.
  TileValue allowedOfKeys;
};
} // namespace

/// Computes which keys there are, and which pairs the mask allows. Conditions
/// on positions take few operations, and fewer together.
LogicalResult ScoreEmitter::emitConditions() {
  exist = pairs.allowed;
  if (pairs.keyEnd)
    exist = vectorizer.compare(arith::CmpIPredicate::slt, pairs.key,
                               {pairs.keyEnd});
  allowed = exist;
  if (op.getMask().empty())
    return success();
  FailureOr<TileValue> mask =
      vectorizer.run(op.getMask(), arguments, getActive(exist));
  if (failed(mask))
    return failure();
  TileConditions conditions;
  conditions.add(op.getMask().front().getTerminator()->getOperand(0),
                 vectorizer);
  bool isLimit = exist.limit.keys != nullptr;
  if (!isLimit)
    conditions.others.insert(conditions.others.begin(), exist);
  // Conditions on keys alone are few, where reads ask for all of them or no
  // tile asks for the number of keys.
  if (conditions.others.empty() ||
      ((!pairs.keyEnd || pairs.guardReads) &&
       !isAlong(join(exist.kind, mask->kind), TileKind::Query))) {
    allowed = vectorizer.logicalAnd(exist, *mask);
    return success();
  }
  auto join = [&](ArrayRef<TileValue> parts) {
    TileValue result;
    for (const TileValue &part : parts)
      result = result.value ? vectorizer.logicalAnd(result, part) : part;
    return result;
  };
  if (isLimit)
    conditions.positions.insert(conditions.positions.begin(), exist);
  // Limits are one comparison if there is nothing else on positions.
  bool areLimits =
      llvm::all_of(conditions.positions, [&](const TileValue &condition) {
        return condition.limit.keys == conditions.positions.front().limit.keys;
      });
  if (!areLimits)
    for (TileValue &condition : conditions.positions)
      condition.limit = {};
  // Beside conditions of other kinds alone, the last tile asks for the number
  // of keys.
  if (pairs.keyEnd && conditions.positions.size() == 1)
    allowedOfKeys = join(conditions.others);
  llvm::append_range(conditions.positions, conditions.others);
  allowed = join(conditions.positions);
  return success();
}

/// What pairs of a diagonal share, where keys and queries follow each other.
LogicalResult ScoreEmitter::emitDiagonals() {
  if (kind != TileKind::Tile || !pairs.spreadsDiagonals)
    return success();
  return attn::emitDiagonals(builder, op, arguments, vectorizer);
}

FailureOr<Value> ScoreEmitter::emitScore(Value products, TileValue active) {
  double scale = op.getScale().convertToDouble();
  if (pairs.factor)
    products = arith::MulFOp::create(
        builder, loc, products,
        vector::BroadcastOp::create(builder, loc, products.getType(),
                                    pairs.factor));
  if (!form.value)
    return form.factor == 1 ? multiply(products, scale * llvm::numbers::log2e)
                            : products;
  auto emitPlain = [&]() -> FailureOr<Value> {
    SmallVector<TileValue> scoreArguments = {{multiply(products, scale), kind}};
    llvm::append_range(scoreArguments, arguments);
    if (failed(emitDiagonals()) ||
        failed(vectorizer.run(op.getScore(), scoreArguments, active)))
      return failure();
    return vectorizer.broadcast(vectorizer.get(form.value), kind);
  };
  if (!pairs.bias)
    return emitPlain();
  FailureOr<Value> offset = pairs.bias->emitOffset(builder, pairs.key.start);
  if (failed(offset))
    return failure();
  int64_t numKeys = cast<VectorType>(products.getType()).getDimSize(0);
  Value last = arith::AddIOp::create(
      builder, loc, pairs.key.start,
      arith::ConstantIndexOp::create(builder, loc, numKeys - 1));
  FailureOr<AffineBias::Slope> slope =
      pairs.bias->emitSlope(builder, pairs.key.start, last);
  if (failed(slope))
    return failure();
  FailureOr<Value> keys =
      pairs.bias->emitKeys(builder, pairs.key, numKeys, pairs.keyEnd);
  if (failed(keys))
    return failure();
  auto scores =
      AffineScoresOp::create(builder, loc, products, pairs.bias->getFactor(),
                             slope->slope, *offset, *keys, slope->where);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&scores.getPlain().front());
  FailureOr<Value> plain = emitPlain();
  if (failed(plain))
    return failure();
  YieldOp::create(builder, loc, *plain);
  return scores.getResult();
}

/// The pairs that a score may read for, with the conditions if those guard its
/// reads.
FailureOr<TileValue> ScoreEmitter::emitActive() {
  TileValue active = pairs.active;
  if (pairs.guardReads) {
    if (failed(emitConditions()))
      return failure();
    active = getActive(allowed);
  }
  return active.value ? active : vectorizer.getTrue();
}

FailureOr<Value> ScoreEmitter::emit(Value products) {
  FailureOr<TileValue> active = emitActive();
  if (failed(active))
    return failure();
  FailureOr<Value> scores = emitScore(products, *active);
  if (failed(scores))
    return failure();
  auto mask = MaskTileOp::create(builder, loc, *scores);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&mask.getAllowed().front());
  if (!pairs.guardReads && failed(emitConditions()))
    return failure();
  if (allowedOfKeys.value) {
    mask.getFirstMutable().assign(pairs.key.start);
    mask.getEndMutable().assign(pairs.keyEnd);
    allowed = allowedOfKeys;
  }
  YieldOp::create(builder, loc, vectorizer.broadcast(allowed, kind));
  return mask.getResult();
}

FailureOr<Value> ScoreEmitter::emitWeights(Value products) {
  FailureOr<TileValue> active = emitActive();
  if (failed(active))
    return failure();
  SmallVector<TileValue> scoreArguments = {{}};
  if (weightReadsScore(op))
    scoreArguments = {
        {multiply(products, op.getScale().convertToDouble()), kind}};
  llvm::append_range(scoreArguments, arguments);
  if (failed(emitDiagonals()))
    return failure();
  FailureOr<TileValue> weights =
      vectorizer.run(op.getScore(), scoreArguments, *active, /*result=*/1);
  if (failed(weights))
    return failure();
  return vectorizer.broadcast(*weights, kind);
}

FailureOr<Value> mlir::attn::emitTileWeights(OpBuilder &builder,
                                             OnlineAttentionOp op,
                                             const ScoreForm &form,
                                             RegionVectorizer &vectorizer,
                                             const TilePairs &pairs,
                                             Value products, TileKind kind) {
  return ScoreEmitter(builder, op, form, vectorizer, pairs, kind)
      .emitWeights(products);
}

FailureOr<Value> mlir::attn::emitTileScores(OpBuilder &builder,
                                            OnlineAttentionOp op,
                                            const ScoreForm &form,
                                            RegionVectorizer &vectorizer,
                                            const TilePairs &pairs,
                                            Value products, TileKind kind) {
  return ScoreEmitter(builder, op, form, vectorizer, pairs, kind)
      .emit(products);
}
