//===- CarryPlaces.h - Numbers of blocks by several indices -----*- C++ -*-===//
//
// A loop may go over the blocks of several heads, and so on: its position is
// delinearized then. That is a division for each block, in the threads that
// compute. Instead the loop carries the indices, and a step of it counts them
// down from block to block, as blocks are visited from the last one to the
// first.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_CARRYPLACES_H
#define ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_CARRYPLACES_H

#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn::hopper {

/// The indices that the position of a loop stands for.
class CarriedPlaces {
public:
  CarriedPlaces(RewriterBase &rewriter, PipelinedForOp loop)
      : rewriter(rewriter), loop(loop), loc(loop.getLoc()) {}

  /// Finds them. An error unless the innermost extent is known to be a multiple
  /// of the loop's step.
  LogicalResult match();
  bool exist() const { return !places.empty(); }

  /// Those of the first block visited, which begins at `position`, an i32: what
  /// a loop over the number of a block carries.
  SmallVector<Value> emitFirst(Value position);

  /// Uses what the loop carries, and adds a step to the end of its body that
  /// gives what it carries next.
  SmallVector<Value> emitNext(ValueRange carried);

private:
  RewriterBase &rewriter;
  PipelinedForOp loop;
  Location loc;
  /// Those of the same extents follow each other.
  SmallVector<SmallVector<affine::AffineDelinearizeIndexOp>> places;
};

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_TRANSFORMS_CARRYPLACES_H
