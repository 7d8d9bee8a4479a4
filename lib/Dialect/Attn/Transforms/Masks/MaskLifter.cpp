//===- MaskLifter.cpp - A mask on whole tiles -----------------------------===//

#include "MaskLifter.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a value is an integer whose numbers fit an index.
static bool isNumber(Type type) {
  return type.isIntOrIndex() && !type.isInteger(1) &&
         ConstantIntRanges::getStorageBitwidth(type) <= 64;
}

MaskLifter::MaskLifter(OpBuilder &builder, Location loc,
                       AttentionLikeOpInterface op)
    : builder(builder), loc(loc), op(op), values(op), arith(builder, loc) {
  Block::BlockArgListType arguments =
      builder.getInsertionBlock()->getArguments();
  Region &region = values.getRegion();
  copies.map(region.getArguments().take_front(2), arguments.take_front(2));
  copies.map(region.getArguments().drop_front(kNumMaskArgs),
             arguments.drop_front(kNumTilesArgs));
  for (BlockArgument argument : region.getArguments())
    if (values.isUniform(argument))
      setPoint(argument, copies.lookup(argument));
  const auto one = ConstantIntRanges::constant(APInt(64, 1));
  auto setPositions = [&](BlockArgument position, Value first, Value end) {
    ConstantIntRanges range = values.getRange(position);
    arith.track(first, range);
    arith.track(end, intrange::inferAdd({range, one}));
    intervals[position] = {first, arith.subtract(end, arith.constant(1))};
  };
  setPositions(values.getQueryIndex(), arguments[2], arguments[3]);
  setPositions(values.getKeyIndex(), arguments[4], arguments[5]);
}

MaskLifter::Ternary MaskLifter::lift() {
  Region &region = values.getRegion();
  // In post-order, so that the operations of a branch come before the scf.if.
  // A loop is one operation.
  region.walk([&](Operation *op) {
    auto loop = op->getParentOfType<scf::ForOp>();
    if (!loop || !region.isAncestor(loop->getParentRegion()))
      visit(op);
  });
  Ternary lifted = getTernary(region.front().getTerminator()->getOperand(0));
  return hasUnknownPairs ? evaluate(lifted) : lifted;
}

bool MaskLifter::isKnown(Value value) const {
  if (uncomputed.contains(value))
    return true;
  if (!value.getType().isInteger(1))
    return intervals.contains(value);
  auto found = ternaries.find(value);
  return found != ternaries.end() &&
         !(matchPattern(found->second.may, m_One()) &&
           matchPattern(found->second.must, m_Zero()));
}

void MaskLifter::visit(Operation *op) {
  if (op->hasTrait<OpTrait::IsTerminator>())
    return;
  bool isComputed = llvm::any_of(op->getOperands(), [&](Value operand) {
    return computed.contains(operand);
  });
  if (isComputed)
    computed.insert_range(op->getResults());
  if (!isComputed || !joinsValues(op))
    visitKnown(op);
  for (Value result : op->getResults()) {
    bool isTernary = result.getType().isInteger(1);
    if ((!isTernary && !isNumber(result.getType())) || isKnown(result))
      continue;
    if (values.dependsOnQuery(result) && values.dependsOnKey(result)) {
      hasUnknownPairs = true;
    } else if (op->getParentRegion() == &values.getRegion()) {
      uncomputed.insert(result);
      computed.insert(result);
    }
  }
}

bool MaskLifter::joinsValues(Operation *op) const {
  if (op->getParentRegion() != &values.getRegion() ||
      op->getNumRegions() != 0 ||
      llvm::any_of(op->getResults(), [&](Value result) {
        return values.dependsOnQuery(result) && values.dependsOnKey(result);
      }))
    return false;
  llvm::SmallDenseSet<Value> operands;
  for (Value operand : op->getOperands())
    if (values.dependsOnQuery(operand) || values.dependsOnKey(operand))
      operands.insert(operand);
  return operands.size() > 1;
}

void MaskLifter::visitKnown(Operation *op) {
  if (llvm::all_of(op->getResults(), [&](Value result) {
        return values.isUniform(result) && !values.isGuarded(result);
      }))
    return copy(op);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op))
    return liftRead(extract);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Ternary condition = getTernary(branch.getCondition());
    for (auto [result, yes, no] :
         llvm::zip(branch.getResults(), branch.thenYield().getOperands(),
                   branch.elseYield().getOperands())) {
      if (result.getType().isInteger(1))
        ternaries[result] =
            liftChoice(condition, getTernary(yes), getTernary(no));
      else if (isNumber(result.getType()))
        if (std::optional<Interval> known = liftChoice(condition, yes, no))
          intervals[result] = *known;
    }
    return;
  }
  if (op->getNumResults() != 1)
    return;
  Value result = op->getResult(0);
  if (result.getType().isInteger(1)) {
    ternaries[result] = liftBoolean(op);
  } else if (isNumber(result.getType()) &&
             llvm::all_of(op->getOperandTypes(), [](Type type) {
               return type.isInteger(1) || isNumber(type);
             })) {
    if (std::optional<Interval> known = liftInteger(op))
      intervals[result] = narrow(*known, result);
  }
}

//===----------------------------------------------------------------------===//
// What is the same for the whole tile
//===----------------------------------------------------------------------===//

void MaskLifter::copy(Operation *op) {
  Operation *copied;
  if (op->getNumRegions() == 0) {
    copied = builder.clone(*op, copies);
  } else {
    // Values inside a branch are not for use outside, so their mapping goes.
    IRMapping inner = copies;
    copied = builder.clone(*op, inner);
  }
  for (auto [from, to] : llvm::zip(op->getResults(), copied->getResults())) {
    copies.map(from, to);
    setPoint(from, to);
  }
}

void MaskLifter::setPoint(Value value, Value copied) {
  Type type = value.getType();
  if (type.isInteger(1)) {
    if (std::optional<APInt> known = values.getRange(value).getConstantValue())
      copied = arith.boolean(known->getBoolValue());
    ternaries[value] = {copied, copied};
  } else if (isNumber(type)) {
    if (std::optional<int64_t> constant = getConstantInteger(value))
      copied = arith.constant(*constant);
    else if (!type.isIndex())
      copied = arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                          copied);
    arith.track(copied, getRange(value));
    intervals[value] = {copied, copied};
  }
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

ConstantIntRanges MaskLifter::getRange(Value value) const {
  ConstantIntRanges range = values.getRange(value);
  unsigned width = range.smin().getBitWidth();
  if (width == 0 || width > 64)
    return ConstantIntRanges::maxRange(64);
  return intrange::extSIRange(range, 64);
}

Value MaskLifter::asIndex(Value value, Value of) {
  if (!value.getType().isIndex())
    value =
        arith::IndexCastOp::create(builder, loc, builder.getIndexType(), value);
  return arith.track(value, getRange(of));
}

MaskLifter::Interval MaskLifter::getAny(Value value) {
  ConstantIntRanges range = getRange(value);
  return {arith.constant(range.smin().getSExtValue()),
          arith.constant(range.smax().getSExtValue())};
}

MaskLifter::Interval MaskLifter::getInterval(Value value) {
  liftOver(value);
  auto found = intervals.find(value);
  return found == intervals.end() ? getAny(value) : found->second;
}

MaskLifter::Ternary MaskLifter::getTernary(Value value) {
  liftOver(value);
  auto found = ternaries.find(value);
  return found == ternaries.end() ? getUnknown() : found->second;
}

MaskLifter::Interval MaskLifter::choose(Value condition, Interval yes,
                                        Interval no) {
  if (yes.isPoint() && no.isPoint()) {
    Value chosen = arith.select(condition, yes.lo, no.lo);
    return {chosen, chosen};
  }
  return {arith.select(condition, yes.lo, no.lo),
          arith.select(condition, yes.hi, no.hi)};
}

MaskLifter::Interval MaskLifter::narrow(Interval interval, Value value) {
  if (interval.isPoint())
    return interval;
  Interval known = getAny(value);
  interval.lo = arith.maximum(interval.lo, known.lo);
  interval.hi = arith.minimum(interval.hi, known.hi);
  return interval;
}
