//===- WorkerCloner.h - Computations of a tile in one role ------*- C++ -*-===//
//
// Computes values of the tile level again in a role of a kernel, where they are
// needed and for the queries of one warpgroup.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_WORKERCLONER_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_WORKERCLONER_H

#include "KernelArguments.h"
#include "TileValues.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {

class WorkerCloner final : public TileValues {
public:
  /// `warpgroup` is the number of the consumer, or null in the producer.
  WorkerCloner(OpBuilder &builder, TileProgram &program,
               KernelArguments &arguments, Value warpgroup)
      : TileValues(builder, arguments), program(program), warpgroup(warpgroup) {
    setLoop(program.keys);
  }

  /// From now on, `from` is `to`.
  void map(Value from, Value to) { values[{from, getKind(from)}] = to; }
  /// For a vector of rank 1.
  void map(Value from, VectorKind kind, Value to) { values[{from, kind}] = to; }

  /// Makes values the same as in another.
  void mapAll(ValueRange from, WorkerCloner &other) {
    for (Value value : from)
      map(value, other.values.at({value, getKind(value)}));
  }
  /// Whether a vector of rank 2 has been computed, or mapped.
  bool isMapped(Value value) const {
    return values.contains({value, VectorKind::Both});
  }

  /// Values computed from now on may not be used after restore().
  struct State {
    DenseMap<std::pair<Value, VectorKind>, Value> values;
  };
  State save() const { return {values}; }
  void restore(State state) { values = std::move(state.values); }

  using TileValues::getScalar;
  FailureOr<Value> getScalar(OpFoldResult value);

  std::optional<unsigned> getOperand(Value tensor) override;

  /// The first head and the first query of rows of packed heads.
  FailureOr<SmallVector<Value>> getUnpackedPosition(PackedCountOp packing,
                                                    Value head, Value row,
                                                    Location loc);

  /// An extent of an argument.
  Value getExtent(unsigned argument, int64_t dim, Location loc);

  /// Computes all that a scalar depends on and that is the same for all tiles
  /// of keys.
  LogicalResult computeInvariants(Value value);

private:
  static VectorKind getKind(Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    return type && type.getRank() == 1 ? VectorKind::Query : VectorKind::Both;
  }
  FailureOr<Value> compute(Value value, VectorKind kind);
  FailureOr<Value> computeGather(GatherOp op, VectorKind kind);
  FailureOr<Value> getTensorScalar(Operation *op);
  FailureOr<Value> getPackedExtent(PackHeadsOp op, int64_t dim, Location loc);
  FailureOr<Value> get(Value value, VectorKind kind) override;

  TileProgram &program;
  Value warpgroup;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_WORKERCLONER_H
