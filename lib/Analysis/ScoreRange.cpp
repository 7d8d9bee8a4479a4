//===- ScoreRange.cpp - What a score may be -------------------------------===//
//
// Interval arithmetic on the operations of a score region. What is not known
// here may be any number.
//
//===----------------------------------------------------------------------===//

#include "attn/Analysis/ScoreRange.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/TypeSwitch.h"
#include <algorithm>
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

static constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// The hull of some numbers; all where one of them is NaN, such as 0 times
/// infinity.
static FloatRange getHull(ArrayRef<double> values) {
  FloatRange hull{kInfinity, -kInfinity};
  for (double value : values) {
    if (std::isnan(value))
      return {};
    hull.low = std::min(hull.low, value);
    hull.high = std::max(hull.high, value);
  }
  return hull;
}

static FloatRange multiply(FloatRange a, FloatRange b) {
  return getHull(
      {a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
}

static FloatRange divide(FloatRange a, FloatRange b) {
  if (b.low <= 0 && b.high >= 0)
    return {};
  return getHull(
      {a.low / b.low, a.low / b.high, a.high / b.low, a.high / b.high});
}

/// The range of a function that does not fall.
static FloatRange map(FloatRange x, double (*function)(double)) {
  return getHull({function(x.low), function(x.high)});
}

namespace {
class RangeFinder {
public:
  FloatRange get(Value value);

private:
  FloatRange compute(Operation *op);

  llvm::DenseMap<Value, FloatRange> ranges;
};
} // namespace

FloatRange RangeFinder::get(Value value) {
  if (auto it = ranges.find(value); it != ranges.end())
    return it->second;
  Operation *op = value.getDefiningOp();
  FloatRange range = op ? compute(op) : FloatRange();
  ranges[value] = range;
  return range;
}

FloatRange RangeFinder::compute(Operation *op) {
  FloatAttr constant;
  if (matchPattern(op, m_Constant(&constant))) {
    double value = constant.getValueAsDouble();
    return getHull({value, value});
  }
  auto x = [&](unsigned number) { return get(op->getOperand(number)); };
  return llvm::TypeSwitch<Operation *, FloatRange>(op)
      .Case<arith::AddFOp>([&](auto) -> FloatRange {
        return getHull({x(0).low + x(1).low, x(0).high + x(1).high});
      })
      .Case<arith::SubFOp>([&](auto) -> FloatRange {
        return getHull({x(0).low - x(1).high, x(0).high - x(1).low});
      })
      .Case<arith::NegFOp>(
          [&](auto) -> FloatRange { return {-x(0).high, -x(0).low}; })
      .Case<arith::MulFOp>([&](auto) { return multiply(x(0), x(1)); })
      .Case<arith::DivFOp>([&](auto) { return divide(x(0), x(1)); })
      .Case<arith::MinimumFOp, arith::MinNumFOp>([&](auto) -> FloatRange {
        return {std::min(x(0).low, x(1).low), std::min(x(0).high, x(1).high)};
      })
      .Case<arith::MaximumFOp, arith::MaxNumFOp>([&](auto) -> FloatRange {
        return {std::max(x(0).low, x(1).low), std::max(x(0).high, x(1).high)};
      })
      .Case<arith::SelectOp>([&](auto) -> FloatRange {
        return {std::min(x(1).low, x(2).low), std::max(x(1).high, x(2).high)};
      })
      .Case<arith::ExtFOp, arith::TruncFOp>([&](auto) { return x(0); })
      .Case<math::TanhOp>([&](auto) { return map(x(0), std::tanh); })
      .Case<math::AtanOp>([&](auto) { return map(x(0), std::atan); })
      .Case<math::ErfOp>([&](auto) { return map(x(0), std::erf); })
      .Case<math::ExpOp>([&](auto) { return map(x(0), std::exp); })
      .Case<math::Exp2Op>([&](auto) { return map(x(0), std::exp2); })
      .Case<math::SinOp, math::CosOp>(
          [](auto) -> FloatRange { return {-1, 1}; })
      .Case<math::AbsFOp>([&](auto) -> FloatRange {
        double most = std::max(std::abs(x(0).low), std::abs(x(0).high));
        bool hasZero = x(0).low <= 0 && x(0).high >= 0;
        double least = std::min(std::abs(x(0).low), std::abs(x(0).high));
        return {hasZero ? 0 : least, most};
      })
      .Default([](Operation *) { return FloatRange(); });
}

FloatRange mlir::attn::getScoreRange(Region &score) {
  return RangeFinder().get(score.front().getTerminator()->getOperand(0));
}
