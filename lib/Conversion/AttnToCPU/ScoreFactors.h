//===- ScoreFactors.h - The constant factor of a tile's scores --*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H

#include "mlir/IR/Operation.h"

namespace mlir::attn {

/// Moves the factors of scores, see splitScoreFactor(), behind predicates,
/// which keep -inf, and behind branches of which each side has the same one.
void sinkScoreFactors(Operation *root);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_SCOREFACTORS_H
