//===- AttnGrad.h - Gradients of attention ----------------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNGRAD_H
#define ATTN_DIALECT_ATTN_IR_ATTNGRAD_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// Numbers of inputs in `wrt`; capture n is kGradCapture + n.
enum GradInput : int64_t { kGradQuery, kGradKey, kGradValue, kGradCapture };

/// Leading arguments of the region `adjoint`: (s, ds, b, h, i, j).
inline constexpr unsigned kNumAdjointArgs = 6;

} // namespace mlir::attn

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnGradOps.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTNGRAD_H
