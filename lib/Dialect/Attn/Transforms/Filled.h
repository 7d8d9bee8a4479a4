//===- Filled.h - Tensors of one number -------------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_FILLED_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_FILLED_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// A new tensor of `sizes` whose elements, floats, are `number`.
Value createFilled(OpBuilder &builder, Location loc,
                   ArrayRef<OpFoldResult> sizes, Type element, double number);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_FILLED_H
