//===- MaskValues.cpp - How values in a mask depend on positions ----------===//

#include "attn/Analysis/MaskValues.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/TypeSwitch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

Trend mlir::attn::flip(Trend trend) {
  switch (trend) {
  case Trend::Increasing:
    return Trend::Decreasing;
  case Trend::Decreasing:
    return Trend::Increasing;
  case Trend::Constant:
  case Trend::Unknown:
    return trend;
  }
  llvm_unreachable("all trends are handled");
}

/// The trend of a sum, a minimum or a maximum.
static Trend combine(Trend a, Trend b) {
  if (a == b || b == Trend::Constant)
    return a;
  return a == Trend::Constant ? b : Trend::Unknown;
}

std::optional<int64_t> mlir::attn::getConstantInteger(Value value) {
  APInt constant;
  if (!value.getType().isIntOrIndex() ||
      !matchPattern(value, m_ConstantInt(&constant)) ||
      constant.getSignificantBits() > 64)
    return std::nullopt;
  return constant.getSExtValue();
}

/// The signed range [min, max] at the width that ranges of `type` have.
static ConstantIntRanges makeRange(Type type, int64_t min, int64_t max) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(type);
  return ConstantIntRanges::fromSigned(
      APInt(width, min, /*isSigned=*/true, /*implicitTrunc=*/true),
      APInt(width, max, /*isSigned=*/true, /*implicitTrunc=*/true));
}

std::optional<ConstantIntRanges>
mlir::attn::inferRange(OpResult result,
                       function_ref<ConstantIntRanges(Value)> getRange) {
  auto op = dyn_cast<InferIntRangeInterface>(result.getOwner());
  if (!op || !llvm::all_of(op->getOperandTypes(),
                           [](Type type) { return type.isIntOrIndex(); }))
    return std::nullopt;
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getRange(operand));
  std::optional<ConstantIntRanges> inferred;
  op.inferResultRanges(operands,
                       [&](Value value, const ConstantIntRanges &range) {
                         if (value == result)
                           inferred = range;
                       });
  return inferred;
}

//===----------------------------------------------------------------------===//
// Queries
//===----------------------------------------------------------------------===//

const MaskValues::Facts *MaskValues::lookup(Value value) const {
  auto found = facts.find(value);
  return found == facts.end() ? nullptr : &found->second;
}

bool MaskValues::dependsOnQuery(Value value) const {
  const Facts *known = lookup(value);
  return !known || known->query;
}

bool MaskValues::dependsOnKey(Value value) const {
  const Facts *known = lookup(value);
  return !known || known->key;
}

bool MaskValues::isGuarded(Value value) const {
  const Facts *known = lookup(value);
  return !known || known->guarded;
}

Trend MaskValues::getTrend(Value value) const {
  const Facts *known = lookup(value);
  return known ? known->trend : Trend::Unknown;
}

ConstantIntRanges MaskValues::getRange(Value value) const {
  const Facts *known = lookup(value);
  if (known && known->range)
    return *known->range;
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
}

/// Whether all values of `range` fit a signed integer of `width` bits.
static bool fits(const ConstantIntRanges &range, unsigned width) {
  return range.smin().getSignificantBits() <= width &&
         range.smax().getSignificantBits() <= width;
}

/// Whether a sum, difference, product or shift of operands in these ranges has
/// a result of `width` bits.
static bool staysInWidth(Operation *op, const ConstantIntRanges &lhs,
                         const ConstantIntRanges &rhs, unsigned width) {
  if (isa<arith::ShLIOp>(op) &&
      (rhs.smin().isNegative() || rhs.smax().sge(width)))
    return false;
  // Both operands at twice the width, where nothing wraps.
  for (APInt a : {lhs.smin(), lhs.smax()})
    for (APInt b : {rhs.smin(), rhs.smax()}) {
      a = a.sextOrTrunc(2 * width + 1);
      b = b.sextOrTrunc(2 * width + 1);
      APInt result = isa<arith::AddIOp>(op)   ? a + b
                     : isa<arith::SubIOp>(op) ? a - b
                     : isa<arith::MulIOp>(op) ? a * b
                                              : a.shl(b);
      if (result.getSignificantBits() > width)
        return false;
    }
  return true;
}

bool MaskValues::isExact(Operation *op) const {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return false;
  unsigned width =
      ConstantIntRanges::getStorageBitwidth(op->getResult(0).getType());
  // A boolean is no number, even where its range makes it look like one.
  if (width > 64 || op->getOperands().empty() ||
      op->getOperand(0).getType().isInteger(1))
    return false;
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return fits(getRange(op->getOperand(0)), width);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op))
    return isNonNegative(op->getOperand(0)) &&
           fits(getRange(op->getOperand(0)), width);
  if (!isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp>(op))
    return false;

  if (auto flags = dyn_cast<arith::ArithIntegerOverflowFlagsInterface>(op))
    if (flags.hasNoSignedWrap())
      return true;
  if (width == 64)
    return !mayWrap(op);
  return staysInWidth(op, getRange(op->getOperand(0)),
                      getRange(op->getOperand(1)), width);
}

bool MaskValues::mayWrap(Operation *op) const {
  ConstantIntRanges lhs = getRange(op->getOperand(0));
  ConstantIntRanges rhs = getRange(op->getOperand(1));
  for (Value operand : op->getOperands())
    if (const Facts *known = lookup(operand); known && known->wraps)
      return true;
  // What may be any integer, as captures may, is taken to be one that fits,
  // unless the other operand leaves it no room.
  constexpr int64_t large = int64_t(1) << 62;
  auto isAny = [](const ConstantIntRanges &range) {
    return (range.smin().isMinSignedValue() ||
            range.smax().isMaxSignedValue()) &&
           (range.smax() - range.smin()).ugt(large);
  };
  auto isLarge = [](const ConstantIntRanges &range) {
    return range.smax().sle(-large) || range.smin().sge(large);
  };
  if (isAny(lhs) || isAny(rhs))
    return isLarge(lhs) || isLarge(rhs);
  return !staysInWidth(op, lhs, rhs, 64);
}

std::optional<FloorDivision> MaskValues::getFloorDivision(Value value) const {
  Operation *op = value.getDefiningOp();
  if (!op || op->getNumOperands() != 2 ||
      ConstantIntRanges::getStorageBitwidth(value.getType()) > 64)
    return std::nullopt;
  Value numerator = op->getOperand(0);
  std::optional<int64_t> divisor = getConstantInteger(op->getOperand(1));
  if (!divisor || *divisor < 0)
    return std::nullopt;
  bool isShift = isa<arith::ShRSIOp, arith::ShRUIOp>(op);
  if (isShift)
    divisor = *divisor < 32 ? int64_t(1) << *divisor : 0;
  if (*divisor == 0)
    return std::nullopt;
  // Division towards zero and of unsigned integers is a floor from 0 on.
  bool isFloor = isa<arith::FloorDivSIOp, arith::ShRSIOp>(op) ||
                 (isa<arith::DivSIOp, arith::DivUIOp, arith::ShRUIOp>(op) &&
                  isNonNegative(numerator));
  if (isFloor)
    return FloorDivision{numerator, 0, *divisor};
  if (isa<arith::CeilDivSIOp>(op) ||
      (isa<arith::CeilDivUIOp>(op) && isNonNegative(numerator)))
    return FloorDivision{numerator, *divisor - 1, *divisor};
  return std::nullopt;
}

std::optional<Residue> MaskValues::getResidue(Value value) const {
  Operation *op = value.getDefiningOp();
  // Others, such as an extent of a capture, have no range to ask for.
  if (!op || op->getNumOperands() != 2 ||
      !op->getOperand(0).getType().isIntOrIndex())
    return std::nullopt;
  std::optional<int64_t> constant = getConstantInteger(op->getOperand(1));
  if (!constant || *constant <= 0)
    return std::nullopt;
  bool isPositive = isNonNegative(op->getOperand(0));
  if (isa<arith::RemSIOp>(op) || (isa<arith::RemUIOp>(op) && isPositive))
    return Residue{op->getOperand(0), *constant, isPositive};
  if (isa<arith::AndIOp>(op) && *constant < (int64_t(1) << 62) &&
      llvm::isMask_64(*constant))
    return Residue{op->getOperand(0), *constant + 1, /*isFloor=*/true};
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// One forward pass over the region
//===----------------------------------------------------------------------===//

MaskValues::MaskValues(AttentionLikeOpInterface op)
    : region(op.getMask()), queryIndex(region.getArgument(2)),
      keyIndex(region.getArgument(3)) {
  addArguments(op);
  region.walk([&](scf::ForOp loop) {
    for (Value argument : loop.getBody()->getArguments())
      setUnknown(argument);
  });
  // In post-order, so that the operations of a branch come before the scf.if.
  region.walk([&](Operation *inner) { addOperation(inner); });
}

void MaskValues::setUnknown(Value value) {
  Facts &unknown = facts[value];
  unknown.query = unknown.key = unknown.guarded = true;
  unknown.trend = Trend::Unknown;
}

void MaskValues::addArguments(AttentionLikeOpInterface op) {
  for (BlockArgument argument : region.getArguments())
    facts[argument] = Facts();
  facts[queryIndex].query = true;
  facts[queryIndex].trend = Trend::Increasing;
  facts[keyIndex].key = true;
  facts[keyIndex].trend = Trend::Unknown;

  // An operation with offsets sees positions of a larger whole.
  bool isWhole = op.getOffsets().empty();
  Layout q = op.getLayout(0), k = op.getLayout(1);
  int64_t sizes[] = {
      op.getQueryType().getDimSize(q.b), op.getQueryType().getDimSize(q.h),
      op.getQueryType().getDimSize(q.s), op.getKeyType().getDimSize(k.s)};
  for (auto [argument, size] :
       llvm::zip(region.getArguments().take_front(kNumMaskArgs), sizes)) {
    bool isKnown = isWhole && !ShapedType::isDynamic(size);
    int64_t length = isKnown ? std::min(size, kMaxLength) : kMaxLength;
    facts[argument].range =
        makeRange(argument.getType(), 0, std::max<int64_t>(length, 1) - 1);
  }
}

/// Whether an operation is in a loop of a region.
static bool isInLoop(Region &region, Operation *op) {
  for (Operation *parent = op->getParentOp();
       region.isAncestor(parent->getParentRegion());
       parent = parent->getParentOp())
    if (isa<scf::ForOp>(parent))
      return true;
  return false;
}

void MaskValues::addOperation(Operation *op) {
  // Of what is computed in a loop nothing is known, and nothing of it is for
  // use outside; of its results what they depend on.
  if (isInLoop(region, op)) {
    for (Value result : op->getResults())
      setUnknown(result);
    return;
  }
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    SetVector<Value> used(op->operand_begin(), op->operand_end());
    getUsedValuesDefinedAbove(loop.getRegion(), used);
    Facts known;
    known.trend = Trend::Unknown;
    for (Value value : used) {
      known.query |= dependsOnQuery(value);
      known.key |= dependsOnKey(value);
    }
    if (!known.query && !known.key)
      known.trend = Trend::Constant;
    for (Value result : op->getResults())
      facts[result] = known;
    return;
  }
  bool isNested = op->getParentRegion() != &region;
  Facts common;
  for (Value operand : op->getOperands()) {
    common.query |= dependsOnQuery(operand);
    common.key |= dependsOnKey(operand);
    common.guarded |= isNested && isGuarded(operand);
  }
  // A read of a capture and a division are only safe where they stand; a
  // branch with anything in it stays whole.
  common.guarded |= isNested && (!isPure(op) || op->getNumRegions() != 0 ||
                                 isa<tensor::ExtractOp>(op));
  for (OpResult result : op->getResults()) {
    Facts known = common;
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      for (Region *side : {&branch.getThenRegion(), &branch.getElseRegion()}) {
        Value yielded =
            side->front().getTerminator()->getOperand(result.getResultNumber());
        known.query |= dependsOnQuery(yielded);
        known.key |= dependsOnKey(yielded);
      }
    }
    if (result.getType().isIntOrIndex()) {
      known.range = inferRange(op, result);
      known.wraps = isOfWrapped(op, result);
    }
    facts[result] = known;
    if (known.key)
      facts[result].trend = Trend::Unknown;
    else if (known.query)
      facts[result].trend = inferTrend(op);
  }
}

/// What a quotient or a remainder may be whatever the divisor is: no larger in
/// magnitude than the dividend, and of its sign if it is a remainder.
static std::optional<ConstantIntRanges>
getRangeByDividend(Operation *op, const ConstantIntRanges &dividend) {
  APInt min = dividend.smin(), max = dividend.smax();
  if (min.isMinSignedValue())
    return std::nullopt;
  APInt zero = APInt::getZero(min.getBitWidth());
  if (isa<arith::RemSIOp>(op))
    return ConstantIntRanges::fromSigned(llvm::APIntOps::smin(min, zero),
                                         llvm::APIntOps::smax(max, zero));
  if (!isa<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>(op))
    return std::nullopt;
  APInt most = llvm::APIntOps::smax(min.abs(), max.abs());
  return ConstantIntRanges::fromSigned(-most, most);
}

std::optional<ConstantIntRanges> MaskValues::inferRange(Operation *op,
                                                        OpResult result) {
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = result.getResultNumber();
    return getRange(branch.thenYield().getOperand(number))
        .rangeUnion(getRange(branch.elseYield().getOperand(number)));
  }
  if (isa<tensor::DimOp>(op))
    return makeRange(result.getType(), 0, kMaxLength);
  std::optional<ConstantIntRanges> inferred =
      attn::inferRange(result, [&](Value value) { return getRange(value); });
  if (op->getNumOperands() == 2 && op->getOperand(0).getType().isIntOrIndex())
    if (std::optional<ConstantIntRanges> known =
            getRangeByDividend(op, getRange(op->getOperand(0))))
      return inferred ? inferred->intersection(*known) : *known;
  return inferred;
}

bool MaskValues::isOfWrapped(Operation *op, OpResult result) const {
  if (ConstantIntRanges::getStorageBitwidth(result.getType()) != 64)
    return false;
  if (isa<arith::AddIOp, arith::SubIOp, arith::MulIOp, arith::ShLIOp>(op))
    return !isExact(op);
  auto isWrapped = [&](Value value) {
    const Facts *known = lookup(value);
    return known && known->wraps;
  };
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    unsigned number = result.getResultNumber();
    return isWrapped(branch.thenYield().getOperand(number)) ||
           isWrapped(branch.elseYield().getOperand(number));
  }
  return llvm::any_of(op->getOperands(), isWrapped);
}

/// The trend of the one result of an operation that depends on the query and
/// not on the key.
Trend MaskValues::inferTrend(Operation *op) const {
  if (op->getNumResults() != 1 || !op->getResult(0).getType().isIntOrIndex())
    return Trend::Unknown;
  auto trend = [&](unsigned number) {
    return getTrend(op->getOperand(number));
  };
  auto range = [&](unsigned number) {
    return getRange(op->getOperand(number));
  };
  auto isNonNegativeOperand = [&](unsigned number) {
    return isNonNegative(op->getOperand(number));
  };
  return llvm::TypeSwitch<Operation *, Trend>(op)
      .Case<arith::AddIOp>([&](auto) {
        return isExact(op) ? combine(trend(0), trend(1)) : Trend::Unknown;
      })
      .Case<arith::SubIOp>([&](auto) {
        return isExact(op) ? combine(trend(0), flip(trend(1))) : Trend::Unknown;
      })
      .Case<arith::MulIOp>([&](auto) {
        unsigned factor = trend(0) == Trend::Constant ? 0 : 1;
        if (!isExact(op) || trend(factor) != Trend::Constant)
          return Trend::Unknown;
        if (isNonNegativeOperand(factor))
          return trend(1 - factor);
        return range(factor).smax().isNonPositive() ? flip(trend(1 - factor))
                                                    : Trend::Unknown;
      })
      .Case<arith::ShLIOp>([&](auto) {
        return isExact(op) && trend(1) == Trend::Constant ? trend(0)
                                                          : Trend::Unknown;
      })
      // Rounding towards zero and towards either infinity keep the order.
      .Case<arith::DivSIOp, arith::FloorDivSIOp, arith::CeilDivSIOp>([&](auto) {
        return trend(1) == Trend::Constant &&
                       range(1).smin().isStrictlyPositive()
                   ? trend(0)
                   : Trend::Unknown;
      })
      .Case<arith::DivUIOp, arith::CeilDivUIOp>([&](auto) {
        return trend(1) == Trend::Constant && isNonNegativeOperand(0) &&
                       range(1).smin().isStrictlyPositive()
                   ? trend(0)
                   : Trend::Unknown;
      })
      .Case<arith::ShRSIOp>([&](auto) {
        return trend(1) == Trend::Constant ? trend(0) : Trend::Unknown;
      })
      .Case<arith::ShRUIOp>([&](auto) {
        return trend(1) == Trend::Constant && isNonNegativeOperand(0)
                   ? trend(0)
                   : Trend::Unknown;
      })
      .Case<arith::MaxSIOp, arith::MinSIOp>(
          [&](auto) { return combine(trend(0), trend(1)); })
      .Case<arith::MaxUIOp, arith::MinUIOp>([&](auto) {
        return isNonNegativeOperand(0) && isNonNegativeOperand(1)
                   ? combine(trend(0), trend(1))
                   : Trend::Unknown;
      })
      .Case<arith::SelectOp>([&](auto) {
        return trend(0) == Trend::Constant ? combine(trend(1), trend(2))
                                           : Trend::Unknown;
      })
      .Case<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
            arith::ExtUIOp, arith::TruncIOp>(
          [&](auto) { return isExact(op) ? trend(0) : Trend::Unknown; })
      .Default([](Operation *) { return Trend::Unknown; });
}
