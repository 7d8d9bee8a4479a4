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

/// A condition `key < limit`, or `key <= limit`, for each key and query.
struct KeyLimit {
  /// vector<N>
  Value keys;
  /// A scalar, or vector<M>.
  Value limit;
  bool isInclusive = false;
};

/// What says which pairs of a tile are allowed.
struct TilePredicate {
  /// For each key and query.
  Value condition;
  /// Of the tile level, for each key: whether it is before `end`, a scalar; to
  /// be asked as well. Null if `condition` says it.
  Value length, end;
};

class WorkerCloner final : public TileValues {
public:
  /// `warpgroup` is the number of the consumer, or null in the producer.
  WorkerCloner(OpBuilder &builder, TileProgram &program,
               KernelArguments &arguments, Value warpgroup)
      : TileValues(builder, arguments), program(program), warpgroup(warpgroup) {
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

  /// What does not change from tile of keys to tile of keys is computed before
  /// this operation; null for where the builder stands.
  void setAnchor(Operation *op) { anchor = op; }
  /// While code is emitted that few tiles run, only what is costly is computed
  /// before: all else would take registers from the other tiles. Returns what
  /// was set.
  bool setRarelyRun(bool value) { return std::exchange(isRarelyRun, value); }
  /// Values computed from now on may not be used after restore().
  struct State {
    DenseMap<std::pair<Value, VectorKind>, Value> values;
  };
  State save() const { return {values}; }
  void restore(State state) { values = std::move(state.values); }

  using TileValues::getScalar;
  FailureOr<Value> getScalar(OpFoldResult value);
  /// A condition of the tile level for each key and query, in parts.
  FailureOr<TilePredicate> getPredicate(Value mask);

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

  /// Whether a value is the same for all tiles of keys.
  bool isInvariant(Value value);

private:
  static VectorKind getKind(Value value) {
    auto type = dyn_cast<VectorType>(value.getType());
    return type && type.getRank() == 1 ? VectorKind::Query : VectorKind::Both;
  }
  FailureOr<Value> compute(Value value, VectorKind kind);
  FailureOr<Value> computeGather(GatherOp op, VectorKind kind);
  FailureOr<Value> getTensorScalar(Operation *op);
  FailureOr<Value> getPackedExtent(PackHeadsOp op, int64_t dim, Location loc);
  FailureOr<Value> computeKeyLimits(ArrayRef<Value> masks);
  FailureOr<Value> computeKeyLimit(Value mask);
  FailureOr<Value> get(Value value, VectorKind kind) override;

  TileProgram &program;
  Value warpgroup;
  bool isRarelyRun = false;
  DenseMap<Value, bool> invariant;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_WORKERCLONER_H
