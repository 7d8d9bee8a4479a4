//===- MaskValues.h - How values in a mask depend on positions --*- C++ -*-===//
//
// Facts about each integer in the mask region of an attention: which of the
// query index `i` and the key index `j` it depends on, its range, and whether
// it grows or falls with `i`.
//
// Three assumptions hold here and in what is built on it:
//  * lengths, batches and heads are below 2^31;
//  * arithmetic on index and i64 that captures take part in does not overflow,
//    unless a constant leaves them no room. Other integers may wrap, so
//    operations on them count only where their range or `nsw` rules it out;
//  * of several uniform integers in one comparison, those beyond 2^44 in
//    magnitude stand for infinity. A single one is taken exactly.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_MASKVALUES_H
#define ATTN_ANALYSIS_MASKVALUES_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/ADT/DenseMap.h"
#include <optional>

namespace mlir::attn {

/// The longest length that is reckoned with.
inline constexpr int64_t kMaxLength = (int64_t(1) << 31) - 1;

/// What a result may be by what the operands may be, where an operation on
/// integers says.
std::optional<ConstantIntRanges>
inferRange(OpResult result, function_ref<ConstantIntRanges(Value)> getRange);

/// How a value moves while the query index grows and all else stays.
enum class Trend { Constant, Increasing, Decreasing, Unknown };

/// The trend of the negated value.
Trend flip(Trend trend);

/// `floor((numerator + addend) / divisor)` with a positive divisor.
struct FloorDivision {
  Value numerator;
  int64_t addend;
  int64_t divisor;
};

/// What `value` leaves when divided by the positive `divisor`.
struct Residue {
  Value value;
  int64_t divisor;
  /// Whether it is from 0 to `divisor - 1`. Otherwise it has the sign of
  /// `value`, as by division towards zero.
  bool isFloor;
};

/// The constant that an integer value is, if it is one that fits 64 bits.
std::optional<int64_t> getConstantInteger(Value value);

class MaskValues {
public:
  /// Analyses the mask region of `op`, which must not be empty.
  explicit MaskValues(AttentionLikeOpInterface op);

  BlockArgument getQueryIndex() const { return queryIndex; }
  BlockArgument getKeyIndex() const { return keyIndex; }
  Region &getRegion() const { return region; }

  bool dependsOnQuery(Value value) const;
  bool dependsOnKey(Value value) const;
  bool isUniform(Value value) const {
    return !dependsOnQuery(value) && !dependsOnKey(value);
  }
  /// Whether computing the value is only safe inside the branch it is in.
  bool isGuarded(Value value) const;
  /// The trend of a value; unknown for one that depends on the key.
  Trend getTrend(Value value) const;
  /// The range of a value of integer or index type.
  ConstantIntRanges getRange(Value value) const;
  bool isNonNegative(Value value) const {
    return getRange(value).smin().isNonNegative();
  }
  /// Whether the integer that `op` computes is the mathematical one: a sum,
  /// difference, product or shift does not wrap, a conversion keeps the value.
  /// Of 64 bits, captures are taken not to wrap, unless they meet a number that
  /// is too large for any.
  bool isExact(Operation *op) const;
  /// Reads the result of a division or right shift by a positive constant.
  std::optional<FloorDivision> getFloorDivision(Value value) const;
  /// Reads a remainder by a positive constant, or low bits.
  std::optional<Residue> getResidue(Value value) const;

private:
  struct Facts {
    bool query = false, key = false, guarded = false;
    /// Whether it is of arithmetic in 64 bits that may wrap.
    bool wraps = false;
    Trend trend = Trend::Constant;
    std::optional<ConstantIntRanges> range;
  };

  void addArguments(AttentionLikeOpInterface op);
  void setUnknown(Value value);
  void addOperation(Operation *op);
  std::optional<ConstantIntRanges> inferRange(Operation *op, OpResult result);
  Trend inferTrend(Operation *op) const;
  const Facts *lookup(Value value) const;
  /// Whether a sum, difference, product or shift of 64 bits may wrap, or is of
  /// integers that did.
  bool mayWrap(Operation *op) const;
  bool isOfWrapped(Operation *op, OpResult result) const;

  Region &region;
  BlockArgument queryIndex, keyIndex;
  llvm::DenseMap<Value, Facts> facts;
};

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_MASKVALUES_H
