//===- Roles.h - The two roles of a kernel ----------------------*- C++ -*-===//
//
// Both roles walk the same tiles in the same order (TileLoop.cpp).
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

/// What a role does in a loop in which a tile starts before the one before has
/// ended. All tiles have count > 0.
class OverlappedTiles {
public:
  virtual ~OverlappedTiles() = default;
  /// Starts the first tile, and gives what the loop carries.
  virtual FailureOr<SmallVector<Value>> start(const Work &work) = 0;
  /// All of a tile between its start and its end.
  virtual FailureOr<SmallVector<Value>> proceed(const Work &work,
                                                ValueRange state) = 0;
  /// Ends a tile, with the start of the next one if there is one, whose indices
  /// are mapped then. Gives what the tile has computed, and the state of the
  /// next one, of which any value will do if there is none.
  virtual FailureOr<SmallVector<Value>>
  end(const Work &work, const std::optional<Work> &next, ValueRange middle) = 0;
  virtual SmallVector<Type> getEndTypes() = 0;
  /// Writes what a tile has computed, with its indices mapped.
  virtual LogicalResult finish(const Work &work, ValueRange middle,
                               ValueRange results) = 0;
};
LogicalResult emitOverlappedWork(OpBuilder &builder, TileProgram &program,
                                 WorkerCloner &cloner,
                                 const KernelResources &resources,
                                 bool isProducer, OverlappedTiles &tiles);

LogicalResult emitProducer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);
LogicalResult emitConsumer(OpBuilder &builder, TileProgram &program,
                           KernelArguments &arguments,
                           const KernelResources &resources);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_ROLES_H
