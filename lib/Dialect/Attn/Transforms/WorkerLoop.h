//===- WorkerLoop.h - Loops that workers share ------------------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_WORKERLOOP_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_WORKERLOOP_H

#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/SCF/IR/SCF.h"

namespace mlir::attn {

/// A loop of these extents, whose iterations workers share out, as the schedule
/// says if there is one. By its mapping to workers it stays a loop where it has
/// one iteration.
scf::ForallOp createWorkerLoop(OpBuilder &builder, Location loc,
                               ArrayRef<OpFoldResult> extents, ValueRange outs,
                               ScheduleAttrInterface schedule = {});

/// Ends a loop each of whose iterations gives one element of each of its outs,
/// at `place`.
void writeElements(OpBuilder &builder, scf::ForallOp loop, ValueRange place,
                   ValueRange elements);

/// Says of a loop that fills tables with what the mask and the sparsity of `op`
/// alone decide that it is preparation (kPreparationAttrName), unless these
/// read what is also another operand of `op`, or what another launch writes.
void markPreparation(scf::ForallOp loop, AttentionLikeOpInterface op);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_WORKERLOOP_H
