//===- IndexRanges.h - What index values of a kernel may be -----*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_INDEXRANGES_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_INDEXRANGES_H

#include "mlir/IR/Operation.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

/// What an index may be.
struct Interval {
  int64_t lo = INT64_MIN, hi = INT64_MAX;
  bool fitsInt32() const { return lo >= INT32_MIN && hi <= INT32_MAX; }
  bool isWithin(int64_t bound) const { return lo >= -bound && hi <= bound; }
  /// The values of a monotone function, or all where it may overflow.
  static Interval combine(Interval a, Interval b,
                          function_ref<bool(int64_t, int64_t, int64_t &)> op);
};

/// The intervals of all index values, and vectors of them, in an operation. It
/// is computed before the operation is lowered.
class IndexRanges {
public:
  explicit IndexRanges(Operation *root);
  Interval get(Value value) const { return intervals.lookup(value); }
  bool fitsInt32(Value value) const { return get(value).fitsInt32(); }

private:
  Interval getOrCompute(Value value);
  Interval compute(Value value);

  DenseMap<Value, Interval> intervals;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_THREADS_INDEXRANGES_H
