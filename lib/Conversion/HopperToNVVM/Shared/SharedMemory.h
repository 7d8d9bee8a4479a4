//===- SharedMemory.h - Shared memory and barriers of a thread --*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_SHARED_SHAREDMEMORY_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_SHARED_SHAREDMEMORY_H

#include "Threads/ThreadBuilder.h"

namespace mlir::attn {

/// How long the hardware may suspend a thread in one try of a wait, in ns.
inline constexpr int64_t kSuspendTime = 10000000;

// Tiles.

/// `number` times so many segments.
struct TileStep {
  Value number;
  int64_t segments;
};
/// What the number of segments of a tile is the sum of. A use multiplies by
/// itself, so that no register holds the product from the tile on.
SmallVector<TileStep> getSteps(TileView tile);
/// The numbers of a tile that starts `number` times `bytes` behind the start of
/// another one; null is 0.
Elements advanceTile(ThreadBuilder &b, TileView tile, Value number,
                     int64_t bytes);
/// The tile of a stage.
Elements getStageTile(ThreadBuilder &b, const SharedTile &tile, Value stage);
inline TileView getTile(ValueRange values) { return {values[0], values[1]}; }
Value getSharedPointer(ThreadBuilder &b, TileView tile, int64_t offset = 0);
/// As a number.
Value getSharedAddress(ThreadBuilder &b, TileView tile);

// Channels and work queues.

Value getStage(ThreadBuilder &b, Value number, int64_t stages);
/// 0 or 1 in turn, each time the ring has been filled.
Value getPhase(ThreadBuilder &b, Value number, int64_t stages);
/// The wait for a free tile is for the phase before, which passes at once on
/// the first use of a barrier.
Value getFreePhase(ThreadBuilder &b, Value number, int64_t stages);
Value getBarrier(ThreadBuilder &b, int64_t offset, Value stage);
/// Waits until a tile is free, and gives the barrier of the arrival.
Value emitWaitFree(ThreadBuilder &b, const SharedTile &tile, Value stage,
                   Value phase);
/// Where the payload of a stage is.
Value getPayload(ThreadBuilder &b, const SharedTile &tile, Value stage);
/// A number in shared memory that all threads of a warp need. One of them reads
/// it, the one that arrives later: so nobody has to know that the others were
/// done with it. Where a condition that is not null does not hold, it is not
/// read and 0.
Value loadForWarp(ThreadBuilder &b, Value pointer, Value condition = {});
void emitArrive(ThreadBuilder &b, Value barrier);
/// One arrival for each warp, if a condition that is not null holds.
void emitWarpArrive(ThreadBuilder &b, Value barrier, Value condition = {});

// Threads.

/// What one thread of a replica does for all.
void emitByLeader(ThreadBuilder &b, function_ref<void()> body);
/// What threads of a warp have done before is done for all of them.
void emitWarpSync(ThreadBuilder &b);
void emitNamedBarrier(ThreadBuilder &b, Value id, int64_t threads);
/// All threads of a warpgroup.
void emitGroupBarrier(ThreadBuilder &b);
/// Gives the turn to the replica after `from`.
void emitPingPongArrive(ThreadBuilder &b, Value pingPong, Value from);
/// What threads have written to shared memory is there for copies and matrix
/// instructions.
void emitProxyFence(ThreadBuilder &b);

// Copies and stores.

/// Where a box starts, but for the column, innermost first.
SmallVector<Value> getCoordinates(ThreadBuilder &b, hopper::MapType map,
                                  ValueRange batch, ValueRange head,
                                  ValueRange row);
/// Threads write their matrices to 64 rows of a tile.
void emitStaging(ThreadBuilder &b, ValueRange elements, TileView tile,
                 int64_t chunkBytes);
/// One thread has started all copies of the warpgroup.
void emitDrain(ThreadBuilder &b);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_SHARED_SHAREDMEMORY_H
