//===- LowerLimits.cpp - Conditions on the positions of a thread ----------===//
//
// A thread's elements of a tile differ by constants, so that a condition such
// as key <= query is one on a constant, with a bound that many elements share:
//
//   key.base + 8 <= query.base + 1     as     7 <= query.base - key.base
//
// Bounds of several conditions that must all hold become one, and so do those
// on one side of which one must hold. So each element takes at most two
// comparisons of 32 bits, in however many bits the bounds are computed: far
// beyond all positions, any two of them are as good.
//
//===----------------------------------------------------------------------===//

#include "ThreadPatterns.h"
#include "llvm/Support/MathExtras.h"
#include <map>

using namespace mlir;
using namespace mlir::attn;

using Predicate = arith::CmpIPredicate;

/// Of the constants that are compared with bounds.
static constexpr int64_t kMostPosition = 1 << 10;
/// Of bounds: more than the difference of positions, with room for many sums of
/// a bound and a constant.
static constexpr int64_t kMostBound = INT32_MAX - (1 << 20);
/// What is so far from all of some positions is on the same side of each sum of
/// one of them and a constant.
static constexpr int64_t kFar = 4 * kMostPosition;
/// Of indices that 64 bits have room for the difference of.
static constexpr int64_t kMostIndex = int64_t(1) << 61;

static bool isSigned(Predicate predicate) {
  return predicate == Predicate::eq || predicate == Predicate::ne ||
         predicate == Predicate::slt || predicate == Predicate::sle ||
         predicate == Predicate::sgt || predicate == Predicate::sge;
}

static Value clamp(ScalarBuilder &b, Value value, Interval interval) {
  return b.minS(b.maxS(value, interval.lo), interval.hi);
}

static Value clamp(ScalarBuilder &b, Value value, int64_t most) {
  return clamp(b, value, {-most, most});
}

/// Around positions, what others are brought to so that 32 bits hold the
/// difference; none if there are too many.
static std::optional<Interval> getNeighbourhood(Interval positions) {
  if (!positions.isWithin(kMostBound - kFar) ||
      positions.hi - positions.lo > kMostBound - kFar)
    return std::nullopt;
  return Interval{positions.lo - kFar, positions.hi + kFar};
}

/// The bounds of a position of which `predicate` holds with `difference`.
static Limits makeLimits(ScalarBuilder &b, Predicate predicate,
                         Value difference) {
  auto add = [&](int64_t number) { return b.add(difference, number); };
  switch (predicate) {
  case Predicate::slt:
    return {0, {}, add(-1)};
  case Predicate::sle:
    return {0, {}, difference};
  case Predicate::sgt:
    return {0, add(1), {}};
  case Predicate::sge:
    return {0, difference, {}};
  default:
    llvm_unreachable("has no bounds");
  }
}

static Limits negate(ScalarBuilder &b, const Limits &limits) {
  auto get = [&](Value bound) -> Value {
    if (!bound)
      return {};
    return b.sub(b.i32(0), bound);
  };
  return {-limits.position, get(limits.upper), get(limits.lower)};
}

/// Has positions grow from element to element, so that those of conditions on
/// the same elements differ by few constants.
static void orient(ScalarBuilder &b, MutableArrayRef<Limits> list) {
  const Limits &first = list.front();
  const Limits *other = llvm::find_if(list, [&](const Limits &limits) {
    return limits.lower == first.lower && limits.upper == first.upper &&
           limits.position != first.position;
  });
  if (other == list.end() || other->position > first.position)
    return;
  DenseMap<std::pair<Value, Value>, Limits> negated;
  for (Limits &limits : list) {
    auto [it, isNew] = negated.try_emplace({limits.lower, limits.upper});
    if (isNew)
      it->second = negate(b, limits);
    limits = {-limits.position, it->second.lower, it->second.upper};
  }
}

/// Whether differences of bases are worth their registers.
static bool areShared(ArrayRef<IndexElement> lhs, ArrayRef<IndexElement> rhs) {
  DenseSet<std::pair<Value, Value>> bases;
  for (auto [x, y] : llvm::zip_equal(lhs, rhs))
    bases.insert({x.base, y.base});
  return bases.size() <= lhs.size() / 4;
}

/// Bounds that are far from their bases, such as constants or the start of a
/// window, are bases themselves, if they are few.
static void makeNear(ThreadBuilder &b, MutableArrayRef<IndexElement> list,
                     Interval interval) {
  DenseMap<std::pair<Value, int64_t>, Value> bases;
  bool isFar = false;
  for (const IndexElement &element : list) {
    isFar |= std::abs(element.offset) >= kMostPosition / 2;
    bases[{element.base, element.offset}] = {};
  }
  if (!isFar || bases.size() > std::max<size_t>(2, list.size() / 8))
    return;
  for (IndexElement &element : list) {
    Value &base = bases[{element.base, element.offset}];
    if (!base)
      base = b.toInt(element, interval.fitsInt32() ? 32 : 64);
    element = {base, 0};
  }
}

/// Of indices.
static FailureOr<Elements> lowerComparison(arith::CmpIOp op,
                                           Operands<arith::CmpIOp> in,
                                           ThreadBuilder &b) {
  if (!getElementTypeOrSelf(op.getLhs().getType()).isIndex())
    return failure();
  Predicate predicate = op.getPredicate();
  SmallVector<IndexElement> lhs = b.getIndices(in.getLhs()),
                            rhs = b.getIndices(in.getRhs());
  Interval left = b.kernel.ranges.get(op.getLhs()),
           right = b.kernel.ranges.get(op.getRhs());
  makeNear(b, lhs, left);
  makeNear(b, rhs, right);
  unsigned bits = left.fitsInt32() && right.fitsInt32() ? 32 : 64;
  Interval difference =
      Interval::combine(left, right, llvm::SubOverflow<int64_t>);
  bool areNear = llvm::all_of(llvm::zip_equal(lhs, rhs), [](auto pair) {
    auto [x, y] = pair;
    return std::abs(x.offset) < kMostPosition / 2 &&
           std::abs(y.offset) < kMostPosition / 2;
  });
  // Whether a difference of 32 bits says which one is less: as it is, or with
  // one that is out of reach of the other brought nearer.
  bool isShared = areShared(lhs, rhs);
  bool isExact = bits == 32 && difference.isWithin(kMostBound);
  // Such as numbers of 32 bits that were read.
  std::optional<Interval> around, aroundOther;
  if (bits == 32 && !isExact && isShared) {
    around = getNeighbourhood(left);
    if (!around)
      aroundOther = getNeighbourhood(right);
  }
  bool isClamped =
      around || aroundOther ||
      (bits == 64 && isShared &&
       (left.isWithin(kMostIndex / 2) || right.isWithin(kMostIndex / 2)));
  bool isSimple = isSigned(predicate) && areNear && (isExact || isClamped);
  DenseMap<std::pair<Value, Value>, Value> differences;
  auto getDifference = [&](Value x, Value y) {
    Value &known = differences[{x, y}];
    if (known)
      return known;
    auto get = [&](Value base, Interval interval) {
      Value value = b.toInt(IndexElement{base, 0}, bits);
      return bits == 32 || isExact || interval.isWithin(kMostIndex)
                 ? value
                 : clamp(b, value, kMostIndex);
    };
    Value to = get(y, right), from = get(x, left);
    if (around)
      to = clamp(b, to, *around);
    if (aroundOther)
      from = clamp(b, from, *aroundOther);
    known = b.sub(to, from);
    if (bits == 64 && isClamped)
      known = b.trunc32(clamp(b, known, kMostBound));
    return known;
  };
  // What elements share is one value, by which conditions are known to have the
  // same bound.
  DenseMap<std::pair<Value, int64_t>, Value> integers;
  auto getInteger = [&](const IndexElement &element) {
    Value &known = integers[{element.base, element.offset}];
    if (!known)
      known = b.toInt(element, bits);
    return known;
  };
  auto compare = [&](const IndexElement &x, const IndexElement &y) {
    bool shares = isClamped || ((isShared || lhs.size() == 1) && x.base &&
                                y.base && x.offset != y.offset);
    if (!isSimple || !shares)
      return b.cmp(predicate, getInteger(x), getInteger(y));
    Value position = b.i32(x.offset - y.offset);
    return b.cmp(predicate, position, getDifference(x.base, y.base));
  };
  std::map<std::array<int64_t, 4>, Value> conditions;
  Elements list;
  for (auto [x, y] : llvm::zip_equal(lhs, rhs)) {
    auto [base, offset] = b.getKey(x);
    auto [otherBase, otherOffset] = b.getKey(y);
    Value &known = conditions[{base, offset, otherBase, otherOffset}];
    if (!known)
      known = compare(x, y);
    list.push_back(known);
  }
  if (!isSimple || !isShared || predicate == Predicate::eq ||
      predicate == Predicate::ne)
    return list;
  DenseMap<Value, Limits> bounds;
  SmallVector<Limits> known;
  for (auto [x, y] : llvm::zip_equal(lhs, rhs)) {
    Value own = getDifference(x.base, y.base);
    auto [it, isNew] = bounds.try_emplace(own);
    if (isNew)
      it->second = makeLimits(b, predicate, own);
    known.push_back({x.offset - y.offset, it->second.lower, it->second.upper});
  }
  orient(b, known);
  for (auto [condition, limits] : llvm::zip_equal(list, known))
    b.kernel.facts.limits[condition] = limits;
  return list;
}

static bool haveLimits(ThreadBuilder &b, ValueRange conditions) {
  return llvm::all_of(conditions, [&](Value condition) {
    return b.kernel.facts.limits.contains(condition);
  });
}

/// What conditions say of positions. Others say nothing of them.
static SmallVector<Limits> getLimits(ThreadBuilder &b, ValueRange conditions) {
  if (haveLimits(b, conditions))
    return llvm::map_to_vector(conditions, [&](Value condition) {
      return b.kernel.facts.limits.at(condition);
    });
  return llvm::map_to_vector(
      conditions, [](Value condition) { return Limits{0, {}, {}, condition}; });
}

namespace {
/// One of two bounds, the second of positions that are less by `more`.
struct JoinedBound {
  Value x, y;
  int64_t more;
  bool isLess;
  auto getKey() const { return std::make_tuple(x, y, more, unsigned(isLess)); }
};
} // namespace

static Value emitJoined(ThreadBuilder &b, const JoinedBound &bound) {
  Value other = b.addOffset(bound.y, bound.more);
  if (!bound.x)
    return other;
  if (bound.isLess)
    return b.minS(bound.x, other);
  return b.maxS(bound.x, other);
}

/// Whether all conditions bound positions on one side, the same one, and
/// nothing else.
static bool areOneSided(ArrayRef<Limits> left, ArrayRef<Limits> right) {
  bool areLower = bool(left.front().lower);
  return llvm::all_of(llvm::concat<const Limits>(left, right),
                      [&](const Limits &limits) {
                        return bool(limits.lower) == areLower &&
                               bool(limits.upper) != areLower && !limits.rest;
                      });
}

/// Both or one of two conditions, if they are on positions.
template <typename OpT>
static FailureOr<Elements> lowerJoint(OpT op, Operands<OpT> in,
                                      ThreadBuilder &b) {
  constexpr bool isAnd = std::is_same_v<OpT, arith::AndIOp>;
  if (!getElementTypeOrSelf(op.getType()).isInteger(1))
    return failure();
  SmallVector<Limits> left = getLimits(b, in.getLhs()),
                      right = getLimits(b, in.getRhs());
  if (!haveLimits(b, in.getLhs()) && !haveLimits(b, in.getRhs()))
    return failure();
  if (!isAnd && !areOneSided(left, right))
    return failure();
  auto hasBounds = [](const Limits &limits) {
    return limits.lower || limits.upper;
  };
  // The tighter one of both, or the looser one.
  auto getBound = [](const Limits &x, const Limits &y, bool isUpper) {
    return JoinedBound{isUpper ? x.upper : x.lower, isUpper ? y.upper : y.lower,
                       x.position - y.position, isUpper == isAnd};
  };
  DenseMap<std::tuple<Value, Value, int64_t, unsigned>, Value> joined;
  for (auto [x, y] : llvm::zip_equal(left, right))
    for (bool isUpper : {false, true})
      if (JoinedBound bound = getBound(x, y, isUpper); bound.y && hasBounds(x))
        joined[bound.getKey()] = {};
  // As many bounds as elements would need a register each.
  if (joined.size() > std::max<size_t>(4, left.size() / 8))
    return failure();
  auto join = [&](const Limits &x, const Limits &y, bool isUpper) {
    JoinedBound bound = getBound(x, y, isUpper);
    if (!bound.y)
      return bound.x;
    Value &known = joined[bound.getKey()];
    if (!known)
      known = emitJoined(b, bound);
    return known;
  };
  auto both = [&](Value x, Value y) -> Value { return x ? b.andI(x, y) : y; };
  SmallVector<Limits> list;
  for (auto [x, y] : llvm::zip_equal(left, right)) {
    Limits &limits = list.emplace_back(hasBounds(x) ? x : y);
    if (hasBounds(x) && hasBounds(y)) {
      limits.lower = join(x, y, false);
      limits.upper = join(x, y, true);
    }
    limits.rest = y.rest ? both(x.rest, y.rest) : x.rest;
  }
  Elements conditions;
  for (const Limits &limits : list) {
    Value position = b.i32(limits.position);
    Value condition;
    if (limits.lower)
      condition = b.sge(position, limits.lower);
    if (limits.upper) {
      Value isBelow = b.cmp(Predicate::sle, position, limits.upper);
      condition = both(condition, isBelow);
    }
    if (limits.rest)
      condition = both(condition, limits.rest);
    b.kernel.facts.limits[condition] = limits;
    conditions.push_back(condition);
  }
  return conditions;
}

void mlir::attn::populateLimitPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerComparison, /*benefit=*/3);
  patterns.add(lowerJoint<arith::AndIOp>, /*benefit=*/3);
  patterns.add(lowerJoint<arith::OrIOp>, /*benefit=*/3);
}
