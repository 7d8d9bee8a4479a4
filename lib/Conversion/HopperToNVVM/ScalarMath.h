//===- ScalarMath.h - Elements of arithmetic on a GPU -----------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_SCALARMATH_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_SCALARMATH_H

#include "attn/Dialect/ScalarBuilder.h"

namespace mlir::attn {

/// The result of instructions in PTX that do nothing but compute it.
Value emitPureAsm(ScalarBuilder &b, StringRef text, StringRef constraints,
                  ValueRange operands, Type type);

/// One element of an elementwise operation, of `type`: functions on f32 are
/// the approximations that the hardware has.
Value emitScalarOp(ScalarBuilder &b, Operation &op, ValueRange operands,
                   Type type, bool accurateTanh);

/// Whether emitScalarOp makes something else of an operation on scalars.
bool isReplacedScalarOp(Operation *op);

/// Fails with a diagnostic where an operation has no such element, as code
/// generation would make calls of a library of it, or nothing.
LogicalResult verifyScalarOp(Operation &op);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_SCALARMATH_H
