//===- MaskBounds.h - A mask as comparisons affine in positions -*- C++ -*-===//
//
// Reads the mask region of an attention as a tree of conjunctions,
// disjunctions and choices over comparisons `key * j + rows(i) >= 0`. From it
// one can tell, for a whole Q block, which keys no row may see and
// which keys all rows see. What the tree cannot say is `Unknown`: the key may
// be masked or not.
//
// Read for pairs instead of tiles, the tree says all that the mask does: what
// a row computes, however it depends on the query, is a term of a comparison,
// and what is unknown names the value of the region.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_MASKBOUNDS_H
#define ATTN_ANALYSIS_MASKBOUNDS_H

#include "attn/Analysis/MaskValues.h"

namespace mlir::attn {

/// A linear combination of integers of the region, read as signed.
struct LinearForm {
  SmallVector<std::pair<Value, int64_t>> terms;
  int64_t constant = 0;
  /// Set once a coefficient left 64 bits; the form then means nothing.
  bool overflowed = false;

  int64_t getCoefficient(Value value) const;
  void addConstant(int64_t addend);
  void addTerm(Value value, int64_t coefficient);
  void addScaled(const LinearForm &other, int64_t factor);
  /// Removes the term of `value` and returns its coefficient.
  int64_t takeTerm(Value value);
};

/// What a mask is read for: bounds of Q blocks, or single pairs.
enum class MaskReading { Tiles, Pairs };

struct MaskNode {
  enum class Kind {
    True,
    False,
    /// Read for pairs, the i1 `condition`, or its negation.
    Unknown,
    /// The i1 `condition`, the same for all queries and keys, or its negation.
    Uniform,
    /// `form >= 0`. Read for tiles, its terms are `j` and values that do not
    /// depend on `j` and have a trend in `i`.
    Compare,
    /// `form` is a multiple of `modulus`, or is not. Its terms are `j` and
    /// values that do not depend on it. Only read for pairs.
    Congruent,
    /// All, or any, of `operands`.
    And,
    Or,
    /// `operands[0]` where the uniform `condition` holds, else `operands[1]`.
    If
  };
  Kind kind;
  bool negated = false;
  Value condition;
  LinearForm form;
  SmallVector<const MaskNode *> operands;
  int64_t modulus = 0;
};

class MaskBounds {
public:
  /// Reads the mask of `op`, which must not be empty. The tree refers to
  /// values of the region, and is void once the region changes.
  explicit MaskBounds(AttentionLikeOpInterface op,
                      MaskReading reading = MaskReading::Tiles);

  const MaskNode &getRoot() const { return *root; }
  /// Reads another i1 of the region, or that it is not.
  const MaskNode &read(Value value, bool negated);
  /// An integer of the region as a sum.
  LinearForm getLinearForm(Value value) const;
  /// Between which numbers a form is, if its terms are `isBounded`.
  std::optional<std::pair<int64_t, int64_t>>
  getFormRange(const LinearForm &form) const;
  const MaskValues &getValues() const { return values; }
  /// Whether the keys that a Q block needs are one interval, and those
  /// that all of it allows are one, as far as its comparisons say, so that the
  /// bounds of these intervals leave nothing to know about a KV block.
  bool areIntervals() const;
  /// The first operation that could not be read, or null.
  Operation *getObstacle() const { return obstacle; }
  /// Why it could not be read.
  StringRef getObstacleReason() const { return obstacleReason; }

private:
  using Node = const MaskNode *;

  Node readBool(Value value, bool negated);
  Node readBranch(OpResult result, bool negated);
  Node readCompare(arith::CmpIOp compare, bool negated);
  Node readOrder(arith::CmpIOp compare, arith::CmpIPredicate predicate);
  Node readUnsigned(arith::CmpIOp compare, bool isStrict, Value lhs, Value rhs);
  /// An equality of remainders, or null.
  Node readCongruence(Value lhs, Value rhs, bool negated);
  /// `form >= 0`.
  Node makeCompare(LinearForm form);
  Node makePairCompare(LinearForm form);
  bool isNumberOfKey(Value value);
  /// Splits `form >= 0` on a term that is not linear; null if it cannot.
  Node splitTerm(LinearForm form, Value value);
  Node splitDivision(LinearForm form, Value value);
  Node makeAnd(Node a, Node b);
  Node makeOr(Node a, Node b);
  Node makeIf(Value condition, Node yes, Node no);
  Node makeNode(MaskNode node);
  /// Whether nothing more is taken apart.
  bool isTooLarge() const;
  Node makeConstant(bool value);
  Node makeUnknown(Operation *op, StringRef reason);
  /// What is read of `value` is unknown.
  Node makeUnknown(Value value, bool negated, StringRef reason);
  /// `form += factor * value`.
  void linearize(Value value, int64_t factor, LinearForm &form) const;
  void linearize(Value value, int64_t factor, LinearForm &form,
                 unsigned &steps) const;
  /// Whether tiles can evaluate the form without overflow.
  bool isSmall(const LinearForm &form) const;

  /// Whether `form >= 0` holds or not whatever its terms are, if that is known.
  std::optional<bool> decide(const LinearForm &form) const;
  /// Whether `form >= 0` can be solved for a term without overflow. Of several
  /// integers beyond `kLargeInteger` the sum is taken not to overflow.
  bool canTell(const LinearForm &form) const;

  MaskValues values;
  bool forPairs;
  /// Of a comparison that is read for pairs: there is a part that the tree
  /// cannot say, so that it stays whole.
  bool isIncomplete = false;
  SmallVector<std::unique_ptr<MaskNode>> nodes;
  /// How many nodes are not of the value that is read.
  size_t numOthers = 0;
  Node root = nullptr;
  unsigned depth = 0;
  Operation *obstacle = nullptr;
  std::string obstacleReason;
};

/// Uniform integers are reckoned with up to this magnitude where several meet
/// in one comparison.
inline constexpr int64_t kLargeInteger = int64_t(1) << 44;

/// Whether a value is within `kLargeInteger` in magnitude.
bool isBounded(const ConstantIntRanges &range);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_MASKBOUNDS_H
