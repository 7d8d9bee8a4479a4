//===- KeyBiasValues.cpp - A bias that is part of the product -------------===//
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

#include "KeyBiasValues.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
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

/// A scalar as vector<1 x 64>.
Value KeyBiasValues::toRows(Value value) {
  if (isa<VectorType>(value.getType()))
    return value;
  return vector::BroadcastOp::create(
      builder, loc,
      VectorType::get({1, hopper::kWarpgroupRows}, value.getType()), value);
}

/// An operation on two scalars, or on rows where one of them is.
Value KeyBiasValues::emitOnRows(OperationName name, Value a, Value b) {
  if (isa<VectorType>(a.getType()) || isa<VectorType>(b.getType())) {
    a = toRows(a);
    b = toRows(b);
  }
  OperationState state(loc, name, {a, b}, a.getType());
  return builder.create(state)->getResult(0);
}

/// What a value is for the first key of a tile, with the key mapped.
FailureOr<Value> KeyBiasValues::emitStart(Value value, VectorKind kind) {
  auto type = dyn_cast<VectorType>(value.getType());
  if (!type)
    return values.getScalar(value);
  if (type.getRank() == 1 && kind != VectorKind::Key)
    return values.getVector(value, VectorKind::Query);
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
    return arith::ConstantIndexOp::create(builder, loc, 0).getResult();
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
FailureOr<Value> KeyBiasValues::emitSlope(Value value, VectorKind kind) {
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
KeyBiasValues::emitTerms(function_ref<FailureOr<Value>(Value)> emitTerm,
                         double scale) {
  auto type =
      VectorType::get({1, hopper::kWarpgroupRows}, builder.getF32Type());
  Value sum;
  for (const KeyBias::Term &term : bias.terms) {
    FailureOr<Value> value = emitTerm(term.value);
    if (failed(value))
      return failure();
    if (!*value)
      continue;
    Value scaled = arith::MulFOp::create(
        builder, loc, toRows(*value),
        hopper::createSplat(builder, loc, type, term.factor * scale));
    sum = sum ? arith::AddFOp::create(builder, loc, sum, scaled) : scaled;
  }
  return sum;
}

FailureOr<Value> KeyBiasValues::emitStart() {
  return emitTerms(
      [&](Value term) { return emitStart(term, VectorKind::Both); }, 1);
}

FailureOr<HeldSlopes> KeyBiasValues::emitSlopes(int64_t tileN, Type element) {
  FailureOr<Value> slope =
      emitTerms([&](Value term) { return emitSlope(term, VectorKind::Both); },
                1 / bias.factor);
  FailureOr<Value> start = emitStart();
  if (failed(slope) || failed(start))
    return failure();
  Type type = slope->getType();
  double most = kMostInTile / (tileN * bias.factor);
  if (element.isF16())
    most = std::min(most, kMostInF16);
  auto splat = [&](double value) {
    return hopper::createSplat(builder, loc, type, value);
  };
  // Also of what is no number.
  auto isMore = [&](Value value, double most) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT,
                                 math::AbsFOp::create(builder, loc, value),
                                 splat(most));
  };
  Value isAny = arith::OrIOp::create(builder, loc, isMore(*slope, most),
                                     isMore(*start, kMostStart));
  Value isPlain = hopper::AnyOp::create(builder, loc, isAny);
  Value inProduct =
      arith::SelectOp::create(builder, loc, isPlain, splat(0), *slope);
  auto parts = VectorType::get({8, hopper::kWarpgroupRows}, element);
  return HeldSlopes{hopper::SplitOp::create(builder, loc, parts, inProduct),
                    isPlain};
}

FailureOr<Value> KeyBiasValues::emitOffset(Value isPlain) {
  FailureOr<Value> start = emitStart();
  if (failed(start))
    return failure();
  return arith::SelectOp::create(
             builder, loc, isPlain,
             hopper::createSplat(builder, loc, start->getType(), 0), *start)
      .getResult();
}
