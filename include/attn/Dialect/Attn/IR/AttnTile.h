//===- AttnTile.h - Loops over tiles and their steps ------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTILE_H
#define ATTN_DIALECT_ATTN_IR_ATTNTILE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnTileOps.h.inc"

#endif // ATTN_DIALECT_ATTN_IR_ATTNTILE_H
