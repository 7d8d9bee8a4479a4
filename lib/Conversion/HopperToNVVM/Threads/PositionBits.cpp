//===- PositionBits.cpp - Conditions on positions as words ----------------===//

#include "PositionBits.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

SmallVector<PositionRun>
mlir::attn::getPositionRuns(ArrayRef<int64_t> positions) {
  SmallVector<PositionRun> runs;
  for (auto [element, position] : llvm::enumerate(positions)) {
    if (!runs.empty() && position == runs.back().position +
                                         getColumnDistance(runs.back().count)) {
      ++runs.back().count;
      continue;
    }
    if (element % 2 != 0)
      return {};
    runs.push_back({static_cast<int64_t>(element), 1, position});
  }
  return runs;
}

//===----------------------------------------------------------------------===//
// Intervals
//===----------------------------------------------------------------------===//

/// A word with `width` bits from bit `start` on, as far as it has them.
static Value emitOnes(ThreadBuilder &b, Value start, Value width) {
  return b.asmOp("bmsk.clamp.b32 $0, $1, $2;", "=r,r,r", {start, width},
                 {b.getI32Type()})[0];
}

PositionBits::Span &PositionBits::getSpan(Value lower, Value upper,
                                          const PositionRun &run) {
  return spans[{lower, upper, run.position & 7}];
}

void PositionBits::noteInterval(Value lower, Value upper,
                                ArrayRef<PositionRun> runs) {
  for (const PositionRun &run : runs) {
    Span &span = getSpan(lower, upper, run);
    int64_t first =
        span.count ? std::min(span.first, run.position) : run.position;
    auto getEnd = [&](int64_t position, int64_t count) {
      return (position - first) / 8 * 2 + count;
    };
    span.count = std::max(span.count ? getEnd(span.first, span.count) : 0,
                          getEnd(run.position, run.count));
    span.first = first;
  }
}

/// How many positions there are up to a bound and `more`.
Value PositionBits::countUpTo(const Span &span, Value bound, int64_t more) {
  Value distance = b.addOffset(bound, more - span.first);
  distance = b.maxS(distance, -1);
  distance = b.minS(distance, 4 * span.count - 1);
  // Two of each eight positions.
  Value pairs = b.shrS(distance, 3);
  Value rest = b.andI(distance, 7);
  rest = b.minU(rest, 1);
  return b.add(b.addOffset(rest, 1), b.shl(pairs, 1));
}

/// The bits of positions within the bounds, those of the run's first element
/// on; none behind the run if `isExact`.
SmallVector<Value> PositionBits::emitRun(Value lower, Value upper,
                                         const PositionRun &run, bool isExact) {
  SmallVector<Value> &words =
      intervals[{lower, upper, run.position, run.count}];
  if (!words.empty())
    return words;
  Span &span = getSpan(lower, upper, run);
  if (!span.begin) {
    span.begin = lower ? countUpTo(span, lower, -1) : b.i32(0);
    span.end = upper ? countUpTo(span, upper, 0) : b.i32(span.count);
  }
  int64_t before = (run.position - span.first) / 8 * 2;
  bool isCut = isExact && span.count > before + run.count;
  for (int64_t first = 0; first < run.count; first += kWordBits) {
    auto get = [&](Value count) -> Value {
      if (before + first == 0)
        return count;
      return b.maxS(b.addOffset(count, -before - first), 0);
    };
    Value start = get(span.begin), end = get(span.end);
    if (isCut)
      end = b.minS(end, run.count - first);
    Value width = b.maxS(b.sub(end, start), 0);
    words.push_back(emitOnes(b, start, width));
  }
  return words;
}

std::pair<SmallVector<Value>, int64_t>
PositionBits::emitShared(Value lower, Value upper, const PositionRun &run) {
  const Span &span = getSpan(lower, upper, run);
  PositionRun all{0, span.count, span.first};
  return {emitRun(lower, upper, all, /*isExact=*/false),
          (run.position - span.first) / 8 * 2};
}

SmallVector<Value> PositionBits::emitInterval(Value lower, Value upper,
                                              ArrayRef<PositionRun> runs,
                                              int64_t count) {
  if (runs.size() == 1)
    return emitRun(lower, upper, runs.front(), /*isExact=*/false);
  SmallVector<Value> words(llvm::divideCeil(count, kWordBits));
  auto add = [&](int64_t word, Value bits) {
    if (word < static_cast<int64_t>(words.size()))
      words[word] = words[word] ? b.orI(words[word], bits) : bits;
  };
  for (const PositionRun &run : runs) {
    int64_t word = run.element / kWordBits, shift = run.element % kWordBits;
    for (Value bits : emitRun(lower, upper, run, /*isExact=*/true)) {
      add(word, shift == 0 ? bits : b.shl(bits, shift));
      // A shift by all bits of a word has no result.
      if (shift != 0 && shift + run.count > kWordBits)
        add(word + 1, b.shrU(bits, kWordBits - shift));
      ++word;
    }
  }
  return words;
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// The first bits of the remainders of all distances in a word, a word for each
/// bit: of a divisor that is known, constants; of another one, each lane has
/// the remainder of one distance, once for the partition.
static SmallVector<Value>
getRemainderBits(ThreadBuilder &b, const Divisor &divisor, int64_t numBits) {
  SmallVector<Value> words;
  if (!divisor.value) {
    for (int64_t bit = 0; bit < numBits; ++bit) {
      uint32_t word = 0;
      for (int64_t n = 0; n < kWordBits; ++n)
        word |= (getColumnDistance(n) % divisor.constant >> bit & 1) << n;
      words.push_back(b.i32(static_cast<int32_t>(word)));
    }
    return words;
  }
  SmallVector<Value> &known = b.thread.remainderBits[divisor.value];
  auto getFirst = [&] {
    return SmallVector<Value>(ArrayRef(known).take_front(numBits));
  };
  if (!known.empty())
    return getFirst();
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPoint(b.thread.start);
  Value distance =
      b.add(b.shl(b.shrU(b.thread.lane, 1), 3), b.andI(b.thread.lane, 1));
  Value rest = b.remU(distance, divisor.value);
  int64_t most = getColumnDistance(kWordBits - 1);
  for (uint64_t bit = 0; bit <= llvm::Log2_64(most); ++bit) {
    Value isSet = b.ne(b.andI(rest, int64_t(1) << bit), int64_t(0));
    known.push_back(NVVM::VoteSyncOp::create(
        b, b.getI32Type(), b.i32(-1), isSet, NVVM::VoteSyncKind::ballot));
  }
  return getFirst();
}

static Value getNumber(ThreadBuilder &b, const Divisor &divisor) {
  return divisor.value ? divisor.value : b.i32(divisor.constant);
}

/// How many bits remainders of distances of `count` elements have.
static int64_t countBits(const Divisor &divisor, int64_t count) {
  int64_t most = getColumnDistance(count - 1);
  if (!divisor.value)
    most = std::min(most, divisor.constant - 1);
  return llvm::Log2_64(std::max<int64_t>(most, 1)) + 1;
}

/// All ones or zeros.
static Value repeatBit(ThreadBuilder &b, Value number, int64_t bit) {
  return b.shrS(b.shl(number, 31 - bit), 31);
}

/// A number of the row as an i32: what is beyond the bounds is on the same side
/// of them.
static Value clampNumber(ThreadBuilder &b, Value number, int64_t low,
                         Value high) {
  if (number.getType().isInteger(32))
    return b.minS(b.maxS(number, low), high);
  Value wide = b.minS(b.maxS(number, low), int64_t(INT32_MAX));
  return b.minS(b.trunc32(wide), high);
}

Value PositionBits::emitResidue(const Divisor &divisor, Value first, Value rest,
                                int64_t count) {
  int64_t numBits = countBits(divisor, count);
  Value by = getNumber(b, divisor);
  // What no remainder is needs a look of its own.
  auto known = b.kernel.facts.remainders.find(rest);
  Value isRemainder;
  if (known == b.kernel.facts.remainders.end() ||
      !(known->second.divisor == divisor)) {
    rest = clampNumber(b, rest, -1, by);
    isRemainder = b.ult(rest, by);
  }
  // How far the first element with this remainder is, of all positions.
  Value distance = b.sub(rest, first);
  distance = b.add(distance, b.andI(b.shrS(distance, 31), by));
  Value word;
  for (auto [bit, bits] :
       llvm::enumerate(getRemainderBits(b, divisor, numBits))) {
    Value differs = b.xorI(bits, repeatBit(b, distance, bit));
    word = word ? b.orI(word, differs) : differs;
  }
  word = b.xorI(word, -1);
  if (divisor.value || divisor.constant > int64_t(1) << numBits)
    word = b.select(b.ult(distance, int64_t(1) << numBits), word, b.i32(0));
  return isRemainder ? b.select(isRemainder, word, b.i32(0)) : word;
}

Value PositionBits::emitFrom(const Divisor &divisor, Value least,
                             int64_t count) {
  int64_t most = getColumnDistance(count - 1);
  if (!divisor.value && most < divisor.constant) {
    // Distances are their own remainders. Two of each eight are there.
    Value pairs = b.shl(b.shrU(least, 3), 1);
    Value rest = b.minU(b.andI(least, 7), 2);
    return b.asmOp("bmsk.clamp.b32 $0, $1, $2;", "=r,r,r",
                   {b.add(pairs, rest), b.i32(kWordBits)}, {b.getI32Type()})[0];
  }
  // Numbers are compared from the last bit to the first one.
  int64_t numBits = countBits(divisor, count);
  Value word = b.i32(-1);
  for (auto [bit, bits] :
       llvm::enumerate(getRemainderBits(b, divisor, numBits))) {
    Value own = repeatBit(b, least, bit);
    Value isMore = b.andI(bits, b.xorI(own, -1));
    Value isSame = b.xorI(b.xorI(bits, own), -1);
    word = b.orI(isMore, b.andI(isSame, word));
  }
  return b.select(b.ult(least, int64_t(1) << numBits), word, b.i32(0));
}

// With d the distance to the first element, r its remainder and n the divisor,
// the remainder of an element is d + r, or d + r - n from the distance n - r
// on, each up to n. It is less than x if
//
//   r < x:   d < x - r or d >= n - r
//   x <= r:  n - r <= d < n - r + x
//
// where d is the remainder of the distance. Both are the bits of
// `d >= n - r` without, or with, those of one other bound.
Value PositionBits::emitBelow(const Divisor &divisor, Value first, Value bound,
                              bool isOrEqual, int64_t count) {
  Value by = getNumber(b, divisor);
  if (isOrEqual)
    bound = b.addOffset(clampNumber(b, bound, -1, b.addOffset(by, -1)), 1);
  else
    bound = clampNumber(b, bound, 0, by);
  Value &wrap = wraps[{first, count}];
  if (!wrap)
    wrap = emitFrom(divisor, b.sub(by, first), count);
  Value distance = b.sub(bound, first);
  // All ones where the bound is not above the first remainder.
  Value isBelow = b.shrS(b.addOffset(distance, -1), 31);
  Value other = emitFrom(divisor, b.add(distance, b.andI(isBelow, by)), count);
  return b.xorI(b.xorI(wrap, other), b.xorI(isBelow, -1));
}
