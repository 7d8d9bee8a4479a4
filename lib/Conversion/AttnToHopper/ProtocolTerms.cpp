//===- ProtocolTerms.cpp - Integers that both roles compute ---------------===//

#include "ProtocolTerms.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/Utils/InferIntRangeCommon.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::protocol;

static uint64_t truncate(uint64_t value, unsigned bits) {
  return bits >= 64 ? value : value & ((uint64_t(1) << bits) - 1);
}

static APInt getInt(uint64_t value, unsigned bits) {
  return APInt(bits, truncate(value, bits));
}

unsigned protocol::getBits(Type type) {
  if (type.isIndex())
    return IndexType::kInternalStorageBitWidth;
  auto integer = dyn_cast<IntegerType>(type);
  return integer && integer.getWidth() <= 64 ? integer.getWidth() : 0;
}

//===----------------------------------------------------------------------===//
// Terms
//===----------------------------------------------------------------------===//

std::optional<unsigned> Term::getAtom() const {
  if (constant == 0 && parts.size() == 1 && parts[0].second == 1)
    return parts[0].first;
  return std::nullopt;
}

Term protocol::combine(const Term &a, const Term &b, uint64_t factor) {
  assert(a.bits == b.bits && "expects terms of one width");
  Term sum{a.bits, truncate(a.constant + factor * b.constant, a.bits), {}};
  const auto *x = a.parts.begin(), *y = b.parts.begin();
  while (x != a.parts.end() || y != b.parts.end()) {
    bool takesX =
        x != a.parts.end() && (y == b.parts.end() || x->first <= y->first);
    bool takesY =
        y != b.parts.end() && (x == a.parts.end() || y->first <= x->first);
    unsigned atom = takesX ? x->first : y->first;
    uint64_t coefficient = 0;
    if (takesX)
      coefficient += (x++)->second;
    if (takesY)
      coefficient += factor * (y++)->second;
    if (uint64_t value = truncate(coefficient, a.bits))
      sum.parts.push_back({atom, value});
  }
  return sum;
}

/// Appends numbers that tell a term from others.
static void appendKey(SmallVectorImpl<uint64_t> &key, const Term &term) {
  llvm::append_values(key, term.bits, term.constant, term.parts.size());
  for (auto [atom, coefficient] : term.parts)
    llvm::append_values(key, atom, coefficient);
}

Term TermTable::getFresh(unsigned bits) {
  Atom &atom = atoms.emplace_back();
  atom.bits = bits;
  return Term{bits, 0, {{atoms.size() - 1, 1}}};
}

Term TermTable::getAtom(ArrayRef<uint64_t> key, ArrayRef<Term> terms,
                        Atom atom) {
  SmallVector<uint64_t> full(key);
  for (const Term &term : terms)
    appendKey(full, term);
  auto [it, isNew] = numbers.try_emplace(std::move(full), atoms.size());
  unsigned bits = atom.bits;
  if (isNew) {
    atom.operands.assign(terms.begin(), terms.end());
    atoms.push_back(std::move(atom));
  }
  return Term{bits, 0, {{it->second, 1}}};
}

Term TermTable::getNamed(StringRef name, unsigned bits, ArrayRef<Term> terms) {
  return getAtom({0, uint64_t(llvm::hash_value(name)), bits}, terms,
                 Atom{bits, nullptr, {}, std::nullopt});
}

const TermTable::Atom *TermTable::findAtom(const Term &term) const {
  std::optional<unsigned> number = term.getAtom();
  return number ? &atoms[*number] : nullptr;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

void TermTable::forget(Operation *op) {
  SmallVector<Value> inside;
  for (auto &[value, term] : known)
    if (op->isAncestor(value.getParentBlock()->getParentOp()))
      inside.push_back(value);
  for (Value value : inside)
    known.erase(value);
}

Term TermTable::get(Value value) {
  auto it = known.find(value);
  if (it != known.end())
    return it->second;
  Term term = evaluate(value);
  known[value] = term;
  return term;
}

/// Whether an operation gives the same for the same operands in all threads of
/// a thread block. Captures that gathers read do not change during a kernel.
static bool isPureForAll(Operation *op) {
  if (op->getNumRegions() != 0 || op->getNumResults() != 1)
    return false;
  if (isa<GatherOp, hopper::PositionOp, gpu::BlockIdOp, gpu::GridDimOp>(op))
    return true;
  return isa<arith::ArithDialect, affine::AffineDialect, math::MathDialect>(
             op->getDialect()) &&
         isMemoryEffectFree(op);
}

/// The values that a result or argument of control flow may be, and those that
/// choose between them; nothing if `op` is something else.
static std::optional<SmallVector<Value>> getSources(Operation *op,
                                                    Value value) {
  auto argument = dyn_cast<BlockArgument>(value);
  unsigned number = argument ? argument.getArgNumber()
                             : cast<OpResult>(value).getResultNumber();
  if (auto branch = dyn_cast<scf::IfOp>(op))
    return SmallVector<Value>{branch.getCondition(),
                              branch.thenYield().getOperand(number),
                              branch.elseYield().getOperand(number)};
  if (auto loop = dyn_cast<scf::ForOp>(op)) {
    SmallVector<Value> sources = {loop.getLowerBound(), loop.getUpperBound(),
                                  loop.getStep()};
    if (argument == loop.getInductionVar())
      return sources;
    number -= argument ? 1 : 0;
    sources.push_back(loop.getInitArgs()[number]);
    sources.push_back(loop.getYieldedValues()[number]);
    return sources;
  }
  if (auto loop = dyn_cast<scf::WhileOp>(op)) {
    SmallVector<Value> sources = {loop.getConditionOp().getCondition()};
    if (argument && argument.getOwner() == loop.getBeforeBody()) {
      sources.push_back(loop.getInits()[number]);
      sources.push_back(loop.getYieldOp().getOperand(number));
    } else {
      sources.push_back(loop.getConditionOp().getArgs()[number]);
    }
    return sources;
  }
  return std::nullopt;
}

bool protocol::isSameForThreads(Value value) {
  DenseSet<Value> seen;
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value next = worklist.pop_back_val();
    if (!seen.insert(next).second)
      continue;
    auto argument = dyn_cast<BlockArgument>(next);
    Operation *op =
        argument ? argument.getOwner()->getParentOp() : next.getDefiningOp();
    if (auto sources = getSources(op, next)) {
      llvm::append_range(worklist, *sources);
      continue;
    }
    // Claims, and what producers send, are the same for all threads.
    if (argument ? isa<FunctionOpInterface>(op)
                 : isa<hopper::ReceiveOp, hopper::GetOp, hopper::WarpgroupIdOp,
                       hopper::ClaimOp, hopper::BallotOp>(op))
      continue;
    if (argument || !isPureForAll(op))
      return false;
    llvm::append_range(worklist, op->getOperands());
  }
  return true;
}

Term TermTable::evaluate(Value value) {
  unsigned bits = getBits(value.getType());
  Operation *op = value.getDefiningOp();
  // What is no integer has the width of nothing that is added to it.
  if (!op || (bits == 0 && !isPureForAll(op)))
    return getFresh(bits ? bits : 64);
  APInt constant;
  if (bits != 0 && matchPattern(op, m_ConstantInt(&constant)))
    return Term{bits, constant.getZExtValue(), {}};
  if (isa<arith::AddIOp>(op) && bits)
    return combine(get(op->getOperand(0)), get(op->getOperand(1)));
  if (isa<arith::SubIOp>(op) && bits)
    return subtract(get(op->getOperand(0)), get(op->getOperand(1)));
  if (isa<arith::MulIOp>(op) && bits) {
    Term lhs = get(op->getOperand(0)), rhs = get(op->getOperand(1));
    if (lhs.isConstant())
      std::swap(lhs, rhs);
    if (rhs.isConstant())
      return combine(Term{bits, 0, {}}, lhs, rhs.constant);
  }
  if (!isPureForAll(op))
    return getFresh(bits ? bits : 64);
  return getPure(op, bits ? bits : 64);
}

/// What an operation gives for the ranges of its operands.
std::optional<ConstantIntRanges> TermTable::inferRange(Operation *op,
                                                       ArrayRef<Term> operands,
                                                       unsigned depth) const {
  unsigned bits = getBits(op->getResult(0).getType());
  if (auto position = dyn_cast<hopper::PositionOp>(op))
    return ConstantIntRanges::fromSigned(getInt(0, bits),
                                         getInt(position.getMost(), bits));
  if (isa<math::AbsIOp>(op)) {
    ConstantIntRanges range = getRange(operands[0], depth);
    if (range.smin().isMinSignedValue())
      return std::nullopt;
    APInt zero = getInt(0, bits);
    return ConstantIntRanges::fromSigned(
        llvm::APIntOps::smax(llvm::APIntOps::smax(range.smin(), -range.smax()),
                             zero),
        llvm::APIntOps::smax(-range.smin(), range.smax()));
  }
  auto inferrable = dyn_cast<InferIntRangeInterface>(op);
  if (!inferrable || bits == 0 ||
      !llvm::all_of(op->getOperandTypes(), [](Type t) { return getBits(t); }))
    return std::nullopt;
  auto ranges = llvm::map_to_vector(
      operands, [&](const Term &operand) { return getRange(operand, depth); });
  std::optional<ConstantIntRanges> result;
  inferrable.inferResultRanges(
      ranges, [&](Value, const ConstantIntRanges &range) { result = range; });
  return result;
}

Term TermTable::getPure(Operation *op, unsigned bits) {
  SmallVector<Term> operands;
  for (Value operand : op->getOperands())
    operands.push_back(get(operand));
  std::optional<ConstantIntRanges> range =
      inferRange(op, operands, /*depth=*/0);
  if (std::optional<APInt> only =
          range ? range->getConstantValue() : std::nullopt)
    return Term{bits, only->getZExtValue(), {}};
  Atom atom{bits, op, {}, range};
  auto getId = [](const void *pointer) {
    return uint64_t(reinterpret_cast<uintptr_t>(pointer));
  };
  return getAtom({getId(op->getName().getAsOpaquePointer()),
                  getId(op->getAttrDictionary().getAsOpaquePointer()),
                  getId(op->getResult(0).getType().getAsOpaquePointer())},
                 operands, std::move(atom));
}

//===----------------------------------------------------------------------===//
// Facts
//===----------------------------------------------------------------------===//

ConstantIntRanges TermTable::getRange(const Term &term, unsigned depth) const {
  auto getConstant = [&](uint64_t value) {
    return ConstantIntRanges::constant(getInt(value, term.bits));
  };
  ConstantIntRanges sum = getConstant(term.constant);
  for (auto [number, coefficient] : term.parts) {
    const Atom &atom = atoms[number];
    ConstantIntRanges range =
        atom.range ? *atom.range : ConstantIntRanges::maxRange(term.bits);
    if (atom.op && depth != 0 && !facts.empty())
      if (auto known = inferRange(atom.op, atom.operands, depth - 1))
        range = range.intersection(*known);
    if (coefficient != 1)
      range = intrange::inferMul({range, getConstant(coefficient)});
    sum = intrange::inferAdd({sum, range});
  }
  if (depth == 0)
    return sum;
  for (const Fact &fact : facts)
    if (fact.term.bits == term.bits && fact.term.parts == term.parts)
      sum = sum.intersection(intrange::inferAdd(
          {fact.range, getConstant(term.constant - fact.term.constant)}));
  return sum;
}

/// The values that a comparison with a constant leaves, as signed numbers.
static std::optional<ConstantIntRanges>
getAllowed(arith::CmpIPredicate predicate, const APInt &bound) {
  unsigned bits = bound.getBitWidth();
  APInt lo = APInt::getSignedMinValue(bits),
        hi = APInt::getSignedMaxValue(bits);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return ConstantIntRanges::constant(bound);
  case arith::CmpIPredicate::slt:
    if (bound == lo)
      return std::nullopt;
    return ConstantIntRanges::fromSigned(lo, bound - 1);
  case arith::CmpIPredicate::sle:
    return ConstantIntRanges::fromSigned(lo, bound);
  case arith::CmpIPredicate::sgt:
    if (bound == hi)
      return std::nullopt;
    return ConstantIntRanges::fromSigned(bound + 1, hi);
  case arith::CmpIPredicate::sge:
    return ConstantIntRanges::fromSigned(bound, hi);
  default:
    return std::nullopt;
  }
}

/// The predicate for operands in the other order.
static arith::CmpIPredicate swapOperands(arith::CmpIPredicate predicate) {
  switch (predicate) {
  case arith::CmpIPredicate::slt:
    return arith::CmpIPredicate::sgt;
  case arith::CmpIPredicate::sle:
    return arith::CmpIPredicate::sge;
  case arith::CmpIPredicate::sgt:
    return arith::CmpIPredicate::slt;
  case arith::CmpIPredicate::sge:
    return arith::CmpIPredicate::sle;
  default:
    return predicate;
  }
}

void TermTable::assume(const Term &condition, bool holds) {
  const Atom *atom = findAtom(condition);
  auto compare =
      atom ? dyn_cast_or_null<arith::CmpIOp>(atom->op) : arith::CmpIOp();
  if (!compare)
    return;
  Term lhs = atom->operands[0], rhs = atom->operands[1];
  arith::CmpIPredicate predicate = compare.getPredicate();
  if (lhs.isConstant()) {
    std::swap(lhs, rhs);
    predicate = swapOperands(predicate);
  }
  if (!holds)
    predicate = arith::invertPredicate(predicate);
  switch (predicate) {
  case arith::CmpIPredicate::slt:
  case arith::CmpIPredicate::sle:
    orders.push_back({lhs, rhs, predicate == arith::CmpIPredicate::slt});
    break;
  case arith::CmpIPredicate::sgt:
  case arith::CmpIPredicate::sge:
    orders.push_back({rhs, lhs, predicate == arith::CmpIPredicate::sgt});
    break;
  default:
    break;
  }
  if (!rhs.isConstant())
    return;
  if (auto allowed = getAllowed(predicate, getInt(rhs.constant, rhs.bits))) {
    ConstantIntRanges range = getRange(lhs).intersection(*allowed);
    facts.push_back({std::move(lhs), range});
  }
}

bool TermTable::areEqual(const Term &a, const Term &b) const {
  if (a.bits != b.bits)
    return false;
  if (a == b)
    return true;
  Term difference = subtract(a, b);
  // A fact may say what some atom is.
  for (const Fact &fact : facts) {
    std::optional<APInt> value = fact.range.getConstantValue();
    if (!value || fact.term.bits != a.bits || fact.term.parts.size() != 1 ||
        fact.term.parts[0].second != 1)
      continue;
    Term zero = add(fact.term, -value->getZExtValue());
    for (auto [atom, coefficient] : difference.parts)
      if (atom == fact.term.parts[0].first)
        if (combine(difference, zero, -coefficient) == Term{a.bits, 0, {}})
          return true;
  }
  return false;
}

/// `n` and `m` if a term is `n - m` and `0 <= m <= n`, so that nothing wraps
/// around.
std::optional<std::pair<Term, Term>>
TermTable::getDifference(const Term &term, unsigned depth) const {
  if (term.constant != 0 || term.parts.size() != 2)
    return std::nullopt;
  auto n = term.parts[0], m = term.parts[1];
  if (n.second != 1)
    std::swap(n, m);
  if (n.second != 1 || m.second != truncate(~uint64_t(0), term.bits))
    return std::nullopt;
  Term larger{term.bits, 0, {{n.first, 1}}},
      smaller{term.bits, 0, {{m.first, 1}}};
  if (!isAtMost(Term{term.bits, 0, {}}, smaller, depth) ||
      !isAtMost(smaller, larger, depth))
    return std::nullopt;
  return std::pair(larger, smaller);
}

bool TermTable::isAtMost(const Term &a, const Term &b, unsigned depth) const {
  if (a.bits != b.bits)
    return false;
  if (areEqual(a, b) || getRange(a).smax().sle(getRange(b).smin()))
    return true;
  for (const Order &order : orders) {
    if (order.smaller.bits != a.bits)
      continue;
    // One more than what is smaller does not wrap around.
    bool isLower = order.smaller == a ||
                   (order.isStrict && protocol::add(order.smaller, 1) == a);
    if (isLower && order.larger == b)
      return true;
  }
  if (depth-- == 0)
    return false;
  // What is chosen from two is at most a number if both are, or if one is.
  auto isEach = [&](const Atom *atom, bool isLower, size_t first, bool isAny) {
    auto holds = [&](const Term &operand) {
      return isLower ? isAtMost(operand, b, depth)
                     : isAtMost(a, operand, depth);
    };
    bool x = holds(atom->operands[first]);
    return x == isAny ? x : holds(atom->operands[first + 1]);
  };
  for (bool isLower : {true, false}) {
    const Atom *atom = findAtom(isLower ? a : b);
    if (!atom || !atom->op)
      continue;
    if (isa<arith::SelectOp>(atom->op) &&
        isEach(atom, isLower, /*first=*/1, /*isAny=*/false))
      return true;
    if (isa<arith::MinSIOp, arith::MaxSIOp>(atom->op) &&
        isEach(atom, isLower, /*first=*/0,
               /*isAny=*/isa<arith::MinSIOp>(atom->op) == isLower))
      return true;
  }
  if (auto difference = getDifference(a, depth))
    if (isAtMost(difference->first, b, depth))
      return true;
  // A difference is not negative.
  return getRange(a).smax().isNonPositive() && getDifference(b, depth);
}

/// Whether `test` compares a constant with `select(condition, x, y)` so that
/// it holds for `x`, by its range, and does not for `y`.
bool TermTable::areEquivalent(const Term &condition, const Term &test) const {
  if (areEqual(condition, test))
    return true;
  const Atom *atom = findAtom(test);
  auto compare =
      atom ? dyn_cast_or_null<arith::CmpIOp>(atom->op) : arith::CmpIOp();
  if (!compare || !atom->operands[1].isConstant())
    return false;
  const Term &bound = atom->operands[1];
  const Atom *choice = findAtom(atom->operands[0]);
  if (!choice || !isa_and_nonnull<arith::SelectOp>(choice->op) ||
      !(choice->operands[0] == condition))
    return false;
  auto holdsFor = [&](const Term &term) {
    return intrange::evaluatePred(
        static_cast<intrange::CmpPredicate>(compare.getPredicate()),
        getRange(term), getRange(bound));
  };
  return holdsFor(choice->operands[1]) == true &&
         holdsFor(choice->operands[2]) == false;
}
