//===- SharedMemory.cpp - Shared memory and barriers of a thread ----------===//

#include "SharedMemory.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

SmallVector<TileStep> mlir::attn::getSteps(TileView tile) {
  SmallVector<TileStep> steps;
  SmallVector<Value> terms = {tile.segments};
  while (!terms.empty()) {
    Value term = terms.pop_back_val();
    APInt segments;
    if (matchPattern(term, m_Zero()))
      continue;
    if (auto sum = term.getDefiningOp<arith::AddIOp>()) {
      terms.append({sum.getRhs(), sum.getLhs()});
      continue;
    }
    auto product = term.getDefiningOp<arith::MulIOp>();
    if (product && matchPattern(product.getRhs(), m_ConstantInt(&segments)))
      steps.push_back({product.getLhs(), segments.getSExtValue()});
    else
      steps.push_back({term, 1});
  }
  return steps;
}

Elements mlir::attn::advanceTile(ThreadBuilder &b, TileView tile, Value number,
                                 int64_t bytes) {
  assert(bytes % kSegmentBytes == 0 && "tiles start at segments");
  if (!number)
    return {tile.start, tile.segments};
  Value segments = b.mul(number, bytes / kSegmentBytes);
  b.markRepeated(segments, number);
  if (!matchPattern(tile.segments, m_Zero())) {
    segments = b.add(tile.segments, segments);
    b.markRepeated(segments, tile.segments);
  }
  return {tile.start, segments};
}

Elements mlir::attn::getStageTile(ThreadBuilder &b, const SharedTile &tile,
                                  Value stage) {
  TileView first = {b.i32(tile.offset), b.i32(0)};
  return advanceTile(b, first, stage, tile.bytes);
}

Value mlir::attn::getSharedPointer(ThreadBuilder &b, TileView tile,
                                   int64_t offset) {
  Value pointer = b.thread.sharedBase;
  APInt start;
  if (matchPattern(tile.start, m_ConstantInt(&start)))
    pointer = b.offsetPointer(pointer, start.getSExtValue() + offset);
  else
    pointer = b.offsetPointer(pointer, b.addOffset(tile.start, offset));
  for (auto [number, segments] : getSteps(tile))
    pointer = b.offsetPointer(pointer, b.mul(number, segments * kSegmentBytes));
  return pointer;
}

Value mlir::attn::getSharedAddress(ThreadBuilder &b, TileView tile) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), getSharedPointer(b, tile));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

Value mlir::attn::getStage(ThreadBuilder &b, Value number, int64_t stages) {
  if (stages == 1)
    return {};
  return b.andI(number, stages - 1);
}

Value mlir::attn::getPhase(ThreadBuilder &b, Value number, int64_t stages) {
  Value round = number;
  if (stages > 1)
    round = b.shrU(number, llvm::Log2_64(stages));
  return b.andI(round, 1);
}

Value mlir::attn::getFreePhase(ThreadBuilder &b, Value number, int64_t stages) {
  return b.xorI(getPhase(b, number, stages), 1);
}

Value mlir::attn::getBarrier(ThreadBuilder &b, int64_t offset, Value stage) {
  Value base = b.thread.sharedBase;
  if (offset)
    base = b.offsetPointer(base, offset);
  return stage ? b.offsetPointer(base, b.shl(stage, 3)) : base;
}

Value mlir::attn::emitWaitFree(ThreadBuilder &b, const SharedTile &tile,
                               Value stage, Value phase) {
  NVVM::MBarrierTryWaitParityOp::create(
      b, getBarrier(b, tile.emptyBarrier, stage), phase, b.i32(kSuspendTime));
  return getBarrier(b, tile.fullBarrier, stage);
}

Value mlir::attn::getPayload(ThreadBuilder &b, const SharedTile &tile,
                             Value stage) {
  Value first = b.offsetPointer(b.thread.sharedBase, tile.payload);
  return stage ? b.offsetPointer(first, b.shl(stage, 2)) : first;
}

Value mlir::attn::loadForWarp(ThreadBuilder &b, Value pointer,
                              Value condition) {
  Type type = b.getI32Type();
  if (b.thread.partition.getThreads() == 1 && !condition)
    return LLVM::LoadOp::create(b, type, pointer);
  Value loads = b.thread.isLane0;
  if (condition)
    loads = b.andI(loads, condition);
  Value own = b.asmOp("{ mov.b32 $0, 0; @$2 ld.shared.b32 $0, [$1]; }",
                      "=&r,r,b", {pointer, loads}, type)
                  .front();
  return b.broadcast(own);
}

void mlir::attn::emitArrive(ThreadBuilder &b, Value barrier) {
  // Without the clobber, LLVM sinks loads below what frees their memory.
  b.asmOp("mbarrier.arrive.shared::cta.b64 _, [$0];", "r,~{memory}", barrier,
          {});
}

void mlir::attn::emitWarpArrive(ThreadBuilder &b, Value barrier,
                                Value condition) {
  Value arrives =
      b.thread.partition.getThreads() == 1 ? Value() : b.thread.isLane0;
  if (arrives && condition)
    arrives = b.andI(arrives, condition);
  else if (condition)
    arrives = condition;
  if (!arrives)
    return emitArrive(b, barrier);
  b.asmOp("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b,~{memory}",
          {barrier, arrives}, {});
}

//===----------------------------------------------------------------------===//
// Threads
//===----------------------------------------------------------------------===//

void mlir::attn::emitByLeader(ThreadBuilder &b, function_ref<void()> body) {
  if (b.thread.partition.getThreads() == 1)
    body();
  else
    b.ifThen(b.thread.isLeader, body);
}

void mlir::attn::emitWarpSync(ThreadBuilder &b) {
  if (b.thread.partition.getThreads() > 1)
    NVVM::SyncWarpOp::create(b, b.i32(-1));
}

void mlir::attn::emitNamedBarrier(ThreadBuilder &b, Value id, int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), id, b.i32(threads),
                          NVVM::BarrierReductionAttr(), Value());
}

void mlir::attn::emitGroupBarrier(ThreadBuilder &b) {
  emitNamedBarrier(
      b, b.addOffset(b.thread.warpgroup, kGroupBarrier + b.thread.firstGroup),
      hopper::kWarpgroupThreads);
}

void mlir::attn::emitPingPongArrive(ThreadBuilder &b, Value pingPong,
                                    Value from) {
  int64_t first = b.kernel.shared.getPingPongBarrier(pingPong);
  Value last = b.i32(b.thread.partition.getReplicas() - 1);
  Value isLast = b.eq(from, last);
  Value next = b.select(isLast, b.i32(first), b.addOffset(from, first + 1));
  NVVM::BarrierArriveOp::create(b, next, b.i32(2 * hopper::kWarpgroupThreads));
}

void mlir::attn::emitProxyFence(ThreadBuilder &b) {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

//===----------------------------------------------------------------------===//
// Copies and stores
//===----------------------------------------------------------------------===//

/// In the box of packed heads, heads come before rows.
SmallVector<Value> mlir::attn::getCoordinates(ThreadBuilder &b,
                                              hopper::MapType map,
                                              ValueRange batch, ValueRange head,
                                              ValueRange row) {
  SmallVector<Value> result = {b.toInt(row, 32), b.toInt(head, 32),
                               b.toInt(batch, 32)};
  if (map.getPacked())
    std::swap(result[0], result[1]);
  return result;
}

void mlir::attn::emitDrain(ThreadBuilder &b) {
  b.ifThen(b.thread.isGroupLeader, [&] {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, b.getUnitAttr());
  });
}
