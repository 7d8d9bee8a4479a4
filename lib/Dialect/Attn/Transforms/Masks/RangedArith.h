//===- RangedArith.h - Index arithmetic that knows its ranges ---*- C++ -*-===//
//
// Builds arithmetic on index and i1 and remembers, for each index it has built,
// between which constants it lies, as MLIR's range inference says for 64 bits.
// What ranges decide becomes a constant. Where they do not rule out that a sum
// leaves 64 bits, it saturates: for the end of an interval, the largest integer
// stands for what is larger still.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"

namespace mlir::attn {

class RangedArith {
public:
  RangedArith(OpBuilder &builder, Location loc) : builder(builder), loc(loc) {}

  /// All numbers of the type, of a value that is not tracked.
  ConstantIntRanges getRange(Value value) const;
  bool isNonNegative(Value value) const {
    return getRange(value).smin().isNonNegative();
  }
  /// Notes that `value` lies in a range, and returns it. The range may be that
  /// of an integer of another width.
  Value track(Value value, const ConstantIntRanges &known);
  Value track(Value value, int64_t min, int64_t max);

  // On indices.
  Value constant(int64_t value);
  Value add(Value a, Value b);
  Value subtract(Value a, Value b);
  /// Null where the product may leave 64 bits.
  Value multiply(Value a, Value b);
  Value minimum(Value a, Value b);
  Value maximum(Value a, Value b);
  /// The quotient by a positive number, rounded as asked for.
  enum class Rounding { Down, Up, TowardsZero };
  Value divide(Value a, Value divisor, Rounding rounding);
  Value divide(Value a, int64_t divisor, Rounding rounding);
  /// What division by a positive number, rounded towards zero, leaves.
  Value remainder(Value a, Value divisor);
  /// `amount` is from 0 to 63.
  Value shiftRight(Value a, Value amount);
  Value bitAnd(Value a, Value b);
  Value bitOr(Value a, Value b);
  Value bitXor(Value a, Value b);
  /// A number with the bits set that are at or below the highest set bit of
  /// `a`, which must not be negative.
  Value fillBelow(Value a);

  // Comparisons of indices.
  Value compare(arith::CmpIPredicate predicate, Value a, Value b);
  Value less(Value a, Value b);
  Value lessEqual(Value a, Value b) { return negate(less(b, a)); }
  Value equal(Value a, Value b);

  // On i1.
  Value boolean(bool value);
  Value both(Value a, Value b);
  Value either(Value a, Value b);
  Value negate(Value a);

  /// Of indices, or of i1.
  Value select(Value condition, Value yes, Value no);

private:
  static std::optional<bool> getBoolean(Value value);
  template <typename OpTy>
  Value emit(function_ref<ConstantIntRanges(ArrayRef<ConstantIntRanges>)> infer,
             Value a, Value b);
  /// The result of a sum or a difference, or the end of 64 bits that it is
  /// beyond: the lower one where what `a` becomes smaller by is positive.
  Value saturate(Value result, Value a, Value isSmaller,
                 const ConstantIntRanges &known);

  OpBuilder &builder;
  Location loc;
  llvm::DenseMap<Value, ConstantIntRanges> ranges;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_RANGEDARITH_H
