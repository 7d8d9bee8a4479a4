//===- FloatFunctions.h - Functions on f32 as arithmetic --------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_FLOATFUNCTIONS_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_FLOATFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces exp, exp2, log and log2 on f32 and vectors of f32.
void populateFloatFunctionPatterns(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_FLOATFUNCTIONS_H
