//===- LowerCopies.cpp - Copies into channels -----------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadCopies.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// An address of this CTA's shared memory as one of the cluster's,
/// which is the same number.
static Value toCluster(ThreadBuilder &b, Value shared) {
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), shared);
  return LLVM::IntToPtrOp::create(
      b,
      LLVM::LLVMPointerType::get(
          b.getContext(),
          static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster)),
      address);
}

/// The hardware arrives when all bytes are there.
static void emitTensorCopy(ThreadBuilder &b, hopper::PutOp op,
                           Operands<hopper::PutOp> in, Value stage,
                           Value full) {
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  hopper::ChannelType type = op.getChannel().getType();
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), full, b.i32(tile.bytes), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
  SmallVector<Value> coordinates = getCoordinates(
      b, op.getMap().getType(), in.getBatch(), in.getHead(), in.getRow());
  Value firstColumn;
  if (op.getColumn())
    firstColumn = b.toInt(in.getColumn(), 32);
  int64_t chunkBytes = type.getRows() * kRowBytes;
  Elements view = getStageTile(b, tile, stage);
  for (int64_t chunk = 0; chunk * chunkBytes < tile.bytes; ++chunk) {
    int64_t column = chunk * type.getChunkColumns();
    SmallVector<Value> at = {firstColumn ? b.addOffset(firstColumn, column)
                                         : b.i32(column)};
    llvm::append_range(at, coordinates);
    // A copy to the cluster's memory is the same instruction as one to the
    // CTA's, and in PTX since 8.0 in place of 8.6.
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b, toCluster(b, getSharedPointer(b, getTile(view), chunk * chunkBytes)),
        in.getMap()[0], at, full, /*im2colOffsets=*/ValueRange(),
        /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/nullptr,
        /*predicate=*/Value());
  }
}

/// A payload is there when the tile is: whoever writes it arrives after that.
static void lowerPut(hopper::PutOp op, Operands<hopper::PutOp> in,
                     ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  Value phase = getFreePhase(b, number, type.getStages());
  auto wait = [&] { return emitWaitFree(b, tile, stage, phase); };
  auto writePayload = [&] {
    if (op.getPayload())
      LLVM::StoreOp::create(b, in.getPayload()[0], getPayload(b, tile, stage));
  };
  hopper::MapType map = op.getMap().getType();
  if (map.getAligned()) {
    // Which rows they are is read while the tile is waited for.
    SmallVector<Value> rows = getOwnRows(b, op, in);
    Value full = wait();
    emitByLeader(b, writePayload);
    emitAsyncCopyIn(b, op, in,
                    getSharedPointer(b, getTile(getStageTile(b, tile, stage))),
                    rows, full);
    return;
  }
  if (map.getStrided()) {
    Value full = wait();
    emitByLeader(b, writePayload);
    emitCopyIn(b, op, in,
               getSharedPointer(b, getTile(getStageTile(b, tile, stage))),
               full);
    return;
  }
  // Of a warp only the thread that copies waits: another one could be so late
  // that the phase it waits for looks as if it had not come yet.
  emitByLeader(b, [&] {
    Value full = wait();
    writePayload();
    emitTensorCopy(b, op, in, stage, full);
  });
}

/// Each thread starts copies of some elements, and arrives when they are done,
/// without waiting for them. Those outside of the buffer have no bytes.
static void emitElementCopies(ThreadBuilder &b, hopper::PutVectorOp op,
                              Operands<hopper::PutVectorOp> in, Value to,
                              Value full) {
  BufferParameter buffer =
      b.getBuffer(op.getSource().getType(), in.getSource());
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  // The same for all elements but for the last index.
  Value isInside;
  auto require = [&](Value index, IndexElement extent) {
    Value inRange = b.ult(index, b.toInt(extent, 64));
    isInside = isInside ? b.andI(isInside, inRange) : inRange;
  };
  for (auto [index, extent] :
       llvm::zip(ArrayRef(position).drop_back(), buffer.extents))
    require(b.toInt(index, 64), extent);
  int64_t threads = b.thread.partition.getThreads();
  int64_t count = op.getChannel().getType().getRows();
  Value own = b.thread.lane;
  if (threads > hopper::kWarpThreads)
    own = b.thread.inGroup;
  IndexElement last = position.back();
  last.base = b.add(b.toInt(IndexElement{last.base, 0}, 64), b.zext64(own));
  Value outer = isInside;
  for (int64_t first = 0; first < count; first += threads) {
    auto copy = [&] {
      isInside = outer;
      position.back() = {last.base, last.offset + first};
      require(b.toInt(position.back(), 64), buffer.extents.back());
      Value bytes = b.select(isInside, b.i32(kVectorBytes), b.i32(0));
      Value at =
          b.offsetPointer(to, b.mul(b.addOffset(own, first), kVectorBytes));
      NVVM::CpAsyncOp::create(
          b, at, b.getAddress(buffer, position, kVectorBytes), kVectorBytes,
          NVVM::LoadCacheModifierKind::CA, bytes);
    };
    if (first + threads <= count)
      copy();
    else
      b.ifThen(b.ult(own, count - first), copy);
  }
  // Threads without a last element would go on alone.
  if (count % threads != 0)
    emitWarpSync(b);
  NVVM::CpAsyncMBarrierArriveOp::create(b, full, /*noinc=*/true);
}

/// The hardware arrives when all elements are there.
static void lowerPutVector(hopper::PutVectorOp op,
                           Operands<hopper::PutVectorOp> in, ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  Value phase = getFreePhase(b, number, type.getStages());
  if (op.getZeroFill()) {
    Value full = emitWaitFree(b, tile, stage, phase);
    emitElementCopies(
        b, op, in, getSharedPointer(b, getTile(getStageTile(b, tile, stage))),
        full);
    return;
  }
  emitByLeader(b, [&] {
    Value full = emitWaitFree(b, tile, stage, phase);
    Value bytes = b.i32(type.getRows() * kVectorBytes);
    NVVM::MBarrierArriveExpectTxOp::create(
        b, TypeRange(), full, bytes, NVVM::MemScopeKind::CTA,
        /*relaxed=*/false, /*predicate=*/Value());
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b,
        toCluster(b,
                  getSharedPointer(b, getTile(getStageTile(b, tile, stage)))),
        b.getAddress(b.getBuffer(op.getSource().getType(), in.getSource()),
                     b.getPosition(in.getIndices()), kVectorBytes),
        full, bytes, /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
  });
}

void mlir::attn::populateCopyPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerPut);
  patterns.add(lowerPutVector);
}
