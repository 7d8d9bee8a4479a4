//===- RangedArith.cpp - Index arithmetic that knows its ranges -----------===//

#include "RangedArith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

ConstantIntRanges RangedArith::getRange(Value value) const {
  auto found = ranges.find(value);
  if (found != ranges.end())
    return found->second;
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
}

Value RangedArith::track(Value value, const ConstantIntRanges &known) {
  unsigned from = known.smin().getBitWidth();
  unsigned to = ConstantIntRanges::getStorageBitwidth(value.getType());
  ranges.insert_or_assign(value, from < to   ? intrange::extSIRange(known, to)
                                 : from > to ? intrange::truncRange(known, to)
                                             : known);
  return value;
}

Value RangedArith::track(Value value, int64_t min, int64_t max) {
  return track(
      value, ConstantIntRanges::fromSigned(APInt(64, min, /*isSigned=*/true),
                                           APInt(64, max, /*isSigned=*/true)));
}

/// An operation, or the constant that it is known to give.
template <typename OpTy>
Value RangedArith::emit(
    function_ref<ConstantIntRanges(ArrayRef<ConstantIntRanges>)> infer, Value a,
    Value b) {
  ConstantIntRanges known = infer({getRange(a), getRange(b)});
  if (std::optional<APInt> value = known.getConstantValue())
    return constant(value->getSExtValue());
  return track(OpTy::create(builder, loc, a, b), known);
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value RangedArith::constant(int64_t value) {
  return track(arith::ConstantIndexOp::create(builder, loc, value), value,
               value);
}

Value RangedArith::saturate(Value result, Value a, Value isSmaller,
                            const ConstantIntRanges &known) {
  // The result is on the wrong side of `a` where it has wrapped.
  Value fell =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, result, a);
  Value wrapped = arith::XOrIOp::create(builder, loc, isSmaller, fell);
  Value end = select(isSmaller, constant(INT64_MIN), constant(INT64_MAX));
  return track(select(wrapped, end, result), known);
}

Value RangedArith::add(Value a, Value b) {
  ConstantIntRanges x = getRange(a), y = getRange(b);
  if (x.getConstantValue() == APInt::getZero(64))
    return b;
  if (y.getConstantValue() == APInt::getZero(64))
    return a;
  bool minWraps, maxWraps;
  (void)x.smin().sadd_ov(y.smin(), minWraps);
  (void)x.smax().sadd_ov(y.smax(), maxWraps);
  ConstantIntRanges known = ConstantIntRanges::fromSigned(
      x.smin().sadd_sat(y.smin()), x.smax().sadd_sat(y.smax()));
  Value sum = arith::AddIOp::create(builder, loc, a, b);
  if (!minWraps && !maxWraps)
    return track(sum, known);
  return saturate(sum, a, less(b, constant(0)), known);
}

Value RangedArith::subtract(Value a, Value b) {
  ConstantIntRanges x = getRange(a), y = getRange(b);
  if (y.getConstantValue() == APInt::getZero(64))
    return a;
  if (a == b)
    return constant(0);
  bool minWraps, maxWraps;
  (void)x.smin().ssub_ov(y.smax(), minWraps);
  (void)x.smax().ssub_ov(y.smin(), maxWraps);
  ConstantIntRanges known = ConstantIntRanges::fromSigned(
      x.smin().ssub_sat(y.smax()), x.smax().ssub_sat(y.smin()));
  Value difference = arith::SubIOp::create(builder, loc, a, b);
  if (!minWraps && !maxWraps)
    return track(difference, known);
  return saturate(difference, a, less(constant(0), b), known);
}

Value RangedArith::multiply(Value a, Value b) {
  ConstantIntRanges x = getRange(a), y = getRange(b);
  for (const APInt &p : {x.smin(), x.smax()})
    for (const APInt &q : {y.smin(), y.smax()}) {
      bool wraps;
      (void)p.smul_ov(q, wraps);
      if (wraps)
        return {};
    }
  if (x.getConstantValue() == APInt(64, 1))
    return b;
  if (y.getConstantValue() == APInt(64, 1))
    return a;
  return track(arith::MulIOp::create(builder, loc, a, b),
               intrange::inferMul({x, y}));
}

Value RangedArith::minimum(Value a, Value b) {
  ConstantIntRanges x = getRange(a), y = getRange(b);
  if (a == b || x.smax().sle(y.smin()))
    return a;
  if (y.smax().sle(x.smin()))
    return b;
  return emit<arith::MinSIOp>(intrange::inferMinS, a, b);
}

Value RangedArith::maximum(Value a, Value b) {
  ConstantIntRanges x = getRange(a), y = getRange(b);
  if (a == b || x.smin().sge(y.smax()))
    return a;
  if (y.smin().sge(x.smax()))
    return b;
  return emit<arith::MaxSIOp>(intrange::inferMaxS, a, b);
}

/// Of quotients by positive numbers, rounded up, which are largest and smallest
/// at ends of both ranges. MLIR's inferCeilDivS takes -2^63 for a positive
/// number.
static ConstantIntRanges inferCeilDiv(ArrayRef<ConstantIntRanges> ranges) {
  SmallVector<APInt> ends;
  for (const APInt &a : {ranges[0].smin(), ranges[0].smax()})
    for (const APInt &divisor : {ranges[1].smin(), ranges[1].smax()})
      ends.push_back(
          llvm::APIntOps::RoundingSDiv(a, divisor, APInt::Rounding::UP));
  auto isLess = [](const APInt &a, const APInt &b) { return a.slt(b); };
  auto [least, most] = std::minmax_element(ends.begin(), ends.end(), isLess);
  return ConstantIntRanges::fromSigned(*least, *most);
}

Value RangedArith::divide(Value a, int64_t divisor, Rounding rounding) {
  return divisor == 1 ? a : divide(a, constant(divisor), rounding);
}

Value RangedArith::divide(Value a, Value divisor, Rounding rounding) {
  if (rounding == Rounding::Up)
    return emit<arith::CeilDivSIOp>(inferCeilDiv, a, divisor);
  if (isNonNegative(a))
    return emit<arith::DivUIOp>(intrange::inferDivU, a, divisor);
  if (rounding == Rounding::Down)
    return emit<arith::FloorDivSIOp>(intrange::inferFloorDivS, a, divisor);
  return emit<arith::DivSIOp>(intrange::inferDivS, a, divisor);
}

Value RangedArith::remainder(Value a, Value divisor) {
  ConstantIntRanges x = getRange(a);
  APInt least = getRange(divisor).smin();
  if (x.smin().sgt(-least) && x.smax().slt(least))
    return a;
  if (isNonNegative(a))
    return emit<arith::RemUIOp>(intrange::inferRemU, a, divisor);
  return emit<arith::RemSIOp>(intrange::inferRemS, a, divisor);
}

Value RangedArith::shiftRight(Value a, Value amount) {
  return emit<arith::ShRSIOp>(intrange::inferShrS, a, amount);
}

Value RangedArith::bitAnd(Value a, Value b) {
  return emit<arith::AndIOp>(intrange::inferAnd, a, b);
}

Value RangedArith::bitOr(Value a, Value b) {
  return emit<arith::OrIOp>(intrange::inferOr, a, b);
}

Value RangedArith::bitXor(Value a, Value b) {
  return emit<arith::XOrIOp>(intrange::inferXor, a, b);
}

Value RangedArith::fillBelow(Value a) {
  // 2^63 - 1 moved right by as many bits as are clear on top; of 0, by all.
  Type i64 = builder.getI64Type();
  Value wide = arith::IndexCastOp::create(builder, loc, i64, a);
  Value zeros = math::CountLeadingZerosOp::create(builder, loc, wide);
  Value clear =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), zeros);
  return shiftRight(constant(INT64_MAX),
                    subtract(track(clear, 1, 64), constant(1)));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Value RangedArith::compare(arith::CmpIPredicate predicate, Value a, Value b) {
  if (std::optional<bool> known =
          intrange::evaluatePred(static_cast<intrange::CmpPredicate>(predicate),
                                 getRange(a), getRange(b)))
    return boolean(*known);
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value RangedArith::less(Value a, Value b) {
  return a == b ? boolean(false) : compare(arith::CmpIPredicate::slt, a, b);
}

Value RangedArith::equal(Value a, Value b) {
  return a == b ? boolean(true) : compare(arith::CmpIPredicate::eq, a, b);
}

//===----------------------------------------------------------------------===//
// Booleans
//===----------------------------------------------------------------------===//

std::optional<bool> RangedArith::getBoolean(Value value) {
  if (matchPattern(value, m_One()))
    return true;
  if (matchPattern(value, m_Zero()))
    return false;
  return std::nullopt;
}

Value RangedArith::boolean(bool value) {
  return arith::ConstantOp::create(builder, loc, builder.getBoolAttr(value));
}

Value RangedArith::both(Value a, Value b) {
  if (std::optional<bool> known = getBoolean(a))
    return *known ? b : a;
  if (std::optional<bool> known = getBoolean(b))
    return *known ? a : b;
  if (a == b)
    return a;
  return arith::AndIOp::create(builder, loc, a, b);
}

Value RangedArith::either(Value a, Value b) {
  if (std::optional<bool> known = getBoolean(a))
    return *known ? a : b;
  if (std::optional<bool> known = getBoolean(b))
    return *known ? b : a;
  if (a == b)
    return a;
  return arith::OrIOp::create(builder, loc, a, b);
}

Value RangedArith::negate(Value a) {
  if (std::optional<bool> known = getBoolean(a))
    return boolean(!*known);
  if (auto exclusive = a.getDefiningOp<arith::XOrIOp>();
      exclusive && getBoolean(exclusive.getRhs()) == true)
    return exclusive.getLhs();
  return arith::XOrIOp::create(builder, loc, a, boolean(true));
}

Value RangedArith::select(Value condition, Value yes, Value no) {
  if (std::optional<bool> known = getBoolean(condition))
    return *known ? yes : no;
  if (yes == no)
    return yes;
  return track(arith::SelectOp::create(builder, loc, condition, yes, no),
               getRange(yes).rangeUnion(getRange(no)));
}
