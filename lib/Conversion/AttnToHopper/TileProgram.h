//===- TileProgram.h - The parts of a loop over tiles -----------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILEPROGRAM_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILEPROGRAM_H

#include "KeyBias.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Hopper/IR/Hopper.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
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
  /// How many heads are one of which these are rows, at the tile level; null
  /// for one. The position is that among packed heads.
  PackedCountOp packing;
  /// Of rows that a row of a table names, what reads that, and what gathers
  /// them; null otherwise.
  GatherOp list, gather;
};

/// A vector that is written to rows of a result: vector<Dv x M> or vector<M>.
struct TileResult {
  Value vector;
  unsigned argument = 0;
  /// Of the tensor, in its order.
  SmallVector<OpFoldResult> offsets;
  /// Which of them is the row, and how many rows there are.
  int64_t rowDim = 0;
  OpFoldResult numRows;
  /// Of packed heads, how many are one, and the dimension of heads.
  PackedCountOp packing;
  int64_t headDim = -1;
  /// For vector<Dv x M>.
  TileAccess access;

  bool hasColumns() const {
    return cast<VectorType>(vector.getType()).getRank() == 2;
  }
};

/// A capture with an element for each key and query, of which boxes of
/// queries by keys are copied.
struct TileCapture {
  /// As many columns as a tile has keys.
  TileAccess access;
  /// The reads of it.
  SmallVector<Value> reads;
};

/// What attn-tile made of one attention, taken apart.
struct TileProgram {
  func::FuncOp function;
  scf::ForallOp grid;
  hopper::ScheduleAttr schedule;
  /// Loops before it, which fill tables that it reads an element at a time: all
  /// of their results, in order.
  SmallVector<scf::ForallOp> summaries;
  /// What finds the keys of tiles of queries with lists, or null; its results
  /// are tables after the others.
  ListUnionsOp unions;
  SmallVector<Value> tables;
  /// The one loop over tiles of keys, whose body has what its steps and its
  /// classes compute (see match).
  TileLoopOp keys;
  /// Whether a tile of keys is needed, and whether it needs no predicate, in
  /// terms of the body; null if all are, or none is known to.
  Value isNeeded, isFull;
  TileAccess query, key, value;
  /// Those that the schedule has copied as tiles.
  SmallVector<TileCapture> captures;
  /// scores = product of keys and queries, in f32.
  Value product;
  /// What masks the scores, and the softmax of them.
  MaskTileOp mask;
  OnlineStepOp step;
  /// The scores without a predicate, if the schedule has their bias in the
  /// product and it is affine in the key.
  std::optional<KeyBias> bias;
  /// Whether all tiles are allowed entirely but the last one that a warpgroup
  /// computes with.
  bool isOnlyLastPartial = false;
  SmallVector<TileResult> results;

  /// The first row of a tile, or null if it is a constant, as where there is
  /// one tile: a constant is no value of its own that could stand for the row.
  Value getRow() const {
    auto row = dyn_cast<Value>(query.position[2]);
    return row && !getConstantIntValue(row) ? row : Value();
  }

  /// The result of rank 2, or null.
  const TileResult *getOutput() const {
    auto output = llvm::find_if(
        results, [](const TileResult &result) { return result.hasColumns(); });
    return output == results.end() ? nullptr : &*output;
  }

  /// The scores without a predicate.
  Value getScores() const { return MaskTileOp(mask).getScores(); }

  /// Takes apart the only attention of a function, or fails with a diagnostic.
  /// What the classes and steps of the loop over keys compute is then part of
  /// its body, but for the region of the mask.
  static FailureOr<TileProgram> match(func::FuncOp function);
};

/// Rows of a head of a tensor that a row of a table names, or a failure with a
/// diagnostic.
FailureOr<TileAccess> matchGather(func::FuncOp function, GatherOp gather,
                                  StringRef what);

/// Makes one of branches on one condition: where both classes look at an
/// element of a table, each of them under its branch, it is read once.
void mergeBranches(RewriterBase &rewriter, Block &body);

/// Whether a loop fills tables for another one.
bool isSummary(scf::ForallOp grid);

/// Finds the loop of the workers and, before it, what fills tables.
LogicalResult matchGrids(TileProgram &program);

/// Checks that around the loops of a function there are only extents, views of
/// them, and the way to the results: a kernel does nothing else.
LogicalResult requireNothingAround(func::FuncOp function);

/// The box of queries by `tileN` keys that a read of a capture takes, if it is
/// one.
std::optional<TileAccess> matchCaptureTile(GatherOp read, func::FuncOp function,
                                           int64_t tileN);

/// Finds the captures that the schedule has copied as tiles.
void matchCaptures(TileProgram &program);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_TILEPROGRAM_H
