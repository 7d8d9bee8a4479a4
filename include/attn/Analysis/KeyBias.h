//===- KeyBias.h - Biases that are affine in the key ------------*- C++ -*-===//
//
// Scores `factor * product + bias`, where the bias of a query is a slope times
// the position of the key, and something that does not depend on the key. Such
// a bias may be made of pieces, which are affine between some keys, as the
// absolute value of a distance is, or an element of a table for distances, of
// which all beyond some share one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYBIAS_H
#define ATTN_ANALYSIS_KEYBIAS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// What a score region yields, as `factor * score + sum of term.factor *
/// term.value`. Factors are positive but for those of terms.
struct KeyBias {
  struct Term {
    Value value;
    double factor = 1;
  };
  double factor = 1;
  SmallVector<Term> terms;
  /// Whether it is made of pieces.
  bool hasPieces = false;
};

/// Whether an operation is a minimum or a maximum of two numbers with a sign.
bool isMinOrMax(Operation *op);
/// Whether it is that or an absolute value: of affine operands, two pieces.
bool makesPieces(Operation *op);

/// How values of a score region depend on the key.
class KeyForm {
public:
  enum class Degree {
    /// The same for all keys.
    Constant,
    /// A sum of that and of a multiple of the key.
    Affine,
    /// That between keys at which an absolute value is that of 0, or operands
    /// of a minimum or maximum are equal, or an element of a table is another
    /// one.
    Piecewise,
    Other
  };

  explicit KeyForm(Region &score);

  Degree getDegree(Value value);
  bool isConstant(Value value) { return getDegree(value) == Degree::Constant; }
  /// What the region yields, with a bias that is affine in the key, or made of
  /// such pieces, and not constant.
  std::optional<KeyBias> match();

private:
  std::optional<KeyBias> split(Value scores);
  Degree computeDegree(Value value);
  bool dependsOnKey(Value value);
  bool isMonotone(Value value);
  bool computeIsMonotone(Value value);
  bool canBeFlat(Value value);

  Region &region;
  Value product, key;
  llvm::DenseMap<Value, bool> dependent, monotone;
  llvm::DenseMap<Value, Degree> degrees;
};

/// The bias of the scores of an attention that is affine in the key, or made of
/// such pieces, if it has one.
std::optional<KeyBias> getKeyBias(AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_KEYBIAS_H
