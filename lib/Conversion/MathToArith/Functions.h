//===- Functions.h - Patterns for functions on f32 --------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_MATHTOARITH_FUNCTIONS_H
#define ATTN_LIB_CONVERSION_MATHTOARITH_FUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces sin, cos, tan, atan and atan2.
void populateTrigonometricPatterns(RewritePatternSet &patterns);
/// Replaces sinh, cosh, asinh, acosh and atanh.
void populateHyperbolicPatterns(RewritePatternSet &patterns);
/// Replaces powf, cbrt and log10.
void populatePowerPatterns(RewritePatternSet &patterns);
/// Replaces arith.remf, on f64 too.
void populateRemainderPatterns(RewritePatternSet &patterns);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_MATHTOARITH_FUNCTIONS_H
