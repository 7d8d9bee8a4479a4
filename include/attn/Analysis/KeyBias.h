//===- KeyBias.h - Biases that are affine in the key ------------*- C++ -*-===//
//
// Scores `factor * product + bias`, where the bias of a query is a slope times
// the position of the key, something that does not depend on the key, and
// something that depends on the key, but not on the query. Such a bias may be
// made of pieces, which are affine between some keys, as the absolute value of
// a distance is, or an element of a table for distances, of which all beyond
// some share one.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_ANALYSIS_KEYBIAS_H
#define ATTN_ANALYSIS_KEYBIAS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// What a score region yields, as `factor * score + sum of term.factor *
/// term.value`, also over the terms of keys. Factors are positive but for those
/// of terms.
struct KeyBias {
  struct Term {
    Value value;
    double factor = 1;
  };
  double factor = 1;
  SmallVector<Term> terms;
  /// Those that depend on the key and not on the query, and are not affine.
  SmallVector<Term> keys;
  /// Whether some term is affine in the key; is made of pieces.
  bool isAffine = false, hasPieces = false;
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
  /// such pieces, and not constant; with `allowKeys`, or one with terms of
  /// keys.
  std::optional<KeyBias> match(bool allowKeys);

private:
  std::optional<KeyBias> split(Value scores);
  bool splitTerm(KeyBias::Term term, bool allowKeys, KeyBias &bias);
  Degree computeDegree(Value value);
  bool dependsOnKey(Value value) { return dependsOn(value, key, dependent); }
  bool dependsOnQuery(Value value) {
    return dependsOn(value, query, dependentOnQuery);
  }
  bool dependsOn(Value value, Value position,
                 llvm::DenseMap<Value, bool> &known);
  bool isMonotone(Value value);
  bool computeIsMonotone(Value value);
  bool canBeFlat(Value value);

  Region &region;
  Value product, query, key;
  llvm::DenseMap<Value, bool> dependent, dependentOnQuery, monotone;
  llvm::DenseMap<Value, Degree> degrees;
};

/// The bias of the scores of an attention that is affine in the key, or made of
/// such pieces, if it has one; of bf16, also one with terms of keys, whose
/// parts of 16 bits have the range of f32.
std::optional<KeyBias> getKeyBias(AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // ATTN_ANALYSIS_KEYBIAS_H
