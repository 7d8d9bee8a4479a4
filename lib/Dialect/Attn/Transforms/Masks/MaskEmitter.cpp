//===- MaskEmitter.cpp - Conditions as operations -------------------------===//

#include "MaskNormalForm.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/Support/MathExtras.h"
#include <numeric>

using namespace mlir;
using namespace mlir::attn;
using Kind = MaskCondition::Kind;
using Predicate = arith::CmpIPredicate;

Value MaskEmitter::negate(Value condition) {
  return create<arith::XOrIOp>(
      condition, arith::ConstantIntOp::create(builder, loc, 1, 1));
}

Value MaskEmitter::compare(Predicate predicate, Value lhs, Value rhs) {
  return arith::CmpIOp::create(builder, loc, predicate, lhs, rhs);
}

/// The predicate that holds of b and a where `predicate` holds of a and b.
static Predicate swapSides(Predicate predicate) {
  switch (predicate) {
  case Predicate::eq:
  case Predicate::ne:
    return predicate;
  case Predicate::slt:
    return Predicate::sgt;
  case Predicate::sle:
    return Predicate::sge;
  case Predicate::sgt:
    return Predicate::slt;
  case Predicate::sge:
    return Predicate::sle;
  case Predicate::ult:
    return Predicate::ugt;
  case Predicate::ule:
    return Predicate::uge;
  case Predicate::ugt:
    return Predicate::ult;
  case Predicate::uge:
    return Predicate::ule;
  }
  llvm_unreachable("all predicates are handled");
}

//===----------------------------------------------------------------------===//
// Conditions
//===----------------------------------------------------------------------===//

Value MaskEmitter::emit(const MaskCondition &condition) {
  switch (condition.kind) {
  case Kind::True:
  case Kind::False:
    return arith::ConstantIntOp::create(builder, loc,
                                        condition.kind == Kind::True, 1);
  case Kind::AtLeast:
  case Kind::Equal:
    return emitRelation(condition.form, condition.kind == Kind::Equal,
                        condition.negated);
  case Kind::Congruent:
    return emitCongruence(condition);
  case Kind::Opaque:
    return emitOpaque(condition.value, condition.negated);
  case Kind::All:
  case Kind::Any: {
    Value joined;
    for (const MaskCondition &operand : condition.operands) {
      Value next = emit(operand);
      if (!joined)
        joined = next;
      else
        joined = condition.kind == Kind::All
                     ? create<arith::AndIOp>(joined, next)
                     : create<arith::OrIOp>(joined, next);
    }
    return joined;
  }
  case Kind::Choice: {
    Value chooses =
        emit(normalizer.normalize(condition.value, condition.negated));
    Value yes = emit(condition.operands[0]), no = emit(condition.operands[1]);
    return arith::SelectOp::create(builder, loc, chooses, yes, no);
  }
  }
  llvm_unreachable("all kinds are handled");
}

Value MaskEmitter::emitOpaque(Value value, bool negated) {
  if (Value known = opaque[negated].lookup(value))
    return known;
  Value result = emitOperation(value, negated);
  opaque[negated][value] = result;
  return result;
}

/// What is not a comparison of sums, with its operands in the normal form.
Value MaskEmitter::emitOperation(Value value, bool negated) {
  Operation *op = value.getDefiningOp();
  auto cmp = dyn_cast_if_present<arith::CmpIOp>(op);
  bool isOfBooleans = cmp && cmp.getLhs().getType().isInteger(1);
  bool isEquality = isOfBooleans && (cmp.getPredicate() == Predicate::eq ||
                                     cmp.getPredicate() == Predicate::ne);
  if (isa_and_present<arith::XOrIOp>(op) || isEquality) {
    negated ^= isEquality && cmp.getPredicate() == Predicate::eq;
    MaskCondition parts[] = {normalizer.normalize(op->getOperand(0)),
                             normalizer.normalize(op->getOperand(1))};
    for (MaskCondition &part : parts) {
      bool isNegation = part.kind != Kind::AtLeast && part.negated;
      negated ^= isNegation;
      part.negated &= !isNegation;
    }
    if (normalizer.compare(parts[0], parts[1]) > 0)
      std::swap(parts[0], parts[1]);
    Value lhs = emit(parts[0]);
    Value result = create<arith::XOrIOp>(lhs, emit(parts[1]));
    return negated ? negate(result) : result;
  }
  if (auto select = dyn_cast_if_present<arith::SelectOp>(op)) {
    bool isSwapped = normalizer.isBetterNegated(select.getCondition());
    Value condition =
        emit(normalizer.normalize(select.getCondition(), isSwapped));
    Value arms[] = {select.getTrueValue(), select.getFalseValue()};
    Value yes = emit(normalizer.normalize(arms[isSwapped], negated));
    Value no = emit(normalizer.normalize(arms[!isSwapped], negated));
    return arith::SelectOp::create(builder, loc, condition, yes, no);
  }
  if (cmp && !isOfBooleans) {
    Predicate predicate = cmp.getPredicate();
    if (negated)
      predicate = arith::invertPredicate(predicate);
    Value lhs = cmp.getLhs(), rhs = cmp.getRhs();
    const MaskValues &values = mask.getValues();
    bool isOfKey = values.dependsOnKey(lhs), other = values.dependsOnKey(rhs);
    if (isOfKey != other ? other : order.isLess(rhs, lhs)) {
      std::swap(lhs, rhs);
      predicate = swapSides(predicate);
    }
    Value limit = emitValue(rhs);
    return compare(predicate, emitValue(lhs), limit);
  }
  if (op)
    cloneOp(op);
  Value result = mapping.lookup(value);
  return negated ? negate(result) : result;
}

//===----------------------------------------------------------------------===//
// Relations
//===----------------------------------------------------------------------===//

SmallVector<MaskEmitter::Term> MaskEmitter::takeSubject(LinearForm &rest) {
  const MaskValues &values = mask.getValues();
  SmallVector<Term> subject;
  for (Term term : rest.terms)
    if (values.dependsOnKey(term.first))
      subject.push_back(term);
  // A difference of integers of any size may overflow: they are compared as
  // they are.
  if (subject.size() > 1 && llvm::any_of(subject, [&](Term term) {
        return !isBounded(values.getRange(term.first));
      })) {
    auto found = llvm::find_if(subject, [&](Term term) {
      return isBounded(values.getRange(term.first));
    });
    subject = {found == subject.end() ? subject.front() : *found};
  }
  if (subject.empty()) {
    // What is limited otherwise may be of any size; a query is the first term.
    auto found = llvm::find_if(rest.terms, [&](Term term) {
      return isBounded(values.getRange(term.first)) &&
             std::abs(term.second) == 1;
    });
    if (found == rest.terms.end())
      found = llvm::find_if(rest.terms, [&](Term term) {
        return isBounded(values.getRange(term.first));
      });
    subject.push_back(found == rest.terms.end() ? rest.terms.front() : *found);
  }
  for (Term term : subject)
    rest.takeTerm(term.first);
  return subject;
}

static LinearForm scale(const LinearForm &form, int64_t factor) {
  LinearForm result;
  result.addScaled(form, factor);
  return result;
}

Value MaskEmitter::emitRelation(const LinearForm &form, bool isEquality,
                                bool negated) {
  LinearForm rest = form;
  SmallVector<Term> subject = takeSubject(rest);
  // How far the subject and the bounded terms of the rest are from 0.
  LinearForm bounded;
  bounded.constant = form.constant;
  for (Term term : form.terms)
    if (isBounded(mask.getValues().getRange(term.first)))
      bounded.terms.push_back(term);
  auto range = *mask.getFormRange(bounded);
  int64_t reach = std::max(std::abs(range.first), std::abs(range.second));

  // factor * subject <= rest, or >=.
  bool isUpper = subject.front().second < 0;
  if (!isUpper)
    rest = scale(rest, -1);
  for (Term &term : subject)
    term.second *= isUpper ? -1 : 1;
  int64_t factor = subject.size() == 1 ? subject.front().second : 1;
  if (isEquality) {
    Predicate predicate = negated ? Predicate::ne : Predicate::eq;
    if (subject.size() == 1 && factor == 1)
      return compareTerms(predicate, subject.front().first, rest, reach);
    Value limit = emitLimit(rest, reach);
    return compare(predicate, emitSum(subject, 0), limit);
  }
  Predicate predicate = isUpper ? Predicate::sle : Predicate::sge;
  if (factor > 1) {
    // Rounded down, after what rounds it up has been added.
    if (!isUpper)
      rest.addConstant(factor - 1);
    if (rest.terms.empty()) {
      rest.constant = llvm::divideFloorSigned(rest.constant, factor);
      factor = 1;
    }
  }
  if (factor > 1) {
    Value sum = emitLimit(rest, reach + factor);
    Value limit = create<arith::FloorDivSIOp>(sum, constant(factor));
    return compare(predicate, emitIndex(subject.front().first), limit);
  }
  // A strict comparison takes the place of a 1; a number is the first one that
  // is masked, or allowed.
  if (isUpper && (rest.constant == -1 || rest.terms.empty())) {
    predicate = Predicate::slt;
    rest.addConstant(1);
  } else if (!isUpper && rest.constant == 1 && !rest.terms.empty()) {
    predicate = Predicate::sgt;
    rest.addConstant(-1);
  }
  if (subject.size() == 1)
    return compareTerms(predicate, subject.front().first, rest, reach);
  Value limit = emitLimit(rest, reach);
  return compare(predicate, emitSum(subject, 0), limit);
}

/// What an index is a narrower integer of, or null.
static Value getNarrow(Value index) {
  auto cast = index.getDefiningOp<arith::IndexCastOp>();
  return cast ? cast.getIn() : Value();
}

Value MaskEmitter::compareTerms(Predicate predicate, Value lhs,
                                const LinearForm &rest, int64_t reach) {
  Value limit = emitLimit(rest, reach), subject = emitIndex(lhs);
  // What is read is compared as it is stored.
  if (Value narrow = getNarrow(subject)) {
    Type type = narrow.getType();
    std::optional<int64_t> number = getConstantInteger(limit);
    Value other = getNarrow(limit);
    if (number && llvm::isIntN(type.getIntOrFloatBitWidth(), *number))
      other = arith::ConstantOp::create(builder, loc,
                                        builder.getIntegerAttr(type, *number));
    if (other && other.getType() == type)
      return compare(predicate, narrow, other);
  }
  return compare(predicate, subject, limit);
}

Value MaskEmitter::emitLimit(const LinearForm &form, int64_t reach) {
  SmallVector<Term> bounded, unbounded;
  int64_t common = 0;
  for (Term term : form.terms) {
    if (isBounded(mask.getValues().getRange(term.first))) {
      bounded.push_back(term);
    } else {
      unbounded.push_back(term);
      common = std::gcd(common, term.second);
    }
  }
  if (unbounded.empty() ||
      (bounded.empty() && form.constant == 0 && common == 1 &&
       (form.terms.size() > 1 || form.terms.front().second > 0)))
    return emitSum(form.terms, form.constant);
  if (unbounded.front().second < 0)
    common = -common;
  for (Term &term : unbounded)
    term.second /= common;
  // A sum that is out of reach of everything else decides as much as its limit.
  int64_t limit = llvm::PowerOf2Ceil(reach + 1);
  Value sum = emitSum(unbounded, 0);
  sum = create<arith::MaxSIOp>(sum, constant(-limit));
  sum = create<arith::MinSIOp>(sum, constant(limit));
  Value rest = emitSum(bounded, 0);
  int64_t factor = std::abs(common);
  if (factor > 1)
    sum = create<arith::MulIOp>(sum, constant(factor));
  if (bounded.empty() && common > 0)
    rest = sum;
  else
    rest = common > 0 ? create<arith::AddIOp>(rest, sum)
                      : create<arith::SubIOp>(rest, sum);
  return form.constant == 0
             ? rest
             : create<arith::AddIOp>(rest, constant(form.constant));
}

/// Solved for the key, or else for the query: the remainder of one side is that
/// of the other.
Value MaskEmitter::emitCongruence(const MaskCondition &condition) {
  int64_t modulus = condition.modulus;
  LinearForm rest = condition.form;
  SmallVector<Term> subject = takeSubject(rest);
  auto [value, factor] = subject.front();
  const MaskValues &values = mask.getValues();
  auto isPlain = [&](Value term) {
    return values.isNonNegative(term) && isBounded(values.getRange(term));
  };
  Value lhs = emitIndex(value);
  if (!isPlain(value))
    lhs = emitFloorModulo(lhs, modulus);
  if (factor != 1)
    lhs = create<arith::MulIOp>(lhs, constant(factor));
  if (isPlain(value) || factor != 1)
    lhs = create<arith::RemUIOp>(lhs, constant(modulus));

  // Coefficients of the negative, from 0 on.
  Value rhs;
  int64_t number = (modulus - rest.constant) % modulus;
  for (Term term : rest.terms) {
    Value next = emitIndex(term.first);
    if (!isPlain(term.first))
      next = emitFloorModulo(next, modulus);
    if (int64_t times = modulus - term.second; times != 1)
      next = create<arith::MulIOp>(next, constant(times));
    rhs = rhs ? create<arith::AddIOp>(rhs, next) : next;
  }
  if (!rhs) {
    rhs = constant(number);
  } else {
    if (number != 0)
      rhs = create<arith::AddIOp>(rhs, constant(number));
    rhs = create<arith::RemUIOp>(rhs, constant(modulus));
  }
  return compare(condition.negated ? Predicate::ne : Predicate::eq, lhs, rhs);
}
