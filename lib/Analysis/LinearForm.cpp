//===- LinearForm.cpp - Integers of a mask as sums ------------------------===//

#include "attn/Analysis/MaskBounds.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// How many sums and products one integer is taken apart into; values that are
/// used twice at each step would make it exponential.
static constexpr unsigned kMaxSteps = 1024;

int64_t LinearForm::getCoefficient(Value value) const {
  for (auto [term, coefficient] : terms)
    if (term == value)
      return coefficient;
  return 0;
}

void LinearForm::addConstant(int64_t addend) {
  overflowed |= llvm::AddOverflow(constant, addend, constant);
}

void LinearForm::addTerm(Value value, int64_t coefficient) {
  auto *found = llvm::find_if(
      terms, [&](const auto &term) { return term.first == value; });
  if (found == terms.end())
    found = terms.insert(terms.end(), {value, 0});
  overflowed |= llvm::AddOverflow(found->second, coefficient, found->second);
  if (found->second == 0)
    terms.erase(found);
}

void LinearForm::addScaled(const LinearForm &other, int64_t factor) {
  overflowed |= other.overflowed;
  int64_t product;
  for (auto [term, coefficient] : other.terms) {
    overflowed |= llvm::MulOverflow(coefficient, factor, product);
    addTerm(term, product);
  }
  overflowed |= llvm::MulOverflow(other.constant, factor, product);
  addConstant(product);
}

int64_t LinearForm::takeTerm(Value value) {
  int64_t coefficient = getCoefficient(value);
  llvm::erase_if(terms, [&](const auto &term) { return term.first == value; });
  return coefficient;
}

bool mlir::attn::isBounded(const ConstantIntRanges &range) {
  return range.smin().getSignificantBits() <= 64 &&
         range.smax().getSignificantBits() <= 64 &&
         range.smin().getSExtValue() >= -kLargeInteger &&
         range.smax().getSExtValue() <= kLargeInteger;
}

void MaskBounds::linearize(Value value, int64_t factor,
                           LinearForm &form) const {
  unsigned steps = kMaxSteps;
  linearize(value, factor, form, steps);
}

void MaskBounds::linearize(Value value, int64_t factor, LinearForm &form,
                           unsigned &steps) const {
  if (std::optional<int64_t> constant = getConstantInteger(value)) {
    int64_t product;
    form.overflowed |= llvm::MulOverflow(*constant, factor, product);
    form.addConstant(product);
    return;
  }
  // For tiles a uniform value stays whole: computed as the mask computes it, it
  // has nothing to overflow.
  Operation *op = value.getDefiningOp();
  bool isWhole = !forPairs && values.isUniform(value);
  if (!op || isWhole || !values.isExact(op) || steps == 0) {
    form.addTerm(value, factor);
    return;
  }
  --steps;
  if (isa<arith::AddIOp, arith::SubIOp>(op)) {
    int64_t second = factor;
    if (isa<arith::SubIOp>(op))
      form.overflowed |= llvm::SubOverflow<int64_t>(0, factor, second);
    linearize(op->getOperand(0), factor, form, steps);
    linearize(op->getOperand(1), second, form, steps);
    return;
  }
  if (isa<arith::MulIOp, arith::ShLIOp>(op)) {
    unsigned which = 1;
    std::optional<int64_t> constant = getConstantInteger(op->getOperand(1));
    if (!constant && isa<arith::MulIOp>(op)) {
      which = 0;
      constant = getConstantInteger(op->getOperand(0));
    }
    if (constant && isa<arith::ShLIOp>(op))
      constant = *constant >= 0 && *constant < 32
                     ? std::optional(int64_t(1) << *constant)
                     : std::nullopt;
    int64_t product;
    if (constant && !llvm::MulOverflow(*constant, factor, product)) {
      linearize(op->getOperand(1 - which), product, form, steps);
      return;
    }
    form.addTerm(value, factor);
    return;
  }
  // A conversion that keeps the value.
  linearize(op->getOperand(0), factor, form, steps);
}

LinearForm MaskBounds::getLinearForm(Value value) const {
  LinearForm form;
  linearize(value, 1, form);
  return form;
}

bool MaskBounds::canTell(const LinearForm &form) const {
  if (form.overflowed)
    return false;
  long double bounded = std::abs(static_cast<long double>(form.constant));
  unsigned numUnbounded = 0, numOfKey = 0;
  bool isKeyUnbounded = false, isMultiple = false, hasPosition = false;
  for (auto [value, coefficient] : form.terms) {
    ConstantIntRanges range = values.getRange(value);
    if (range.smin().getBitWidth() == 0 || range.smin().getBitWidth() > 64 ||
        coefficient < -kLargeInteger || coefficient > kLargeInteger)
      return false;
    bool isOfKey = values.dependsOnKey(value);
    numOfKey += isOfKey;
    isMultiple |= coefficient != 1 && coefficient != -1;
    hasPosition |=
        value == values.getKeyIndex() || value == values.getQueryIndex();
    if (isBounded(range)) {
      bounded += std::abs(static_cast<long double>(coefficient)) *
                 std::max(std::abs(range.smin().getSExtValue()),
                          std::abs(range.smax().getSExtValue()));
      continue;
    }
    ++numUnbounded;
    isKeyUnbounded |= isOfKey;
  }
  if (bounded >= kLargeInteger)
    return false;
  if (numUnbounded == 0)
    return true;
  // Two integers are compared as they are.
  if (form.terms.size() == 2 && !isMultiple &&
      (form.constant == 0 || form.constant == -1) &&
      form.terms[0].second != form.terms[1].second)
    return true;
  if (isKeyUnbounded)
    return numUnbounded == 1 && numOfKey == 1 && !isMultiple;
  return numUnbounded == 1 || hasPosition;
}

std::optional<bool> MaskBounds::decide(const LinearForm &form) const {
  if (form.overflowed)
    return std::nullopt;
  // Not in 64 bits, which a large constant may leave.
  APInt min(160, form.constant, /*isSigned=*/true), max = min;
  for (auto [value, coefficient] : form.terms) {
    ConstantIntRanges range = values.getRange(value);
    if (!isBounded(range))
      return std::nullopt;
    APInt factor(160, coefficient, /*isSigned=*/true);
    APInt a = range.smin().sextOrTrunc(160) * factor;
    APInt b = range.smax().sextOrTrunc(160) * factor;
    min += a.slt(b) ? a : b;
    max += a.slt(b) ? b : a;
  }
  if (min.isNonNegative())
    return true;
  return max.isNegative() ? std::optional(false) : std::nullopt;
}

std::optional<std::pair<int64_t, int64_t>>
MaskBounds::getFormRange(const LinearForm &form) const {
  int64_t min = form.constant, max = form.constant;
  for (auto [value, coefficient] : form.terms) {
    ConstantIntRanges range = values.getRange(value);
    if (!isBounded(range))
      return std::nullopt;
    int64_t a = coefficient * range.smin().getSExtValue();
    int64_t b = coefficient * range.smax().getSExtValue();
    min += std::min(a, b);
    max += std::max(a, b);
  }
  return std::pair(min, max);
}

bool MaskBounds::isSmall(const LinearForm &form) const {
  if (form.overflowed)
    return false;
  // With p the sum of the bounded parts, a single integer of any size is cut
  // at a limit that p cannot reach. Several are cut at kLargeInteger.
  long double bounded = std::abs(static_cast<long double>(form.constant));
  long double unbounded = 0;
  for (auto [value, coefficient] : form.terms) {
    long double weight = std::abs(static_cast<long double>(coefficient));
    ConstantIntRanges range = values.getRange(value);
    if (!isBounded(range)) {
      unbounded += weight * kLargeInteger;
      continue;
    }
    bounded += weight * std::max(std::abs(range.smin().getSExtValue()),
                                 std::abs(range.smax().getSExtValue()));
  }
  return bounded < kLargeInteger && unbounded < (int64_t(1) << 61);
}
