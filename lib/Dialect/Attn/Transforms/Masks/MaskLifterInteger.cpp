//===- MaskLifterInteger.cpp - Integers as intervals ----------------------===//

#include "MaskLifter.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;
using Rounding = RangedArith::Rounding;

/// A read that reaches more elements for a tile is not lifted: the predicate
/// would cost no more.
static constexpr int64_t kMaxReach = 256;
/// The extent of a tile that reads are judged by.
static constexpr int64_t kUsualTile = 64;

std::optional<MaskLifter::Interval> MaskLifter::liftInteger(Operation *op) {
  if (auto select = dyn_cast<arith::SelectOp>(op))
    return liftChoice(getTernary(select.getCondition()), select.getTrueValue(),
                      select.getFalseValue());
  if (isa<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastUIOp,
          arith::IndexCastOp>(op) &&
      op->getOperand(0).getType().isInteger(1)) {
    Ternary bit = getTernary(op->getOperand(0));
    Value zero = arith.constant(0);
    if (isa<arith::ExtUIOp, arith::IndexCastUIOp>(op)) {
      Value one = arith.constant(1);
      return Interval{arith.select(bit.must, one, zero),
                      arith.select(bit.may, one, zero)};
    }
    Value minusOne = arith.constant(-1);
    return Interval{arith.select(bit.may, minusOne, zero),
                    arith.select(bit.must, minusOne, zero)};
  }
  if (op->getNumOperands() == 0 || op->getOperand(0).getType().isInteger(1))
    return std::nullopt;

  Interval x = getInterval(op->getOperand(0));
  if (isa<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastUIOp,
          arith::IndexCastOp, arith::TruncIOp>(op))
    return values.isExact(op) ? std::optional(x) : std::nullopt;
  if (isa<math::AbsIOp>(op)) {
    // The least integer of a narrow type has no absolute value in it.
    ConstantIntRanges range = values.getRange(op->getOperand(0));
    if (range.smin().getBitWidth() < 64 && range.smin().isMinSignedValue())
      return std::nullopt;
    // At most one of the two terms of the least value is not 0.
    Value zero = arith.constant(0);
    return Interval{
        arith.subtract(arith.maximum(x.lo, zero), arith.minimum(x.hi, zero)),
        arith.maximum(arith.subtract(zero, x.lo), x.hi)};
  }
  if (op->getNumOperands() != 2)
    return std::nullopt;

  Interval y = getInterval(op->getOperand(1));
  bool areNonNegative = values.isNonNegative(op->getOperand(0)) &&
                        values.isNonNegative(op->getOperand(1));
  if (isa<arith::AddIOp>(op))
    return values.isExact(op) ? std::optional(Interval{arith.add(x.lo, y.lo),
                                                       arith.add(x.hi, y.hi)})
                              : std::nullopt;
  if (isa<arith::SubIOp>(op))
    return values.isExact(op)
               ? std::optional(Interval{arith.subtract(x.lo, y.hi),
                                        arith.subtract(x.hi, y.lo)})
               : std::nullopt;
  if (isa<arith::MulIOp>(op))
    return values.isExact(op)
               ? liftProduct(op->getOperand(0), x, op->getOperand(1), y)
               : std::nullopt;
  if (isa<arith::ShLIOp>(op)) {
    std::optional<int64_t> amount = getConstantInteger(op->getOperand(1));
    if (!amount || *amount < 0 || *amount > 61 || !values.isExact(op))
      return std::nullopt;
    Value factor = arith.constant(int64_t(1) << *amount);
    return liftProduct(op->getOperand(0), x, Value(), {factor, factor});
  }
  if (isa<arith::MinSIOp>(op) || (isa<arith::MinUIOp>(op) && areNonNegative))
    return Interval{arith.minimum(x.lo, y.lo), arith.minimum(x.hi, y.hi)};
  if (isa<arith::MaxSIOp>(op) || (isa<arith::MaxUIOp>(op) && areNonNegative))
    return Interval{arith.maximum(x.lo, y.lo), arith.maximum(x.hi, y.hi)};
  if (std::optional<Interval> quotient = liftDivision(op))
    return quotient;
  if (std::optional<Interval> rest = liftRemainder(op))
    return rest;
  return liftBits(op);
}

//===----------------------------------------------------------------------===//
// Products and quotients
//===----------------------------------------------------------------------===//

std::optional<MaskLifter::Interval>
MaskLifter::liftProduct(Value a, Interval x, Value b, Interval y) {
  // A square is not negative, which its ends as two factors do not show.
  bool isSquare = a == b && !x.isPoint();
  std::optional<Interval> result;
  for (Value p : {x.lo, x.hi}) {
    for (Value q : {y.lo, y.hi}) {
      Value product = arith.multiply(p, q);
      if (!product)
        return std::nullopt;
      if (!result)
        result = Interval{product, product};
      else
        result = Interval{arith.minimum(result->lo, product),
                          arith.maximum(result->hi, product)};
      if (y.isPoint())
        break;
    }
    if (x.isPoint())
      break;
  }
  if (isSquare)
    result->lo = arith.maximum(result->lo, arith.constant(0));
  return result;
}

/// Rounding of a quotient by a positive integer, if `op` is one.
static std::optional<Rounding> getRounding(Operation *op,
                                           const MaskValues &values) {
  if (isa<arith::DivSIOp>(op))
    return Rounding::TowardsZero;
  if (isa<arith::FloorDivSIOp, arith::ShRSIOp>(op))
    return Rounding::Down;
  if (isa<arith::CeilDivSIOp>(op))
    return Rounding::Up;
  if (isa<arith::DivUIOp, arith::CeilDivUIOp, arith::ShRUIOp>(op) &&
      values.isNonNegative(op->getOperand(0)))
    return isa<arith::CeilDivUIOp>(op) ? Rounding::Up : Rounding::Down;
  return std::nullopt;
}

std::optional<MaskLifter::Interval> MaskLifter::liftDivision(Operation *op) {
  std::optional<Rounding> rounding = getRounding(op, values);
  if (!rounding)
    return std::nullopt;
  Interval x = getInterval(op->getOperand(0));
  Value divisor = op->getOperand(1);
  if (std::optional<int64_t> constant = getConstantInteger(divisor)) {
    if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
      if (*constant < 0 || *constant > 62)
        return std::nullopt;
      Value amount = arith.constant(*constant);
      Value lo = arith.shiftRight(x.lo, amount);
      return Interval{lo, x.isPoint() ? lo : arith.shiftRight(x.hi, amount)};
    }
    if (*constant <= 0)
      return std::nullopt;
    Value lo = arith.divide(x.lo, *constant, *rounding);
    return Interval{lo, x.isPoint() ? lo
                                    : arith.divide(x.hi, *constant, *rounding)};
  }
  Interval y = getInterval(divisor);
  if (isa<arith::ShRSIOp, arith::ShRUIOp>(op)) {
    // A larger amount leaves less; one out of range leaves nothing defined.
    if (!arith.isNonNegative(x.lo))
      return std::nullopt;
    auto shift = [&](Value a, Value amount) {
      return arith.shiftRight(
          a, arith.minimum(arith.maximum(amount, arith.constant(0)),
                           arith.constant(63)));
    };
    Value lo = shift(x.lo, y.hi);
    return Interval{lo, x.isPoint() && y.isPoint() ? lo : shift(x.hi, y.lo)};
  }
  // A divisor that is the same for the tile: positive, or all is possible.
  if (!y.isPoint())
    return std::nullopt;
  Value isPositive = arith.less(arith.constant(0), y.lo);
  Value safe = arith.maximum(y.lo, arith.constant(1));
  Interval quotient = {arith.divide(x.lo, safe, *rounding),
                       arith.divide(x.hi, safe, *rounding)};
  return choose(isPositive, quotient, getAny(op->getResult(0)));
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

std::optional<MaskLifter::Interval> MaskLifter::liftRemainder(Operation *op) {
  if (!isa<arith::RemSIOp>(op) &&
      !(isa<arith::RemUIOp>(op) && values.isNonNegative(op->getOperand(0))))
    return std::nullopt;
  Interval x = getInterval(op->getOperand(0));
  if (std::optional<Residue> residue = values.getResidue(op->getResult(0))) {
    Value divisor = arith.constant(residue->divisor);
    // Within one period the remainder grows as the number does.
    Interval inPeriod = {arith.remainder(x.lo, divisor),
                         arith.remainder(x.hi, divisor)};
    if (x.isPoint())
      return Interval{inPeriod.lo, inPeriod.lo};
    Value isInPeriod =
        arith.equal(arith.divide(x.lo, divisor, Rounding::TowardsZero),
                    arith.divide(x.hi, divisor, Rounding::TowardsZero));
    Interval all = {
        arith.constant(arith.isNonNegative(x.lo) ? 0 : 1 - residue->divisor),
        arith.constant(arith.getRange(x.hi).smax().isStrictlyPositive()
                           ? residue->divisor - 1
                           : 0)};
    return choose(isInPeriod, inPeriod, all);
  }
  Interval y = getInterval(op->getOperand(1));
  if (!y.isPoint())
    return std::nullopt;
  Value isPositive = arith.less(arith.constant(0), y.lo);
  Value safe = arith.maximum(y.lo, arith.constant(1));
  Value isInPeriod =
      arith.equal(arith.divide(x.lo, safe, Rounding::TowardsZero),
                  arith.divide(x.hi, safe, Rounding::TowardsZero));
  return choose(arith.both(isPositive, isInPeriod),
                {arith.remainder(x.lo, safe), arith.remainder(x.hi, safe)},
                getAny(op->getResult(0)));
}

//===----------------------------------------------------------------------===//
// Bits
//===----------------------------------------------------------------------===//

MaskLifter::Interval MaskLifter::liftLowBits(Interval x, unsigned bits) {
  Value mask = arith.constant((int64_t(1) << bits) - 1);
  if (x.isPoint()) {
    Value low = arith.bitAnd(x.lo, mask);
    return {low, low};
  }
  Value amount = arith.constant(bits);
  Value isInPeriod = arith.equal(arith.shiftRight(x.lo, amount),
                                 arith.shiftRight(x.hi, amount));
  Interval inPeriod = {arith.bitAnd(x.lo, mask), arith.bitAnd(x.hi, mask)};
  return choose(isInPeriod, inPeriod, {arith.constant(0), mask});
}

std::optional<MaskLifter::Interval> MaskLifter::liftBits(Operation *op) {
  if (!isa<arith::AndIOp, arith::OrIOp, arith::XOrIOp>(op))
    return std::nullopt;
  Interval x = getInterval(op->getOperand(0)),
           y = getInterval(op->getOperand(1));
  if (isa<arith::AndIOp>(op))
    if (std::optional<Residue> residue = values.getResidue(op->getResult(0)))
      return liftLowBits(getInterval(residue->value),
                         llvm::Log2_64(residue->divisor));
  for (Value end : {x.lo, x.hi, y.lo, y.hi})
    if (!arith.isNonNegative(end))
      return std::nullopt;
  // Above the highest bit in which the ends of an operand differ, all its
  // numbers agree, and so do those of the result; below, it may be anything.
  auto combine = [&](Value a, Value b) {
    if (isa<arith::AndIOp>(op))
      return arith.bitAnd(a, b);
    return isa<arith::OrIOp>(op) ? arith.bitOr(a, b) : arith.bitXor(a, b);
  };
  Value same = combine(x.lo, y.lo);
  if (x.isPoint() && y.isPoint())
    return Interval{same, same};
  auto differ = [&](Interval z) {
    return z.isPoint() ? arith.constant(0) : arith.bitXor(z.lo, z.hi);
  };
  Value below = arith.fillBelow(arith.bitOr(differ(x), differ(y)));
  Value above = arith.bitXor(below, arith.constant(-1));
  Value lo = arith.bitAnd(same, above);
  // A bit that an operand does not have, no conjunction has.
  if (isa<arith::AndIOp>(op))
    for (Interval z : {x, y})
      if (z.isPoint())
        below = arith.bitAnd(below, z.lo);
  return Interval{lo, arith.bitOr(lo, below)};
}

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

std::optional<MaskLifter::Interval>
MaskLifter::liftChoice(Ternary condition, Value yes, Value no) {
  Interval a = getInterval(yes), b = getInterval(no);
  if (condition.may == condition.must)
    return choose(condition.may, a, b);
  Interval hull = {arith.minimum(a.lo, b.lo), arith.maximum(a.hi, b.hi)};
  return choose(condition.must, a, choose(condition.may, hull, b));
}

//===----------------------------------------------------------------------===//
// Reads of captures
//===----------------------------------------------------------------------===//

/// About how many values an index takes over a usual tile, if that is known
/// and not too many. Gives up after `steps` operations.
static std::optional<int64_t>
estimateExtent(Value value, const MaskValues &values, unsigned &steps) {
  if (values.isUniform(value))
    return 1;
  if (value == values.getQueryIndex() || value == values.getKeyIndex())
    return kUsualTile;
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() == 0 || steps == 0)
    return std::nullopt;
  --steps;
  std::optional<int64_t> first =
      estimateExtent(op->getOperand(0), values, steps);
  if (!first)
    return std::nullopt;
  if (values.isExact(op) && op->getNumOperands() == 1)
    return first;
  if (std::optional<FloorDivision> division = values.getFloorDivision(value))
    return *first / division->divisor + 2;
  if (std::optional<Residue> residue = values.getResidue(value))
    return residue->divisor;
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MinSIOp, arith::MaxSIOp,
           arith::MinUIOp, arith::MaxUIOp>(op))
    return std::nullopt;
  std::optional<int64_t> second =
      estimateExtent(op->getOperand(1), values, steps);
  if (!second || *first + *second > kMaxReach)
    return std::nullopt;
  return *first + *second - 1;
}

/// Whether a read reaches few enough elements for a usual tile.
static bool isWorthReading(tensor::ExtractOp op, const MaskValues &values) {
  int64_t reach = 1;
  for (Value index : op.getIndices()) {
    unsigned steps = 64;
    std::optional<int64_t> extent = estimateExtent(index, values, steps);
    if (!extent || llvm::MulOverflow(reach, *extent, reach) ||
        reach > kMaxReach)
      return false;
  }
  return true;
}

void MaskLifter::liftRead(tensor::ExtractOp op) {
  Type element = op.getType();
  if (!element.isSignlessIntOrIndex() ||
      ConstantIntRanges::getStorageBitwidth(element) > 64 ||
      !isWorthReading(op, values))
    return;
  SmallVector<Value> lows, highs;
  for (Value index : op.getIndices()) {
    Interval interval = getInterval(index);
    lows.push_back(interval.lo);
    highs.push_back(arith.add(interval.hi, arith.constant(1)));
  }
  auto range = RangeOp::create(builder, op.getLoc(), element, element,
                               copies.lookup(op.getTensor()), lows, highs);
  if (element.isInteger(1)) {
    ternaries[op] = {range.getMax(), range.getMin()};
    return;
  }
  intervals[op] = {asIndex(range.getMin(), op), asIndex(range.getMax(), op)};
}
