//===- Verify.h - What verifiers of the hopper dialect share ----*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_HOPPER_IR_VERIFY_H
#define ATTN_LIB_DIALECT_HOPPER_IR_VERIFY_H

#include "attn/Dialect/Hopper/IR/Hopper.h"

namespace mlir::attn::hopper {

/// The partition that `op` is in, or a failure with a diagnostic.
FailureOr<PartitionAttr> verifyInPartition(Operation *op);
/// One whose replicas are warpgroups.
FailureOr<PartitionAttr> verifyInWarpgroups(Operation *op);
FailureOr<PartitionAttr> verifyInOneReplica(Operation *op);
/// One of at most a warp, for what one thread does for all.
FailureOr<PartitionAttr> verifyInOneWarp(Operation *op);

/// Checks, with no diagnostic, that elements along the last dimension follow
/// each other.
LogicalResult verifyContiguous(MemRefType type);

/// Checks a buffer of counters and the number of its indices.
LogicalResult verifyCounters(Operation *op, Value counters, size_t numIndices);

/// Checks a tile of the parts of a vector's numbers; see hopper.put_bf16x3.
LogicalResult verifySplit(Operation *op, ShapedType vector, TileType tile,
                          float factor, float limit);

/// Whether a fragment, with or without a layout, has the elements of a vector.
bool isLike(ShapedType fragment, VectorType vector);

} // namespace mlir::attn::hopper

#endif // ATTN_LIB_DIALECT_HOPPER_IR_VERIFY_H
