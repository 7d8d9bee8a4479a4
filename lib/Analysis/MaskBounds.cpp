//===- MaskBounds.cpp - A mask as comparisons affine in positions ---------===//

#include "attn/Analysis/MaskBounds.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/ScopeExit.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>
#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using Kind = MaskNode::Kind;

/// A choice between values doubles the tree, so that it needs an end.
static constexpr size_t kMaxNodes = 512;
/// How deep conditions are followed.
static constexpr unsigned kMaxDepth = 256;

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

MaskBounds::Node MaskBounds::makeNode(MaskNode node) {
  nodes.push_back(std::make_unique<MaskNode>(std::move(node)));
  return nodes.back().get();
}

MaskBounds::Node MaskBounds::makeConstant(bool value) {
  return makeNode({value ? Kind::True : Kind::False});
}

MaskBounds::Node MaskBounds::makeUnknown(Operation *op, StringRef reason) {
  if (obstacleReason.empty()) {
    obstacle = op;
    obstacleReason = reason.str();
  }
  isIncomplete = true;
  return makeNode({Kind::Unknown});
}

MaskBounds::Node MaskBounds::makeUnknown(Value value, bool negated,
                                         StringRef reason) {
  bool wasIncomplete = isIncomplete;
  makeUnknown(value.getDefiningOp(), reason);
  isIncomplete = wasIncomplete;
  MaskNode node{Kind::Unknown};
  node.condition = value;
  node.negated = negated;
  return makeNode(std::move(node));
}

MaskBounds::Node MaskBounds::makeAnd(Node a, Node b) {
  if (a->kind == Kind::False || b->kind == Kind::True)
    return a;
  if (b->kind == Kind::False || a->kind == Kind::True)
    return b;
  MaskNode node{Kind::And};
  node.operands = {a, b};
  return makeNode(std::move(node));
}

MaskBounds::Node MaskBounds::makeOr(Node a, Node b) {
  if (a->kind == Kind::True || b->kind == Kind::False)
    return a;
  if (b->kind == Kind::True || a->kind == Kind::False)
    return b;
  MaskNode node{Kind::Or};
  node.operands = {a, b};
  return makeNode(std::move(node));
}

/// A choice by a condition that a tile knows stays a choice, and is exact; any
/// other becomes `condition and yes, or not condition and no`.
MaskBounds::Node MaskBounds::makeIf(Value condition, Node yes, Node no) {
  if (std::optional<int64_t> constant = getConstantInteger(condition))
    return *constant ? yes : no;
  auto isKnown = [](Node node) {
    return node->kind == Kind::True || node->kind == Kind::False;
  };
  if (values.isUniform(condition) && !values.isGuarded(condition) &&
      !(forPairs && (isKnown(yes) || isKnown(no)))) {
    MaskNode node{Kind::If};
    node.condition = condition;
    node.operands = {yes, no};
    return makeNode(std::move(node));
  }
  // Of a constant there is nothing to choose.
  auto holds = [&] { return readBool(condition, /*negated=*/false); };
  auto fails = [&] { return readBool(condition, /*negated=*/true); };
  if (yes->kind == Kind::True)
    return makeOr(holds(), no);
  if (yes->kind == Kind::False)
    return makeAnd(fails(), no);
  if (no->kind == Kind::True)
    return makeOr(fails(), yes);
  if (no->kind == Kind::False)
    return makeAnd(holds(), yes);
  return makeOr(makeAnd(holds(), yes), makeAnd(fails(), no));
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

namespace {
/// What is known of the intervals of keys that a node describes.
struct IntervalShape {
  bool isInterval = true;
  /// Whether one that is not empty begins at 0, or ends at the last key.
  bool begins = true, ends = true;
};
} // namespace

static IntervalShape getShape(const MaskNode &node, BlockArgument key) {
  IntervalShape shape;
  switch (node.kind) {
  case Kind::True:
  case Kind::False:
  case Kind::Uniform:
    return shape;
  case Kind::Unknown:
  case Kind::Congruent:
    shape.isInterval = false;
    return shape;
  case Kind::Compare: {
    int64_t coefficient = node.form.getCoefficient(key);
    shape.begins = coefficient <= 0;
    shape.ends = coefficient >= 0;
    return shape;
  }
  case Kind::And:
  case Kind::Or:
  case Kind::If:
    break;
  }
  IntervalShape a = getShape(*node.operands[0], key),
                b = getShape(*node.operands[1], key);
  shape.isInterval = a.isInterval && b.isInterval;
  shape.begins = a.begins && b.begins;
  shape.ends = a.ends && b.ends;
  // Two intervals with a common end are one; so are one and all keys or none.
  if (node.kind == Kind::Or)
    shape.isInterval &= shape.begins || shape.ends || (a.begins && a.ends) ||
                        (b.begins && b.ends);
  return shape;
}

bool MaskBounds::areIntervals() const {
  return getShape(*root, values.getKeyIndex()).isInterval;
}

//===----------------------------------------------------------------------===//
// Booleans
//===----------------------------------------------------------------------===//

MaskBounds::MaskBounds(AttentionLikeOpInterface op, MaskReading reading)
    : values(op), forPairs(reading == MaskReading::Pairs) {
  root = readBool(op.getMask().front().getTerminator()->getOperand(0),
                  /*negated=*/false);
}

const MaskNode &MaskBounds::read(Value value, bool negated) {
  numOthers = nodes.size();
  return *readBool(value, negated);
}

bool MaskBounds::isTooLarge() const {
  return depth == kMaxDepth || nodes.size() - numOthers >= kMaxNodes;
}

MaskBounds::Node MaskBounds::readBool(Value value, bool negated) {
  if (std::optional<int64_t> constant = getConstantInteger(value))
    return makeConstant((*constant != 0) != negated);
  Operation *op = value.getDefiningOp();
  if (!forPairs && values.isUniform(value) && !values.isGuarded(value)) {
    MaskNode node{Kind::Uniform};
    node.condition = value;
    node.negated = negated;
    return makeNode(std::move(node));
  }
  if (isTooLarge())
    return makeUnknown(value, negated, "the mask has too many conditions");
  ++depth;
  llvm::scope_exit leave([&] { --depth; });

  if (auto compare = dyn_cast_if_present<arith::CmpIOp>(op))
    return readCompare(compare, negated);
  if (isa_and_present<arith::AndIOp, arith::OrIOp>(op)) {
    Node a = readBool(op->getOperand(0), negated);
    Node b = readBool(op->getOperand(1), negated);
    return isa<arith::AndIOp>(op) != negated ? makeAnd(a, b) : makeOr(a, b);
  }
  if (auto exclusive = dyn_cast_if_present<arith::XOrIOp>(op)) {
    Value a = exclusive.getLhs(), b = exclusive.getRhs();
    if (std::optional<int64_t> constant = getConstantInteger(b))
      return readBool(a, negated != (*constant != 0));
    if (forPairs)
      return makeUnknown(value, negated, "");
    // a xor b = if a then not b else b.
    return makeIf(a, readBool(b, !negated), readBool(b, negated));
  }
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    Value yes = select.getTrueValue(), no = select.getFalseValue();
    // Where neither is constant, a choice is the shortest way to say it.
    if (forPairs && !getConstantInteger(yes) && !getConstantInteger(no))
      return makeUnknown(value, negated, "");
    return makeIf(select.getCondition(), readBool(yes, negated),
                  readBool(no, negated));
  }
  if (!forPairs && isa_and_present<scf::IfOp>(op))
    return readBranch(cast<OpResult>(value), negated);
  return makeUnknown(value, negated, "it is no comparison of positions");
}

MaskBounds::Node MaskBounds::readBranch(OpResult result, bool negated) {
  auto branch = cast<scf::IfOp>(result.getOwner());
  unsigned number = result.getResultNumber();
  Value yes = branch.thenYield().getOperand(number);
  Value no = branch.elseYield().getOperand(number);
  return makeIf(branch.getCondition(), readBool(yes, negated),
                readBool(no, negated));
}

MaskBounds::Node MaskBounds::readCompare(arith::CmpIOp compare, bool negated) {
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (negated)
    predicate = arith::invertPredicate(predicate);
  bool wasIncomplete = std::exchange(isIncomplete, false);
  Node node = readOrder(compare, predicate);
  bool isComplete = !std::exchange(isIncomplete, wasIncomplete);
  // For pairs a part that cannot be said takes the rest with it.
  if (forPairs && !isComplete)
    return makeUnknown(compare.getResult(), negated, "");
  return node;
}

MaskBounds::Node MaskBounds::readOrder(arith::CmpIOp compare,
                                       arith::CmpIPredicate predicate) {
  using Predicate = arith::CmpIPredicate;
  Value lhs = compare.getLhs(), rhs = compare.getRhs();
  if (lhs.getType().isInteger(1)) {
    if (predicate != Predicate::eq && predicate != Predicate::ne)
      return makeUnknown(compare, "it orders booleans");
    bool isEqual = predicate == Predicate::eq;
    for (auto [value, other] : {std::pair{lhs, rhs}, {rhs, lhs}})
      if (std::optional<int64_t> constant = getConstantInteger(value))
        return readBool(other, (*constant != 0) != isEqual);
    if (forPairs)
      return makeUnknown(compare, "");
    return makeIf(lhs, readBool(rhs, !isEqual), readBool(rhs, isEqual));
  }
  if (ConstantIntRanges::getStorageBitwidth(lhs.getType()) > 64)
    return makeUnknown(compare, "it compares integers of more than 64 bits");
  if (predicate == Predicate::eq || predicate == Predicate::ne) {
    // A difference is 0, and so is an exclusive or, where both are equal, even
    // if it wraps.
    if (getConstantInteger(lhs) == 0)
      std::swap(lhs, rhs);
    Operation *difference = lhs.getDefiningOp();
    if (isa_and_present<arith::SubIOp, arith::XOrIOp>(difference) &&
        getConstantInteger(rhs) == 0) {
      lhs = difference->getOperand(0);
      rhs = difference->getOperand(1);
    }
    if (forPairs)
      if (Node node = readCongruence(lhs, rhs, predicate == Predicate::ne))
        return node;
  }

  /// to - from - gap >= 0.
  auto atLeast = [&](Value to, Value from, int64_t gap) {
    LinearForm form;
    linearize(to, 1, form);
    linearize(from, -1, form);
    form.addConstant(-gap);
    return makeCompare(std::move(form));
  };
  switch (predicate) {
  case Predicate::sle:
    return atLeast(rhs, lhs, 0);
  case Predicate::slt:
    return atLeast(rhs, lhs, 1);
  case Predicate::sge:
    return atLeast(lhs, rhs, 0);
  case Predicate::sgt:
    return atLeast(lhs, rhs, 1);
  case Predicate::eq:
    return makeAnd(atLeast(rhs, lhs, 0), atLeast(lhs, rhs, 0));
  case Predicate::ne:
    return makeOr(atLeast(rhs, lhs, 1), atLeast(lhs, rhs, 1));
  case Predicate::ule:
    return readUnsigned(compare, /*isStrict=*/false, lhs, rhs);
  case Predicate::ult:
    return readUnsigned(compare, /*isStrict=*/true, lhs, rhs);
  case Predicate::uge:
    return readUnsigned(compare, /*isStrict=*/false, rhs, lhs);
  case Predicate::ugt:
    return readUnsigned(compare, /*isStrict=*/true, rhs, lhs);
  }
  llvm_unreachable("all predicates are handled");
}

/// `lhs < rhs` or `lhs <= rhs` on unsigned integers, where the sign of one side
/// is known: a negative integer is larger than all that are not.
MaskBounds::Node MaskBounds::readUnsigned(arith::CmpIOp compare, bool isStrict,
                                          Value lhs, Value rhs) {
  bool lhsKnown = values.isNonNegative(lhs);
  bool rhsKnown = values.isNonNegative(rhs);
  if (!lhsKnown && !rhsKnown)
    return makeUnknown(compare, "it compares unsigned integers that may be "
                                "negative when signed");
  LinearForm ordered;
  linearize(rhs, 1, ordered);
  linearize(lhs, -1, ordered);
  ordered.addConstant(isStrict ? -1 : 0);
  Node inOrder = makeCompare(std::move(ordered));
  if (lhsKnown && rhsKnown)
    return inOrder;
  LinearForm sign;
  if (rhsKnown) {
    linearize(lhs, 1, sign);
    return makeAnd(makeCompare(std::move(sign)), inOrder);
  }
  linearize(rhs, -1, sign);
  sign.addConstant(-1);
  return makeOr(makeCompare(std::move(sign)), inOrder);
}

/// x mod m = c and x mod m = y mod m as x - c, or x - y, a multiple of m.
MaskBounds::Node MaskBounds::readCongruence(Value lhs, Value rhs,
                                            bool negated) {
  LinearForm form;
  linearize(lhs, 1, form);
  linearize(rhs, -1, form);
  if (form.overflowed || form.terms.empty() || form.terms.size() > 2)
    return nullptr;
  LinearForm difference;
  std::optional<Residue> first;
  for (auto [value, coefficient] : form.terms) {
    std::optional<Residue> residue = values.getResidue(value);
    if (!residue || std::abs(coefficient) != 1 ||
        (first && (first->divisor != residue->divisor || !first->isFloor ||
                   !residue->isFloor)))
      return nullptr;
    first = residue;
    linearize(residue->value, coefficient, difference);
  }
  bool isOne = form.terms.size() == 1;
  // Of the one remainder, or of the first one less the other.
  int64_t rest = form.terms[0].second > 0 ? -form.constant : form.constant;
  if (form.constant == INT64_MIN || (!isOne && rest != 0) ||
      (isOne && !first->isFloor && rest != 0) ||
      (!isOne && form.terms[0].second == form.terms[1].second))
    return nullptr;
  if (isOne && (rest < 0 || rest >= first->divisor))
    return makeConstant(negated);
  difference.addConstant(form.terms[0].second > 0 ? -rest : rest);
  for (auto [value, coefficient] : difference.terms)
    if (values.isGuarded(value) ||
        (value != values.getKeyIndex() &&
         (values.dependsOnKey(value) || values.getResidue(value))))
      return nullptr;
  if (!canTell(difference))
    return nullptr;
  // Remainders are told apart by sums of terms, or of their remainders, times
  // coefficients from 0 to the modulus.
  long double modulus = first->divisor, most = modulus;
  for (auto [value, coefficient] : difference.terms) {
    ConstantIntRanges range = values.getRange(value);
    bool isPlain = range.smin().isNonNegative() && isBounded(range);
    most +=
        modulus *
        (isPlain ? std::max<long double>(range.smax().getSExtValue(), modulus)
                 : modulus);
  }
  if (most >= std::ldexp(1.0L, 62))
    return nullptr;
  MaskNode node{Kind::Congruent};
  node.form = std::move(difference);
  node.modulus = first->divisor;
  node.negated = negated;
  return makeNode(std::move(node));
}

//===----------------------------------------------------------------------===//
// Comparisons
//===----------------------------------------------------------------------===//

/// Whether all of a condition is said in bounds of positions.
static bool saysBounds(const MaskNode &node, const MaskValues &values) {
  switch (node.kind) {
  case Kind::Unknown:
    return false;
  case Kind::Compare:
  case Kind::Congruent:
    return llvm::all_of(node.form.terms, [&](auto term) {
      return term.first == values.getKeyIndex() ||
             !values.dependsOnKey(term.first);
    });
  default:
    return llvm::all_of(node.operands, [&](const MaskNode *operand) {
      return saysBounds(*operand, values);
    });
  }
}

/// Whether to choose by the condition that a number of the key is would tell
/// less than the number: no bound comes of it.
bool MaskBounds::isNumberOfKey(Value value) {
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastUIOp,
                         arith::IndexCastOp>(op) &&
         op->getOperand(0).getType().isInteger(1) &&
         !values.dependsOnQuery(value) &&
         !saysBounds(*readBool(op->getOperand(0), /*negated=*/false), values);
}

/// Parts of a term that depends on the key are told apart, and minima and
/// maxima; what else a row computes stays as it is.
MaskBounds::Node MaskBounds::makePairCompare(LinearForm form) {
  if (form.overflowed)
    return makeUnknown(nullptr, "its coefficients are too large");
  // A common factor of all terms divides the constant, rounded down.
  int64_t factor = 0;
  for (auto [value, coefficient] : form.terms) {
    if (coefficient < -kLargeInteger || coefficient > kLargeInteger)
      return makeUnknown(nullptr, "its coefficients are too large");
    factor = std::gcd(factor, coefficient);
  }
  if (factor > 1) {
    for (auto &term : form.terms)
      term.second /= factor;
    form.constant = llvm::divideFloorSigned(form.constant, factor);
  }
  for (auto [value, coefficient] : form.terms) {
    bool isExtreme =
        isa_and_present<arith::MinSIOp, arith::MaxSIOp, arith::MinUIOp,
                        arith::MaxUIOp>(value.getDefiningOp());
    if (value != values.getKeyIndex() &&
        (isExtreme || values.dependsOnKey(value)) && !isNumberOfKey(value))
      if (Node node = splitTerm(form, value))
        return node;
    if (values.isGuarded(value))
      return makeUnknown(nullptr, "it may only be evaluated in its branch");
  }
  if (!canTell(form)) {
    if (std::optional<bool> known = decide(form))
      return makeConstant(*known);
    return makeUnknown(nullptr, "its coefficients are too large");
  }
  if (auto range = getFormRange(form))
    if (range->first >= 0 || range->second < 0)
      return makeConstant(range->first >= 0);
  MaskNode node{Kind::Compare};
  node.form = std::move(form);
  return makeNode(std::move(node));
}

MaskBounds::Node MaskBounds::makeCompare(LinearForm form) {
  if (isTooLarge())
    return makeUnknown(nullptr, "the mask has too many conditions");
  ++depth;
  llvm::scope_exit leave([&] { --depth; });
  if (forPairs)
    return makePairCompare(std::move(form));

  Operation *culprit = nullptr;
  for (auto [value, coefficient] : form.terms) {
    if (value == values.getKeyIndex())
      continue;
    if (Operation *op = value.getDefiningOp())
      culprit = op;
    if (values.dependsOnKey(value) ||
        values.getTrend(value) == Trend::Unknown) {
      if (Node node = splitTerm(form, value))
        return node;
      return makeUnknown(value.getDefiningOp(),
                         values.getFloorDivision(value)
                             ? "it is a multiple of a quotient"
                         : values.dependsOnKey(value)
                             ? "it is not affine in the key"
                             : "it neither grows nor falls with the query");
    }
    if (values.isGuarded(value))
      return makeUnknown(culprit, "it may only be evaluated in its branch");
  }
  if (!isSmall(form)) {
    if (std::optional<bool> known = decide(form))
      return makeConstant(*known);
    return makeUnknown(culprit, "its coefficients are too large");
  }
  if (form.terms.empty())
    return makeConstant(form.constant >= 0);
  MaskNode node{Kind::Compare};
  node.form = std::move(form);
  return makeNode(std::move(node));
}

MaskBounds::Node MaskBounds::splitTerm(LinearForm form, Value value) {
  Operation *op = value.getDefiningOp();
  if (values.getFloorDivision(value))
    return splitDivision(std::move(form), value);
  LinearForm rest = form;
  int64_t factor = rest.takeTerm(value);
  auto with = [&](Value chosen, int64_t sign = 1) {
    LinearForm result = rest;
    int64_t product;
    result.overflowed |= llvm::MulOverflow(factor, sign, product);
    linearize(chosen, product, result);
    return makeCompare(std::move(result));
  };
  auto plus = [&](int64_t addend) {
    LinearForm result = rest;
    int64_t product;
    result.overflowed |= llvm::MulOverflow(factor, addend, product);
    result.addConstant(product);
    return makeCompare(std::move(result));
  };

  if (auto select = dyn_cast_if_present<arith::SelectOp>(op))
    return makeIf(select.getCondition(), with(select.getTrueValue()),
                  with(select.getFalseValue()));
  if (isa_and_present<arith::ExtUIOp, arith::ExtSIOp, arith::IndexCastUIOp,
                      arith::IndexCastOp>(op) &&
      op->getOperand(0).getType().isInteger(1)) {
    bool isUnsigned = isa<arith::ExtUIOp, arith::IndexCastUIOp>(op);
    return makeIf(op->getOperand(0), plus(isUnsigned ? 1 : -1), plus(0));
  }
  // max(x, y) + r >= 0 holds where x + r >= 0 or y + r >= 0 does.
  auto either = [&](bool isMax, Node a, Node b) {
    return isMax == (factor > 0) ? makeOr(a, b) : makeAnd(a, b);
  };
  bool isUnsigned = isa_and_present<arith::MaxUIOp, arith::MinUIOp>(op);
  if (isa_and_present<arith::MaxSIOp, arith::MinSIOp>(op) ||
      (isUnsigned && values.isNonNegative(op->getOperand(0)) &&
       values.isNonNegative(op->getOperand(1))))
    return either(isa<arith::MaxSIOp, arith::MaxUIOp>(op),
                  with(op->getOperand(0)), with(op->getOperand(1)));
  // |x| = max(x, -x), except at the smallest integer of a narrow type.
  if (isa_and_present<math::AbsIOp>(op)) {
    ConstantIntRanges range = values.getRange(op->getOperand(0));
    if (range.smin().getBitWidth() == 64 || !range.smin().isMinSignedValue())
      return either(/*isMax=*/true, with(op->getOperand(0)),
                    with(op->getOperand(0), -1));
  }
  return nullptr;
}

/// Undoes a division: floor(n / c) >= r where n >= c * r, and floor(n / c) <= r
/// where n <= c * r + c - 1.
MaskBounds::Node MaskBounds::splitDivision(LinearForm form, Value value) {
  FloorDivision division = *values.getFloorDivision(value);
  int64_t factor = form.takeTerm(value);
  if (factor != 1 && factor != -1)
    return nullptr;
  LinearForm result;
  linearize(division.numerator, factor, result);
  result.addConstant(factor * division.addend);
  result.addScaled(form, division.divisor);
  if (factor < 0)
    result.addConstant(division.divisor - 1);
  return makeCompare(std::move(result));
}
