//===- Roles.h - The two roles of a kernel ----------------------*- C++ -*-===//
//
// Both roles walk the same tiles in the same order, so both use WorkWalk.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H

#include "WorkerCloner.h"

namespace mlir::attn {

/// What the roles share: channels in shared memory, and maps.
struct KernelResources {
  Value queryChannel, keyChannel, valueChannel;
  Value queryMap, keyMap, valueMap;
  /// For each capture that is copied as tiles.
  SmallVector<Value> captureChannels, captureMaps;
  /// Null if consumers do not take turns.
  Value turns;
  /// Of persistent kernels: what the producer claims tiles with, and how it
  /// tells the consumers.
  Value counter, mailbox;
  /// Whether results of rank 2 are staged in place of the queries.
  bool stagesInQueries = false;
  /// Where they are staged otherwise, by number of the result.
  DenseMap<unsigned, Value> staging;
};

/// A tile of queries at a point of a role.
struct Work {
  /// The first use of the channels of keys and values, and that of the queries.
  Value keyNumber, queryNumber;
  /// Keys from `lo` in `count` tiles, as i32 like the numbers.
  Value lo, count, last;

  /// The first key of the tile that is visited as number `t`.
  Value getKey(OpBuilder &builder, Location loc, Value t, int64_t tileN) const;
};

/// Emits the loop over the tiles of a thread block, and calls `body` in it,
/// with the indices of the grid mapped; `body` is to keep to count > 0 by
/// itself.
LogicalResult emitWork(OpBuilder &builder, TileProgram &program,
                       WorkerCloner &cloner, const KernelResources &resources,
                       bool isProducer,
                       function_ref<LogicalResult(const Work &)> body);

LogicalResult emitProducer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);
LogicalResult emitConsumer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H
