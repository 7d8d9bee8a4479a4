//===- BlockBounds.h - Bounds on keys for a Q block -------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_BLOCKBOUNDS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_BLOCKBOUNDS_H

#include "RangedArith.h"
#include "attn/Analysis/MaskBounds.h"
#include "mlir/IR/IRMapping.h"
#include <array>

namespace mlir::attn {

/// Builds the body of a `blocks` region from what is known of a mask.
///
/// Each node of the mask becomes two intervals of keys: `possible`, outside of
/// which all rows of the tile are masked, and `full`, inside of which no row
/// is. A conjunction intersects both; a disjunction takes the hull of the
/// former, and of the latter the union where it is an interval, otherwise the
/// longer one.
class BlockBoundsBuilder {
public:
  /// `builder` stands in the block whose arguments are those of a `blocks`
  /// region.
  BlockBoundsBuilder(OpBuilder &builder, Location loc, const MaskBounds &mask);

  /// Builds lo, full_lo, full_hi and hi, in order and between 0 and skv.
  /// Returns nothing, and builds nothing of use, where the mask bounds nothing.
  std::optional<std::array<Value, 4>> build();

private:
  /// The keys from `lo` to below `hi` where `guard` holds, and none elsewhere.
  /// No `lo` stands for 0, no `hi` for skv, and no `guard` for true.
  struct Interval {
    bool isEmpty = false;
    Value guard, lo, hi;

    bool isAll() const { return !isEmpty && !guard && !lo && !hi; }
    static Interval empty() {
      Interval result;
      result.isEmpty = true;
      return result;
    }
  };
  struct Bounds {
    Interval possible, full;
    /// Whether `full.lo` is at least `possible.lo` by construction, where
    /// either is empty too.
    bool isOrdered = true;
  };
  /// A row of the tile: the first, the last, or any.
  enum Row { First, Last, Any };

  Bounds visit(const MaskNode &node);
  Bounds visitCompare(const MaskNode &node);
  Bounds visitIf(const MaskNode &node);
  /// The keys allowed by a comparison in the row where it is most, or least,
  /// easily true.
  Interval boundCompare(const LinearForm &form, bool most);
  Interval intersect(const Interval &a, const Interval &b);
  Interval hull(const Interval &a, const Interval &b);
  Interval unite(const Interval &a, const Interval &b);
  Interval choose(Value condition, const Interval &yes, const Interval &no);

  /// `hi` where the guard is true, otherwise 0; null for skv.
  Value getGuardedHi(const Interval &interval);
  /// The value clamped to between 0 and skv.
  Value clamp(Value value);

  /// A sum of `factor` times each term, each in the row that makes the sum
  /// largest, or smallest.
  Value buildSum(const LinearForm &form, int64_t factor, bool largest);
  struct Term {
    Value value;
    int64_t coefficient;
  };
  Value buildSum(ArrayRef<Term> terms, int64_t constant);
  /// Whether the largest, or smallest, value of the form is at least 0.
  Value buildIsNonNegative(const LinearForm &form, bool largest);
  /// Gives the terms of `form` as values of the blocks region, and adds to
  /// `constant`.
  SmallVector<Term> evaluateTerms(const LinearForm &form, int64_t factor,
                                  bool largest, int64_t &constant);
  /// A value of the mask region for a row, of index type if an integer.
  Value evaluate(Value value, Row row);
  void cloneSlice(Value value, Row row);

  /// `value` times a constant.
  Value multiply(Value value, int64_t factor);
  /// Limits a sum's term, where `rest` is what it is added to.
  Value limitTerm(Term term, Value rest, bool isAlone);

  OpBuilder &builder;
  Location loc;
  const MaskBounds &mask;
  RangedArith arith;
  Value firstRow, endRow, lastRow, length;
  IRMapping mappings[3];
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_BLOCKBOUNDS_H
