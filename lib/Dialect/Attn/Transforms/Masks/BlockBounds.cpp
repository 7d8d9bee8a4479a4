//===- BlockBounds.cpp - Bounds on keys for a Q block ---------------------===//

#include "BlockBounds.h"
#include "RegionSlice.h"

using namespace mlir;
using namespace mlir::attn;
using Kind = MaskNode::Kind;

BlockBoundsBuilder::BlockBoundsBuilder(OpBuilder &builder, Location loc,
                                       const MaskBounds &mask)
    : builder(builder), loc(loc), mask(mask), arith(builder, loc) {
  Block::BlockArgListType arguments =
      builder.getInsertionBlock()->getArguments();
  const MaskValues &values = mask.getValues();
  Region &region = values.getRegion();
  firstRow = arith.track(arguments[2], 0, kMaxLength - 1);
  endRow = arith.track(arguments[3], 1, kMaxLength);
  length = arith.track(arguments[4], 0, kMaxLength);
  for (IRMapping &mapping : mappings) {
    mapping.map(region.getArguments().take_front(2), arguments.take_front(2));
    mapping.map(region.getArguments().drop_front(kNumMaskArgs),
                arguments.drop_front(kNumBlocksArgs));
  }
  for (auto [from, to] :
       llvm::zip(region.getArguments().take_front(2), arguments.take_front(2)))
    arith.track(to, values.getRange(from));
  mappings[First].map(values.getQueryIndex(), firstRow);
}

std::optional<std::array<Value, 4>> BlockBoundsBuilder::build() {
  Bounds bounds = visit(mask.getRoot());
  if (bounds.possible.isAll() && bounds.full.isEmpty)
    return std::nullopt;
  Value zero = arith.constant(0);
  if (bounds.possible.isEmpty)
    return std::array<Value, 4>{zero, zero, zero, zero};

  Value possibleHi = getGuardedHi(bounds.possible);
  Value hi = possibleHi ? clamp(possibleHi) : length;
  Value lo = zero;
  if (bounds.possible.lo)
    lo = arith.minimum(arith.maximum(bounds.possible.lo, zero), hi);
  if (bounds.full.isEmpty)
    return std::array<Value, 4>{lo, lo, lo, hi};

  // What all rows see, some row sees, so that full.hi is at most hi by
  // construction, and full.lo at least lo unless both came about differently.
  Value fullLo = lo;
  if (bounds.full.lo) {
    fullLo = arith.maximum(bounds.full.lo, bounds.isOrdered ? zero : lo);
    fullLo = arith.minimum(fullLo, hi);
  }
  Value fullHi = getGuardedHi(bounds.full);
  fullHi = fullHi ? clamp(fullHi) : length;
  fullHi = arith.maximum(fullLo, fullHi);
  return std::array<Value, 4>{lo, fullLo, fullHi, hi};
}

//===----------------------------------------------------------------------===//
// Nodes
//===----------------------------------------------------------------------===//

BlockBoundsBuilder::Bounds BlockBoundsBuilder::visit(const MaskNode &node) {
  switch (node.kind) {
  case Kind::True:
    return {};
  case Kind::False:
    return {Interval::empty(), Interval::empty()};
  case Kind::Unknown:
  case Kind::Congruent:
    return {Interval(), Interval::empty()};
  case Kind::Uniform: {
    Interval interval;
    interval.guard = evaluate(node.condition, Any);
    if (node.negated)
      interval.guard = arith.negate(interval.guard);
    return {interval, interval};
  }
  case Kind::Compare:
    return visitCompare(node);
  case Kind::If:
    return visitIf(node);
  case Kind::And: {
    Bounds a = visit(*node.operands[0]), b = visit(*node.operands[1]);
    return {intersect(a.possible, b.possible), intersect(a.full, b.full),
            a.isOrdered && b.isOrdered};
  }
  case Kind::Or: {
    Bounds a = visit(*node.operands[0]), b = visit(*node.operands[1]);
    bool hasGuard = a.possible.guard || b.possible.guard;
    return {hull(a.possible, b.possible), unite(a.full, b.full),
            a.isOrdered && b.isOrdered && !hasGuard};
  }
  }
  llvm_unreachable("all kinds are handled");
}

BlockBoundsBuilder::Bounds
BlockBoundsBuilder::visitCompare(const MaskNode &node) {
  return {boundCompare(node.form, /*most=*/true),
          boundCompare(node.form, /*most=*/false)};
}

BlockBoundsBuilder::Bounds BlockBoundsBuilder::visitIf(const MaskNode &node) {
  Bounds yes = visit(*node.operands[0]), no = visit(*node.operands[1]);
  Value condition = evaluate(node.condition, Any);
  bool oneIsEmpty = yes.possible.isEmpty != no.possible.isEmpty ||
                    yes.full.isEmpty != no.full.isEmpty;
  return {choose(condition, yes.possible, no.possible),
          choose(condition, yes.full, no.full),
          yes.isOrdered && no.isOrdered && !oneIsEmpty};
}

BlockBoundsBuilder::Interval
BlockBoundsBuilder::boundCompare(const LinearForm &form, bool most) {
  // key * j + rest >= 0, with the rest at its largest where the comparison is
  // to hold in some row, and at its smallest where it is to hold in all.
  LinearForm rest = form;
  int64_t key = rest.takeTerm(mask.getValues().getKeyIndex());
  Interval interval;
  if (key == 0) {
    interval.guard = buildIsNonNegative(rest, /*largest=*/most);
  } else if (key > 0) {
    // j >= -rest / key.
    Value sum = buildSum(rest, /*factor=*/-1, /*largest=*/!most);
    interval.lo = arith.divide(sum, key, RangedArith::Rounding::Up);
  } else if (key == -1) {
    // j < rest + 1.
    rest.addConstant(1);
    interval.hi = buildSum(rest, /*factor=*/1, /*largest=*/most);
  } else {
    Value sum = buildSum(rest, /*factor=*/1, /*largest=*/most);
    interval.hi =
        arith.add(arith.divide(sum, -key, RangedArith::Rounding::Down),
                  arith.constant(1));
  }
  return interval;
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

Value BlockBoundsBuilder::getGuardedHi(const Interval &interval) {
  if (!interval.guard)
    return interval.hi;
  return arith.select(interval.guard, interval.hi ? interval.hi : length,
                      arith.constant(0));
}

Value BlockBoundsBuilder::clamp(Value value) {
  return arith.minimum(arith.maximum(value, arith.constant(0)), length);
}

BlockBoundsBuilder::Interval BlockBoundsBuilder::intersect(const Interval &a,
                                                           const Interval &b) {
  if (a.isEmpty || b.isEmpty)
    return Interval::empty();
  Interval result;
  result.guard = a.guard && b.guard ? arith.both(a.guard, b.guard)
                 : a.guard          ? a.guard
                                    : b.guard;
  result.lo = a.lo && b.lo ? arith.maximum(a.lo, b.lo) : a.lo ? a.lo : b.lo;
  result.hi = a.hi && b.hi ? arith.minimum(a.hi, b.hi) : a.hi ? a.hi : b.hi;
  return result;
}

BlockBoundsBuilder::Interval BlockBoundsBuilder::hull(const Interval &a,
                                                      const Interval &b) {
  if (a.isEmpty)
    return b;
  if (b.isEmpty)
    return a;
  // An interval whose guard is false goes from skv to 0, which a minimum and a
  // maximum leave out. That its end is 0 suffices where the other starts at 0.
  Interval result;
  auto guardedLo = [&](const Interval &interval) {
    if (!interval.guard)
      return interval.lo;
    return arith.select(interval.guard,
                        interval.lo ? interval.lo : arith.constant(0), length);
  };
  bool startsAtZero =
      (!a.lo && !b.lo) || (!a.lo && !a.guard) || (!b.lo && !b.guard);
  if (!startsAtZero)
    result.lo = arith.minimum(guardedLo(a), guardedLo(b));
  bool endsAtLength = (!a.hi && !a.guard) || (!b.hi && !b.guard);
  if (!endsAtLength)
    result.hi = arith.maximum(getGuardedHi(a), getGuardedHi(b));
  return result;
}

BlockBoundsBuilder::Interval BlockBoundsBuilder::unite(const Interval &a,
                                                       const Interval &b) {
  if (a.isEmpty)
    return b;
  if (b.isEmpty)
    return a;
  if (a.isAll() || b.isAll())
    return Interval();
  Interval result;
  if (!a.lo && !b.lo) {
    result.hi = arith.maximum(getGuardedHi(a), getGuardedHi(b));
    return result;
  }
  if (!a.hi && !b.hi && !a.guard && !b.guard) {
    result.lo = arith.minimum(a.lo, b.lo);
    return result;
  }

  auto clampLo = [&](const Interval &interval) {
    return interval.lo ? clamp(interval.lo) : arith.constant(0);
  };
  auto clampHi = [&](const Interval &interval) {
    Value hi = getGuardedHi(interval);
    return hi ? clamp(hi) : length;
  };
  Value aLo = clampLo(a), aHi = clampHi(a), bLo = clampLo(b), bHi = clampHi(b);
  // They touch where neither begins after the other's end, which nothing does
  // from 0 on or up to skv. An empty interval only passes for touching where
  // the hull is the other.
  bool aEnds = a.hi || a.guard, bEnds = b.hi || b.guard;
  Value touch;
  if (a.lo && bEnds)
    touch = arith.compare(arith::CmpIPredicate::sle, aLo, bHi);
  if (b.lo && aEnds) {
    Value second = arith.compare(arith::CmpIPredicate::sle, bLo, aHi);
    touch = touch ? arith.both(touch, second) : second;
  }
  Value longer =
      arith.compare(arith::CmpIPredicate::sge, arith.subtract(aHi, aLo),
                    arith.subtract(bHi, bLo));
  Value hullHi = aEnds && bEnds ? arith.maximum(aHi, bHi) : length;
  result.lo = arith.select(touch, arith.minimum(aLo, bLo),
                           arith.select(longer, aLo, bLo));
  result.hi = arith.select(touch, hullHi, arith.select(longer, aHi, bHi));
  return result;
}

BlockBoundsBuilder::Interval BlockBoundsBuilder::choose(Value condition,
                                                        const Interval &yes,
                                                        const Interval &no) {
  if (yes.isEmpty && no.isEmpty)
    return Interval::empty();
  if (yes.isEmpty || no.isEmpty) {
    Interval result = yes.isEmpty ? no : yes;
    Value guard = yes.isEmpty ? arith.negate(condition) : condition;
    result.guard = result.guard ? arith.both(guard, result.guard) : guard;
    return result;
  }
  Interval result;
  if (yes.lo || no.lo)
    result.lo = arith.select(condition, yes.lo ? yes.lo : arith.constant(0),
                             no.lo ? no.lo : arith.constant(0));
  if (yes.hi || no.hi)
    result.hi = arith.select(condition, yes.hi ? yes.hi : length,
                             no.hi ? no.hi : length);
  if (yes.guard || no.guard) {
    Value isTrue = arith.boolean(true);
    result.guard = arith.select(condition, yes.guard ? yes.guard : isTrue,
                                no.guard ? no.guard : isTrue);
  }
  return result;
}

//===----------------------------------------------------------------------===//
// Sums
//===----------------------------------------------------------------------===//

SmallVector<BlockBoundsBuilder::Term>
BlockBoundsBuilder::evaluateTerms(const LinearForm &form, int64_t factor,
                                  bool largest, int64_t &constant) {
  const MaskValues &values = mask.getValues();
  SmallVector<Term> terms;
  constant += factor * form.constant;
  for (auto [value, coefficient] : form.terms) {
    coefficient *= factor;
    Trend trend = values.getTrend(value);
    Row row = Any;
    if (trend != Trend::Constant)
      row = (trend == Trend::Increasing) == (coefficient > 0) == largest
                ? Last
                : First;
    // The last row is the end less one; the one joins the constant.
    if (value == values.getQueryIndex() && row == Last) {
      terms.push_back({endRow, coefficient});
      constant -= coefficient;
      continue;
    }
    terms.push_back({evaluate(value, row), coefficient});
  }
  return terms;
}

Value BlockBoundsBuilder::buildSum(const LinearForm &form, int64_t factor,
                                   bool largest) {
  int64_t constant = 0;
  SmallVector<Term> terms = evaluateTerms(form, factor, largest, constant);
  return buildSum(terms, constant);
}

Value BlockBoundsBuilder::buildSum(ArrayRef<Term> terms, int64_t number) {
  if (terms.size() == 1 && terms[0].coefficient == 1 && number == 0)
    return terms[0].value;
  SmallVector<Term> bounded, unbounded;
  for (Term term : terms)
    (isBounded(arith.getRange(term.value)) ? bounded : unbounded)
        .push_back(term);
  Value sum;
  auto addTerm = [&](Term term) {
    if (!sum) {
      sum = multiply(term.value, term.coefficient);
      return;
    }
    Value product = multiply(term.value, std::abs(term.coefficient));
    sum = term.coefficient > 0 ? arith.add(sum, product)
                               : arith.subtract(sum, product);
  };
  // Positive terms first, so that there is a sum to subtract from.
  for (bool isPositive : {true, false})
    for (Term term : bounded)
      if (isPositive == (term.coefficient > 0))
        addTerm(term);
  if (number != 0 || !sum)
    sum = sum ? arith.add(sum, arith.constant(number)) : arith.constant(number);
  for (Term term : unbounded) {
    term.value = limitTerm(term, sum, /*isAlone=*/unbounded.size() == 1);
    addTerm(term);
  }
  return sum;
}

Value BlockBoundsBuilder::multiply(Value value, int64_t factor) {
  if (factor == 1)
    return value;
  if (factor == -1)
    return arith.subtract(arith.constant(0), value);
  return arith.multiply(value, arith.constant(factor));
}

Value BlockBoundsBuilder::limitTerm(Term term, Value rest, bool isAlone) {
  if (!isAlone || std::abs(term.coefficient) != 1)
    return arith.minimum(
        arith.maximum(term.value, arith.constant(-kLargeInteger)),
        arith.constant(kLargeInteger));
  // The analysis bounds the rest by kLargeInteger, so that an integer beyond
  // 2^62 settles the comparison, whatever the rest is.
  constexpr int64_t limit = int64_t(1) << 62;
  ConstantIntRanges range = arith.getRange(rest);
  bool canExceed = range.smax().isStrictlyPositive();
  bool canFallBelow = range.smin().isNegative();
  if (term.coefficient < 0) {
    std::swap(canExceed, canFallBelow);
    // 0 - (-2^63) overflows too.
    canFallBelow |= !range.smax().isNegative();
  }
  Value value = term.value;
  if (canFallBelow)
    value = arith.maximum(value, arith.constant(-limit));
  if (canExceed)
    value = arith.minimum(value, arith.constant(limit));
  return value;
}

Value BlockBoundsBuilder::buildIsNonNegative(const LinearForm &form,
                                             bool largest) {
  int64_t number = 0;
  SmallVector<Term> positive, negative;
  for (Term term : evaluateTerms(form, /*factor=*/1, largest, number)) {
    if (term.coefficient > 0)
      positive.push_back(term);
    else
      negative.push_back({term.value, -term.coefficient});
  }
  // Compares the positive terms with the negative ones, and lets a strict
  // comparison take the place of a constant -1.
  auto predicate = arith::CmpIPredicate::sge;
  if (number == -1) {
    predicate = arith::CmpIPredicate::sgt;
    number = 0;
  }
  Value lhs = buildSum(positive, std::max<int64_t>(number, 0));
  Value rhs = buildSum(negative, std::max<int64_t>(-number, 0));
  return arith.compare(predicate, lhs, rhs);
}

//===----------------------------------------------------------------------===//
// Values of the mask region in a row
//===----------------------------------------------------------------------===//

Value BlockBoundsBuilder::evaluate(Value value, Row row) {
  if (row == Last && !lastRow) {
    lastRow = arith.subtract(endRow, arith.constant(1));
    mappings[Last].map(mask.getValues().getQueryIndex(), lastRow);
  }
  if (!mappings[row].contains(value))
    cloneSlice(value, row);
  Value result = mappings[row].lookup(value);
  Type type = result.getType();
  if (type.isIndex() || type.isInteger(1))
    return result;
  Value cast =
      arith::IndexCastOp::create(builder, loc, builder.getIndexType(), result);
  return arith.track(cast, mask.getValues().getRange(value));
}

void BlockBoundsBuilder::cloneSlice(Value value, Row row) {
  const MaskValues &values = mask.getValues();
  SmallVector<Operation *> slice =
      getRegionSlice(values.getRegion(), value, [&](Value operand) {
        return mappings[row].contains(operand);
      });
  for (Operation *op : slice) {
    Operation *clone;
    if (op->getNumRegions() == 0) {
      clone = builder.clone(*op, mappings[row]);
    } else {
      // Values inside a branch are not for use outside, so their mapping goes.
      IRMapping mapping = mappings[row];
      clone = builder.clone(*op, mapping);
    }
    for (auto [from, to] : llvm::zip(op->getResults(), clone->getResults())) {
      mappings[row].map(from, to);
      if (from.getType().isIntOrIndex())
        arith.track(to, values.getRange(from));
      // A uniform value is the same in all rows.
      if (values.isUniform(from))
        for (IRMapping &each : mappings)
          each.map(from, to);
    }
  }
}
