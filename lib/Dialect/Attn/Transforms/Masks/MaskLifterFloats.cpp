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

MaskLifter::Interval MaskLifter::liftOrder(Value value, bool nanIsLargest) {
  auto asIndex = [&](Value order) {
    return arith.track(
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), order),
        ConstantIntRanges::maxRange(64));
  };
  auto emit = [&](OpBuilder &body, Value inner) {
    return emitOrder(body, loc, inner, nanIsLargest);
  };
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

/// Floats of the query against those of the key. What is equal says little of
/// a tile, and all that depends on the query alone is computed for each query.
MaskLifter::Ternary MaskLifter::liftCompare(arith::CmpFOp op) {
  using Predicate = arith::CmpFPredicate;
  Value a = op.getLhs(), b = op.getRhs();
  auto isOfOne = [&](Value value) {
    return !values.isGuarded(value) &&
           !(values.dependsOnQuery(value) && values.dependsOnKey(value));
  };
  if (!isOfOne(a) || !isOfOne(b) || isOfOne(op.getResult()) ||
      op->getParentRegion() != &values.getRegion())
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
