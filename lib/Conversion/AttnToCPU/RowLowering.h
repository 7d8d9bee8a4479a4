//===- RowLowering.h - Queries with lists of keys on a CPU ------*- C++ -*-===//
//
// Lowers the body of a loop over single queries, whose keys and values are
// gathered. A vector over the keys of a step stays one, of `tile_n` elements,
// and statistics of the query stay vectors of one element. What has an element
// for each column of a head (the query, the accumulator, a result) lies in a
// buffer, or is computed where it is written.
//
// For a key, rows of k and v are read once each, as vectors along the columns:
//
//   products   `lanes` keys at a time, each with a vector of partial sums; the
//              sums over these vectors are taken of all of them together
//   values     a few vectors of the accumulator in registers over all keys
//
// so that the bytes of the rows, (Dqk + Dv) * size, bound the time for a pair.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOCPU_ROWLOWERING_H
#define ATTN_LIB_CONVERSION_ATTNTOCPU_ROWLOWERING_H

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

class RowLowering {
public:
  RowLowering(scf::ForallOp loop, RowScheduleAttr schedule)
      : loop(loop), schedule(schedule), numKeys(schedule.getTileN()),
        lanes(schedule.getLanes()), builder(loop.getContext()),
        scratchBuilder(loop.getContext()) {}

  /// Replaces the loop by one over groups of queries.
  LogicalResult run();

private:
  /// Rows of a tensor that a step gathers.
  struct GatheredRows {
    Value source;
    /// The position of a row in `source`, but for `rowDim` and `columnDim`.
    SmallVector<Value> position;
    unsigned rowDim = 0, columnDim = 0;
    int64_t numColumns = 0;
    /// The tile values: which rows, and which of them there are.
    Value rows, mask;
  };
  /// Rows of a step in memory: where the keys that there are lie, and one more
  /// than the number of the last of them.
  struct StepRows {
    Value buffer, count;
  };

  LogicalResult lowerBlock(Block &block);
  LogicalResult lowerOp(Operation &op);
  LogicalResult lowerOfNumbers(Operation &op);
  LogicalResult lowerKeys(scf::ForOp op);
  LogicalResult lowerNeeded(scf::IfOp op);
  LogicalResult lowerGather(GatherOp op);
  LogicalResult lowerReduction(vector::MultiDimReductionOp op);
  FailureOr<Value> getOfKeys(Value value);
  LogicalResult lowerWrite(vector::TransferWriteOp op);

  // RowProducts.cpp
  LogicalResult lowerContract(vector::ContractionOp op);
  LogicalResult lowerProducts(vector::ContractionOp op,
                              const GatheredRows &rows);
  LogicalResult lowerValues(vector::ContractionOp op, const GatheredRows &rows);
  FailureOr<Value> getUpdated(Value value);
  FailureOr<GatheredRows> getRows(vector::ContractionOp op);
  StepRows getStepRows(const GatheredRows &rows);
  /// Elements of a row from `column` on, in the accumulator's type.
  Value loadRow(const GatheredRows &rows, Value row, Value column,
                int64_t width);
  /// How many elements of a row are read at a time.
  int64_t getWidth(const GatheredRows &rows);

  /// `width` elements from `column` on of a value with one for each column.
  FailureOr<Value> evaluateColumns(Value value, Value column, int64_t width);
  /// A buffer with such a value.
  FailureOr<Value> materialize(Value value);
  Value allocate(int64_t size, Type element);
  /// Emits a loop for whole vectors of columns, and one for the rest.
  LogicalResult emitColumnLoops(int64_t numColumns,
                                function_ref<LogicalResult(Value, int64_t)>);

  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  /// The type of `width` elements: a scalar for one.
  static Type getType(Type element, int64_t width) {
    return width == 1 ? element : Type(VectorType::get({width}, element));
  }
  Value load(Type type, Value buffer, ValueRange position);
  void store(Value value, Value buffer, ValueRange position);
  Value broadcast(Value value, Type type);
  Value splat(Type type, double value);
  Value fma(Value a, Value b, Value c);
  /// The one element of a value of the query.
  Value getScalar(Value value) {
    if (!isa<VectorType>(value.getType()))
      return value;
    return vector::ExtractOp::create(builder, loc, value, ArrayRef<int64_t>{0});
  }

  scf::ForallOp loop;
  RowScheduleAttr schedule;
  int64_t numKeys, lanes;
  OpBuilder builder, scratchBuilder;
  Location loc = UnknownLoc::get(builder.getContext());
  IRMapping mapping;
  SmallVector<Value> scratch;
  /// Values with an element for each column that are in memory.
  DenseMap<Value, Value> buffers;
  /// By the tile values.
  DenseMap<std::pair<Value, Value>, StepRows> stepRows;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOCPU_ROWLOWERING_H
