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
  /// The first uses of the channels of keys and of values, and that of the
  /// queries.
  Value keyNumber, valueNumber, queryNumber;
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

/// What a role does in a loop in which a tile starts before the one before has
/// ended. All tiles have count > 0. The first one comes after a tile that is no
/// tile, with no keys but those that it ends with, and the last one before such
/// a tile; their rows, keys and values are beyond all others, which read as 0
/// and are not written.
class OverlappedTiles {
public:
  virtual ~OverlappedTiles() = default;
  /// What the loop carries into the tile that is none.
  virtual SmallVector<Value> start() = 0;
  /// All of a tile between its start and its end.
  virtual FailureOr<SmallVector<Value>> proceed(const Work &work,
                                                ValueRange state) = 0;
  /// Ends a tile with the start of the next one, whose indices are mapped.
  /// Gives what the tile has computed, and what the loop carries, last.
  virtual FailureOr<SmallVector<Value>> end(const Work &work, const Work &next,
                                            ValueRange middle) = 0;
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
