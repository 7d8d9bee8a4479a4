//===- AttnSparsity.h - Explicit layouts of blocks --------------*- C++ -*-===//

#ifndef LIB_DIALECT_ATTN_IR_ATTNSPARSITY_H
#define LIB_DIALECT_ATTN_IR_ATTNSPARSITY_H

#include "attn/Dialect/Attn/IR/Attn.h"

namespace mlir::attn {

/// Checks the operands that say which blocks take part, as far as types tell.
LogicalResult verifySparsity(AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // LIB_DIALECT_ATTN_IR_ATTNSPARSITY_H
