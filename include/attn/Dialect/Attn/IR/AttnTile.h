//===- AttnTile.h - Loops over tiles and their steps ------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTILE_H
#define ATTN_DIALECT_ATTN_IR_ATTNTILE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnTileOps.h.inc"

namespace mlir::attn {

/// `first + 0, 1, 2, ...` as a vector of index.
Value emitPositions(OpBuilder &builder, Location loc, Value first,
                    int64_t length);

/// A vector of rank 1 as one of a shape, along whose dimension `dim` it is.
Value broadcastAlong(OpBuilder &builder, Location loc, Value vector,
                     ArrayRef<int64_t> shape, unsigned dim);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_ATTNTILE_H
