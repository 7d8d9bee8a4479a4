//===- Exp2.h - Powers of two of differences to a maximum -------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_EXP2_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_EXP2_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Emits 2^x for x <= 0, a vector of f32 or f64. For f32 the relative error is
/// below 2^-23, results below 2^-126 are 0, and NaN stays NaN.
Value emitExp2(OpBuilder &builder, Location loc, Value x);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_EXP2_H
