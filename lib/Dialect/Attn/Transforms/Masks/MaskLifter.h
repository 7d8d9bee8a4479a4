//===- MaskLifter.h - A mask on whole tiles ---------------------*- C++ -*-===//
//
// Lifts the body of a mask region from one pair of a query and a key to a tile
// of them: an integer becomes the interval that holds its values over the tile,
// a boolean becomes whether it may and whether it must be true. Every operation
// has a form on these; one that is not known yields all that its type can hold.
//
// What has no such form and depends on the query alone, or the key alone, is
// computed for each of them (attn.range_over). If something has none that
// depends on both, the mask itself is evaluated on all pairs of a tile that may
// be needed, unless each head has its own
// mask, or heads are few: then that costs about what the attention does.
//
// Sound for each pair on its own, so that it does not matter which of them the
// mask reaches: a value in a branch is lifted as if the branch were taken.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKLIFTER_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKLIFTER_H

#include "RangedArith.h"
#include "attn/Analysis/MaskValues.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::attn {

class MaskLifter {
public:
  /// Whether some pair of the tile may be allowed, and whether all must be.
  struct Ternary {
    Value may, must;
  };

  /// `builder` stands in the block whose arguments are those of a `tiles`
  /// region.
  MaskLifter(OpBuilder &builder, Location loc, AttentionLikeOpInterface op);

  Ternary lift();

private:
  /// The indices from `lo` to `hi`; one where these are the same value.
  struct Interval {
    Value lo, hi;
    bool isPoint() const { return lo == hi; }
  };

  // MaskLifter.cpp
  void visit(Operation *op);
  void visitKnown(Operation *op);
  bool isKnown(Value value) const;
  /// Whether several values meet in an operation that depends on the query
  /// alone, or the key alone.
  bool joinsValues(Operation *op) const;
  /// Copies an operation that is the same for the whole tile.
  void copy(Operation *op);
  /// Notes that `value` is `copied` for the whole tile.
  void setPoint(Value value, Value copied);
  Interval getInterval(Value value);
  Ternary getTernary(Value value);
  /// What the analysis says of an integer, as an index.
  ConstantIntRanges getRange(Value value) const;
  /// An index that is an integer of a range.
  Value asIndex(Value value, Value of);
  /// The interval of an integer of which no more is known than the analysis
  /// says.
  Interval getAny(Value value);
  Interval choose(Value condition, Interval yes, Interval no);
  /// The interval without what the analysis rules out for `value`.
  Interval narrow(Interval interval, Value value);

  // MaskLifterInteger.cpp
  std::optional<Interval> liftInteger(Operation *op);
  std::optional<Interval> liftProduct(Value a, Interval x, Value b, Interval y);
  std::optional<Interval> liftDivision(Operation *op);
  std::optional<Interval> liftRemainder(Operation *op);
  std::optional<Interval> liftBits(Operation *op);
  std::optional<Interval> liftChoice(Ternary condition, Value yes, Value no);
  /// The bits of `x` below `bits`, for any sign of `x`.
  Interval liftLowBits(Interval x, unsigned bits);
  void liftRead(tensor::ExtractOp op);

  // MaskLifterBoolean.cpp
  Ternary liftBoolean(Operation *op);
  Ternary liftCompare(arith::CmpIOp op);
  Ternary liftLess(Value a, Value b, bool orEqual);
  Ternary liftUnsignedLess(Value a, Value b, bool orEqual);
  Ternary liftEqual(Value a, Value b);
  /// Whether an integer of `x` has the remainder `rest` by `divisor`.
  Value meets(Interval x, int64_t divisor, Value rest);
  Ternary liftChoice(Ternary condition, Ternary yes, Ternary no);
  Ternary liftExclusive(Ternary a, Ternary b);
  Ternary negate(Ternary a) {
    return {arith.negate(a.must), arith.negate(a.may)};
  }
  // MaskLifterFloats.cpp
  Ternary liftCompare(arith::CmpFOp op);
  Ternary liftFloatLess(Value a, Value b, bool orEqual);
  /// Whether the order of a float over a tile is known: it depends on the query
  /// alone, or the key alone, or is a sum of such and of integers.
  bool hasOrder(Value value) const;
  /// The interval of integers in the order of floats.
  Interval liftOrder(Value value, bool nanIsLargest);
  /// That of a float that depends on both the query and the key.
  Interval liftPairOrder(Value value, bool nanIsLargest);
  // MaskLifterPositions.cpp
  /// Computes a value of `uncomputed` for each position of the tile that it
  /// depends on.
  void liftOver(Value value);
  Ternary evaluate(Ternary lifted);
  /// An attn.range_over of `value`, or of what `convert` makes of it, of
  /// another type, over what it depends on; of one position where `isOpen` is
  /// there and false.
  RangeOverOp
  emitRangeOver(Value value, Type type = {},
                function_ref<Value(OpBuilder &, Value)> convert = {},
                Value isOpen = {});

  Ternary getUnknown() { return {arith.boolean(true), arith.boolean(false)}; }

  OpBuilder &builder;
  Location loc;
  AttentionLikeOpInterface op;
  MaskValues values;
  RangedArith arith;
  IRMapping copies;
  llvm::DenseMap<Value, Interval> intervals;
  llvm::DenseMap<Value, Ternary> ternaries;
  /// Values to be computed for each position, once their interval is asked for.
  llvm::DenseSet<Value> uncomputed;
  /// What is computed so, and what follows from it. Where it meets another
  /// value, the result is computed in its turn: that costs no more than
  /// computing the operand, and is exact.
  llvm::DenseSet<Value> computed;
  /// Whether something that depends on both the query and the key has no form.
  bool hasUnknownPairs = false;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKLIFTER_H
