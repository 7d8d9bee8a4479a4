//===- TileLowering.h - One worker's program on a CPU -----------*- C++ -*-===//
//
// Lowers the body of one loop over tiles: tile values become buffers, what is
// done to them becomes loops on hardware vectors.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_TILELOWERING_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_TILELOWERING_H

#include "TileEvaluator.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

class LhsReader;

class TileLowering {
public:
  TileLowering(scf::ForallOp loop, ScheduleAttr schedule)
      : loop(loop), tileM(schedule.getTileM()), lanes(schedule.getLanes()),
        unrollM(schedule.getUnrollM()), unrollN(schedule.getUnrollN()),
        hasFewQueries(schedule.hasFewQueries()), builder(loop.getContext()),
        scratchBuilder(loop.getContext()) {}

  LogicalResult run();

private:
  LogicalResult lowerBlock(Block &block);
  /// Lowers an operation on whole tiles, or one without tiles. Returns false if
  /// it is of elements.
  FailureOr<bool> lowerWhole(Operation &op);
  LogicalResult lowerFor(scf::ForOp op);
  // Branches.cpp
  LogicalResult lowerIf(scf::IfOp op);
  /// Lowers what is in a branch that gives no tiles, and stays; true.
  FailureOr<bool> lowerSides(scf::IfOp op);
  /// The buffer that both sides leave a result in, and the tile whose buffer it
  /// was, if any, which is none of `taken`.
  std::pair<Value, Value> getCommonBuffer(scf::IfOp op, unsigned result,
                                          ArrayRef<Value> taken);
  /// Leaves what `yield` yields in buffers, one for each tile and none for a
  /// scalar, and yields the scalars.
  LogicalResult lowerYield(scf::YieldOp yield, ArrayRef<Value> homes);
  LogicalResult lowerWrite(vector::TransferWriteOp op);
  /// Writes the columns [first, end) of a tile, transposed by blocks.
  LogicalResult writeBlocks(vector::TransferWriteOp op, Value end);
  /// Writes the rows below `rowEnd` of a tile that lies in memory as it is.
  LogicalResult writeRows(vector::TransferWriteOp op, Value rowEnd);
  /// Writes the rows below `rowEnd` of the columns below `end`, of few queries,
  /// as vectors of rows where they can be.
  LogicalResult writeColumns(vector::TransferWriteOp op, bool areVectors,
                             Value rowEnd, Value end);
  /// Writes the elements of rows [firstRow, rowEnd), columns [first, end).
  LogicalResult writeElements(vector::TransferWriteOp op, Value firstRow,
                              Value rowEnd, Value first, Value end);
  LogicalResult lowerGather(GatherOp op);
  // Scatter.cpp
  LogicalResult lowerScatter(ScatterOp op);
  // MicroKernel.cpp
  LogicalResult lowerContract(vector::ContractionOp op);
  /// Adds the product of what `lhs` reads and the buffer `rhs` to what `op`
  /// adds it to, and leaves the sum in the buffer `acc`.
  LogicalResult emitProducts(vector::ContractionOp op, LhsReader &lhs,
                             Value rhs, Value acc);
  /// Whether a contraction gives a new tile, or adds to one in memory.
  static bool isFromZero(vector::ContractionOp op);
  // Reductions.cpp
  LogicalResult lowerReduction(vector::MultiDimReductionOp op);
  /// Leaves a reduction in `result`, and what is reduced in `tile`, if any.
  LogicalResult emitReduction(vector::MultiDimReductionOp op, Value tile,
                              Value result);
  // FewQueries.cpp
  LogicalResult emitProductsOfKeys(vector::ContractionOp op, LhsReader &lhs,
                                   Value rhs, Value acc);
  LogicalResult emitSumsOverKeys(vector::ContractionOp op, LhsReader &lhs,
                                 Value rhs, Value acc);
  /// Where columns of tiles end that need to be computed.
  Value getQueriesEnd(int64_t queries) {
    return queriesEnd ? queriesEnd : index(queries);
  }
  /// Adds what `acc` of a contraction is to sums, and leaves the `count` first
  /// of them, from `row` on, in `to`.
  LogicalResult leaveSums(vector::ContractionOp op, Value sums, int64_t count,
                          Value row, Value query, Value to);
  LogicalResult emitReductionOfFew(vector::MultiDimReductionOp op, Value tile,
                                   Value result);

  /// The dimension along which vectors of a tile lie: queries are columns, and
  /// with few of them vectors lie along rows.
  unsigned getVectorDim(VectorType type) const {
    return hasFewQueries || type.getRank() == 1 ? 0 : 1;
  }
  /// A buffer for a tile, aligned for vectors, that lives as long as the
  /// worker.
  Value allocate(VectorType type) { return allocate(type, getVectorDim(type)); }
  /// The same for vectors along `dim`.
  Value allocate(VectorType type, unsigned dim);
  /// The buffer of `value`, which is computed here if it is not in memory.
  FailureOr<Value> materialize(Value value);
  /// Computes all elements of `value` into `buffer`.
  LogicalResult store(Value value, Value buffer);
  /// The same for a tile that can only be read as vectors along its rows.
  LogicalResult storeTransposed(Value value, Value buffer);
  /// The buffer to which an update of `value` in `block` goes: its own, if
  /// nothing else reads it, otherwise a new one that holds a copy.
  FailureOr<Value> getUpdatable(Value value, Block *block);
  /// Whether an operation on whole tiles that is yet to be lowered reads a
  /// tile, or what is computed of it where it is used, but for `reader` and
  /// what is computed of `stored`, which is to be in memory itself.
  bool isReadAfter(Value value, Operation *reader, Value stored = {});
  /// A buffer of the type of `value` that computing `value` for `reader` reads
  /// for the last time, element by element, or a new one.
  Value getOverwritable(Value value, Operation *reader, Value stored = {});
  /// Gives a tile in memory a name of its own inside of `block`, which is yet
  /// to be lowered, so that one reader there may overwrite the tile.
  void rename(Value value, Block &block);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  /// Emits a loop from 0 to `end` and its body.
  LogicalResult emitLoop(Value end, int64_t step,
                         function_ref<LogicalResult(Value)> body) {
    return emitLoop(index(0), end, step, body);
  }
  LogicalResult emitLoop(Value first, Value end, int64_t step,
                         function_ref<LogicalResult(Value)> body);
  TileEvaluator evaluator() {
    return TileEvaluator(builder, loc, buffers, lanes);
  }

  scf::ForallOp loop;
  int64_t tileM, lanes, unrollM, unrollN;
  bool hasFewQueries;
  /// Where the columns end that are computed, or null: all are.
  Value queriesEnd;
  OpBuilder builder, scratchBuilder;
  Location loc = UnknownLoc::get(builder.getContext());
  TileBuffers buffers;
  SmallVector<Value> scratch;
  SmallVector<Operation *> dead;
  /// Operations on whole tiles that are lowered.
  DenseSet<Operation *> done;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_TILELOWERING_H
