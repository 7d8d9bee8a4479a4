//===- RangedArith.cpp - Index arithmetic that knows its limits -----------===//

#include "RangedArith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kLeast = std::numeric_limits<int64_t>::min();
static constexpr int64_t kMost = std::numeric_limits<int64_t>::max();

/// a + b, or the end of the range that it is beyond; says so in `saturated`.
static int64_t saturatingAdd(int64_t a, int64_t b, bool &saturated) {
  int64_t sum;
  if (!llvm::AddOverflow(a, b, sum))
    return sum;
  saturated = true;
  return b < 0 ? kLeast : kMost;
}

static int64_t saturatingSubtract(int64_t a, int64_t b, bool &saturated) {
  int64_t difference;
  if (!llvm::SubOverflow(a, b, difference))
    return difference;
  saturated = true;
  return b < 0 ? kMost : kLeast;
}

Value RangedArith::track(Value value, Limits known) {
  limits[value] = known;
  return value;
}

//===----------------------------------------------------------------------===//
// Indices
//===----------------------------------------------------------------------===//

Value RangedArith::constant(int64_t value) {
  return track(arith::ConstantIndexOp::create(builder, loc, value),
               {value, value});
}

Value RangedArith::add(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (x.min == 0 && x.max == 0)
    return b;
  if (y.min == 0 && y.max == 0)
    return a;
  bool saturates = false;
  Limits known = {saturatingAdd(x.min, y.min, saturates),
                  saturatingAdd(x.max, y.max, saturates)};
  Value sum = arith::AddIOp::create(builder, loc, a, b);
  if (!saturates)
    return track(sum, known);
  // The sum is on the wrong side of `a` where it has wrapped.
  Value isNegative = less(b, constant(0));
  Value fell =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, sum, a);
  Value wrapped = arith::XOrIOp::create(builder, loc, isNegative, fell);
  Value end = select(isNegative, constant(kLeast), constant(kMost));
  return track(select(wrapped, end, sum), known);
}

Value RangedArith::subtract(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (y.min == 0 && y.max == 0)
    return a;
  if (a == b)
    return constant(0);
  bool saturates = false;
  Limits known = {saturatingSubtract(x.min, y.max, saturates),
                  saturatingSubtract(x.max, y.min, saturates)};
  Value difference = arith::SubIOp::create(builder, loc, a, b);
  if (!saturates)
    return track(difference, known);
  Value isPositive = less(constant(0), b);
  Value fell = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                     difference, a);
  Value wrapped = arith::XOrIOp::create(builder, loc, isPositive, fell);
  Value end = select(isPositive, constant(kLeast), constant(kMost));
  return track(select(wrapped, end, difference), known);
}

Value RangedArith::multiply(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b), known = {kMost, kLeast};
  for (int64_t p : {x.min, x.max})
    for (int64_t q : {y.min, y.max}) {
      int64_t product;
      if (llvm::MulOverflow(p, q, product))
        return {};
      known.min = std::min(known.min, product);
      known.max = std::max(known.max, product);
    }
  if (x.min == 1 && x.max == 1)
    return b;
  if (y.min == 1 && y.max == 1)
    return a;
  return track(arith::MulIOp::create(builder, loc, a, b), known);
}

Value RangedArith::minimum(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (a == b || x.max <= y.min)
    return a;
  if (y.max <= x.min)
    return b;
  return track(arith::MinSIOp::create(builder, loc, a, b),
               {std::min(x.min, y.min), std::min(x.max, y.max)});
}

Value RangedArith::maximum(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (a == b || x.min >= y.max)
    return a;
  if (y.min >= x.max)
    return b;
  return track(arith::MaxSIOp::create(builder, loc, a, b),
               {std::max(x.min, y.min), std::max(x.max, y.max)});
}

Value RangedArith::select(Value condition, Value yes, Value no) {
  if (std::optional<bool> known = getBoolean(condition))
    return *known ? yes : no;
  if (yes == no)
    return yes;
  Limits x = getLimits(yes), y = getLimits(no);
  return track(arith::SelectOp::create(builder, loc, condition, yes, no),
               {std::min(x.min, y.min), std::max(x.max, y.max)});
}

Value RangedArith::divide(Value a, int64_t divisor, Rounding rounding) {
  if (divisor == 1)
    return a;
  Limits x = getLimits(a);
  auto quotient = [&](int64_t value) {
    int64_t truncated = value / divisor, rest = value % divisor;
    if (rounding == Rounding::Down && rest < 0)
      return truncated - 1;
    return truncated + (rounding == Rounding::Up && rest > 0 ? 1 : 0);
  };
  Limits known = {quotient(x.min), quotient(x.max)};
  if (known.min == known.max)
    return constant(known.min);
  Value by = constant(divisor), result;
  if (rounding == Rounding::Up)
    result = arith::CeilDivSIOp::create(builder, loc, a, by);
  else if (x.min >= 0)
    result = arith::DivUIOp::create(builder, loc, a, by);
  else if (rounding == Rounding::Down)
    result = arith::FloorDivSIOp::create(builder, loc, a, by);
  else
    result = arith::DivSIOp::create(builder, loc, a, by);
  return track(result, known);
}

Value RangedArith::remainder(Value a, int64_t divisor) {
  Limits x = getLimits(a);
  if (x.min > -divisor && x.max < divisor)
    return a;
  Limits known = {x.min < 0 ? 1 - divisor : 0, x.max > 0 ? divisor - 1 : 0};
  Value by = constant(divisor);
  if (x.min >= 0)
    return track(arith::RemUIOp::create(builder, loc, a, by), known);
  return track(arith::RemSIOp::create(builder, loc, a, by), known);
}

Value RangedArith::shiftRight(Value a, int64_t amount) {
  Limits x = getLimits(a);
  Limits known = {x.min >> amount, x.max >> amount};
  if (known.min == known.max)
    return constant(known.min);
  return track(arith::ShRSIOp::create(builder, loc, a, constant(amount)),
               known);
}

Value RangedArith::bitAnd(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b), known;
  if (x.min >= 0 || y.min >= 0)
    known = {0,
             std::min(x.min >= 0 ? x.max : kMost, y.min >= 0 ? y.max : kMost)};
  return track(arith::AndIOp::create(builder, loc, a, b), known);
}

Value RangedArith::bitOr(Value a, Value b) {
  Limits known;
  if (isNonNegative(a) && isNonNegative(b))
    known.min = std::max(getLimits(a).min, getLimits(b).min);
  return track(arith::OrIOp::create(builder, loc, a, b), known);
}

Value RangedArith::bitXor(Value a, Value b) {
  Limits known;
  if (isNonNegative(a) && isNonNegative(b))
    known.min = 0;
  return track(arith::XOrIOp::create(builder, loc, a, b), known);
}

Value RangedArith::fillBelow(Value a) {
  // 2^63 - 1 moved right by as many bits as are clear on top; of 0, by all.
  Type i64 = builder.getI64Type();
  Value wide = arith::IndexCastOp::create(builder, loc, i64, a);
  Value zeros = math::CountLeadingZerosOp::create(builder, loc, wide);
  Value clear =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), zeros);
  Value amount = arith::SubIOp::create(builder, loc, clear, constant(1));
  Value filled = arith::ShRSIOp::create(builder, loc, constant(kMost), amount);
  return track(filled, {0, kMost});
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

Value RangedArith::less(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (x.max < y.min)
    return boolean(true);
  if (a == b || x.min >= y.max)
    return boolean(false);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, a, b);
}

Value RangedArith::equal(Value a, Value b) {
  Limits x = getLimits(a), y = getLimits(b);
  if (a == b || (x.min == x.max && y.min == y.max && x.min == y.min))
    return boolean(true);
  if (x.max < y.min || y.max < x.min)
    return boolean(false);
  return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq, a, b);
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

Value RangedArith::choose(Value condition, Value yes, Value no) {
  if (std::optional<bool> known = getBoolean(condition))
    return *known ? yes : no;
  if (yes == no)
    return yes;
  return arith::SelectOp::create(builder, loc, condition, yes, no);
}
