//===- Verify.cpp - What verifiers of the hopper dialect share ------------===//

#include "Verify.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

FailureOr<PartitionAttr> hopper::verifyInPartition(Operation *op) {
  if (PartitionAttr partition = getPartition(op))
    return partition;
  // Before partitions are cut, a step says which one it is in.
  if (auto step = op->getParentOfType<hopper::StepOp>())
    return PartitionAttr::get(op->getContext(), step.getPartition(),
                              /*replicas=*/1, /*threads=*/128,
                              /*registers=*/0);
  return op->emitOpError(
      "expects to be in a partition of hopper.warp_specialize");
}

FailureOr<PartitionAttr> hopper::verifyInWarpgroups(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInPartition(op);
  if (failed(partition) || partition->hasWarpgroups())
    return partition;
  return op->emitOpError("expects a partition whose replicas have ")
         << kWarpgroupThreads << " threads, but got "
         << partition->getThreads();
}

FailureOr<PartitionAttr> hopper::verifyInOneReplica(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInPartition(op);
  if (failed(partition) || partition->getReplicas() == 1)
    return partition;
  return op->emitOpError("expects a partition of one replica, but got ")
         << partition->getReplicas();
}

FailureOr<PartitionAttr> hopper::verifyInOneWarp(Operation *op) {
  FailureOr<PartitionAttr> partition = verifyInOneReplica(op);
  if (failed(partition) || partition->getThreads() <= kWarpThreads)
    return partition;
  return op->emitOpError("expects a partition of one thread or one warp, but "
                         "got ")
         << partition->getThreads() << " threads";
}

LogicalResult hopper::verifyContiguous(MemRefType type) {
  SmallVector<int64_t> strides;
  int64_t offset;
  return failure(failed(type.getStridesAndOffset(strides, offset)) ||
                 strides.empty() || strides.back() != 1);
}

LogicalResult hopper::verifyCounters(Operation *op, Value counters,
                                     size_t numIndices) {
  auto type = cast<MemRefType>(counters.getType());
  if (!type.getElementType().isInteger(32))
    return op->emitOpError("expects counters of i32, but got ") << type;
  if (static_cast<int64_t>(numIndices) != type.getRank())
    return op->emitOpError("expects ")
           << type.getRank() << " indices of the counters, but got "
           << numIndices;
  return success();
}

LogicalResult hopper::verifySplit(Operation *op, ShapedType vector,
                                  TileType tile, float factor, float limit) {
  constexpr int64_t columns = 8, most = 256;
  int64_t n = vector.getDimSize(0);
  if (vector.getDimSize(1) != 1 || n > most || tile.isVector() ||
      tile.getRows() != n || tile.getParentRows() != n ||
      tile.getColumns() != columns || !tile.getElementType().isBF16())
    return op->emitOpError("expects a tile of bf16 with ")
           << columns << " columns and a row for each of up to " << most
           << " numbers, but got " << tile << " for " << vector;
  for (float value : {factor, limit})
    if (!(value > 0))
      return op->emitOpError("expects a factor and a limit that are positive, "
                             "but got ")
             << factor << " and " << limit;
  return success();
}

bool hopper::isLike(ShapedType fragment, VectorType vector) {
  return fragment.getShape() == vector.getShape() &&
         fragment.getElementType() == vector.getElementType();
}
