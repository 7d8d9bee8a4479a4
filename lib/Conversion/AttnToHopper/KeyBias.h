//===- KeyBias.h - Biases that are affine in the key ------------*- C++ -*-===//
//
// Scores `factor * product + bias`, where the bias of a query is a slope times
// the position of the key, and something that does not depend on the key. In a
// tile of keys it is what the first key gets, and the slope times the number of
// the key in the tile, which the product of queries and keys can take along.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIAS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIAS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// What a vector of rank 1 is along; those of rank 2 are along both.
enum class VectorKind { Query, Key, Both };

/// `factor * product + sum of term.factor * term.value`. Factors are positive
/// but for those of terms.
struct KeyBias {
  struct Term {
    Value value;
    double factor = 1;
  };
  double factor = 1;
  SmallVector<Term> terms;
};

/// How values depend on the key, in a score region, or at the tile level.
class KeyForm {
public:
  enum class Degree {
    /// The same for all keys of a tile.
    Constant,
    /// A sum of that and of a multiple of the key that does not change from
    /// tile to tile.
    Affine,
    Other
  };

  /// `product` is the score in a region, and `key` the position; at the tile
  /// level that is what a product of matrices gives, and the variable of the
  /// loop over tiles.
  KeyForm(Value product, Value key) : product(product), key(key) {}

  /// `scores` with a bias that is affine in the key, and not constant.
  std::optional<KeyBias> match(Value scores);
  Degree getDegree(Value value, VectorKind kind = VectorKind::Both);

private:
  std::optional<KeyBias> split(Value scores);
  Degree computeDegree(Value value, VectorKind kind);
  Degree getScaledDegree(Value value, Value factor, VectorKind kind);
  bool dependsOnKey(Value value);

  Value product, key;
  llvm::DenseMap<Value, bool> dependent;
};

/// Whether products of an element type can take a bias along: parts of it in
/// f16 are too small for scores of large factors.
bool fitsProduct(const KeyBias &bias, Type element);

/// Whether the scores of an attention have a bias that is affine in the key.
bool hasKeyBias(AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KEYBIAS_H
