//===- AttnCanonicalize.h - Canonical forms around attention ----*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNCANONICALIZE_H
#define ATTN_DIALECT_ATTN_IR_ATTNCANONICALIZE_H

namespace mlir {
class RewritePatternSet;

namespace attn {

/// Makes a constant of `arith.cmpf true` and `arith.cmpf false`, before
/// upstream's patterns see them: with a converted integer and a constant as
/// operands, that of MLIR 22 for integers crashes.
void populateConstantComparisonPatterns(RewritePatternSet &patterns);

} // namespace attn
} // namespace mlir

#endif // ATTN_DIALECT_ATTN_IR_ATTNCANONICALIZE_H
