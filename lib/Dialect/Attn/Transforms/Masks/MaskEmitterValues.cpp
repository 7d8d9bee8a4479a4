//===- MaskEmitterValues.cpp - What conditions compare --------------------===//

#include "MaskNormalForm.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

Value MaskEmitter::constant(int64_t number) {
  return arith::ConstantIndexOp::create(builder, loc, number);
}

Value MaskEmitter::toIndex(Value value) {
  if (value.getType().isIndex())
    return value;
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    value);
}

bool MaskEmitter::isOfPositions(Value value) {
  if (!value.getType().isIntOrIndex())
    return false;
  Operation *op = value.getDefiningOp();
  if (!op)
    return true;
  auto [found, isNew] = ofPositions.try_emplace(value, false);
  if (!isNew)
    return found->second;
  bool result = op->getNumRegions() == 0 &&
                (isa<tensor::DimOp>(op) ||
                 (!isa<tensor::ExtractOp>(op) &&
                  llvm::all_of(op->getOperands(), [&](Value operand) {
                    return isOfPositions(operand);
                  })));
  return ofPositions[value] = result;
}

//===----------------------------------------------------------------------===//
// Values of the region
//===----------------------------------------------------------------------===//

Value MaskEmitter::emitValue(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Type type = value.getType();
  Operation *op = value.getDefiningOp();
  Value result;
  if (type.isInteger(1)) {
    result = emitMask(value);
  } else if (type.isIndex()) {
    result = emitIndex(value);
  } else if (!op->hasTrait<OpTrait::ConstantLike>() && isOfPositions(value) &&
             ConstantIntRanges::getStorageBitwidth(type) <= 64) {
    Value index = emitIndex(value);
    result = mapping.lookupOrNull(value);
    if (!result)
      result = arith::IndexCastOp::create(builder, loc, type, index);
  } else {
    cloneOp(op);
    return mapping.lookup(value);
  }
  mapping.map(value, result);
  return result;
}

/// Copies an operation as it is, but for the order of operands that may be
/// swapped.
void MaskEmitter::cloneOp(Operation *op) {
  if (op->getNumResults() != 0 && mapping.contains(op->getResult(0)))
    return;
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        emitValue(operand);
  });
  if (op->getNumRegions() != 0) {
    // Values inside a branch are not for use outside, so their mapping goes.
    IRMapping inner = mapping;
    mapping.map(op->getResults(), builder.clone(*op, inner)->getResults());
    return;
  }
  Operation *clone = builder.clone(*op, mapping);
  if (op->hasTrait<OpTrait::IsCommutative>() && op->getNumOperands() == 2 &&
      order.isLess(op->getOperand(1), op->getOperand(0)))
    clone->setOperands({clone->getOperand(1), clone->getOperand(0)});
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

Value MaskEmitter::emitIndex(Value value) {
  if (std::optional<int64_t> number = getConstantInteger(value))
    return constant(*number);
  if (Value known = indices.lookup(value))
    return known;
  LinearForm form = mask.getLinearForm(value);
  bool isAtom = form.overflowed || form.getCoefficient(value) != 0;
  Value result;
  if (isAtom) {
    result = toIndex(emitAtom(value));
  } else {
    normalizer.sortTerms(form);
    result = emitSum(form.terms, form.constant);
  }
  indices[value] = result;
  return result;
}

Value MaskEmitter::emitSum(ArrayRef<Term> terms, int64_t number) {
  Value sum;
  auto addTerm = [&](Term term) {
    Value value = emitIndex(term.first);
    bool isNegative = term.second < 0;
    if (term.second != 1 && term.second != -1)
      value = create<arith::MulIOp>(value, constant(std::abs(term.second)));
    if (!sum)
      sum = isNegative ? create<arith::SubIOp>(constant(0), value) : value;
    else
      sum = isNegative ? create<arith::SubIOp>(sum, value)
                       : create<arith::AddIOp>(sum, value);
  };
  // Positive terms first, so that there is a sum to subtract from.
  for (bool isPositive : {true, false})
    for (Term term : terms)
      if (isPositive == (term.second > 0))
        addTerm(term);
  if (!sum)
    return constant(number);
  return number == 0 ? sum : create<arith::AddIOp>(sum, constant(number));
}

Value MaskEmitter::emitAtom(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Operation *op = value.getDefiningOp();
  if (value.getType().isIndex() || isOfPositions(value))
    if (Value result = emitAsIndex(value, op))
      return result;
  cloneOp(op);
  return mapping.lookup(value);
}

/// A choice between what it compares is a minimum or a maximum: of x where
/// x - y >= 0, or x - y > 0, and of y elsewhere.
std::optional<bool> MaskEmitter::getIsMaximum(arith::SelectOp op) {
  MaskCondition condition = normalizer.normalize(op.getCondition());
  if (condition.kind != MaskCondition::Kind::AtLeast)
    return std::nullopt;
  LinearForm yes = mask.getLinearForm(op.getTrueValue());
  LinearForm no = mask.getLinearForm(op.getFalseValue());
  for (bool isMaximum : {true, false}) {
    LinearForm difference = isMaximum ? yes : no;
    difference.addScaled(isMaximum ? no : yes, -1);
    normalizer.sortTerms(difference);
    if (!difference.overflowed && difference.terms == condition.form.terms &&
        (difference.constant == condition.form.constant ||
         difference.constant - 1 == condition.form.constant))
      return isMaximum;
  }
  return std::nullopt;
}

/// Operations that mean the same on numbers of any width, on indices; null for
/// others.
Value MaskEmitter::emitAsIndex(Value value, Operation *op) {
  const MaskValues &values = mask.getValues();
  auto emitOperand = [&](unsigned number) {
    return emitIndex(op->getOperand(number));
  };
  if (std::optional<FloorDivision> division = values.getFloorDivision(value)) {
    LinearForm numerator = mask.getLinearForm(division->numerator);
    numerator.addConstant(division->addend);
    if (numerator.overflowed || division->divisor == 1)
      return {};
    normalizer.sortTerms(numerator);
    Value sum = emitSum(numerator.terms, numerator.constant);
    Value divisor = constant(division->divisor);
    return values.isNonNegative(division->numerator)
               ? create<arith::DivUIOp>(sum, divisor)
               : create<arith::FloorDivSIOp>(sum, divisor);
  }
  std::optional<Residue> residue = values.getResidue(value);
  if (residue && residue->isFloor)
    return emitFloorModulo(emitIndex(residue->value), residue->divisor,
                           values.isNonNegative(residue->value));
  bool areNonNegative = isa<arith::MaxUIOp, arith::MinUIOp>(op) &&
                        values.isNonNegative(op->getOperand(0)) &&
                        values.isNonNegative(op->getOperand(1));
  bool isMaximum =
      isa<arith::MaxSIOp>(op) || (isa<arith::MaxUIOp>(op) && areNonNegative);
  bool isMinimum =
      isa<arith::MinSIOp>(op) || (isa<arith::MinUIOp>(op) && areNonNegative);
  unsigned first = 0;
  if (auto select = dyn_cast<arith::SelectOp>(op)) {
    std::optional<bool> extreme = getIsMaximum(select);
    if (!extreme) {
      bool isSwapped = normalizer.isBetterNegated(select.getCondition());
      Value condition =
          emit(normalizer.normalize(select.getCondition(), isSwapped));
      Value yes = emitOperand(1 + isSwapped), no = emitOperand(2 - isSwapped);
      return arith::SelectOp::create(builder, loc, condition, yes, no);
    }
    isMaximum = *extreme;
    isMinimum = !*extreme;
    first = 1;
  }
  if (isMaximum || isMinimum) {
    bool isSwapped =
        order.isLess(op->getOperand(first + 1), op->getOperand(first));
    Value lhs = emitOperand(first + isSwapped);
    Value rhs = emitOperand(first + !isSwapped);
    return isMaximum ? create<arith::MaxSIOp>(lhs, rhs)
                     : create<arith::MinSIOp>(lhs, rhs);
  }
  if (isa<math::AbsIOp>(op) &&
      !values.getRange(op->getOperand(0)).smin().isMinSignedValue())
    return math::AbsIOp::create(builder, loc, emitOperand(0));
  return {};
}

Value MaskEmitter::emitFloorModulo(Value value, int64_t modulus,
                                   bool isNonNegative) {
  Value divisor = constant(modulus);
  if (isNonNegative)
    return create<arith::RemUIOp>(value, divisor);
  if (llvm::isPowerOf2_64(modulus))
    return create<arith::AndIOp>(value, constant(modulus - 1));
  Value rest = create<arith::RemSIOp>(value, divisor);
  Value isNegative = compare(Predicate::slt, rest, constant(0));
  Value positive = create<arith::AddIOp>(rest, divisor);
  return arith::SelectOp::create(builder, loc, isNegative, positive, rest);
}
