//===- TotalDivision.h - Integer divisions without traps --------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TOTALDIVISION_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TOTALDIVISION_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Whether an operation of arith divides integers, or gives what is left.
bool isIntegerDivision(Operation *op);

/// The division that `op` is, of other operands: 0 by zero, and the smallest
/// integer by -1 is itself. `spread` gives a value of the divisor's type, or of
/// as many conditions, the type of the dividend, where that has more elements.
Value emitTotalDivision(OpBuilder &builder, Operation &op, Value dividend,
                        Value divisor, function_ref<Value(Value)> spread);

/// Makes the divisions of scalars in an operation total, and itself. Returns
/// what is in its place.
Operation *makeDivisionsTotal(Operation *op);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TOTALDIVISION_H
