//===- KeyLimits.cpp - Conditions that bound the keys of a query ----------===//
//
// Conditions that bound the key from above, such as a causal mask, a prefix and
// the length, make one comparison of each key with a limit that each query has
// once, if nothing but conjunctions and disjunctions joins them. A condition on
// a quotient of the key bounds the key by a product, which each query has once,
// and a difference that a number divides is one of positions that leave the
// same.
//
//===----------------------------------------------------------------------===//

#include "RegionVectorizer.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

using Predicate = arith::CmpIPredicate;

/// What bounds the keys where `lhs predicate rhs` holds.
static KeyLimit getLimit(Predicate predicate, const TileValue &lhs,
                         const TileValue &rhs) {
  if (lhs.kind != TileKind::Key || isAlong(rhs.kind, TileKind::Key) ||
      !getElementTypeOrSelf(lhs.value.getType()).isIndex() ||
      (predicate != Predicate::slt && predicate != Predicate::sle))
    return {};
  return {lhs.value, rhs.value, rhs.kind, predicate == Predicate::sle};
}

/// More than any position, and than any quotient of one.
static constexpr int64_t kMostQuotient = int64_t(1) << 31;

KeyQuotient RegionVectorizer::getQuotient(Operation &op,
                                          ArrayRef<TileValue> operands) {
  const TileValue &keys = operands[0], &divisor = operands[1];
  APInt constant;
  bool isUnsigned = isa<arith::DivUIOp>(op) ||
                    (isa<arith::DivSIOp, arith::FloorDivSIOp>(op) &&
                     matchPattern(divisor.value, m_ConstantInt(&constant)) &&
                     constant.isStrictlyPositive());
  if (!isUnsigned || keys.kind != TileKind::Key ||
      !starts.contains(op.getOperand(0)) || divisor.kind != TileKind::Uniform ||
      !divisor.value.getType().isIndex())
    return {};
  return {keys.value, divisor.value};
}

TileValue RegionVectorizer::compareQuotient(Predicate predicate,
                                            const KeyQuotient &quotient,
                                            TileValue rhs) {
  auto constant = [&](int64_t number) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, number);
  };
  // Nothing, and what is beyond all positions, divides as a number that is
  // beyond them.
  Value divisor =
      arith::SubIOp::create(builder, loc, quotient.divisor, constant(1));
  divisor = arith::MinUIOp::create(builder, loc, divisor,
                                   constant(kMostQuotient - 1));
  divisor = arith::AddIOp::create(builder, loc, divisor, constant(1));
  auto spread = [&](Value value) { return broadcast({value}, rhs.kind); };
  // The first key whose quotient is `rhs`, or is more by one.
  auto getFirst = [&](int64_t more) -> TileValue {
    Value limit =
        arith::MaxSIOp::create(builder, loc, rhs.value, spread(constant(-1)));
    limit = arith::MinSIOp::create(builder, loc, limit,
                                   spread(constant(kMostQuotient)));
    if (more)
      limit =
          arith::AddIOp::create(builder, loc, limit, spread(constant(more)));
    return {arith::MulIOp::create(builder, loc, limit, spread(divisor)),
            rhs.kind};
  };
  TileValue keys = {quotient.keys, TileKind::Key};
  switch (predicate) {
  case Predicate::slt:
    return compare(Predicate::slt, keys, getFirst(0));
  case Predicate::sge:
    return compare(Predicate::sge, keys, getFirst(0));
  case Predicate::sle:
    return compare(Predicate::slt, keys, getFirst(1));
  case Predicate::sgt:
    return compare(Predicate::sge, keys, getFirst(1));
  case Predicate::eq:
    return logicalAnd(compare(Predicate::sge, keys, getFirst(0)),
                      compare(Predicate::slt, keys, getFirst(1)));
  default:
    return {};
  }
}

Congruence RegionVectorizer::getCongruence(Operation &op,
                                           ArrayRef<TileValue> operands) {
  if (isa<arith::SubIOp>(op)) {
    if (!llvm::all_of(op.getOperands(),
                      [&](Value value) { return starts.contains(value); }) ||
        operands[0].kind == operands[1].kind)
      return {};
    bool isOfKeys = operands[0].kind == TileKind::Key;
    return {operands[isOfKeys].value, operands[!isOfKeys].value, {}};
  }
  const TileValue &divisor = operands[1];
  Congruence result = operands[0].congruence;
  if (!isa<arith::RemSIOp>(op) || !result.keys || result.divisor ||
      divisor.kind != TileKind::Uniform)
    return {};
  result.divisor = divisor.value;
  return result;
}

TileValue RegionVectorizer::compareRemainders(Predicate predicate,
                                              const Congruence &congruence) {
  // Of all numbers, those that 1 leaves are 0, too.
  Value divisor = math::AbsIOp::create(builder, loc, congruence.divisor);
  divisor = arith::MaxUIOp::create(
      builder, loc, divisor, arith::ConstantIndexOp::create(builder, loc, 1));
  auto getRemainder = [&](Value positions, TileKind kind) -> TileValue {
    return {arith::RemUIOp::create(builder, loc, positions,
                                   broadcast({divisor}, kind)),
            kind};
  };
  return compare(predicate, getRemainder(congruence.keys, TileKind::Key),
                 getRemainder(congruence.queries, TileKind::Query));
}

TileValue RegionVectorizer::compare(Predicate predicate, TileValue lhs,
                                    TileValue rhs) {
  // The normal form of a mask has keys on the left.
  if (lhs.quotient.keys && !isAlong(rhs.kind, TileKind::Key))
    if (TileValue result = compareQuotient(predicate, lhs.quotient, rhs);
        result.value)
      return result;
  if (lhs.congruence.divisor && matchPattern(rhs.value, m_Zero()) &&
      (predicate == Predicate::eq || predicate == Predicate::ne))
    return compareRemainders(predicate, lhs.congruence);
  TileKind kind = join(lhs.kind, rhs.kind);
  TileValue result = {arith::CmpIOp::create(builder, loc, predicate,
                                            broadcast(lhs, kind),
                                            broadcast(rhs, kind)),
                      kind};
  if (predicate == Predicate::sgt || predicate == Predicate::sge) {
    std::swap(lhs, rhs);
    predicate = predicate == Predicate::sgt ? Predicate::slt : Predicate::sle;
  }
  result.limit = getLimit(predicate, lhs, rhs);
  return result;
}

TileValue RegionVectorizer::joinLimits(bool isAnd, KeyLimit a, KeyLimit b) {
  if (!a.keys || a.keys != b.keys)
    return {};
  if (a.isInclusive != b.isInclusive) {
    if (!keyEnd)
      return {};
    KeyLimit &last = a.isInclusive ? a : b, &end = a.isInclusive ? b : a;
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    if (end.limit == keyEnd) {
      // Which is not negative.
      end.limit = arith::SubIOp::create(builder, loc, keyEnd, one);
      end.isInclusive = true;
    } else {
      // A limit may be the largest number there is: one more is that of a
      // lesser one, beyond which there are no keys.
      last.limit = arith::MinSIOp::create(builder, loc, last.limit,
                                          broadcast({keyEnd}, last.kind));
      last.limit = arith::AddIOp::create(builder, loc, last.limit,
                                         broadcast({one}, last.kind));
      last.isInclusive = false;
    }
  }
  TileKind kind = join(a.kind, b.kind);
  Value lhs = broadcast({a.limit, a.kind}, kind),
        rhs = broadcast({b.limit, b.kind}, kind);
  Value limit = isAnd
                    ? arith::MinSIOp::create(builder, loc, lhs, rhs).getResult()
                    : arith::MaxSIOp::create(builder, loc, lhs, rhs);
  return compare(a.isInclusive ? Predicate::sle : Predicate::slt,
                 {a.keys, TileKind::Key}, {limit, kind});
}
