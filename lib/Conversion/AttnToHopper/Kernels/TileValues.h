//===- TileValues.h - Values of the tile level in a kernel ------*- C++ -*-===//
//
// Computes values of the tile level again where a kernel needs them, for the 64
// rows of a warpgroup: what is the same for all kernels.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEVALUES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEVALUES_H

#include "KernelArguments.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

namespace mlir::attn {
/// What a vector of rank 1 is along; those of rank 2 are along both. Of the
/// diagonals of a tile, the threads of a warpgroup share out those that its
/// columns are in, and a few more.
enum class VectorKind { Query, Key, Both, Diagonal };
} // namespace mlir::attn

namespace llvm {
template <> struct DenseMapInfo<mlir::attn::VectorKind> {
  using Kind = mlir::attn::VectorKind;
  static Kind getEmptyKey() { return static_cast<Kind>(-1); }
  static Kind getTombstoneKey() { return static_cast<Kind>(-2); }
  static unsigned getHashValue(Kind kind) {
    return static_cast<unsigned>(kind);
  }
  static bool isEqual(Kind a, Kind b) { return a == b; }
};
} // namespace llvm

namespace mlir::attn {

class TileValues {
public:
  /// A scalar of the tile level, or a failure with a diagnostic.
  FailureOr<Value> getScalar(Value value) {
    return get(value, VectorKind::Both);
  }
  /// A vector, in the shape that a warpgroup holds.
  FailureOr<Value> getVector(Value value, VectorKind kind) {
    return get(value, cast<VectorType>(value.getType()).getRank() == 1
                          ? kind
                          : VectorKind::Both);
  }

  /// From now on, loops of scalars are shared out to the threads of a warp,
  /// each of which gets the result: `lane` is the number of the thread.
  void setLane(Value value) { lane = value; }

  /// The number of a tensor as an operand of a kernel: an argument of the
  /// function, or a table after those.
  virtual std::optional<unsigned> getOperand(Value tensor) = 0;
  /// What does not change from KV block to KV block is computed before
  /// this operation; null for where the builder stands.
  void setAnchor(Operation *op) { anchor = op; }
  /// While code is emitted that few tiles run, only what is costly is computed
  /// before: all else would take registers from the other tiles. Returns what
  /// was set.
  bool setRarelyRun(bool value) { return std::exchange(isRarelyRun, value); }
  /// Whether a value is the same for all KV blocks.
  bool isInvariant(Value value);
  /// Emits a loop of scalars, or of vectors of one kind, with all of its
  /// results. `emitEffects`, unless it is null, emits the operations of its
  /// body that have no results, or more than these.
  LogicalResult emitLoop(scf::ForOp loop, VectorKind kind,
                         function_ref<LogicalResult()> emitEffects = nullptr);

protected:
  TileValues(OpBuilder &builder, KernelArguments &arguments)
      : builder(builder), arguments(arguments) {}
  ~TileValues() = default;

  /// What is computed already, or else compute().
  virtual FailureOr<Value> get(Value value, VectorKind kind) = 0;

  /// The type in which a warpgroup holds a vector.
  VectorType getType(VectorType type, VectorKind kind) const;
  /// Scalars and vectors.
  FailureOr<SmallVector<Value>> getAll(ValueRange values, VectorKind kind);
  /// What constants, reshapes, broadcasts and elementwise operations give; null
  /// for a value of another operation.
  FailureOr<Value> computePlain(Value value, VectorKind kind);
  /// Reads, loops and branches of scalars, and loops of vectors
  /// (ScalarLoops.cpp).
  FailureOr<Value> computeExtract(tensor::ExtractOp op);
  /// One of the results of a loop.
  FailureOr<Value> computeLoop(scf::ForOp loop, unsigned number,
                               VectorKind kind);
  FailureOr<Value> computeBranch(scf::IfOp branch, unsigned number);

  /// The loop over KV blocks.
  void setLoop(TileLoopOp value) { loop = value; }
  /// Whether a value is to be computed before the anchor.
  bool isHoisted(Value value);

  OpBuilder &builder;
  KernelArguments &arguments;
  /// How many rows a work tile has.
  int64_t tileSize = 0;
  Operation *anchor = nullptr;
  Value lane;
  DenseMap<std::pair<Value, VectorKind>, Value> values;

private:
  FailureOr<Value> computeElementwise(OpResult result, VectorKind kind);
  LogicalResult yieldAll(ValueRange from, VectorKind kind);

  TileLoopOp loop;
  bool isRarelyRun = false;
  DenseMap<Value, bool> invariant;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_TILEVALUES_H
