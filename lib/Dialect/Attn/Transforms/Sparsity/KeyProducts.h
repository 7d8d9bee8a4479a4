//===- KeyProducts.h - Products of captured rows with a query ---*- C++ -*-===//
//
// What a score sums up of a row that it captures for the query and one for the
// key is a product of its own, beside that of q and k.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYPRODUCTS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYPRODUCTS_H

#include "Products/RowProducts.h"
#include "Tiles/RegionVectorizer.h"
#include "Tiles/TileBody.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include <vector>

namespace mlir::attn {

class KeyProducts {
public:
  /// None of the query `rows` of `op`, so far.
  KeyProducts(OpBuilder &builder, OnlineAttentionOp op, const TileRows &rows)
      : builder(builder), op(op), rows(rows), loc(op.getLoc()),
        accType(AttentionLikeOpInterface(op).getAccumulatorType()) {}

  /// Finds them, and reads the rows of the query.
  void emitRows();
  /// Computes them for keys at these positions, as regions see them, of which
  /// there are those with `exist`.
  void emit(Value positions, Value exist);
  /// Has `vectorizer` take them for the loops of the score.
  void set(RegionVectorizer &vectorizer) const;

private:
  struct Product {
    scf::ForOp loop;
    RowProduct product;
    /// The row of the query, as vector<D x 1>, and the product for each key.
    Value row, value;
  };
  Value emitRow(const CapturedRows &captured);
  Value emitProduct(const Product &product, Value positions, Value exist);
  Value getPosition(unsigned place) const;
  Value getCapture(const CapturedRows &captured) {
    return op.getCaptures()[captured.getNumber()];
  }
  Value isInside(Value condition, Value position, Value tensor, int64_t dim);

  OpBuilder &builder;
  OnlineAttentionOp op;
  const TileRows &rows;
  Location loc;
  FloatType accType;
  std::vector<Product> products;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_KEYPRODUCTS_H
