//===- AttnTile.h - Loops over tiles and their steps ------------*- C++ -*-===//

#ifndef ATTN_DIALECT_ATTN_IR_ATTNTILE_H
#define ATTN_DIALECT_ATTN_IR_ATTNTILE_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/LoopLikeInterface.h"

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnTileOps.h.inc"

namespace mlir::attn {

/// Scores are `factor * value`.
struct FactoredScores {
  Value value;
  double factor = 1;
};

/// Takes all positive constant factors off scores of a tile.
FactoredScores splitScoreFactor(Value scores);

} // namespace mlir::attn

#endif // ATTN_DIALECT_ATTN_IR_ATTNTILE_H
