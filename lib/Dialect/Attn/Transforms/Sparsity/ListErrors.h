//===- ListErrors.h - What may be wrong with lists --------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTERRORS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTERRORS_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Errors in the operands of a sparsity of lists.
enum ListsError : unsigned {
  OutsideOfColumns,
  Decreasing,
  OutOfRange,
  NoAscent
};

/// Appends a text for each error in the lists of `op` to `sites`; gives the
/// number of the first.
int64_t addListErrors(AttentionLikeOpInterface op,
                      SmallVectorImpl<Attribute> &sites);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_SPARSITY_LISTERRORS_H
