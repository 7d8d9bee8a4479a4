//===- EmptyTensors.h - Tensors without elements ----------------*- C++ -*-===//
//
// Upstream has no slices of what is known to be nothing, and a program has at
// least one launch, whatever it returns: such tensors are zeros instead.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_EMPTYTENSORS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_EMPTYTENSORS_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Whether a tensor is known to have no element.
bool isEmpty(Value tensor);

/// A tensor of zeros.
Value createZeros(OpBuilder &builder, Location loc,
                  ArrayRef<OpFoldResult> sizes, Type element);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_EMPTYTENSORS_H
