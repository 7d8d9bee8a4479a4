//===- PositionBits.h - Conditions on positions as words --------*- C++ -*-===//
//
// Of the elements of a row of an accumulator, a thread has pairs of neighbours,
// eight columns apart. A condition on their positions is a word with a bit for
// each of them, of a few instructions, where a comparison for each of them is
// many.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_POSITIONBITS_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_POSITIONBITS_H

#include "ThreadBuilder.h"

namespace mlir::attn {

/// Bits of a word.
inline constexpr int64_t kWordBits = 32;

/// How far an element of a thread's row is from the first one.
inline int64_t getColumnDistance(int64_t element) {
  return 8 * (element / 2) + element % 2;
}

/// Elements whose positions are `position + getColumnDistance(n)`, from an even
/// element on.
struct PositionRun {
  int64_t element = 0, count = 0, position = 0;
};

/// The runs that positions are; none where one would not start at an even
/// element.
SmallVector<PositionRun> getPositionRuns(ArrayRef<int64_t> positions);

/// Makes words, each of them once.
class PositionBits {
public:
  explicit PositionBits(ThreadBuilder &b) : b(b) {}

  /// Notes that words of these positions will be asked for. Rows that have the
  /// same bounds, such as those eight apart under a causal mask, share what is
  /// computed of these.
  void noteInterval(Value lower, Value upper, ArrayRef<PositionRun> runs);

  /// Of all positions with the bounds of a run, whether each is within these,
  /// and which bit is that of the run's first element.
  std::pair<SmallVector<Value>, int64_t> emitShared(Value lower, Value upper,
                                                    const PositionRun &run);

  /// Of `count` elements, whether each position is within bounds, of which
  /// either may be null. Bits from `count` on are of no meaning.
  SmallVector<Value> emitInterval(Value lower, Value upper,
                                  ArrayRef<PositionRun> runs, int64_t count);

  /// Of up to 32 elements, of which the first has the remainder `first`,
  /// whether each has the remainder `rest`, an i32 or i64. Bits from `count` on
  /// are of no meaning.
  Value emitResidue(const Divisor &divisor, Value first, Value rest,
                    int64_t count);

  /// The same for remainders that are less than `bound`, or that number itself
  /// if `isOrEqual`.
  Value emitBelow(const Divisor &divisor, Value first, Value bound,
                  bool isOrEqual, int64_t count);

private:
  /// The positions of all runs with the same bounds.
  struct Span {
    int64_t first = 0, count = 0;
    /// How many of them are in front of the interval, and up to its end.
    Value begin, end;
  };
  Span &getSpan(Value lower, Value upper, const PositionRun &run);
  SmallVector<Value> emitRun(Value lower, Value upper, const PositionRun &run,
                             bool isExact);
  Value countUpTo(const Span &span, Value bound, int64_t more);
  /// Of `count` elements, whether the remainder of the distance to the first
  /// one is not less than `least`, of 0 up to the divisor.
  Value emitFrom(const Divisor &divisor, Value least, int64_t count);

  ThreadBuilder &b;
  /// By the bounds, and by which of eight positions a run starts at.
  DenseMap<std::tuple<Value, Value, int64_t>, Span> spans;
  DenseMap<std::tuple<Value, Value, int64_t, int64_t>, SmallVector<Value>>
      intervals;
  /// By the first remainder, what `emitBelow` has for any bound.
  DenseMap<std::pair<Value, int64_t>, Value> wraps;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_POSITIONBITS_H
