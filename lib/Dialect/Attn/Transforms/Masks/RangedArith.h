//===- RangedArith.h - Index arithmetic that knows its limits ---*- C++ -*-===//
//
// Builds arithmetic on index and i1 and remembers, for each value it has built,
// between which constants it lies. What these limits decide becomes a constant.
// Where they do not rule out that a sum leaves 64 bits, it saturates: for the
// end of an interval, the largest integer stands for what is larger still.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/DenseMap.h"
#include <cstdint>
#include <limits>
#include <optional>

namespace mlir::attn {

class RangedArith {
public:
  /// The least and the largest value that an index can have.
  struct Limits {
    int64_t min = std::numeric_limits<int64_t>::min();
    int64_t max = std::numeric_limits<int64_t>::max();
  };

  RangedArith(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  Limits getLimits(Value value) const { return limits.lookup(value); }
  bool isNonNegative(Value value) const { return getLimits(value).min >= 0; }
  /// Notes that `value` lies between limits, and returns it.
  Value track(Value value, Limits known);

  // On indices.
  Value constant(int64_t value);
  Value add(Value a, Value b);
  Value subtract(Value a, Value b);
  /// Null where the product may leave 64 bits.
  Value multiply(Value a, Value b);
  Value minimum(Value a, Value b);
  Value maximum(Value a, Value b);
  Value select(Value condition, Value yes, Value no);
  /// The quotient by a positive constant, rounded as asked for.
  enum class Rounding { Down, Up, TowardsZero };
  Value divide(Value a, int64_t divisor, Rounding rounding);
  /// What division by a positive constant, rounded towards zero, leaves.
  Value remainder(Value a, int64_t divisor);
  Value shiftRight(Value a, int64_t amount);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  /// A number with the bits set that are at or below the highest set bit of
  /// `a`, which must not be negative.
  Value fillBelow(Value a);

  // Comparisons of indices.
  Value less(Value a, Value b);
  Value lessEqual(Value a, Value b) { return negate(less(b, a)); }
  Value equal(Value a, Value b);

  // On i1.
  Value boolean(bool value);
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value negate(Value a);
  Value choose(Value condition, Value yes, Value no);

private:
  static std::optional<bool> getBoolean(Value value);

  OpBuilder &builder;
  Location loc;
  llvm::DenseMap<Value, Limits> limits;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H
