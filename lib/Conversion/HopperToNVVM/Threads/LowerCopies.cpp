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

namespace {
/// An element of a vector that a thread copies.
struct OwnElement {
  /// Elements in front of those that the threads copy at the same time.
  int64_t first;
  SmallVector<IndexElement> position;
  /// Whether it is in the buffer, and whether in the vector: null, if it always
  /// is.
  Value isInside, isOwn;
};
} // namespace

/// The elements that thread `own` of `threads` copies.
static SmallVector<OwnElement> getOwnElements(ThreadBuilder &b,
                                              hopper::PutVectorOp op,
                                              Operands<hopper::PutVectorOp> in,
                                              const BufferParameter &buffer,
                                              Value own, int64_t threads) {
  SmallVector<IndexElement> position = b.getPosition(in.getIndices());
  // The same for all elements but for the last index.
  Value outer;
  auto requireInside = [&](Value condition, IndexElement index,
                           IndexElement extent) -> Value {
    Value isInside = b.ult(b.toInt(index, 64), b.toInt(extent, 64));
    return condition ? b.andI(condition, isInside) : isInside;
  };
  for (auto [index, extent] :
       llvm::zip(ArrayRef(position).drop_back(), buffer.extents))
    outer = requireInside(outer, index, extent);
  IndexElement last = position.back();
  last.base = b.add(b.toInt(IndexElement{last.base, 0}, 64), b.zext64(own));
  SmallVector<OwnElement> list;
  int64_t count = op.getChannel().getType().getRows();
  for (int64_t first = 0; first < count; first += threads) {
    position.back() = {last.base, last.offset + first};
    Value isOwn =
        first + threads <= count ? Value() : b.ult(own, count - first);
    list.push_back(
        {first, position,
         requireInside(outer, position.back(), buffer.extents.back()), isOwn});
  }
  return list;
}

/// The least that `cp.async` copies.
static constexpr int64_t kLeastCopyBytes = 4;

/// Each thread starts copies of some elements, and arrives when they are done,
/// without waiting for them. Those outside of the buffer have no bytes.
/// Elements that are smaller than what can be copied so are loaded, before the
/// wait for room, and stored.
static void emitElementCopies(ThreadBuilder &b, hopper::PutVectorOp op,
                              Operands<hopper::PutVectorOp> in, Value to,
                              function_ref<Value()> waitFree) {
  BufferParameter buffer =
      b.getBuffer(op.getSource().getType(), in.getSource());
  int64_t bytes =
      hopper::getElementBytes(op.getChannel().getType().getElementType());
  bool areCopied = bytes >= kLeastCopyBytes;
  int64_t threads = b.thread.partition.getThreads();
  Value own = threads > hopper::kWarpThreads ? b.thread.inGroup : b.thread.lane;
  SmallVector<OwnElement> elements =
      getOwnElements(b, op, in, buffer, own, threads);
  auto getSource = [&](const OwnElement &element) {
    return b.getAddress(buffer, element.position, bytes);
  };
  Elements loaded(elements.size());
  if (!areCopied)
    for (auto [element, value] : llvm::zip(elements, loaded)) {
      Value isRead = element.isInside;
      if (element.isOwn)
        isRead = b.andI(isRead, element.isOwn);
      value = b.loadGlobal(getSource(element), isRead, 8 * bytes);
      if (bytes == 1)
        value = arith::TruncIOp::create(b, b.getI8Type(), value);
    }
  Value full = waitFree();
  bool haveAll = true;
  for (auto [element, value] : llvm::zip(elements, loaded)) {
    haveAll &= !element.isOwn;
    b.ifThen(element.isOwn, [&, &element = element, &value = value] {
      Value at =
          b.offsetPointer(to, b.mul(b.addOffset(own, element.first), bytes));
      if (!areCopied) {
        LLVM::StoreOp::create(b, value, at);
        return;
      }
      Value number = b.select(element.isInside, b.i32(bytes), b.i32(0));
      NVVM::CpAsyncOp::create(b, at, getSource(element), bytes,
                              NVVM::LoadCacheModifierKind::CA, number);
    });
  }
  // Threads without a last element would go on alone.
  if (!haveAll)
    emitWarpSync(b);
  if (areCopied)
    NVVM::CpAsyncMBarrierArriveOp::create(b, full, /*noinc=*/true);
  else
    emitArrive(b, full);
}

/// The words of bits, which all threads of each warp get.
static Elements getBits(ThreadBuilder &b, hopper::PutVectorOp op,
                        Operands<hopper::PutVectorOp> in) {
  BufferParameter buffer =
      b.getBuffer(op.getSource().getType(), in.getSource());
  // All loads are on their way before the first one is waited for.
  Elements words = llvm::map_to_vector(
      getOwnElements(b, op, in, buffer, b.thread.lane, hopper::kWarpThreads),
      [&](const OwnElement &element) -> Value {
        Value isRead = element.isInside;
        if (element.isOwn)
          isRead = b.andI(isRead, element.isOwn);
        return b.loadGlobal(b.getAddress(buffer, element.position, 1), isRead,
                            /*bits=*/8);
      });
  for (Value &word : words)
    word = NVVM::VoteSyncOp::create(b, b.getI32Type(), b.i32(-1),
                                    b.ne(b.andI(word, 1), 0),
                                    NVVM::VoteSyncKind::ballot);
  return words;
}

/// Elements are copied by the hardware, by threads if some may not be there, or
/// by one thread as bits.
static void lowerPutVector(hopper::PutVectorOp op,
                           Operands<hopper::PutVectorOp> in, ThreadBuilder &b) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = b.kernel.shared.get(op.getChannel());
  Value number = in.getNumber()[0];
  Value stage = getStage(b, number, type.getStages());
  Value phase = getFreePhase(b, number, type.getStages());
  auto getPointer = [&] {
    return getSharedPointer(b, getTile(getStageTile(b, tile, stage)));
  };
  auto waitFree = [&] { return emitWaitFree(b, tile, stage, phase); };
  if (type.isBits()) {
    Elements words = getBits(b, op, in);
    emitByLeader(b, [&] {
      Value full = waitFree();
      for (auto [number, word] : llvm::enumerate(words))
        LLVM::StoreOp::create(
            b, word,
            b.offsetPointer(getPointer(),
                            static_cast<int64_t>(number) * kVectorBytes));
      emitArrive(b, full);
    });
    return;
  }
  if (op.getZeroFill()) {
    emitElementCopies(b, op, in, getPointer(), waitFree);
    return;
  }
  // The hardware arrives when all elements are there.
  emitByLeader(b, [&] {
    Value full = waitFree();
    Value bytes = b.i32(type.getRows() * kVectorBytes);
    NVVM::MBarrierArriveExpectTxOp::create(
        b, TypeRange(), full, bytes, NVVM::MemScopeKind::CTA,
        /*relaxed=*/false, /*predicate=*/Value());
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, toCluster(b, getPointer()),
        b.getAddress(b.getBuffer(op.getSource().getType(), in.getSource()),
                     b.getPosition(in.getIndices()), kVectorBytes),
        full, bytes, /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
  });
}

void mlir::attn::populateCopyPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerPut);
  patterns.add(lowerPutVector);
}
