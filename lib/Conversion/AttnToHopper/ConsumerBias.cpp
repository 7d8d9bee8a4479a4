//===- ConsumerBias.cpp - A bias that is part of the product --------------===//
//
// Scores with a bias that is affine in the key (KeyBias.h), in base 2:
//
//   factor * (product + slope * n) + start       n: number of the key in a tile
//
// `product + slope * n` is a product of matrices: one more step of that of
// queries and keys, with the slopes in registers, which are the same for all
// tiles, and the numbers in shared memory. What the first key of the tile gets,
// `start`, is one number for each query, which goes where maxima do. So nothing
// is left to do for each score.
//
// A slope that is so large that the sum loses digits, or no number, is left out
// of the product, and the bias is computed for each score.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// What a bias may differ by within a tile, in base 2. Sums in the product err
/// by 2^-23 of that, 2^-13 here, which is far below what f16 rounds scores by.
static constexpr double kMostInTile = 1024;

/// What the first key may get, so that no shift is rounded by so much that what
/// is left overflows.
static constexpr double kMostStart = 0x1p30;

/// What f16 has with room for the sum of a product.
static constexpr double kMostInF16 = 0x1p14;

//===----------------------------------------------------------------------===//
// One number for each query
//===----------------------------------------------------------------------===//

/// A scalar as vector<1 x 64>.
Value Consumer::toRows(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return broadcast(value, getVectorType(1, value.getType()));
}

/// An operation on two scalars, or on rows where one of them is.
Value Consumer::emitOnRows(OperationName name, Value a, Value b) {
  if (isa<VectorType>(a.getType()) || isa<VectorType>(b.getType())) {
    a = toRows(a);
    b = toRows(b);
  }
  OperationState state(loc, name, {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

/// What a value is for the first key of a tile, with the key mapped.
FailureOr<Value> Consumer::emitStart(Value value, VectorKind kind) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return cloner.getScalar(value);
  if (type.getRank() == 1 && kind != VectorKind::Key)
    return cloner.getVector(value, VectorKind::Query);
  if (DenseElementsAttr elements;
      matchPattern(value, m_Constant(&elements)) && elements.isSplat())
    return Value(arith::ConstantOp::create(
        builder, loc, elements.getSplatValue<TypedAttr>()));
  Operation *op = value.getDefiningOp();
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
    return emitStart(cast.getSource(), VectorKind::Key);
  if (auto broadcast = dyn_cast<vector::BroadcastOp>(op))
    return emitStart(broadcast.getSource(), kind);
  if (isa<vector::StepOp>(op))
    return index(0);
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    FailureOr<Value> start = emitStart(operand, kind);
    if (failed(start))
      return failure();
    operands.push_back(*start);
  }
  if (operands.size() == 2)
    return emitOnRows(op->getName(), operands[0], operands[1]);
  Type result = type.getElementType();
  if (auto rows = dyn_cast<VectorType>(operands[0].getType()))
    result = rows.clone(result);
  OperationState state(loc, op->getName(), operands, result);
  return builder.create(state)->getResult(0);
}

/// What a value grows by from key to key, in f32; null for 0.
FailureOr<Value> Consumer::emitSlope(Value value, VectorKind kind) {
  KeyForm form(program.product, program.keys.getInductionVar());
  auto isConstant = [&](Value value, VectorKind kind) {
    return form.getDegree(value, kind) == KeyForm::Degree::Constant;
  };
  if (isConstant(value, kind))
    return Value();
  Operation *op = value.getDefiningOp();
  if (isa<vector::StepOp>(op))
    return Value(
        arith::ConstantOp::create(builder, loc, builder.getF32FloatAttr(1)));
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op))
    return emitSlope(cast.getSource(), VectorKind::Key);
  if (isa<arith::MulFOp, arith::DivFOp>(op)) {
    bool isSwapped = isConstant(op->getOperand(0), kind);
    FailureOr<Value> slope = emitSlope(op->getOperand(isSwapped), kind);
    if (failed(slope))
      return failure();
    FailureOr<Value> factor = emitStart(op->getOperand(!isSwapped), kind);
    if (failed(factor))
      return failure();
    return emitOnRows(op->getName(), *slope, *factor);
  }
  FailureOr<Value> slope = emitSlope(op->getOperand(0), kind);
  bool isNegated = isa<arith::NegFOp, arith::SubIOp, arith::SubFOp>(op);
  if (failed(slope) || op->getNumOperands() == 1)
    return failed(slope) || !isNegated || !*slope
               ? slope
               : Value(arith::NegFOp::create(builder, loc, *slope));
  FailureOr<Value> other = emitSlope(op->getOperand(1), kind);
  if (failed(other) || !*other)
    return failed(other) ? other : slope;
  StringRef name = isNegated ? arith::SubFOp::getOperationName()
                             : arith::AddFOp::getOperationName();
  if (!*slope)
    return isNegated ? Value(arith::NegFOp::create(builder, loc, *other))
                     : *other;
  return emitOnRows(OperationName(name, builder.getContext()), *slope, *other);
}

/// The sum of what `emitTerm` gives for each term of the bias, times `scale`.
FailureOr<Value>
Consumer::emitTerms(function_ref<FailureOr<Value>(Value)> emitTerm,
                    double scale) {
  Type type = getVectorType(1, builder.getF32Type());
  Value sum;
  for (const KeyBias::Term &term : program.bias->terms) {
    FailureOr<Value> value = emitTerm(term.value);
    if (failed(value))
      return failure();
    if (!*value)
      continue;
    Value scaled = mul(toRows(*value), splat(type, term.factor * scale));
    sum = sum ? add(sum, scaled) : scaled;
  }
  return sum;
}

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// Computes the slopes for a tile of queries, whose indices are mapped.
LogicalResult Consumer::holdSlopes() {
  if (!program.bias)
    return success();
  double factor = program.bias->factor;
  WorkerCloner::State saved = cloner.save();
  cloner.map(program.keys.getInductionVar(), index(0));
  FailureOr<Value> slope =
      emitTerms([&](Value term) { return emitSlope(term, VectorKind::Both); },
                1 / factor);
  FailureOr<Value> start = emitTerms(
      [&](Value term) { return emitStart(term, VectorKind::Both); }, 1);
  cloner.restore(std::move(saved));
  if (failed(slope) || failed(start))
    return failure();
  Type type = slope->getType();
  double most = kMostInTile / (program.schedule.getTileN() * factor);
  if (program.key.elementType.isF16())
    most = std::min(most, kMostInF16);
  // Also of what is no number.
  auto isMore = [&](Value value, double most) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT,
                                 math::AbsFOp::create(builder, loc, value),
                                 splat(type, most));
  };
  Value isAny = arith::OrIOp::create(builder, loc, isMore(*slope, most),
                                     isMore(*start, kMostStart));
  isBiasPlain = hopper::AnyOp::create(builder, loc, isAny);
  Value inProduct = arith::SelectOp::create(builder, loc, isBiasPlain,
                                            splat(type, 0), *slope);
  slopes = hopper::SplitOp::create(
      builder, loc, getVectorType(8, program.key.elementType), inProduct);
  return success();
}

/// Computes what the first key of a tile gets.
LogicalResult Consumer::emitStarts(Value key) {
  if (!program.bias)
    return success();
  cloner.map(program.keys.getInductionVar(), key);
  FailureOr<Value> start = emitTerms(
      [&](Value term) { return emitStart(term, VectorKind::Both); }, 1);
  if (failed(start))
    return failure();
  starts = arith::SelectOp::create(builder, loc, isBiasPlain,
                                   splat(start->getType(), 0), *start);
  return success();
}

/// The scores of a tile, whose first key is mapped, without a predicate.
FailureOr<Scores> Consumer::emitBias(Value product) {
  double factor = program.bias->factor;
  Type type = product.getType();
  auto branch = scf::IfOp::create(builder, loc, type, isBiasPlain,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  WorkerCloner::State saved = cloner.save();
  bool wasRarelyRun = cloner.setRarelyRun(true);
  FactoredScores plain = splitScoreFactor(program.getScores());
  FailureOr<Value> value = cloner.getVector(plain.value, VectorKind::Both);
  cloner.setRarelyRun(wasRarelyRun);
  cloner.restore(std::move(saved));
  if (failed(value))
    return failure();
  scf::YieldOp::create(builder, loc,
                       mul(*value, splat(type, plain.factor / factor)));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, product);
  return Scores{branch.getResult(0), factor, starts};
}
