//===- FloatFunctions.h - Functions on f32 as arithmetic --------*- C++ -*-===//

#ifndef ATTN_CONVERSION_MATHTOARITH_FLOATFUNCTIONS_H
#define ATTN_CONVERSION_MATHTOARITH_FLOATFUNCTIONS_H

#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Replaces exp, exp2, log and log2 on f32 and vectors of f32.
void populateFloatFunctionPatterns(RewritePatternSet &patterns);

/// Replaces functions on f32 and vectors of f32 that no processor has an
/// instruction for, by arithmetic, the functions above, square roots and fused
/// multiply-adds.
void populateRareFunctionPatterns(RewritePatternSet &patterns);

/// Whether those patterns replace an operation, that is, if it is on f32; a
/// remainder also on f64.
bool isRareFunction(Operation *op);

} // namespace mlir::attn

#endif // ATTN_CONVERSION_MATHTOARITH_FLOATFUNCTIONS_H
