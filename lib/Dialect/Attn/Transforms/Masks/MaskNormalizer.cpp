//===- MaskNormalizer.cpp - Conditions in one order -----------------------===//

#include "MaskNormalForm.h"
#include "llvm/ADT/STLExtras.h"

using namespace mlir;
using namespace mlir::attn;
using Kind = MaskCondition::Kind;

void MaskNormalizer::sortTerms(LinearForm &form) {
  llvm::sort(form.terms, [&](const auto &a, const auto &b) {
    return order.isLess(a.first, b.first);
  });
}

static LinearForm negate(const LinearForm &form) {
  LinearForm result;
  result.addScaled(form, -1);
  return result;
}

static MaskCondition makeConstant(bool isTrue) {
  MaskCondition result;
  result.kind = isTrue ? Kind::True : Kind::False;
  return result;
}

MaskCondition MaskNormalizer::normalize(Value value, bool negated) {
  return convert(mask.read(value, negated));
}

/// Of something that has two values, such as a bit, a bound is an equality with
/// the lesser one.
void MaskNormalizer::setEqualIfBit(MaskCondition &condition) {
  LinearForm &form = condition.form;
  const MaskValues &values = mask.getValues();
  auto [value, coefficient] = form.terms.front();
  if (form.terms.size() != 1 || std::abs(coefficient) != 1 ||
      value == values.getKeyIndex() || value == values.getQueryIndex())
    return;
  ConstantIntRanges range = values.getRange(value);
  if (!isBounded(range) || range.smax() - range.smin() != 1)
    return;
  condition.kind = Kind::Equal;
  condition.negated = coefficient > 0;
  form.terms.front().second = 1;
  form.constant = -range.smin().getSExtValue();
}

bool MaskNormalizer::isBetterNegated(Value condition) {
  return compare(normalize(condition, /*negated=*/true), normalize(condition)) <
         0;
}

MaskCondition MaskNormalizer::convert(const MaskNode &node) {
  MaskCondition result;
  result.negated = node.negated;
  switch (node.kind) {
  case MaskNode::Kind::True:
  case MaskNode::Kind::False:
    return makeConstant(node.kind == MaskNode::Kind::True);
  case MaskNode::Kind::Unknown:
  case MaskNode::Kind::Uniform:
    result.kind = Kind::Opaque;
    result.value = node.condition;
    return result;
  case MaskNode::Kind::Compare:
    result.kind = Kind::AtLeast;
    result.form = node.form;
    sortTerms(result.form);
    setEqualIfBit(result);
    return result;
  case MaskNode::Kind::Congruent: {
    result.kind = Kind::Congruent;
    result.form = node.form;
    result.modulus = node.modulus;
    // Coefficients matter up to multiples of the modulus.
    for (auto &term : result.form.terms)
      term.second = (term.second % node.modulus + node.modulus) % node.modulus;
    llvm::erase_if(result.form.terms,
                   [](const auto &term) { return term.second == 0; });
    sortTerms(result.form);
    // Of a form and its negative, the one whose key, or whose first term, has
    // the lesser coefficient.
    Value key = mask.getValues().getKeyIndex();
    int64_t first = result.form.getCoefficient(key);
    if (first == 0 && !result.form.terms.empty())
      first = result.form.terms.front().second;
    int64_t sign = first > node.modulus - first ? -1 : 1;
    for (auto &term : result.form.terms)
      if (sign < 0)
        term.second = node.modulus - term.second;
    int64_t rest = sign * (result.form.constant % node.modulus);
    result.form.constant = (rest + node.modulus) % node.modulus;
    if (result.form.terms.empty())
      return makeConstant((result.form.constant == 0) != node.negated);
    return result;
  }
  case MaskNode::Kind::And:
  case MaskNode::Kind::Or: {
    SmallVector<MaskCondition> parts;
    for (const MaskNode *operand : node.operands)
      parts.push_back(convert(*operand));
    return join(node.kind == MaskNode::Kind::And ? Kind::All : Kind::Any,
                parts);
  }
  case MaskNode::Kind::If:
    result.kind = Kind::Choice;
    result.value = node.condition;
    result.negated = isBetterNegated(node.condition);
    for (const MaskNode *operand : node.operands)
      result.operands.push_back(convert(*operand));
    if (result.negated)
      std::swap(result.operands[0], result.operands[1]);
    if (compare(result.operands[0], result.operands[1]) == 0)
      return result.operands[0];
    return result;
  }
  llvm_unreachable("all kinds are handled");
}

//===----------------------------------------------------------------------===//
// Conjunctions and disjunctions
//===----------------------------------------------------------------------===//

/// Bounds with the same terms: the tighter one of all that must hold, the
/// looser one of any.
static bool mergeSameSide(bool isAll, MaskCondition &a,
                          const MaskCondition &b) {
  if (a.kind != Kind::AtLeast || b.kind != Kind::AtLeast ||
      a.form.terms != b.form.terms)
    return false;
  a.form.constant = isAll ? std::min(a.form.constant, b.form.constant)
                          : std::max(a.form.constant, b.form.constant);
  return true;
}

/// Bounds on both sides that leave one number, or leave it out, are an
/// equality.
static bool mergeBothSides(bool isAll, MaskCondition &a,
                           const MaskCondition &b) {
  if (a.kind != Kind::AtLeast || b.kind != Kind::AtLeast ||
      a.form.terms != negate(b.form).terms)
    return false;
  // -a.constant <= terms <= b.constant, or any of both.
  int64_t sum = a.form.constant + b.form.constant;
  if (isAll ? sum < 0 : sum >= -1) {
    a = makeConstant(!isAll);
    return true;
  }
  if (sum != (isAll ? 0 : -2))
    return false;
  a.kind = Kind::Equal;
  a.negated = !isAll;
  a.form.constant += !isAll;
  if (a.form.terms.front().second < 0)
    a.form = negate(a.form);
  return true;
}

/// A bound, and one number that is all of it, or next to it, or without which
/// it is another one.
static bool mergeNumber(bool isAll, MaskCondition &bound,
                        const MaskCondition &number) {
  if (bound.kind != Kind::AtLeast || number.kind != Kind::Equal)
    return false;
  bool isSame = bound.form.terms == number.form.terms;
  if (!isSame && bound.form.terms != negate(number.form).terms)
    return false;
  // By how much the number meets the bound.
  int64_t more = bound.form.constant +
                 (isSame ? -number.form.constant : number.form.constant);
  bool isInside = more >= 0;
  if (isAll != number.negated) {
    // x >= c and x == n, or x >= c or x != n.
    bound = isInside == isAll ? number : makeConstant(!isAll);
    return true;
  }
  // x >= c and x != n, or x >= c or x == n.
  int64_t edge = isAll ? 0 : -1;
  if (more == edge)
    bound.form.constant += isAll ? -1 : 1;
  return more == edge || isInside != isAll;
}

/// Conditions on the same sum of terms become as few as they can.
void MaskNormalizer::mergeBounds(bool isAll,
                                 SmallVectorImpl<MaskCondition> &parts) {
  for (auto merge : {mergeSameSide, mergeBothSides, mergeNumber})
    for (size_t i = 0; i < parts.size(); ++i)
      for (size_t j = 0; j < parts.size();) {
        if (i == j || !merge(isAll, parts[i], parts[j])) {
          ++j;
          continue;
        }
        parts.erase(parts.begin() + j);
        i -= j < i;
      }
}

/// Whether one of both is true, and not the other one, wherever they are told.
static bool areOpposite(MaskCondition a, const MaskCondition &b,
                        MaskNormalizer &normalizer) {
  if (a.kind != Kind::Equal && a.kind != Kind::Congruent &&
      a.kind != Kind::Opaque)
    return false;
  a.negated = !a.negated;
  return normalizer.compare(a, b) == 0;
}

MaskCondition MaskNormalizer::join(Kind kind,
                                   SmallVectorImpl<MaskCondition> &parts) {
  bool isAll = kind == Kind::All;
  SmallVector<MaskCondition> flat;
  for (MaskCondition &part : parts) {
    if (part.kind == kind)
      llvm::append_range(flat, std::move(part.operands));
    else
      flat.push_back(std::move(part));
  }
  mergeBounds(isAll, flat);
  Kind neutral = isAll ? Kind::True : Kind::False;
  llvm::erase_if(
      flat, [&](const MaskCondition &part) { return part.kind == neutral; });
  llvm::sort(flat, [&](const MaskCondition &a, const MaskCondition &b) {
    return compare(a, b) < 0;
  });
  flat.erase(llvm::unique(flat,
                          [&](const MaskCondition &a, const MaskCondition &b) {
                            return compare(a, b) == 0;
                          }),
             flat.end());
  bool isDecided = false;
  for (auto [number, part] : llvm::enumerate(flat)) {
    isDecided |= part.kind == (isAll ? Kind::False : Kind::True);
    for (const MaskCondition &other : ArrayRef(flat).drop_front(number + 1))
      isDecided |= areOpposite(part, other, *this);
  }
  if (isDecided || flat.empty())
    return makeConstant(isAll == flat.empty());
  if (flat.size() == 1)
    return flat.front();
  MaskCondition result;
  result.kind = kind;
  result.operands.assign(flat.begin(), flat.end());
  return result;
}

//===----------------------------------------------------------------------===//
// Order
//===----------------------------------------------------------------------===//

/// What the query decides, then bounds of the key, what is equal to something,
/// and what is made of conditions.
unsigned MaskNormalizer::getRank(const MaskCondition &condition) {
  const MaskValues &values = mask.getValues();
  int64_t key = condition.form.getCoefficient(values.getKeyIndex());
  bool isOfKey = false, isLinear = true;
  for (auto [value, coefficient] : condition.form.terms) {
    isOfKey |= values.dependsOnKey(value);
    isLinear &= value == values.getKeyIndex() || !values.dependsOnKey(value);
  }
  switch (condition.kind) {
  case Kind::True:
  case Kind::False:
    return 0;
  case Kind::AtLeast:
    if (!isOfKey)
      return 1;
    return !isLinear ? 7 : key < 0 ? 3 : 4;
  case Kind::Equal:
    return !isOfKey ? 2 : isLinear ? 5 : 8;
  case Kind::Congruent:
    return 6;
  case Kind::Opaque:
    return 9;
  case Kind::Choice:
    return 10;
  case Kind::All:
    return 11;
  case Kind::Any:
    return 12;
  }
  llvm_unreachable("all kinds are handled");
}

template <typename T> static int compareNumbers(const T &a, const T &b) {
  return a < b ? -1 : b < a ? 1 : 0;
}

int MaskNormalizer::compareForms(const LinearForm &a, const LinearForm &b) {
  if (int result = compareNumbers(a.terms.size(), b.terms.size()))
    return result;
  for (auto [x, y] : llvm::zip_equal(a.terms, b.terms)) {
    if (int result = order.compare(x.first, y.first))
      return result;
    if (int result = compareNumbers(x.second, y.second))
      return result;
  }
  return compareNumbers(a.constant, b.constant);
}

int MaskNormalizer::compare(const MaskCondition &a, const MaskCondition &b) {
  if (int result = compareNumbers(getRank(a), getRank(b)))
    return result;
  if (int result = compareForms(a.form, b.form))
    return result;
  if (int result = compareNumbers(a.modulus, b.modulus))
    return result;
  if (a.value && b.value)
    if (int result = order.compare(a.value, b.value))
      return result;
  if (int result = compareNumbers(a.negated, b.negated))
    return result;
  if (int result = compareNumbers(a.operands.size(), b.operands.size()))
    return result;
  for (auto [x, y] : llvm::zip_equal(a.operands, b.operands))
    if (int result = compare(x, y))
      return result;
  return 0;
}
