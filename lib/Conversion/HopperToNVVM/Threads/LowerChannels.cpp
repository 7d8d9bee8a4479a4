//===- LowerChannels.cpp - Channels and work queues -----------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static Results lowerGet(hopper::GetOp op, Operands<hopper::GetOp> in,
                        ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  auto wait = [&] {
    NVVM::MBarrierTryWaitParityOp::create(
        b, getBarrier(b, tile.fullBarrier, stage),
        getPhase(b, number, type.getStages()), b.i32(kSuspendTime));
    if (tile.isWrittenByThreads)
      emitProxyFence(b);
  };
  b.ifThen(getOptional(in.getCondition()), wait);
  Results results = {getStageTile(b, tile, stage)};
  if (!op.getPayload())
    return results;
  results.push_back({loadForWarp(b, getPayload(b, tile, stage))});
  return results;
}

static Elements lowerView(hopper::ViewOp op, Operands<hopper::ViewOp> in,
                          ThreadBuilder &b) {
  int64_t stages = op.getChannel().getType().getStages();
  return getStageTile(b, b.kernel.shared.get(op.getChannel()),
                      getStage(b, in.getNumber()[0], stages));
}

static void lowerRelease(hopper::ReleaseOp op, Operands<hopper::ReleaseOp> in,
                         ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Value stage = getStage(b, in.getNumber()[0], type.getStages());
  emitWarpArrive(b, getBarrier(b, tile.emptyBarrier, stage),
                 op.getCondition() ? in.getCondition()[0] : Value());
}

/// Where the numbers of a slot of a work queue lie.
static Value getMessage(ThreadBuilder &b, const SharedTile &workQueue,
                        Value slot) {
  Value first = b.offsetPointer(b.thread.sharedBase, workQueue.offset);
  return b.offsetPointer(first, b.mul(slot, workQueue.bytes));
}

static void lowerPost(hopper::PostOp op, Operands<hopper::PostOp> in,
                      ThreadBuilder &b) {
  const SharedTile &workQueue = b.kernel.shared.get(op.getWorkQueue());
  Value number = in.getNumber()[0];
  Value slot = getStage(b, number, kWorkQueueSlots);
  Value phase = getPhase(b, number, kWorkQueueSlots);
  emitByLeader(b, [&] {
    NVVM::MBarrierTryWaitParityOp::create(
        b, getBarrier(b, workQueue.emptyBarrier, slot), b.xorI(phase, 1),
        b.i32(kSuspendTime));
    Value message = getMessage(b, workQueue, slot);
    for (auto [at, value] : llvm::enumerate(in.getValues()))
      LLVM::StoreOp::create(
          b, value[0], b.offsetPointer(message, static_cast<int64_t>(4 * at)));
    emitArrive(b, getBarrier(b, workQueue.fullBarrier, slot));
  });
}

static Results lowerReceive(hopper::ReceiveOp op,
                            Operands<hopper::ReceiveOp> in, ThreadBuilder &b) {
  const SharedTile &workQueue = b.kernel.shared.get(op.getWorkQueue());
  Value number = in.getNumber()[0];
  Value slot = getStage(b, number, kWorkQueueSlots);
  Value phase = getPhase(b, number, kWorkQueueSlots);
  NVVM::MBarrierTryWaitParityOp::create(
      b, getBarrier(b, workQueue.fullBarrier, slot), phase,
      b.i32(kSuspendTime));
  Value message = getMessage(b, workQueue, slot);
  Results results;
  for (unsigned at = 0; at < op.getNumResults(); ++at)
    results.push_back({LLVM::LoadOp::create(b, b.getI32Type(),
                                            b.offsetPointer(message, 4 * at))});
  // All threads of the warp have read it.
  emitWarpSync(b);
  emitWarpArrive(b, getBarrier(b, workQueue.emptyBarrier, slot));
  return results;
}

void mlir::attn::populateChannelPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerGet);
  patterns.add(lowerView);
  patterns.add(lowerRelease);
  patterns.add(lowerPost);
  patterns.add(lowerReceive);
}
