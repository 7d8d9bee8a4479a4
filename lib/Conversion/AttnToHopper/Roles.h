//===- Roles.h - The two roles of a kernel ----------------------*- C++ -*-===//
//
// Both roles walk the same tiles in the same order (TileLoop.cpp).
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H

#include "MergeKernel.h"
#include "WorkerCloner.h"

namespace mlir::attn {

/// What the roles share: channels in shared memory, and maps.
struct KernelResources {
  Value queryChannel, keyChannel, valueChannel;
  Value queryMap, keyMap, valueMap;
  /// For each capture that is copied as tiles.
  SmallVector<Value> captureChannels, captureMaps;
  /// What the slope of a bias is multiplied with; null without one that is in
  /// the product.
  Value ramp;
  /// Null if consumers do not take turns.
  Value turns;
  /// Of persistent kernels: what the producer claims tiles with, and how it
  /// tells the consumers.
  Value counter, mailbox;
  /// Whether results of rank 2 are staged in place of the queries.
  bool stagesInQueries = false;
  /// Where they are staged otherwise, by number of the result.
  DenseMap<unsigned, Value> staging;
  /// Where the keys of a tile are shared out.
  std::optional<PartResults> parts;
};

/// A tile of queries at a point of a role.
struct Work {
  /// The first use of the channels of keys and of values, and that of the
  /// queries.
  Value keyNumber, queryNumber;
  /// Keys from `lo` in `count` tiles, as i32 like the numbers.
  Value lo, count, last;
  /// Which part of the keys of its queries these are, as i32; null if all.
  Value part;

  /// The first key of the tile that is visited as number `t`, as a position,
  /// and as i32.
  Value getKey(OpBuilder &builder, Location loc, Value t, int64_t tileN) const;
  Value getKeyNumber(OpBuilder &builder, Location loc, Value t,
                     int64_t tileN) const;
};

/// Emits the loop over the tiles of a thread block, and calls `body` in it,
/// with the indices of the grid mapped; `body` is to keep to count > 0 by
/// itself, and gives the first use of the channel of keys that is left.
LogicalResult emitWork(OpBuilder &builder, TileProgram &program,
                       WorkerCloner &cloner, const KernelResources &resources,
                       bool isProducer,
                       function_ref<FailureOr<Value>(const Work &)> body);

LogicalResult emitProducer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);
LogicalResult emitConsumer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H
