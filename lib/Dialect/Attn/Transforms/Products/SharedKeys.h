//===- SharedKeys.h - Keys that batches and heads share ---------*- C++ -*-===//
//
// What has keys for each batch and head of the queries gets copies of those
// that batches, or the heads of a group, share.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_SHAREDKEYS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_SHAREDKEYS_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

class SharedKeys {
public:
  /// Keys of `op` that are needed for each batch, or for each head. They are
  /// not copied where there are as many in the types already.
  SharedKeys(OpBuilder &builder, AttentionLikeOpInterface op, bool ofBatches,
             bool ofHeads);

  bool areSpread() const { return spreadsBatches || spreadsHeads; }
  /// The extents of q (0), k (1) or v (2), which is `tensor`, as it is spread.
  SmallVector<OpFoldResult> getSizes(Value tensor, unsigned which);
  /// k or v for each batch and head, in the order of its own dimensions.
  Value spread(Value tensor, unsigned which);
  /// What an element of k or v gets from each of its copies, at the place that
  /// it has among them.
  using Part = function_ref<Value(OpBuilder &builder, ValueRange place)>;
  /// The sums of what copies of k or v get, rounded to `type`.
  Value sum(unsigned which, FloatType type, Part emitPart);
  Value sum(Value copies, unsigned which, FloatType type);

private:
  Value getTensor(unsigned which) {
    return which == 1 ? op.getKey() : op.getValue();
  }
  Value emitNumCopies(OpBuilder &inner, bool ofHeads, unsigned which);

  OpBuilder &builder;
  AttentionLikeOpInterface op;
  Location loc;
  bool spreadsBatches, spreadsHeads;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_PRODUCTS_SHAREDKEYS_H
