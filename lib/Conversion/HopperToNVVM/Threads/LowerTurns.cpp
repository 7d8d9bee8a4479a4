//===- LowerTurns.cpp - Turns to add to memory ----------------------------===//
//
// Each replica that takes turns has two barriers: the one that is full when its
// turn has come, and the one that is empty when its warps have added. They
// order what CTAs add: a number that is seen was written behind all that was
// added before it, and the barriers hand that on, to the replica and from it.
// Whether it is the first one, and the last, lies beside the barriers.
//
//===----------------------------------------------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static void emitWait(ThreadBuilder &b, int64_t barrier, Value number) {
  NVVM::MBarrierTryWaitParityOp::create(
      b, getBarrier(b, barrier, b.thread.warpgroup),
      getPhase(b, number, /*stages=*/1), b.i32(kSuspendTime));
}

/// Bits of what a replica is told of its turn, each of which an instruction
/// tests without a shift.
static constexpr int64_t kIsFirst = 1, kIsLast = int64_t(1) << 31;

static Value getPlaceOfFlags(ThreadBuilder &b, Value turns) {
  return getPayload(b, b.kernel.shared.get(turns), b.thread.warpgroup);
}

template <typename OpT>
static Value getCounter(OpT op, Operands<OpT> in, ThreadBuilder &b) {
  return b.getAddress(b.getBuffer(op.getCounters().getType(), in.getCounters()),
                      b.getPosition(in.getIndices()), /*bytes=*/4);
}

static void lowerHoldTurn(HoldTurnOp op, Operands<HoldTurnOp> in,
                          ThreadBuilder &b) {
  Value after = b.toInt(in.getAfter(), 32);
  b.asmOp("{ .reg .pred mine; .reg .b32 last; AGAIN: "
          "ld.acquire.gpu.global.b32 last, [$0]; "
          "setp.eq.s32 mine, last, $1; @!mine bra AGAIN; }",
          "l,r", {getCounter(op, in, b), after}, {});
  auto getFlag = [&](Value condition, int64_t flag) {
    return b.select(condition, b.i32(static_cast<int32_t>(flag)), b.i32(0));
  };
  Value flags = getFlag(b.eq(after, 0), kIsFirst);
  if (Value last = getOptional(in.getLast()))
    flags = b.orI(flags, getFlag(last, kIsLast));
  LLVM::StoreOp::create(b, flags, getPlaceOfFlags(b, op.getTurns()));
  emitArrive(b, getBarrier(b, b.kernel.shared.get(op.getTurns()).fullBarrier,
                           b.thread.warpgroup));
}

static Results lowerTakeTurn(TakeTurnOp op, Operands<TakeTurnOp> in,
                             ThreadBuilder &b) {
  Value condition = getOptional(in.getCondition());
  b.ifThen(condition, [&] {
    emitWait(b, b.kernel.shared.get(op.getTurns()).fullBarrier,
             in.getNumber()[0]);
  });
  Value flags = loadForWarp(b, getPlaceOfFlags(b, op.getTurns()), condition);
  return {{b.ne(b.andI(flags, kIsFirst), 0)}, {b.slt(flags, 0)}};
}

static void lowerGiveTurn(GiveTurnOp op, Operands<GiveTurnOp> in,
                          ThreadBuilder &b) {
  emitWarpSync(b);
  emitWarpArrive(b,
                 getBarrier(b, b.kernel.shared.get(op.getTurns()).emptyBarrier,
                            b.thread.warpgroup),
                 getOptional(in.getCondition()));
}

static void lowerPassTurn(PassTurnOp op, Operands<PassTurnOp> in,
                          ThreadBuilder &b) {
  emitWait(b, b.kernel.shared.get(op.getTurns()).emptyBarrier,
           in.getNumber()[0]);
  b.asmOp("st.release.gpu.global.b32 [$0], $1;", "l,r",
          {getCounter(op, in, b), b.toInt(in.getOwn(), 32)}, {});
}

void mlir::attn::populateTurnPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerHoldTurn);
  patterns.add(lowerTakeTurn);
  patterns.add(lowerGiveTurn);
  patterns.add(lowerPassTurn);
}
