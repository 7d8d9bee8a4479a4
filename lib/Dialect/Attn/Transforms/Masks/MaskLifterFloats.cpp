//===- MaskLifterFloats.cpp - Order of floats on tiles --------------------===//

#include "MaskLifter.h"
#include "attn/Dialect/ScalarBuilder.h"

using namespace mlir;
using namespace mlir::attn;

/// An integer that is in the order of floats, the same for both zeros. A NaN
/// has the largest of all, or the least: below and above, it is in no order.
static Value emitOrder(OpBuilder &builder, Location loc, Value value,
                       bool nanIsLargest) {
  ScalarBuilder b(loc, builder);
  unsigned width = value.getType().getIntOrFloatBitWidth();
  if (width < 32) {
    width = 32;
    value = arith::ExtFOp::create(b, b.getF32Type(), value);
  }
  Type bitsType = b.getIntegerType(width);
  auto getNumber = [&](const APInt &number) -> Value {
    return arith::ConstantOp::create(b, b.getIntegerAttr(bitsType, number));
  };
  Value zero = arith::ConstantOp::create(b, b.getZeroAttr(value.getType()));
  Value positive = arith::AddFOp::create(b, value, zero);
  Value bits = arith::BitcastOp::create(b, bitsType, positive);
  // The bits of a number without its sign are in its order.
  APInt most = APInt::getSignedMaxValue(width);
  Value sign = b.shrS(bits, width - 1);
  Value order = b.xorI(bits, b.andI(sign, getNumber(most)));
  Value nan = getNumber(nanIsLargest ? most : APInt::getSignedMinValue(width));
  return arith::SelectOp::create(
      b, b.cmp(arith::CmpFPredicate::UNO, value, value), nan, order);
}

/// The float with such an order. Of the least and the largest integer, which
/// stand for a NaN or for what is not known, a NaN.
static Value emitFloat(OpBuilder &builder, Location loc, Value order,
                       Type type) {
  ScalarBuilder b(loc, builder);
  unsigned width = type.getIntOrFloatBitWidth();
  Value most = arith::ConstantOp::create(
      b, b.getIntegerAttr(order.getType(), APInt::getSignedMaxValue(width)));
  Value bits = b.xorI(order, b.andI(b.shrS(order, width - 1), most));
  return arith::BitcastOp::create(b, type, bits);
}

bool MaskLifter::hasOrder(Value value) const {
  if (values.isGuarded(value))
    return false;
  if (!values.dependsOnQuery(value) || !values.dependsOnKey(value))
    return true;
  Operation *op = value.getDefiningOp();
  if (!op || op->getParentRegion() != &values.getRegion() ||
      (!value.getType().isF32() && !value.getType().isF64()))
    return false;
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Value number = op->getOperand(0);
    return intervals.contains(number) &&
           (isa<arith::SIToFPOp>(op) || values.isNonNegative(number));
  }
  // A product and a sum may be rounded once where the predicate is computed,
  // unlike at the ends of an interval.
  return isa<arith::AddFOp, arith::SubFOp, arith::NegFOp>(op) &&
         llvm::all_of(op->getOperands(), [&](Value operand) {
           return !operand.getDefiningOp<arith::MulFOp>() && hasOrder(operand);
         });
}

/// Conversions of integers and sums of floats keep the order, rounded or not.
MaskLifter::Interval MaskLifter::liftPairOrder(Value value, bool nanIsLargest) {
  ScalarBuilder b(loc, builder);
  Operation *op = value.getDefiningOp();
  Type type = value.getType(),
       bits = b.getIntegerType(type.getIntOrFloatBitWidth());
  auto asIndex = [&](Value order) {
    return arith.track(arith::IndexCastOp::create(b, b.getIndexType(), order),
                       ConstantIntRanges::maxRange(64));
  };
  if (isa<arith::SIToFPOp, arith::UIToFPOp>(op)) {
    Interval number = getInterval(op->getOperand(0));
    auto convert = [&](Value end) {
      end = arith::IndexCastOp::create(b, op->getOperand(0).getType(), end);
      return asIndex(emitOrder(
          builder, loc, arith::SIToFPOp::create(b, type, end), nanIsLargest));
    };
    return {convert(number.lo), convert(number.hi)};
  }
  // Of what is subtracted a NaN is at the other end.
  bool isNegated = isa<arith::NegFOp>(op);
  auto lift = [&](Value operand, bool isSubtracted) {
    Interval order = liftOrder(operand, nanIsLargest != isSubtracted);
    auto getFloat = [&](Value end) {
      return emitFloat(builder, loc, arith::IndexCastOp::create(b, bits, end),
                       type);
    };
    Value lo = getFloat(order.lo),
          hi = order.isPoint() ? lo : getFloat(order.hi);
    if (isSubtracted) {
      lo = arith::NegFOp::create(b, lo);
      hi = arith::NegFOp::create(b, hi);
      std::swap(lo, hi);
    }
    return std::pair(lo, hi);
  };
  auto [lo, hi] = lift(op->getOperand(0), isNegated);
  if (!isNegated) {
    auto [low, high] = lift(op->getOperand(1), isa<arith::SubFOp>(op));
    lo = arith::AddFOp::create(b, lo, low);
    hi = arith::AddFOp::create(b, hi, high);
  }
  // Infinite terms may cancel to a NaN within the interval, so that an infinite
  // end is no end. A NaN of the lower end is the least of all, of the upper one
  // the largest.
  auto getEnd = [&](Value end, bool isLargest) {
    APFloat infinity =
        APFloat::getInf(cast<FloatType>(type).getFloatSemantics(),
                        /*Negative=*/!isLargest);
    Value beyond = arith::ConstantOp::create(b, b.getFloatAttr(type, infinity));
    unsigned width = bits.getIntOrFloatBitWidth();
    APInt none = isLargest ? APInt::getSignedMaxValue(width)
                           : APInt::getSignedMinValue(width);
    return asIndex(arith::SelectOp::create(
        b, b.cmp(arith::CmpFPredicate::UEQ, end, beyond),
        arith::ConstantOp::create(b, b.getIntegerAttr(bits, none)),
        emitOrder(builder, loc, end, isLargest)));
  };
  return {getEnd(lo, /*isLargest=*/false), getEnd(hi, /*isLargest=*/true)};
}

MaskLifter::Interval MaskLifter::liftOrder(Value value, bool nanIsLargest) {
  auto asIndex = [&](Value order) {
    return arith.track(
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), order),
        ConstantIntRanges::maxRange(64));
  };
  auto emit = [&](OpBuilder &body, Value inner) {
    return emitOrder(body, loc, inner, nanIsLargest);
  };
  if (values.dependsOnQuery(value) && values.dependsOnKey(value))
    return liftPairOrder(value, nanIsLargest);
  if (values.isUniform(value)) {
    Value order = asIndex(emit(builder, copies.lookup(value)));
    return {order, order};
  }
  Type type = builder.getIntegerType(value.getType().isF64() ? 64 : 32);
  RangeOverOp range = emitRangeOver(value, type, emit);
  return {asIndex(range.getMin()), asIndex(range.getMax())};
}

MaskLifter::Ternary MaskLifter::liftFloatLess(Value a, Value b, bool orEqual) {
  Interval x = liftOrder(a, /*nanIsLargest=*/true),
           y = liftOrder(b, /*nanIsLargest=*/false);
  auto compare = [&](Value p, Value q) {
    return orEqual ? arith.lessEqual(p, q) : arith.less(p, q);
  };
  return {compare(x.lo, y.hi), compare(x.hi, y.lo)};
}

/// Floats that have an order. What is equal says little of a tile, and all that
/// depends on the query alone is computed for each query.
MaskLifter::Ternary MaskLifter::liftCompare(arith::CmpFOp op) {
  using Predicate = arith::CmpFPredicate;
  Value a = op.getLhs(), b = op.getRhs();
  if (!values.dependsOnQuery(op) || !values.dependsOnKey(op) || !hasOrder(a) ||
      !hasOrder(b) || op->getParentRegion() != &values.getRegion())
    return getUnknown();
  switch (op.getPredicate()) {
  case Predicate::OLT:
    return liftFloatLess(a, b, /*orEqual=*/false);
  case Predicate::OLE:
    return liftFloatLess(a, b, /*orEqual=*/true);
  case Predicate::OGT:
    return liftFloatLess(b, a, /*orEqual=*/false);
  case Predicate::OGE:
    return liftFloatLess(b, a, /*orEqual=*/true);
  case Predicate::ULT:
    return negate(liftFloatLess(b, a, /*orEqual=*/true));
  case Predicate::ULE:
    return negate(liftFloatLess(b, a, /*orEqual=*/false));
  case Predicate::UGT:
    return negate(liftFloatLess(a, b, /*orEqual=*/true));
  case Predicate::UGE:
    return negate(liftFloatLess(a, b, /*orEqual=*/false));
  default:
    return getUnknown();
  }
}
