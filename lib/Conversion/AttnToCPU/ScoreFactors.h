//===- ScoreFactors.h - The constant factor of a tile's scores --*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H

#include "mlir/IR/Operation.h"

namespace mlir::attn {

/// Scores are `factor * value`.
struct FactoredScores {
  Value value;
  double factor = 1;
};

/// Takes a positive constant factor off scores.
FactoredScores splitScoreFactor(Value scores);

/// Moves such factors behind predicates, which keep -inf, and behind branches
/// of which each side has the same one.
void sinkScoreFactors(Operation *root);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H
