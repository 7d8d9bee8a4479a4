//===- TileProgram.h - The parts of a loop over tiles -----------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEPROGRAM_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEPROGRAM_H

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {

/// A box of rows of one head of a tensor that is an argument of the function.
struct TileAccess {
  unsigned argument = 0;
  /// The dimensions of the tensor: batch, head, row, column. Which of the first
  /// two is which does not matter here; -1 for one that it does not have.
  SmallVector<int64_t, 4> dims;
  /// The position of the box in them; but for captures, the column is 0.
  SmallVector<OpFoldResult, 4> position;
  int64_t columns = 0;
  Type elementType;
  /// Where replicas share out the columns, how many each has; 0 otherwise.
  int64_t ownColumns = 0;
  /// How many heads are one of which these are rows, at the tile level; null
  /// for one. The position is that among packed heads.
  PackedCountOp packing;
  /// Of rows that a row of a table names, what reads that; null otherwise.
  GatherOp list;
};

/// What attn-tile made of one attention, taken apart, or a loop over elements.
struct TileProgram {
  func::FuncOp function;
  /// Null where there is no attention.
  scf::ForallOp grid;
  hopper::ScheduleAttr schedule;
  /// Loops before it, which fill tables that it reads an element at a time: all
  /// of their results, in order.
  SmallVector<scf::ForallOp> prologues;
  /// What finds the keys of Q blocks with lists, or null; its results
  /// are tables after the others.
  KeyUnionOp unions;
  /// Loops over vectors that run before the workers, and behind them.
  SmallVector<scf::ForallOp> before, behind;
  /// Buffers that the function allocates, which are tables after all others,
  /// and which of them are filled with zeros first.
  SmallVector<memref::AllocOp> workspaces;
  DenseSet<Value> zeroed;
  SmallVector<Value> tables;
};

/// Rows of a head of a tensor that a row of a table names, or a failure with a
/// diagnostic.
FailureOr<TileAccess> getGatherAccess(func::FuncOp function,
                                      GatherRowsOp gather);

/// Makes one of branches on one condition: where both classes look at an
/// element of a table, each of them under its branch, it is read once.
void mergeBranches(RewriterBase &rewriter, Block &body);

/// Whether a loop fills tables for another one.
bool isPrologue(scf::ForallOp grid);

/// Finds the loop of the workers and, before it, what fills tables. Without an
/// attention there is a loop over elements.
LogicalResult matchGrids(TileProgram &program);

/// Checks that around the loops of a function there are only extents, views of
/// them, and the way to the results: a kernel does nothing else.
LogicalResult requireNothingAround(func::FuncOp function);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEPROGRAM_H
