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
    words.push_back(b.asmOp("bmsk.clamp.b32 $0, $1, $2;", "=r,r,r",
                            {start, width}, {b.getI32Type()})[0]);
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

Value PositionBits::emitResidue(const Divisor &divisor, Value first, Value rest,
                                int64_t count) {
  int64_t most = getColumnDistance(count - 1);
  if (!divisor.value)
    most = std::min(most, divisor.constant - 1);
  int64_t numBits = llvm::Log2_64(std::max<int64_t>(most, 1)) + 1;
  // How far the first element with this remainder is, of all positions.
  Value by = divisor.value ? divisor.value : b.i32(divisor.constant);
  Value distance = b.sub(rest, first);
  distance = b.add(distance, b.andI(b.shrS(distance, 31), by));
  Value word;
  for (auto [bit, bits] :
       llvm::enumerate(getRemainderBits(b, divisor, numBits))) {
    // All ones or zeros.
    Value own = b.shrS(b.shl(distance, 31 - int64_t(bit)), 31);
    Value differs = b.xorI(bits, own);
    word = word ? b.orI(word, differs) : differs;
  }
  word = b.xorI(word, -1);
  if (!divisor.value && divisor.constant <= int64_t(1) << numBits)
    return word;
  return b.select(b.ult(distance, int64_t(1) << numBits), word, b.i32(0));
}
