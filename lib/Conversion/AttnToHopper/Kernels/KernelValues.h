//===- KernelValues.h - Values of a worker's program ------------*- C++ -*-===//
//
// Computes values of the tile level again where a kernel needs them, for the 64
// rows of a warpgroup.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELVALUES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELVALUES_H

#include "KernelArguments.h"
#include "TileValues.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

class KernelValues final : public TileValues {
public:
  KernelValues(OpBuilder &builder, func::FuncOp function, scf::ForallOp grid,
               KernelArguments &arguments, ValueRange tables = {})
      : TileValues(builder, arguments), function(function), grid(grid),
        tables(tables) {}

  /// What is the same for all blocks of this loop is computed before the
  /// operation that the loop becomes.
  using TileValues::setLoop;

  /// From now on, `from` is `to`; of a vector of rank 1, as one of this kind.
  void map(Value from, Value to) {
    values[{from, VectorKind::Both}] = to;
    if (auto type = dyn_cast<VectorType>(from.getType());
        type && type.getRank() == 1)
      values[{from, VectorKind::Query}] = to;
  }
  void map(Value from, VectorKind kind, Value to) { values[{from, kind}] = to; }

  /// A part of the state of a softmax, as the kernel holds it.
  void setState(Value from, Value to) { states[from] = to; }
  Value getState(Value from) const { return states.at(from); }
  Value findState(Value from) const { return states.lookup(from); }

  /// From now on, what a gather gives is read from a tile, or what diagonals
  /// are spread to.
  void setTile(Value from, Value tile) { tiles[from] = tile; }

  /// The rows of a tile that a warpgroup has, or floats of a block.
  Value readTile(Value tile);

  /// The variable of the loop over blocks.
  void setKey(Value from, Value to) {
    key = to;
    map(from, to);
  }
  Value getKey() const { return key; }

  /// The first row of a work tile, and how many rows it has, in the worker's
  /// program.
  void setRows(OpFoldResult first, OpFoldResult count) {
    rowValue = dyn_cast<Value>(first);
    countValue = dyn_cast<Value>(count);
  }
  /// The same in the kernel, with the end.
  void mapRows(Value first, Value end, Value tile, int64_t tileSize);

  struct State {
    DenseMap<std::pair<Value, VectorKind>, Value> values;
    DenseMap<Value, Value> states;
  };
  State save() const { return {values, states}; }
  void restore(State state) {
    values = std::move(state.values);
    states = std::move(state.states);
  }

  /// The number of the argument of the function that a tensor is, or a view of:
  /// a cast, or packed heads.
  std::optional<unsigned> getArgument(Value tensor);
  /// What packs the heads of a tensor, or null.
  PackGQAOp getPacking(Value tensor);
  std::optional<unsigned> getOperand(Value tensor) override;
  Value getExtent(unsigned argument, int64_t dim);
  /// That of a view of an argument.
  FailureOr<Value> getExtent(Value tensor, int64_t dim);
  using TileValues::getScalar;
  FailureOr<Value> getScalar(OpFoldResult value);
  FailureOr<SmallVector<Value>> getScalars(ArrayRef<OpFoldResult> list);
  FailureOr<SmallVector<Value>> getScalars(ValueRange list) {
    return getScalars(getAsOpFoldResult(list));
  }

private:
  FailureOr<Value> get(Value value, VectorKind kind) override;
  FailureOr<Value> compute(Value value, VectorKind kind);
  FailureOr<Value> computeStep(vector::StepOp step, VectorKind kind);
  FailureOr<SmallVector<Value>> computeIndices(GatherOp gather,
                                               VectorKind kind);
  FailureOr<Value> computeGather(GatherOp gather, VectorKind kind);
  FailureOr<Value> computeSum(ExactSumOp op);
  FailureOr<Value> computeElement(Value buffer, ArrayRef<Value> indices,
                                  Location loc);
  Value skipDestination(Value tensor);

  func::FuncOp function;
  scf::ForallOp grid;
  /// Tensors that kernels before this one fill.
  ValueRange tables;
  Value key, rowValue, countValue, first, tile;
  /// Whether rows are numbered within a work tile.
  bool isWithinTile = false;
  DenseMap<Value, Value> states, tiles;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELVALUES_H
