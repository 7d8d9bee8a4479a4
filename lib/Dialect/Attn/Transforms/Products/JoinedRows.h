//===- JoinedRows.h - Captured rows as elements of queries ------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_JOINEDROWS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_JOINEDROWS_H

#include "RowProducts.h"
#include "SharedKeys.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

/// A product of captured rows that becomes a part of that of queries and keys.
struct JoinedProduct {
  RowProduct product;
  /// The first element of joined queries and keys that is of it.
  int64_t start = 0;
  /// What rows are multiplied by.
  double factor = 1;
  /// The parts of an element of the rows and of the columns whose products are
  /// summed up: one of each, unless an element of a query holds fewer digits.
  SmallVector<std::pair<unsigned, unsigned>> pairs;
};

/// Whether the gradients that `op` wants of the captures of `product` are those
/// of the elements of queries and keys that they become.
bool isDifferentiable(AttentionGradOp op, const RowProduct &product);

/// Emits queries, keys and values of `op` to which products are joined, and
/// what follows from their gradients.
class JoinedRows {
public:
  JoinedRows(OpBuilder &builder, AttentionLikeOpInterface op,
             ArrayRef<JoinedProduct> joined);

  Value joinQuery();
  Value joinKey();
  /// The values, for each head and batch of the keys.
  Value spreadValue();
  /// Replaces the gradient `op`, from whose score the products have to go, by
  /// one of joined queries and keys. Returns what its results become.
  FailureOr<SmallVector<Value>> joinGradient(AttentionGradOp op);

private:
  /// An end of a product: the rows, in queries, or the columns, in keys.
  enum End { kRows, kColumns };
  const CapturedRows &getRows(const JoinedProduct &one, End end) const {
    return end == kRows ? one.product.rows : one.product.columns;
  }
  Value getCapture(const JoinedProduct &one, End end) {
    return op.getCaptures()[getRows(one, end).getNumber()];
  }
  Layout getLayout(End end) { return op.getLayout(end); }

  /// The elements of a capture that a product reads, for which queries or keys
  /// have `sizes`.
  struct CaptureSlice {
    SmallVector<OpFoldResult> offsets, sizes, strides;
    /// From the dimensions of queries or keys to those of the capture.
    AffineMap map;
  };
  CaptureSlice getSlice(const JoinedProduct &one, End end,
                        ArrayRef<OpFoldResult> sizes);

  Value join(Value tensor, End end);
  Value emitPart(const JoinedProduct &one, End end, unsigned part);
  Value emitCaptureGradient(const JoinedProduct &one, End end, Value gradient);
  Value getOwnElements(Value gradient, End end);
  /// The extents of queries, or of keys as they are spread.
  SmallVector<OpFoldResult> getSizes(End end) {
    return shared.getSizes(end == kRows ? op.getQuery() : op.getKey(), end);
  }

  OpBuilder &builder;
  AttentionLikeOpInterface op;
  Location loc;
  ArrayRef<JoinedProduct> joined;
  FloatType type, accType;
  SharedKeys shared;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_JOINEDROWS_H
