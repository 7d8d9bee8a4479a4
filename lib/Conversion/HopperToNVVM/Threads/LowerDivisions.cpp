//===- LowerDivisions.cpp - Quotients and remainders of positions ---------===//
//
// Positions have 32 bits, and so have their quotients, whatever divides them.
// By a number that all elements share and that follows from the arguments of
// the kernel, a quotient is the upper half of a product with that number's
// reciprocal, which is computed once, at the start of the partition.
//
//===----------------------------------------------------------------------===//

#include "ScalarMath.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Positions in a tile
//===----------------------------------------------------------------------===//

/// Quotients and remainders of a thread's positions in a tile by a constant: a
/// period holds its base, so that quotients are constants, or the base is a
/// multiple of it, so that remainders are.
template <typename OpT>
static FailureOr<Elements> lowerDivisionOfPositions(OpT op, Operands<OpT> in,
                                                    ThreadBuilder &b) {
  APInt divisor;
  if (!getElementTypeOrSelf(op.getType()).isIndex() ||
      !matchPattern(op.getRhs(), m_ConstantInt(&divisor)) ||
      !divisor.isStrictlyPositive() || divisor.getSignificantBits() > 32)
    return failure();
  int64_t period = divisor.getSExtValue();
  SmallVector<IndexElement> list;
  for (IndexElement element : b.getIndices(in.getLhs())) {
    auto base = b.kernel.facts.bases.find(element.base);
    int64_t rest = element.offset % period;
    constexpr bool isQuotient = std::is_same_v<OpT, arith::DivUIOp>;
    if (element.offset < 0 || base == b.kernel.facts.bases.end())
      return failure();
    if (!isQuotient && base->second.multiple % period == 0) {
      list.push_back({Value(), rest});
      continue;
    }
    if (rest + base->second.most >= period)
      return failure();
    if (isQuotient)
      list.push_back({Value(), element.offset / period});
    else
      list.push_back({element.base, rest});
  }
  return b.toIndices(list);
}

//===----------------------------------------------------------------------===//
// Reciprocals
//===----------------------------------------------------------------------===//

static bool isUnsignedDivision(Operation *op) {
  return isa<arith::DivUIOp, arith::RemUIOp, arith::CeilDivUIOp>(op);
}

/// A divisor of 32 bits in place of any other. What is beyond all dividends is
/// as good as the largest number.
static Value narrowDivisor(ScalarBuilder &b, bool isUnsigned, Value divisor) {
  auto limit = [&](int64_t number) { return b.i64(number); };
  if (isUnsigned)
    divisor = b.minU(divisor, limit(INT32_MAX));
  else
    divisor = b.minS(b.maxS(divisor, limit(-INT32_MAX)), limit(INT32_MAX));
  return b.trunc32(divisor);
}

/// Instructions in text have effects if they say so.
static bool isComputation(Operation *op) {
  auto text = dyn_cast<LLVM::InlineAsmOp>(op);
  return (text ? !text.getHasSideEffects() : isPure(op)) &&
         op->getNumRegions() == 0 && op->getNumResults() == 1;
}

/// A scalar that follows from arguments of the kernel alone, computed at the
/// start of the partition, where `b` is, or already; null for others.
static Value emitAtStart(ThreadBuilder &b, Value value) {
  Operation *op = value.getDefiningOp();
  Region *owner = value.getParentRegion();
  if (owner->isProperAncestor(b.thread.start->getParentRegion()))
    return value;
  if (!op || !isComputation(op))
    return {};
  SmallVector<Value> operands;
  for (Value operand : op->getOperands()) {
    operands.push_back(emitAtStart(b, operand));
    if (!operands.back())
      return {};
  }
  // Uses may have computed the same scalar again, each for itself.
  for (Operation *other : b.thread.early)
    if (other->getName() == op->getName() &&
        other->getResultTypes() == op->getResultTypes() &&
        other->getAttrDictionary() == op->getAttrDictionary() &&
        llvm::equal(other->getOperands(), operands))
      return other->getResult(0);
  IRMapping mapping;
  mapping.map(op->getOperands(), operands);
  b.thread.early.push_back(b.clone(*op, mapping));
  return b.thread.early.back()->getResult(0);
}

/// Of a number d > 0 with 2^(shift - 1) < d <= 2^shift, the least factor that
/// is not less than 2^(31 + shift) / d, which has 32 bits. As it is more by
/// less than 2^shift / d, n * factor / 2^(31 + shift) is n / d, rounded down,
/// for all n < 2^31.
static Reciprocal emitReciprocal(ThreadBuilder &b, Value divisor) {
  Reciprocal result;
  Value one = b.i32(1), zero = b.i32(0);
  result.divisor = divisor;
  // Of 1, ctlz gives 32.
  Value zeros = math::CountLeadingZerosOp::create(b, b.sub(divisor, one));
  result.shift = b.sub(b.i32(32), zeros);
  // A bit of the factor after the other. The first one is set.
  Value rest = b.sub(b.shl(one, result.shift), divisor);
  auto loop = scf::ForOp::create(
      b, zero, b.i32(31), one, ValueRange{one, rest},
      [&](OpBuilder &builder, Location loc, Value, ValueRange arguments) {
        ScalarBuilder in(loc, builder);
        Value factor = in.shl(arguments[0], one);
        Value rest = in.shl(arguments[1], one);
        Value isSet = in.cmp(arith::CmpIPredicate::uge, rest, divisor);
        Value less = in.sub(rest, divisor);
        Value more = in.orI(factor, one);
        scf::YieldOp::create(in, ValueRange{in.select(isSet, more, factor),
                                            in.select(isSet, less, rest)});
      });
  Value isMore = b.ne(loop.getResult(1), zero);
  result.factor = b.add(loop.getResult(0),
                        arith::ExtUIOp::create(b, b.getI32Type(), isMore));
  return result;
}

/// The reciprocal of an integer that is not 0, or of its absolute value; null
/// if it is computed late.
static const Reciprocal *getReciprocal(ThreadBuilder &b, Value divisor,
                                       bool isUnsigned) {
  if (!b.thread.start)
    return nullptr;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(b.thread.start);
  Value early = emitAtStart(b, divisor);
  if (!early)
    return nullptr;
  auto [known, isNew] = b.thread.reciprocals[isUnsigned].try_emplace(early);
  if (isNew) {
    Value wide = b.toInt(IndexElement{early, 0}, 64);
    Value number = narrowDivisor(b, isUnsigned, wide), sign;
    if (!isUnsigned) {
      sign = b.shrS(number, 31);
      number = b.sub(b.xorI(number, sign), sign);
    }
    known->second = emitReciprocal(b, number);
    known->second.sign = sign;
  }
  return &known->second;
}

//===----------------------------------------------------------------------===//
// Divisions
//===----------------------------------------------------------------------===//

/// The quotient of twice a number, which is not negative and less than 2^31.
static Value emitQuotient(ThreadBuilder &b, const Reciprocal &reciprocal,
                          Value twice) {
  Value product =
      arith::MulUIExtendedOp::create(b, twice, reciprocal.factor).getHigh();
  return b.shrU(product, reciprocal.shift);
}

/// A quotient or a remainder of a position.
static Value emitDivision(ThreadBuilder &b, Operation *op, IndexElement element,
                          const Reciprocal &reciprocal) {
  auto subtract = [&](Value x, Value y) -> Value { return b.sub(x, y); };
  Value number = b.toInt(element, 32);
  if (isUnsignedDivision(op)) {
    // Elements with the same base share its double.
    Value twice = b.i32(2 * element.offset);
    if (element.base) {
      Value base = b.toInt(IndexElement{element.base, 0}, 32);
      twice = b.addOffset(b.shl(base, 1), 2 * element.offset);
    }
    Value quotient = emitQuotient(b, reciprocal, twice);
    if (isa<arith::DivUIOp>(op))
      return quotient;
    return subtract(number, b.mul(quotient, reciprocal.divisor));
  }
  // x / -d is -x / d, however it is rounded.
  auto flip = [&](Value x, Value sign) -> Value { return b.xorI(x, sign); };
  bool rounds = isa<arith::FloorDivSIOp>(op);
  if (rounds)
    number = subtract(flip(number, reciprocal.sign), reciprocal.sign);
  Value sign = b.shrS(number, 31);
  // Of a number x < 0, -1 - x is rounded the other way.
  Value size = flip(number, sign);
  if (!rounds)
    size = subtract(size, sign);
  Value quotient = emitQuotient(b, reciprocal, b.shl(size, 1));
  if (rounds)
    return flip(quotient, sign);
  if (isa<arith::RemSIOp>(op)) {
    Value rest = subtract(size, b.mul(quotient, reciprocal.divisor));
    return subtract(flip(rest, sign), sign);
  }
  sign = flip(sign, reciprocal.sign);
  return subtract(flip(quotient, sign), sign);
}

/// Whether the dividend is less than the largest number of 32 bits, and so are
/// the quotient and the remainder, whatever the divisor is.
static bool isNarrowDivision(ThreadBuilder &b, Operation *op) {
  return isa<arith::DivUIOp, arith::DivSIOp, arith::RemUIOp, arith::RemSIOp,
             arith::CeilDivUIOp, arith::CeilDivSIOp, arith::FloorDivSIOp>(op) &&
         getElementTypeOrSelf(op->getResult(0).getType()).isIndex() &&
         b.kernel.ranges.get(op->getOperand(0)).isWithin(INT32_MAX - 1) &&
         (!isUnsignedDivision(op) ||
          b.kernel.ranges.get(op->getOperand(0)).lo >= 0);
}

static FailureOr<Elements> lowerNarrowDivision(Operation *op,
                                               ArrayRef<ValueRange> operands,
                                               ThreadBuilder &b) {
  if (!isNarrowDivision(b, op))
    return failure();
  SmallVector<IndexElement> divisors = b.getIndices(operands[1]);
  size_t count = std::max(operands[0].size(), divisors.size());
  bool isUnsigned = isUnsignedDivision(op);
  bool isShared = llvm::all_of(divisors, [&](IndexElement divisor) {
    return divisor.base && divisor.offset == 0 &&
           divisor.base == divisors.front().base;
  });
  const Reciprocal *reciprocal = nullptr;
  if (count > 1 && isShared && !isa<arith::CeilDivUIOp, arith::CeilDivSIOp>(op))
    reciprocal = getReciprocal(b, divisors.front().base, isUnsigned);
  bool isNarrow = b.kernel.ranges.fitsInt32(op->getOperand(1));
  return mapEqualElements(b, operands, [&](ValueRange own) {
    IndexElement dividend = b.getIndex(own[0]), divisor = b.getIndex(own[1]);
    Value value;
    if (reciprocal) {
      value = emitDivision(b, op, dividend, *reciprocal);
    } else {
      Value number = isNarrow
                         ? b.toInt(divisor, 32)
                         : narrowDivisor(b, isUnsigned, b.toInt(divisor, 64));
      value = emitScalarOp(b, *op, {b.toInt(dividend, 32), number},
                           b.getI32Type(), b.kernel.accurateTanh);
    }
    std::optional<Divisor> by;
    if (reciprocal)
      by = Divisor{reciprocal->divisor, 0};
    else if (!divisor.base && divisor.offset <= INT32_MAX)
      by = Divisor{{}, divisor.offset};
    if (by && isa<arith::RemUIOp>(op))
      b.kernel.facts.remainders[value] = {dividend, *by};
    return b.toIndex({value, 0});
  });
}

void mlir::attn::populateDivisionPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerDivisionOfPositions<arith::DivUIOp>, /*benefit=*/4);
  patterns.add(lowerDivisionOfPositions<arith::RemUIOp>, /*benefit=*/4);
  // In front of that for any operation.
  patterns.addForAny(lowerNarrowDivision, /*benefit=*/3);
}
