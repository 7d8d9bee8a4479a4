//===- RowProducts.h - Products of captured rows in a score -----*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_ROWPRODUCTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_ROWPRODUCTS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// A captured tensor of which a score reads a row: at positions, and at all of
/// `first <= r < first + length` of one dimension.
struct CapturedRows {
  /// The place of the dimension along which a row is.
  static constexpr unsigned kRowElement = 0;
  /// The argument of the score that it is.
  BlockArgument capture;
  /// What each of its dimensions is read at: an argument of the score, or
  /// kRowElement.
  SmallVector<unsigned> places;

  /// The number of the capture.
  unsigned getNumber() const { return capture.getArgNumber() - kNumScoreArgs; }
  FloatType getElementType() const {
    return dyn_cast<FloatType>(
        cast<RankedTensorType>(capture.getType()).getElementType());
  }
  bool reads(unsigned position) const {
    return llvm::is_contained(places, position);
  }
  bool operator==(const CapturedRows &other) const {
    return capture == other.capture && places == other.places;
  }
};

/// The positions among the arguments of a score.
enum ScorePosition : unsigned {
  kBatchPosition = 1,
  kHeadPosition,
  kQueryPosition,
  kKeyPosition
};

/// A score that is given x sums up a multiple of x + factor * sum_r rows[r] *
/// columns[r].
struct RowProduct {
  /// Read by query and by key.
  CapturedRows rows, columns;
  int64_t first = 0, length = 0;
  double factor = 1;
  /// What is summed up in the score: products, or loops over them.
  SmallVector<Value> terms;
  /// What reads elements of the rows and the columns for them.
  SmallVector<Operation *> reads;
  /// Whether the score adds the terms, rather than subtracts them.
  SmallVector<bool> isAdded;
};

/// The products of captured rows that the score of `op` adds to a multiple of
/// its argument, which it does not read elsewhere; those of few elements are
/// left out.
std::vector<RowProduct> findRowProducts(AttentionLikeOpInterface op);

/// The product of captured rows that a loop of a score adds to what it begins
/// with; of no elements if it does something else. Its factor is 1.
RowProduct getRowProduct(scf::ForOp loop);

/// Takes a product out of the score that it was found in.
void removeRowProduct(const RowProduct &product);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_ROWPRODUCTS_H
