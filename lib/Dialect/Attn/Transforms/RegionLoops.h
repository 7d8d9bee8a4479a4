//===- RegionLoops.h - Loops in regions of an attention ---------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONLOOPS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONLOOPS_H

#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// How often a loop of a region, which has constant bounds, runs its body. One
/// of an adjoint that begins where another loop stands counts as if it began
/// with that one: it runs so often at most.
int64_t getTripCount(scf::ForOp loop);

/// The induction variable of the last iteration; there has to be one.
int64_t getLastIteration(scf::ForOp loop);

/// The operations that a loop runs.
int64_t getNumRuns(scf::ForOp loop);

/// The operations that a region, or a loop, runs: those of a loop count once
/// for each iteration.
int64_t countRuns(Region &region);

/// Replaces a loop by what it runs, with constants for positions.
void unrollLoop(scf::ForOp loop);
/// Lets loops of a region that begin where one around them stands, as those of
/// adjoints may, begin with that one: the iterations before give what they got.
void beginWithLoopsAround(Region &region);

/// Replaces the loops of `region` that run so many operations at most by these.
void unrollLoops(Region &region, int64_t most);

/// Loops that run so many operations are none after attn-canonicalize-score.
inline constexpr int64_t kShortLoop = 32;

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_REGIONLOOPS_H
