//===- ElementValues.h - Elements of tensors as numbers ---------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_ELEMENTVALUES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_ELEMENTVALUES_H

#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Whether a tensor is the result of an operation that says of each element
/// what it is made of: arithmetic, structured operations of linalg, views and
/// copies. A constant is, and what is not initialised is not.
bool isComputedByElement(Value value);

/// Whether such a tensor has sums, each over elements of others.
bool isSum(Value value);

/// Whether its elements take more than to read and to convert one.
bool isArithmetic(Value value);

/// Whether a use of such a tensor reads its elements: what is written, and what
/// has the same extents, does not.
bool isElementRead(OpOperand &use);

/// The element of `tensor` at these indices, computed where the builder stands,
/// of elements of what is not computed by element.
FailureOr<Value> computeElement(OpBuilder &builder, Value tensor,
                                ValueRange indices);

/// The extents of a tensor that is computed by element, by those of others.
SmallVector<OpFoldResult> getExtents(OpBuilder &builder, Value tensor);

/// The extent of a loop of an operation of linalg, or null if no operand has
/// it as one of its own.
OpFoldResult getLoopExtent(OpBuilder &builder, linalg::LinalgOp op,
                           unsigned loop);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_ELEMENTVALUES_H
