//===- LowerPingPong.cpp - Turns of warpgroups ----------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// The barrier of a replica is for its threads, which wait, and those of the
/// one before, which only arrive.
static void lowerPingPongWait(PingPongWaitOp op, Operands<PingPongWaitOp>,
                              ThreadBuilder &b) {
  emitNamedBarrier(
      b,
      b.addOffset(b.thread.warpgroup,
                  b.kernel.shared.getPingPongBarrier(op.getPingPong())),
      2 * kWarpgroupThreads);
}

static void lowerPingPongArrive(PingPongArriveOp op, Operands<PingPongArriveOp>,
                                ThreadBuilder &b) {
  emitPingPongArrive(b, op.getPingPong(), b.thread.warpgroup);
}

void mlir::attn::populatePingPongPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerPingPongWait);
  patterns.add(lowerPingPongArrive);
}
