//===- Transpose.h - Transpose a block of vectors ---------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_TRANSPOSE_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_TRANSPOSE_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Emits the transpose of a square block: `rows` holds as many vectors as each
/// has elements, a power of two.
SmallVector<Value> emitTranspose(OpBuilder &builder, Location loc,
                                 ArrayRef<Value> rows);

/// Emits the sums over the elements of each of `vectors`, as one vector. There
/// are as many vectors as each has elements, a power of two.
Value emitSums(OpBuilder &builder, Location loc, ArrayRef<Value> vectors);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_TRANSPOSE_H
