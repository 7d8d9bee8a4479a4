//===- ConsumerScores.cpp - Scores and their softmax ----------------------===//

#include "Consumer.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// By how much the base-2 exponent of a maximum may grow before sums and
/// results are brought to it. Probabilities stay below 2^8 then.
static constexpr double kRescaleThreshold = 8;

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value Consumer::startScores(Value keys) {
  auto type = cast<hopper::TileType>(keys.getType());
  auto result = hopper::PendingType::get(
      builder.getContext(),
      getVectorType(type.getRows(), builder.getF32Type()));
  return hopper::MmaOp::create(builder, loc, result, queries, keys,
                               /*acc=*/Value(), /*rhs_transposed=*/false);
}

/// A positive factor that `scores` of the tile level have in common.
static Scores splitFactor(Value scores) {
  auto multiply = scores.getDefiningOp<arith::MulFOp>();
  DenseFPElementsAttr constant;
  if (multiply && matchPattern(multiply.getRhs(), m_Constant(&constant)) &&
      constant.isSplat()) {
    double value = constant.getSplatValue<APFloat>().convertToDouble();
    if (value > 0 && std::isfinite(value))
      return {multiply.getLhs(), value};
  }
  return {scores, 1};
}

/// `scores` of the tile level without their factor. Entries that are replaced
/// by -inf, which a positive factor keeps, are replaced after it.
FailureOr<Scores> Consumer::getScores(Value scores) {
  auto select = scores.getDefiningOp<arith::SelectOp>();
  DenseFPElementsAttr constant;
  bool isMasked =
      select && matchPattern(select.getFalseValue(), m_Constant(&constant)) &&
      constant.isSplat() && constant.getSplatValue<APFloat>().isInfinity() &&
      constant.getSplatValue<APFloat>().isNegative();
  Scores split = splitFactor(isMasked ? select.getTrueValue() : scores);
  FailureOr<Value> value = cloner.getVector(split.value, VectorKind::Both);
  if (failed(value))
    return failure();
  split.value = *value;
  if (!isMasked)
    return split;
  FailureOr<Value> condition =
      cloner.getVector(select.getCondition(), VectorKind::Both);
  if (failed(condition))
    return failure();
  split.value = arith::SelectOp::create(builder, loc, *condition, *value,
                                        splat(value->getType(), -INFINITY));
  return split;
}

/// Whether a value of the tile level depends on the product of keys and
/// queries; `seen` are values that are known not to.
bool mlir::attn::dependsOn(Value value, Value product, DenseSet<Value> &seen) {
  if (value == product)
    return true;
  Operation *op = value.getDefiningOp();
  return op && seen.insert(value).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, product, seen);
         });
}

/// Holds use `number` of the captures that come as tiles in registers.
void Consumer::emitCaptures(Value number) {
  for (auto [capture, channel] :
       llvm::zip_equal(program.captures, resources.captureChannels)) {
    const TileAccess &access = capture.access;
    Value vector = hopper::LoadFragmentOp::create(
        builder, loc, getVectorType(access.columns, access.elementType),
        getRows(get(channel, number)));
    release(channel, number);
    for (Value read : capture.reads)
      cloner.map(read, vector);
  }
}

/// Reads of captures that tiles without a predicate need, so that they are
/// under way while the product is computed.
LogicalResult Consumer::emitReads(Value key) {
  auto branch = program.step.getScores().getDefiningOp<scf::IfOp>();
  Block *block = branch ? branch.thenBlock() : program.keys.getBody();
  cloner.map(program.keys.getInductionVar(), key);
  for (auto gather : block->getOps<GatherOp>()) {
    DenseSet<Value> seen;
    if (!isa<VectorType>(gather.getType()) ||
        cloner.isMapped(gather.getResult()) ||
        cloner.isInvariant(gather.getResult()) ||
        dependsOn(gather.getResult(), program.product, seen))
      continue;
    // Along the queries alone nothing changes from tile to tile.
    if (failed(cloner.getVector(gather.getResult(), VectorKind::Key)))
      return failure();
  }
  return success();
}

FailureOr<Scores> Consumer::emitScores(Value product, Value key, bool isFirst) {
  cloner.map(program.product, product);
  scf::ForOp loop = program.keys;
  cloner.map(loop.getInductionVar(), key);
  Value scores = OnlineStepOp(program.step).getScores();
  auto branch = scores.getDefiningOp<scf::IfOp>();
  if (!branch)
    return getScores(scores);
  // The predicate is right for tiles of any class.
  if (isFirst)
    return getScores(branch.elseYield().getOperand(0));
  if (program.isOnlyLastPartial)
    return getScores(branch.thenYield().getOperand(0));
  own->map(loop.getInductionVar(), key);
  WorkerCloner::State ownState = own->save();
  FailureOr<Value> isFull = own->getScalar(branch.getCondition());
  own->restore(std::move(ownState));
  if (failed(isFull))
    return failure();
  auto type = product.getType();
  auto result = scf::IfOp::create(builder, loc, type, *isFull,
                                  /*withElseRegion=*/true);
  double factors[2];
  for (bool isElse : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isElse ? result.elseBlock()
                                            : result.thenBlock());
    WorkerCloner::State saved = cloner.save();
    cloner.setRarelyRun(isElse);
    FailureOr<Scores> side = getScores(
        (isElse ? branch.elseYield() : branch.thenYield()).getOperand(0));
    cloner.setRarelyRun(false);
    cloner.restore(std::move(saved));
    if (failed(side))
      return failure();
    factors[isElse] = side->factor;
    scf::YieldOp::create(builder, loc, side->value);
  }
  if (factors[0] != factors[1])
    return branch.emitError("expects scores with one factor");
  return Scores{result.getResult(0), factors[0]};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The maximum, or 0 where there is no key yet.
Value Consumer::emitSafeMax(Value max) {
  Value none = splat(max.getType(), -INFINITY);
  Value isNone =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, max, none);
  return arith::SelectOp::create(builder, loc, isNone, splat(max.getType(), 0),
                                 max);
}

/// 2^(factor * scores + shift).
Value Consumer::emitProbabilities(Scores scores, Value shift) {
  Type type = scores.value.getType();
  Value exponent =
      fma(scores.value, splat(type, scores.factor), broadcast(shift, type));
  return math::Exp2Op::create(builder, loc, exponent);
}

SoftmaxState Consumer::emitFirstSoftmax(Scores scores) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  SoftmaxState state;
  state.max =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  Value shift = mul(emitSafeMax(state.max), splat(rowType, -scores.factor));
  Value p = emitProbabilities(scores, shift);
  state.sum = hopper::ReduceOp::create(builder, loc, sumType, "add", p);
  state.probabilities = p;
  return state;
}

SoftmaxState Consumer::emitSoftmax(Scores scores, Value &pendingAcc,
                                   SoftmaxState state) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  Value tileMax =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  Value growth = mul(arith::SubFOp::create(builder, loc, tileMax, state.max),
                     splat(rowType, scores.factor));
  Value grows =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, growth,
                            splat(rowType, kRescaleThreshold));
  Value isNeeded = hopper::AnyOp::create(builder, loc, grows);
  Value larger = arith::MaxNumFOp::create(builder, loc, state.max, tileMax);
  SoftmaxState next;
  next.max = arith::SelectOp::create(builder, loc, isNeeded, larger, state.max);
  Value safeMax = emitSafeMax(next.max);
  Value shift = mul(safeMax, splat(rowType, -scores.factor));
  // Exactly 1 where the maximum is the same, so that no error adds up; 0 where
  // there was no key before.
  Value rescale = math::Exp2Op::create(
      builder, loc,
      mul(arith::SubFOp::create(builder, loc, state.max, safeMax),
          splat(rowType, scores.factor)));
  auto branch = scf::IfOp::create(builder, loc, pendingAcc.getType(), isNeeded,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value acc = wait(pendingAcc, 0);
    Value scaled = mul(acc, broadcast(rescale, acc.getType()));
    scf::YieldOp::create(
        builder, loc,
        hopper::InFlightOp::create(builder, loc, pendingAcc.getType(), scaled)
            .getResult());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, pendingAcc);
  }
  pendingAcc = branch.getResult(0);
  Value p = emitProbabilities(scores, shift);
  Value tileSum = hopper::ReduceOp::create(builder, loc, sumType, "add", p);
  next.sum = fma(state.sum, broadcast(rescale, sumType), tileSum);
  next.probabilities = p;
  return next;
}
