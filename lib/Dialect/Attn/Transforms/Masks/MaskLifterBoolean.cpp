//===- MaskLifterBoolean.cpp - Booleans that may and must be true ---------===//

#include "MaskLifter.h"

using namespace mlir;
using namespace mlir::attn;
using Rounding = RangedArith::Rounding;

MaskLifter::Ternary MaskLifter::liftBoolean(Operation *op) {
  if (auto compare = dyn_cast<arith::CmpIOp>(op))
    return liftCompare(compare);
  if (auto compare = dyn_cast<arith::CmpFOp>(op))
    return liftCompare(compare);
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return liftChoice(getTernary(select.getCondition()),
                      getTernary(select.getTrueValue()),
                      getTernary(select.getFalseValue()));
  if (auto trunc = dyn_cast<arith::TruncIOp>(op)) {
    if (ConstantIntRanges::getStorageBitwidth(trunc.getIn().getType()) > 64)
      return getUnknown();
    // The lowest bit.
    Interval bit = liftLowBits(getInterval(trunc.getIn()), 1);
    Value zero = arith.constant(0);
    return {arith.less(zero, bit.hi), arith.less(zero, bit.lo)};
  }
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return getUnknown();
  Ternary a = getTernary(op->getOperand(0)), b = getTernary(op->getOperand(1));
  if (isa<arith::AndIOp>(op))
    return {arith.both(a.may, b.may), arith.both(a.must, b.must)};
  if (isa<arith::OrIOp>(op))
    return {arith.either(a.may, b.may), arith.either(a.must, b.must)};
  return liftExclusive(a, b);
}

MaskLifter::Ternary MaskLifter::liftExclusive(Ternary a, Ternary b) {
  // a and not b, or b and not a.
  return {arith.either(arith.both(a.may, arith.negate(b.must)),
                       arith.both(b.may, arith.negate(a.must))),
          arith.either(arith.both(a.must, arith.negate(b.may)),
                       arith.both(b.must, arith.negate(a.may)))};
}

MaskLifter::Ternary MaskLifter::liftChoice(Ternary condition, Ternary yes,
                                           Ternary no) {
  if (condition.may == condition.must)
    return {arith.select(condition.may, yes.may, no.may),
            arith.select(condition.may, yes.must, no.must)};
  Value may = arith.either(arith.both(condition.may, yes.may),
                           arith.both(arith.negate(condition.must), no.may));
  Value must = arith.either(
      arith.both(yes.must, no.must),
      arith.either(arith.both(condition.must, yes.must),
                   arith.both(arith.negate(condition.may), no.must)));
  return {may, must};
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

MaskLifter::Ternary MaskLifter::liftCompare(arith::CmpIOp op) {
  using Predicate = arith::CmpIPredicate;
  Value a = op.getLhs(), b = op.getRhs();
  Predicate predicate = op.getPredicate();
  if (a.getType().isInteger(1)) {
    if (predicate != Predicate::eq && predicate != Predicate::ne)
      return getUnknown();
    Ternary differ = liftExclusive(getTernary(a), getTernary(b));
    return predicate == Predicate::ne ? differ : negate(differ);
  }
  if (ConstantIntRanges::getStorageBitwidth(a.getType()) > 64)
    return getUnknown();
  switch (predicate) {
  case Predicate::eq:
    return liftEqual(a, b);
  case Predicate::ne:
    return negate(liftEqual(a, b));
  case Predicate::slt:
  case Predicate::sle:
    return liftLess(a, b, predicate == Predicate::sle);
  case Predicate::sgt:
  case Predicate::sge:
    return liftLess(b, a, predicate == Predicate::sge);
  case Predicate::ult:
  case Predicate::ule:
    return liftUnsignedLess(a, b, predicate == Predicate::ule);
  case Predicate::ugt:
  case Predicate::uge:
    return liftUnsignedLess(b, a, predicate == Predicate::uge);
  }
  llvm_unreachable("all predicates are handled");
}

MaskLifter::Ternary MaskLifter::liftLess(Value a, Value b, bool orEqual) {
  Interval x = getInterval(a), y = getInterval(b);
  auto compare = [&](Value p, Value q) {
    return orEqual ? arith.lessEqual(p, q) : arith.less(p, q);
  };
  return {compare(x.lo, y.hi), compare(x.hi, y.lo)};
}

/// A negative integer is, as an unsigned one, larger than all that are not.
MaskLifter::Ternary MaskLifter::liftUnsignedLess(Value a, Value b,
                                                 bool orEqual) {
  Ternary inOrder = liftLess(a, b, orEqual);
  bool aKnown = values.isNonNegative(a), bKnown = values.isNonNegative(b);
  if (aKnown && bKnown)
    return inOrder;
  Value zero = arith.constant(0);
  if (bKnown) {
    Interval x = getInterval(a);
    return {arith.both(arith.lessEqual(zero, x.hi), inOrder.may),
            arith.both(arith.lessEqual(zero, x.lo), inOrder.must)};
  }
  if (aKnown) {
    Interval y = getInterval(b);
    return {arith.either(arith.less(y.lo, zero), inOrder.may),
            arith.either(arith.less(y.hi, zero), inOrder.must)};
  }
  return getUnknown();
}

MaskLifter::Ternary MaskLifter::liftEqual(Value a, Value b) {
  Interval x = getInterval(a), y = getInterval(b);
  Ternary result;
  if (x.isPoint() && y.isPoint()) {
    result.may = result.must = arith.equal(x.lo, y.lo);
    return result;
  }
  result.may =
      arith.both(arith.lessEqual(x.lo, y.hi), arith.lessEqual(y.lo, x.hi));
  result.must = arith.both(
      arith.equal(x.lo, y.lo),
      arith.both(x.isPoint() ? arith.boolean(true) : arith.equal(x.lo, x.hi),
                 y.isPoint() ? arith.boolean(true) : arith.equal(y.lo, y.hi)));
  // An interval of remainders says little where it goes over the end of a
  // period; whether one of them is met is exact.
  for (auto [rest, point] : {std::pair{a, y}, std::pair{b, x}})
    if (std::optional<Residue> residue = values.getResidue(rest))
      if (point.isPoint())
        if (Value met =
                meets(getInterval(residue->value), residue->divisor, point.lo))
          result.may = arith.both(result.may, met);
  return result;
}

/// The last number up to x.hi with that remainder is no less than x.lo. Of a
/// negative number the remainder may be less by the divisor, which is the same
/// condition.
Value MaskLifter::meets(Interval x, int64_t divisor, Value rest) {
  constexpr int64_t limit = int64_t(1) << 60;
  if (divisor > limit)
    return {};
  for (Value value : {x.lo, x.hi, rest}) {
    ConstantIntRanges range = arith.getRange(value);
    if (range.smin().slt(-limit) || range.smax().sgt(limit))
      return {};
  }
  Value upTo =
      arith.divide(arith.subtract(x.hi, rest), divisor, Rounding::Down);
  Value below = arith.divide(
      arith.subtract(arith.subtract(x.lo, rest), arith.constant(1)), divisor,
      Rounding::Down);
  return arith.less(below, upTo);
}
