//===- BlockBoundsArith.cpp - Index arithmetic that folds by range --------===//

#include "BlockBounds.h"

using namespace mlir;
using namespace mlir::attn;

ConstantIntRanges BlockBoundsBuilder::getRange(Value value) const {
  auto found = ranges.find(value);
  if (found != ranges.end())
    return found->second;
  return ConstantIntRanges::maxRange(
      ConstantIntRanges::getStorageBitwidth(value.getType()));
}

Value BlockBoundsBuilder::track(Value value, int64_t min, int64_t max) {
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  ranges.try_emplace(value, ConstantIntRanges::fromSigned(
                                APInt(width, min, /*isSigned=*/true),
                                APInt(width, max, /*isSigned=*/true)));
  return value;
}

/// Notes the range of the result of an operation that was just built.
Value BlockBoundsBuilder::track(Value value) {
  auto op = value.getDefiningOp<InferIntRangeInterface>();
  SmallVector<ConstantIntRanges> operands;
  for (Value operand : op->getOperands())
    operands.push_back(getRange(operand));
  op.inferResultRanges(operands,
                       [&](Value result, const ConstantIntRanges &range) {
                         ranges.try_emplace(result, range);
                       });
  return value;
}

Value BlockBoundsBuilder::constant(int64_t value) {
  return track(arith::ConstantIndexOp::create(builder, loc, value), value,
               value);
}

Value BlockBoundsBuilder::add(Value a, Value b) {
  return track(arith::AddIOp::create(builder, loc, a, b));
}

Value BlockBoundsBuilder::subtract(Value a, Value b) {
  return track(arith::SubIOp::create(builder, loc, a, b));
}

Value BlockBoundsBuilder::multiply(Value a, int64_t factor) {
  if (factor == 1)
    return a;
  if (factor == -1)
    return subtract(constant(0), a);
  return track(arith::MulIOp::create(builder, loc, a, constant(factor)));
}

Value BlockBoundsBuilder::divide(Value a, int64_t divisor, bool roundUp) {
  if (divisor == 1)
    return a;
  Value by = constant(divisor);
  if (roundUp)
    return track(arith::CeilDivSIOp::create(builder, loc, a, by));
  return track(arith::FloorDivSIOp::create(builder, loc, a, by));
}

Value BlockBoundsBuilder::minimum(Value a, Value b) {
  ConstantIntRanges aRange = getRange(a), bRange = getRange(b);
  if (a == b || aRange.smax().sle(bRange.smin()))
    return a;
  if (bRange.smax().sle(aRange.smin()))
    return b;
  return track(arith::MinSIOp::create(builder, loc, a, b));
}

Value BlockBoundsBuilder::maximum(Value a, Value b) {
  ConstantIntRanges aRange = getRange(a), bRange = getRange(b);
  if (a == b || aRange.smin().sge(bRange.smax()))
    return a;
  if (bRange.smin().sge(aRange.smax()))
    return b;
  return track(arith::MaxSIOp::create(builder, loc, a, b));
}

Value BlockBoundsBuilder::select(Value condition, Value yes, Value no) {
  if (yes == no)
    return yes;
  return track(arith::SelectOp::create(builder, loc, condition, yes, no));
}

Value BlockBoundsBuilder::compare(arith::CmpIPredicate predicate, Value a,
                                  Value b) {
  return arith::CmpIOp::create(builder, loc, predicate, a, b);
}

Value BlockBoundsBuilder::both(Value a, Value b) {
  return a == b ? a : arith::AndIOp::create(builder, loc, a, b).getResult();
}

Value BlockBoundsBuilder::negate(Value condition) {
  Value isTrue = arith::ConstantIntOp::create(builder, loc, 1, 1);
  return arith::XOrIOp::create(builder, loc, condition, isTrue);
}
