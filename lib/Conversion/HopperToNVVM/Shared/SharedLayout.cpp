//===- SharedLayout.cpp - Shared memory and barriers of a kernel ----------===//

#include "Threads/ThreadBuilder.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Memory
//===----------------------------------------------------------------------===//

/// The bytes of a tile, or of a vector.
template <typename TypeT> static int64_t getTileBytes(TypeT type) {
  if (type.isVector())
    return hopper::getVectorBytes(type.getRows(), type.getElementType());
  return llvm::divideCeil(type.getColumns(), type.getChunkColumns()) *
         type.getRows() * kRowBytes;
}

/// Of rows that stages share, what each has: the columns of one step of a
/// product.
static constexpr int64_t kStageBytes = 32;

void SharedLayout::placeBarriers(SharedTile &tile, int64_t count) {
  tile.numBarriers = count;
  tile.fullBarrier = numBarrierBytes;
  tile.emptyBarrier = numBarrierBytes + 8 * count;
  numBarrierBytes += 16 * count;
}

/// Two barriers for each replica that takes turns, at which a thread arrives,
/// and the warps of the replica, and the number of who had a turn before.
void SharedLayout::layOutTurns(hopper::WarpSpecializeOp specialize,
                               Value turns) {
  SharedTile &tile = tiles[turns];
  for (Operation *user : turns.getUsers())
    if (isa<hopper::TakeTurnOp>(user)) {
      hopper::PartitionAttr one =
          specialize.getPartition(*specialize.findPartition(user));
      tile.emptyArrivals = one.getWarpsOfReplica();
      placeBarriers(tile, one.getReplicas());
      tile.payload = numBarrierBytes;
      numBarrierBytes += llvm::alignTo(4 * one.getReplicas(), 8);
      return;
    }
}

/// Gives a channel or a work queue its barriers, and vectors and messages their
/// places behind them.
void SharedLayout::layOutRing(hopper::WarpSpecializeOp specialize, Value ring) {
  SharedTile &tile = tiles[ring];
  auto channel = dyn_cast<hopper::ChannelType>(ring.getType());
  int64_t stages = channel ? channel.getStages() : kWorkQueueSlots;
  placeBarriers(tile, stages);
  if (!channel) {
    tile.bytes = 4 * cast<hopper::WorkQueueType>(ring.getType()).getLength();
    tile.offset = numBarrierBytes;
    numBarrierBytes += llvm::alignTo(stages * tile.bytes, 8);
  } else if (channel.getPayload()) {
    tile.payload = numBarrierBytes;
    numBarrierBytes += llvm::alignTo(4 * stages, 8);
  } else if (channel.isVector()) {
    numBarrierBytes = llvm::alignTo(numBarrierBytes, kSegmentBytes);
    tile.bytes = getTileBytes(channel);
    tile.offset = numBarrierBytes;
    numBarrierBytes += stages * tile.bytes;
  }

  // Who arrives: a thread for the hardware, threads that copy, or warps.
  hopper::RingUsers users = specialize.getUsers(ring);
  for (Operation *op : users.puts) {
    hopper::PartitionAttr producer = specialize.getPartition(*users.producer);
    if (auto put = dyn_cast<hopper::PutOp>(op)) {
      hopper::MapType map = put.getMap().getType();
      if (map.getStrided())
        tile.fullArrivals = producer.getThreads();
      tile.isWrittenByThreads |= map.getAligned();
    } else if (auto vector = dyn_cast<hopper::PutVectorOp>(op)) {
      if (vector.getZeroFill() && !channel.isBits())
        tile.fullArrivals = producer.getThreads();
    } else if (isa<hopper::PutFragmentOp, hopper::PutBF16x3Op>(op)) {
      tile.fullArrivals = producer.getWarps();
    }
    tile.isBesideOthers |= isa<hopper::PutBF16x3Op>(op);
  }
  int64_t arrivals = 0;
  for (unsigned consumer : users.consumers)
    arrivals += specialize.getPartition(consumer).getWarps();
  tile.emptyArrivals = std::max<int64_t>(arrivals, 1);
}

/// Gives each channel and tile its place in shared memory: barriers first.
void SharedLayout::layOutMemory(hopper::WarpSpecializeOp specialize) {
  auto place = [&](int64_t bytes) {
    int64_t at = sharedBytes;
    sharedBytes += llvm::alignTo(bytes, kTileAlignment);
    return at;
  };
  Block &body = *specialize->getBlock();
  for (Operation &op : body)
    if (isa<hopper::CreateChannelOp, hopper::CreateWorkQueueOp>(op))
      layOutRing(specialize, op.getResult(0));
    else if (isa<hopper::CreateTurnsOp>(op))
      layOutTurns(specialize, op.getResult(0));
  sharedBytes =
      llvm::alignTo(std::max<int64_t>(numBarrierBytes, 1), kTileAlignment);
  for (Operation &op : body) {
    if (auto channel = dyn_cast<hopper::CreateChannelOp>(op)) {
      hopper::ChannelType type = channel.getResult().getType();
      if (type.isVector())
        continue;
      SharedTile &tile = tiles[channel.getResult()];
      if (tile.isBesideOthers) {
        tile.bytes = kStageBytes;
        tile.offset = place(getTileBytes(type));
        continue;
      }
      tile.bytes = getTileBytes(type);
      tile.offset = place(type.getStages() * tile.bytes);
    } else if (isa<hopper::CreateTileOp, hopper::CreateIotaTileOp>(op)) {
      Value result = op.getResult(0);
      auto type = cast<hopper::TileType>(result.getType());
      SharedTile &tile = tiles[result];
      tile.bytes = getTileBytes(type);
      tile.offset = place(tile.bytes);
    }
  }
}

//===----------------------------------------------------------------------===//
// Named barriers
//===----------------------------------------------------------------------===//

/// Gives ping-pong its named barriers.
LogicalResult
SharedLayout::assignBarriers(hopper::WarpSpecializeOp specialize) {
  int64_t next = 1;
  for (auto create :
       specialize->getBlock()->getOps<hopper::CreatePingPongOp>()) {
    pingPongBarriers[create.getResult()] = next;
    for (Operation *user : create.getResult().getUsers())
      if (std::optional<unsigned> number = specialize.findPartition(user)) {
        next += specialize.getPartition(*number).getReplicas();
        break;
      }
  }
  if (next > kGroupBarrier)
    return specialize.emitError("expects ping-pong to need fewer than ")
           << kGroupBarrier << " barriers";
  return success();
}

LogicalResult SharedLayout::assign(hopper::WarpSpecializeOp specialize) {
  if (failed(assignBarriers(specialize)))
    return failure();
  layOutMemory(specialize);
  return success();
}
