//===- AttnGrad.h - Gradients of attention ----------------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNGRAD_H
#define ATTN_DIALECT_ATTN_IR_ATTNGRAD_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// Numbers of inputs in `wrt`; capture n is kGradCapture + n.
enum GradInput : int64_t { kGradQuery, kGradKey, kGradValue, kGradCapture };

/// Leading arguments of the region `adjoint`: (s, ds, b, h, i, j).
enum AdjointArg : unsigned {
  kAdjointScore,
  kAdjointGradient,
  kAdjointBatch,
  kAdjointHead,
  kAdjointQuery,
  kAdjointKey,
  kNumAdjointArgs
};

/// Words of an exact sum (attn.scatter): bits of each but the last one, the
/// exponent of the first one, and the number of the word of flags.
inline constexpr int64_t kExactSumWords = 10, kExactSumBits = 32,
                         kExactSumExponent = -149, kExactSumFlags = 9;
/// Parts of the sum of a column (attn.add_rows).
inline constexpr int64_t kSumParts = 4;
/// Flags of an exact sum.
enum ExactSumFlag : int64_t {
  kExactSumNaN = 1,
  kExactSumPosInf = 2,
  kExactSumNegInf = 4
};

} // namespace mlir::attn

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnGradOps.h.inc"

namespace mlir::attn {

/// A copy of `op` where the builder stands, with some of its results.
AttentionGradOp cloneGradients(OpBuilder &builder, AttentionGradOp op,
                               ArrayRef<unsigned> results);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_ATTNGRAD_H
