//===- MaskNormalForm.h - One form for equal masks --------------*- C++ -*-===//
//
// The condition of a mask in the form that all its spellings share, and the
// operations that say it.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKNORMALFORM_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKNORMALFORM_H

#include "Tiles/ValueOrder.h"
#include "attn/Analysis/MaskBounds.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"
#include <vector>

namespace mlir::attn {

/// A condition on values of a mask region. Terms of forms are sorted, and so
/// are operands of All and Any, which occur once.
struct MaskCondition {
  enum class Kind {
    True,
    False,
    /// `form >= 0`.
    AtLeast,
    /// `form == 0`, or not. The first term has a positive coefficient.
    Equal,
    /// `form` is a multiple of `modulus`, or not.
    Congruent,
    /// The i1 `value`, or not.
    Opaque,
    All,
    Any,
    /// `operands[0]` where `value`, or its negation, holds, else `operands[1]`.
    Choice
  };
  Kind kind = Kind::True;
  bool negated = false;
  LinearForm form;
  int64_t modulus = 0;
  Value value;
  std::vector<MaskCondition> operands;
};

/// Brings what MaskBounds reads for pairs to the normal form.
class MaskNormalizer {
public:
  MaskNormalizer(MaskBounds &mask, ValueOrder &order)
      : mask(mask), order(order) {}

  /// The condition that `value` is true, or that it is not.
  MaskCondition normalize(Value value, bool negated = false);
  /// An order of conditions: those that bound the key first.
  int compare(const MaskCondition &a, const MaskCondition &b);
  void sortTerms(LinearForm &form);
  /// Of a condition that chooses, whether its negation comes first.
  bool isBetterNegated(Value condition);

private:
  MaskCondition convert(const MaskNode &node);
  void setEqualIfBit(MaskCondition &condition);
  MaskCondition join(MaskCondition::Kind kind,
                     SmallVectorImpl<MaskCondition> &parts);
  void mergeBounds(bool isAll, SmallVectorImpl<MaskCondition> &parts);
  unsigned getRank(const MaskCondition &condition);
  int compareForms(const LinearForm &a, const LinearForm &b);

  MaskBounds &mask;
  ValueOrder &order;
};

/// Writes conditions to a block, in an order that depends on nothing but them.
class MaskEmitter {
public:
  /// The arguments of `mapping` are those of the region that is read.
  MaskEmitter(OpBuilder &builder, Location loc, MaskBounds &mask,
              const IRMapping &mapping)
      : builder(builder), loc(loc), mask(mask), normalizer(mask, order),
        mapping(mapping) {}

  Value emitMask(Value value) { return emit(normalizer.normalize(value)); }

private:
  using Predicate = arith::CmpIPredicate;
  using Term = std::pair<Value, int64_t>;

  Value emit(const MaskCondition &condition);
  Value emitOpaque(Value value, bool negated);
  Value emitOperation(Value value, bool negated);
  Value emitRelation(const LinearForm &form, bool isEquality, bool negated);
  Value emitCongruence(const MaskCondition &condition);
  Value negate(Value condition);
  Value compare(Predicate predicate, Value lhs, Value rhs);

  /// The terms that a relation is solved for, which leave `rest`.
  SmallVector<Term> takeSubject(LinearForm &rest);
  /// `form`, which is compared with what is within `reach` of 0: terms that may
  /// be of any size are limited.
  Value emitLimit(const LinearForm &form, int64_t reach);
  /// Both sides in the type that they have in common, or as indices; what a row
  /// has once comes first.
  Value compareTerms(Predicate predicate, Value lhs, const LinearForm &rhs,
                     int64_t reach);

  /// A value of the region.
  Value emitValue(Value value);
  /// An integer of the region, as an index.
  Value emitIndex(Value value);
  Value emitAtom(Value value);
  Value emitAsIndex(Value value, Operation *op);
  std::optional<bool> getIsMaximum(arith::SelectOp op);
  Value emitSum(ArrayRef<Term> terms, int64_t constant);
  /// What is left of an index, from 0 to `modulus - 1`.
  Value emitFloorModulo(Value value, int64_t modulus,
                        bool isNonNegative = false);
  void cloneOp(Operation *op);
  /// Whether a value is made of positions, constants and scalars alone.
  bool isOfPositions(Value value);

  Value constant(int64_t number);
  Value toIndex(Value value);
  template <typename OpTy> Value create(Value lhs, Value rhs) {
    return OpTy::create(builder, loc, lhs, rhs);
  }

  OpBuilder &builder;
  Location loc;
  MaskBounds &mask;
  ValueOrder order;
  MaskNormalizer normalizer;
  IRMapping mapping;
  llvm::DenseMap<Value, Value> indices;
  /// Conditions that are no comparisons, and their negations.
  llvm::DenseMap<Value, Value> opaque[2];
  llvm::DenseMap<Value, bool> ofPositions;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_MASKS_MASKNORMALFORM_H
