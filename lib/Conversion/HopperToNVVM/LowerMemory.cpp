//===- LowerMemory.cpp - Channels, turns and results ----------------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

/// How long the hardware may suspend a thread in one try of a wait, in ns.
static constexpr int64_t kSuspendTime = 10000000;

//===----------------------------------------------------------------------===//
// Addresses
//===----------------------------------------------------------------------===//

Value mlir::attn::offsetPointer(ImplicitLocOpBuilder &b, Value base,
                                Value offset) {
  return LLVM::GEPOp::create(b, base.getType(), b.getI8Type(), base,
                             ArrayRef<LLVM::GEPArg>{offset});
}

Value ThreadProgram::getBarrier(int64_t offset, Value stage) {
  Value base = sharedBase;
  if (offset)
    base = LLVM::GEPOp::create(
        b, base.getType(), b.getI8Type(), base,
        ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(offset)});
  return stage ? offsetPointer(b, base, arith::ShLIOp::create(b, stage, i32(3)))
               : base;
}

Value ThreadProgram::getStage(Value number, int64_t stages) {
  if (stages == 1)
    return {};
  return arith::AndIOp::create(b, number, i32(stages - 1));
}

/// 0 or 1 in turn, each time the ring has been filled.
Value ThreadProgram::getPhase(Value number, int64_t stages) {
  Value round = number;
  if (stages > 1)
    round = arith::ShRUIOp::create(b, number, i32(llvm::Log2_64(stages)));
  return arith::AndIOp::create(b, round, i32(1));
}

Value ThreadProgram::getSharedPointer(const TileView &tile, int64_t offset) {
  Value pointer =
      LLVM::GEPOp::create(b, sharedBase.getType(), b.getI8Type(), sharedBase,
                          ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(
                              tile.shared->offset + offset)});
  for (auto [number, bytes] : tile.offsets)
    pointer =
        offsetPointer(b, pointer, arith::MulIOp::create(b, number, i32(bytes)));
  return pointer;
}

Value ThreadProgram::getSharedAddress(const TileView &tile) {
  return LLVM::PtrToIntOp::create(b, b.getI32Type(), getSharedPointer(tile, 0));
}

//===----------------------------------------------------------------------===//
// Channels
//===----------------------------------------------------------------------===//

/// What one thread of a replica does for all.
void ThreadProgram::emitByLeader(function_ref<void()> body) {
  if (partition.getThreads() == 1)
    body();
  else
    emitIfThen(isLeader, body);
}

Value ThreadProgram::getNote(const SharedTile &tile, Value stage) {
  Value first = LLVM::GEPOp::create(
      b, sharedBase.getType(), b.getI8Type(), sharedBase,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(tile.note)});
  return stage
             ? offsetPointer(b, first, arith::ShLIOp::create(b, stage, i32(2)))
             : first;
}

/// The wait for a free tile is for the phase before, which passes at once on
/// the first use of a barrier.
Value ThreadProgram::getFreePhase(Value number, int64_t stages) {
  return arith::XOrIOp::create(b, getPhase(number, stages), i32(1));
}
/// Gives the barrier of the arrival.
Value ThreadProgram::emitWaitFree(const SharedTile &tile, Value stage,
                                  Value phase) {
  NVVM::MBarrierTryWaitParityOp::create(b, getBarrier(tile.emptyBarrier, stage),
                                        phase, i32(kSuspendTime));
  return getBarrier(tile.fullBarrier, stage);
}

/// A note is there when the tile is: whoever writes it arrives after that.
void ThreadProgram::emitPut(hopper::PutOp op) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = shared[op.getChannel()];
  Value number = get(op.getNumber())[0];
  Value stage = getStage(number, type.getStages());
  Value phase = getFreePhase(number, type.getStages());
  auto wait = [&] { return emitWaitFree(tile, stage, phase); };
  auto writeNote = [&] {
    if (op.getNote())
      LLVM::StoreOp::create(b, get(op.getNote())[0], getNote(tile, stage));
  };
  hopper::MapType map = op.getMap().getType();
  if (map.getAligned()) {
    // Which rows they are is read while the tile is waited for.
    SmallVector<Value> rows = getOwnRows(op);
    Value full = wait();
    emitByLeader(writeNote);
    emitAsyncCopyIn(op, getSharedPointer(getView(tile, stage), 0), rows, full);
    return;
  }
  if (map.getStrided()) {
    Value full = wait();
    emitByLeader(writeNote);
    emitCopyIn(op, getSharedPointer(getView(tile, stage), 0), full);
    return;
  }
  // Of a warp only the thread that copies waits: another one could be so late
  // that the phase it waits for looks as if it had not come yet.
  emitByLeader([&] {
    Value full = wait();
    writeNote();
    emitTensorCopy(op, tile, stage, full);
  });
}

/// An address of this thread block's shared memory as one of the cluster's,
/// which is the same number.
static Value toCluster(ImplicitLocOpBuilder &b, Value shared) {
  Value address = LLVM::PtrToIntOp::create(b, b.getI32Type(), shared);
  return LLVM::IntToPtrOp::create(
      b,
      LLVM::LLVMPointerType::get(
          b.getContext(),
          static_cast<unsigned>(NVVM::NVVMMemorySpace::SharedCluster)),
      address);
}

/// Where a box starts, but for the column, innermost first. In that of packed
/// heads, heads come before rows.
SmallVector<Value> ThreadProgram::getCoordinates(hopper::MapType map,
                                                 Value batch, Value head,
                                                 Value row) {
  SmallVector<Value> result = {getIndexInt(row, 32), getIndexInt(head, 32),
                               getIndexInt(batch, 32)};
  if (map.getPacked())
    std::swap(result[0], result[1]);
  return result;
}

/// The hardware arrives when all bytes are there.
void ThreadProgram::emitTensorCopy(hopper::PutOp op, const SharedTile &tile,
                                   Value stage, Value full) {
  hopper::ChannelType type = op.getChannel().getType();
  NVVM::MBarrierArriveExpectTxOp::create(
      b, TypeRange(), full, i32(tile.bytes), NVVM::MemScopeKind::CTA,
      /*relaxed=*/false, /*predicate=*/Value());
  SmallVector<Value> coordinates = getCoordinates(
      op.getMap().getType(), op.getBatch(), op.getHead(), op.getRow());
  Value firstColumn;
  if (op.getColumn())
    firstColumn = getIndexInt(op.getColumn(), 32);
  int64_t chunkBytes = type.getRows() * kRowBytes;
  for (int64_t chunk = 0; chunk * chunkBytes < tile.bytes; ++chunk) {
    int64_t column = chunk * hopper::getChunkColumns(type.getElementType());
    SmallVector<Value> at = {firstColumn ? addOffset(firstColumn, column)
                                         : i32(column)};
    llvm::append_range(at, coordinates);
    // A copy to the cluster's memory is the same instruction as one to the
    // thread block's, and in PTX since 8.0 in place of 8.6.
    NVVM::CpAsyncBulkTensorGlobalToSharedClusterOp::create(
        b,
        toCluster(b,
                  getSharedPointer(getView(tile, stage), chunk * chunkBytes)),
        get(op.getMap())[0], at, full, /*im2colOffsets=*/ValueRange(),
        /*multicastMask=*/Value(), /*l2CacheHint=*/Value(),
        NVVM::TMALoadMode::TILE, /*isCTAOnly=*/false, /*group=*/nullptr,
        /*predicate=*/Value());
  }
}

/// The hardware arrives when all floats are there.
void ThreadProgram::emitPutVector(hopper::PutVectorOp op) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = shared[op.getChannel()];
  Value number = get(op.getNumber())[0];
  Value stage = getStage(number, type.getStages());
  Value phase = getFreePhase(number, type.getStages());
  emitByLeader([&] {
    Value full = emitWaitFree(tile, stage, phase);
    Value bytes = i32(type.getRows() * kVectorBytes);
    NVVM::MBarrierArriveExpectTxOp::create(
        b, TypeRange(), full, bytes, NVVM::MemScopeKind::CTA,
        /*relaxed=*/false, /*predicate=*/Value());
    SmallVector<IndexElement> position;
    for (Value index : op.getIndices())
      position.push_back(getIndices(index)[0]);
    NVVM::CpAsyncBulkGlobalToSharedClusterOp::create(
        b, toCluster(b, getSharedPointer(getView(tile, stage), 0)),
        getAddress(buffers.at(op.getSource()), position, kVectorBytes), full,
        bytes, /*multicastMask=*/Value(), /*l2CacheHint=*/Value());
  });
}

void ThreadProgram::emitGet(hopper::GetOp op) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = shared[op.getChannel()];
  Value number = get(op.getNumber())[0];
  Value stage = getStage(number, type.getStages());
  auto wait = [&] {
    NVVM::MBarrierTryWaitParityOp::create(
        b, getBarrier(tile.fullBarrier, stage),
        getPhase(number, type.getStages()), i32(kSuspendTime));
    if (tile.isWrittenByThreads)
      emitProxyFence();
  };
  if (op.getCondition())
    emitIfThen(get(op.getCondition())[0], wait);
  else
    wait();
  tiles[op.getTile()] = getView(tile, stage);
  if (!op.getNote())
    return;
  values[op.getNote()] = {
      LLVM::LoadOp::create(b, b.getI32Type(), getNote(tile, stage))};
  // All threads of the warp have read it before one of them arrives.
  emitWarpSync();
}

void ThreadProgram::emitView(hopper::ViewOp op) {
  int64_t stages = op.getChannel().getType().getStages();
  tiles[op.getTile()] = getView(shared[op.getChannel()],
                                getStage(get(op.getNumber())[0], stages));
}

void ThreadProgram::emitArrive(Value barrier) {
  emitAsm("mbarrier.arrive.shared::cta.b64 _, [$0];", "r", barrier, {});
}

/// One arrival for each warp, if a condition that is not null holds.
void ThreadProgram::emitWarpArrive(Value barrier, Value condition) {
  Value arrives = partition.getThreads() == 1 ? Value() : isLane0;
  if (arrives && condition)
    arrives = arith::AndIOp::create(b, arrives, condition);
  else if (condition)
    arrives = condition;
  if (!arrives)
    return emitArrive(barrier);
  emitAsm("@$1 mbarrier.arrive.shared::cta.b64 _, [$0];", "r,b",
          {barrier, arrives}, {});
}

/// What threads of a warp have done before is done for all of them.
void ThreadProgram::emitWarpSync() {
  if (partition.getThreads() > 1)
    NVVM::SyncWarpOp::create(b, i32(-1));
}

void ThreadProgram::emitRelease(hopper::ReleaseOp op) {
  hopper::ChannelType type = op.getChannel().getType();
  const SharedTile &tile = shared[op.getChannel()];
  Value stage = getStage(get(op.getNumber())[0], type.getStages());
  emitWarpArrive(getBarrier(tile.emptyBarrier, stage),
                 op.getCondition() ? get(op.getCondition())[0] : Value());
}

//===----------------------------------------------------------------------===//
// Distribution of work
//===----------------------------------------------------------------------===//

static Value addAtomically(ImplicitLocOpBuilder &b, Value pointer,
                           Value value) {
  return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, value,
                                   LLVM::AtomicOrdering::monotonic,
                                   /*syncscope=*/"device");
}

void ThreadProgram::emitBallot(hopper::BallotOp op) {
  values[op.getBits()] = {NVVM::VoteSyncOp::create(b, b.getI32Type(), i32(-1),
                                                   get(op.getCondition())[0],
                                                   NVVM::VoteSyncKind::ballot)};
}

void ThreadProgram::emitClaim(hopper::ClaimOp op) {
  Value counter = buffers.at(op.getCounter()).pointer, before;
  if (partition.getThreads() == 1) {
    before = addAtomically(b, counter, i32(1));
  } else {
    auto branch =
        scf::IfOp::create(b, b.getI32Type(), isLeader, /*withElseRegion=*/true);
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, addAtomically(b, counter, i32(1)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, i32(0));
    b.setInsertionPointAfter(branch);
    before =
        NVVM::ShflOp::create(b, b.getI32Type(), i32(-1), branch.getResult(0),
                             i32(0), i32(31), NVVM::ShflKind::idx, UnitAttr());
  }
  Value blocks =
      intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type());
  values[op.getResult()] = {arith::AddIOp::create(b, before, blocks)};
}

/// The second number counts the thread blocks that are done.
void ThreadProgram::emitRetire(hopper::RetireOp op) {
  emitByLeader([&] { emitRetirement(op); });
}

void ThreadProgram::emitRetirement(hopper::RetireOp op) {
  Value pointer = buffers.at(op.getCounter()).pointer;
  Value second = LLVM::GEPOp::create(b, pointer.getType(), b.getI8Type(),
                                     pointer, ArrayRef<LLVM::GEPArg>{4});
  LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device");
  Value before = addAtomically(b, second, i32(1));
  Value blocks =
      intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type());
  Value isLast =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, before,
                            arith::SubIOp::create(b, blocks, i32(1)));
  emitIfThen(isLast, [&] {
    LLVM::StoreOp::create(b, i32(0), pointer);
    LLVM::StoreOp::create(b, i32(0), second);
  });
}

/// Where the numbers of a slot of a mailbox lie.
static Value getMessage(ImplicitLocOpBuilder &b, Value base,
                        const SharedTile &mailbox, Value slot) {
  Value first = LLVM::GEPOp::create(
      b, base.getType(), b.getI8Type(), base,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(mailbox.offset)});
  Value bytes = arith::ConstantIntOp::create(b, mailbox.bytes, 32);
  return offsetPointer(b, first, arith::MulIOp::create(b, slot, bytes));
}

static Value getNumber(ImplicitLocOpBuilder &b, Value message, size_t number) {
  return LLVM::GEPOp::create(
      b, message.getType(), b.getI8Type(), message,
      ArrayRef<LLVM::GEPArg>{static_cast<int32_t>(4 * number)});
}

void ThreadProgram::emitPost(hopper::PostOp op) {
  const SharedTile &mailbox = shared[op.getMailbox()];
  Value number = get(op.getNumber())[0];
  Value slot = getStage(number, kMailboxSlots);
  Value phase = getPhase(number, kMailboxSlots);
  emitByLeader([&] {
    NVVM::MBarrierTryWaitParityOp::create(
        b, getBarrier(mailbox.emptyBarrier, slot),
        arith::XOrIOp::create(b, phase, i32(1)), i32(kSuspendTime));
    Value message = getMessage(b, sharedBase, mailbox, slot);
    for (auto [at, value] : llvm::enumerate(op.getValues()))
      LLVM::StoreOp::create(b, get(value)[0], getNumber(b, message, at));
    emitArrive(getBarrier(mailbox.fullBarrier, slot));
  });
}

void ThreadProgram::emitReceive(hopper::ReceiveOp op) {
  const SharedTile &mailbox = shared[op.getMailbox()];
  Value number = get(op.getNumber())[0];
  Value slot = getStage(number, kMailboxSlots);
  Value phase = getPhase(number, kMailboxSlots);
  NVVM::MBarrierTryWaitParityOp::create(
      b, getBarrier(mailbox.fullBarrier, slot), phase, i32(kSuspendTime));
  Value message = getMessage(b, sharedBase, mailbox, slot);
  for (auto [at, value] : llvm::enumerate(op.getValues()))
    values[value] = {
        LLVM::LoadOp::create(b, b.getI32Type(), getNumber(b, message, at))};
  // All threads of the warp have read it.
  emitWarpSync();
  emitWarpArrive(getBarrier(mailbox.emptyBarrier, slot));
}

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

/// What threads have written to shared memory is there for copies and matrix
/// instructions.
void ThreadProgram::emitProxyFence() {
  NVVM::FenceProxyOp::create(
      b, NVVM::ProxyKind::async_shared,
      NVVM::SharedSpaceAttr::get(b.getContext(),
                                 NVVM::SharedSpace::shared_cta));
}

/// One thread has started all copies of the warpgroup.
void ThreadProgram::emitDrain() {
  emitIfThen(isGroupLeader, [&] {
    NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, b.getUnitAttr());
  });
}

/// Results go by way of the staging tile, whose rows one thread copies to
/// global memory; in parts, if the tile has fewer columns.
void ThreadProgram::emitStore(hopper::StoreOp op) {
  bool isStrided = op.getMap().getType().getStrided();
  stores |= !isStrided;
  hopper::TileType type = op.getStaging().getType();
  const TileView &tile = tiles.at(op.getStaging());
  int64_t columns = cast<VectorType>(op.getVector().getType()).getDimSize(0);
  int64_t chunkBytes = type.getParentRows() * kRowBytes;
  for (int64_t first = 0; first < columns; first += type.getColumns()) {
    // The copy before must have read the tile.
    if (!isStrided)
      emitDrain();
    emitGroupBarrier();
    int64_t end = std::min(columns, first + type.getColumns());
    // Four columns of a row are one register.
    emitStaging(
        ArrayRef(get(op.getVector())).slice(first / 4, (end - first) / 4), tile,
        chunkBytes);
    if (isStrided) {
      emitGroupBarrier();
      emitCopyOut(op, tile);
      continue;
    }
    emitProxyFence();
    emitGroupBarrier();
    emitIfThen(isGroupLeader, [&] {
      SmallVector<Value> coordinates = getCoordinates(
          op.getMap().getType(), op.getBatch(), op.getHead(), op.getRow());
      for (int64_t column = first; column < end;
           column += hopper::kChunkColumns) {
        SmallVector<Value> at = {
            op.getColumn() ? addOffset(getIndexInt(op.getColumn(), 32), column)
                           : i32(column)};
        llvm::append_range(at, coordinates);
        int64_t chunk = (column - first) / hopper::kChunkColumns;
        NVVM::CpAsyncBulkTensorSharedCTAToGlobalOp::create(
            b, get(op.getMap())[0], getSharedPointer(tile, chunk * chunkBytes),
            at, /*l2CacheHint=*/Value(), NVVM::TMAStoreMode::TILE,
            /*predicate=*/Value());
      }
      NVVM::CpAsyncBulkCommitGroupOp::create(b);
    });
  }
}

/// Shared memory must last until copies out of it are done.
void ThreadProgram::emitStoreEnd() {
  if (stores)
    emitIfThen(isGroupLeader,
               [&] { NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, UnitAttr()); });
}
