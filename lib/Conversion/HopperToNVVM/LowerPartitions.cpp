//===- LowerPartitions.cpp - Which threads do what ------------------------===//
//
// The warpgroups of a CTA branch to their partitions by their number. Of
// partitions that share warpgroups each is under a condition of its own.
//
//===----------------------------------------------------------------------===//

#include "LowerPartitions.h"
#include "DependentLaunch.h"
#include "Shared/SharedMemory.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

/// All threads write a tile of so many rows, 16 bytes at a time: all columns of
/// a row are the two numbers of 16 bits that `getPair` gives for it. So those
/// of a chunk may be in any order.
static void writeTile(ThreadBuilder &b, Value shared, int64_t rows,
                      function_ref<Value(Value)> getPair) {
  constexpr int64_t numSegments = kRowBytes / kSegmentBytes;
  auto loop = scf::ForOp::create(b, b.thread.id, b.i32(rows * numSegments),
                                 b.i32(b.kernel.numThreads));
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  Value segment = loop.getInductionVar();
  Value pair = getPair(b.divU(segment, numSegments));
  auto vector = VectorType::get({kSegmentBytes / 4}, b.getI32Type());
  Value all = LLVM::UndefOp::create(b, vector);
  for (int64_t e = 0; e < kSegmentBytes / 4; ++e)
    all = LLVM::InsertElementOp::create(b, all, pair, b.i32(e));
  TileView tile = getTile(getStageTile(b, b.kernel.shared.get(shared), {}));
  Value address =
      b.offsetPointer(getSharedPointer(b, tile), b.mul(segment, kSegmentBytes));
  LLVM::StoreOp::create(b, all, address, kSegmentBytes);
  // Products read by another way than threads write.
  b.setInsertionPointAfter(loop);
  emitProxyFence(b);
}

/// The iota tiles, and what nobody writes of tiles whose stages are columns of
/// the same rows, which products read as 0.
static void writeTiles(ThreadBuilder &b) {
  Block *body = b.kernel.specialize->getBlock();
  for (auto iotaTile : body->getOps<hopper::CreateIotaTileOp>()) {
    hopper::TileType type = iotaTile.getResult().getType();
    writeTile(b, iotaTile.getResult(), type.getRows(), [&](Value number) {
      Value row = arith::UIToFPOp::create(b, b.getF32Type(), number);
      return b.packPair(row, row, type.getElementType());
    });
  }
  for (auto channel : body->getOps<hopper::CreateChannelOp>())
    if (b.kernel.shared.get(channel.getResult()).isBesideOthers)
      writeTile(b, channel.getResult(), channel.getResult().getType().getRows(),
                [&](Value) { return b.i32(0); });
}

/// One thread initialises the barriers of channels, work queues and turns.
static void initBarriers(ThreadBuilder &b) {
  Value isFirst = b.eq(b.thread.id, 0);
  b.ifThen(isFirst, [&] {
    for (Operation &op : *b.kernel.specialize->getBlock()) {
      if (!isa<hopper::CreateChannelOp, hopper::CreateWorkQueueOp,
               hopper::CreateTurnsOp>(op))
        continue;
      const SharedTile &tile = b.kernel.shared.get(op.getResult(0));
      for (int64_t stage = 0; stage < tile.numBarriers; ++stage) {
        NVVM::MBarrierInitOp::create(
            b, getBarrier(b, tile.fullBarrier + 8 * stage, {}),
            b.i32(tile.fullArrivals), Value());
        NVVM::MBarrierInitOp::create(
            b, getBarrier(b, tile.emptyBarrier + 8 * stage, {}),
            b.i32(tile.emptyArrivals), Value());
      }
    }
    NVVM::FenceMbarrierInitOp::create(b);
  });
  waitForKernelBefore(b, b.getLoc(), /*isShort=*/false);
  NVVM::BarrierOp::create(b);
}

void mlir::attn::emitKernelStart(Kernel &kernel) {
  OpBuilder builder(kernel.function.getContext());
  // Behind what stands for the kernel's arguments.
  Block &body = kernel.function.getBody().front();
  builder.setInsertionPointToStart(&body);
  Thread &thread = kernel.all;
  ThreadBuilder b(builder, kernel.function.getLoc(), kernel, thread);
  thread.id = NVVM::ThreadIdXOp::create(b, b.getI32Type());
  if (!kernel.specialize) {
    thread.lane = b.andI(thread.id, hopper::kWarpThreads - 1);
    waitForKernelBefore(b, b.getLoc(), /*isShort=*/true);
    return;
  }
  thread.sharedBase = LLVM::AddressOfOp::create(
      b, LLVM::LLVMPointerType::get(b.getContext(), 3), kSharedName);
  writeTiles(b);
  initBarriers(b);
  b.setInsertionPoint(kernel.specialize);
  hopper::PartitionLayout layout(kernel.specialize);
  if (layout.getNumGroups() > 1)
    // Uniform in a warp, which a compiler does not see in a shifted thread id.
    thread.group = b.broadcast(b.shrU(thread.id, 7));
  else
    thread.group = b.i32(0);
}

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

/// The values of threads of whole warpgroups.
static void emitWarpgroupStart(ThreadBuilder &b, Block &body) {
  Thread &thread = b.thread;
  thread.warp = b.andI(b.shrU(thread.id, 5), hopper::kWarpgroupWarps - 1);
  thread.quad = b.andI(thread.lane, 3);
  thread.row = b.add(b.mul(thread.warp, 16), b.shrU(thread.lane, 2));
  thread.isLane0 = b.eq(thread.lane, 0);
  thread.inGroup = thread.id;
  if (thread.firstGroup != 0 || thread.partition.getReplicas() > 1)
    thread.inGroup = b.andI(thread.id, hopper::kWarpgroupThreads - 1);
  thread.isGroupLeader = b.eq(thread.inGroup, 0);
  thread.sharedInt =
      LLVM::PtrToIntOp::create(b, b.getI32Type(), thread.sharedBase);
  thread.start = b.i32(0).getDefiningOp();
  // The first replica starts.
  for (auto [pingPong, barrier] : b.kernel.shared.getPingPong()) {
    bool isHere = llvm::any_of(pingPong.getUsers(), [&](Operation *user) {
      return body.getParent()->isAncestor(user->getParentRegion());
    });
    if (!isHere)
      continue;
    Value isLast = b.eq(thread.warpgroup, thread.partition.getReplicas() - 1);
    b.ifThen(isLast, [&, pingPong = pingPong] {
      emitPingPongArrive(b, pingPong, thread.warpgroup);
    });
  }
}

/// A thread does not end before its copies have.
static void emitCopiesEnd(ThreadBuilder &b, Block &body) {
  bool copies = false;
  body.walk([&](Operation *op) {
    if (auto put = dyn_cast<hopper::PutOp>(op))
      copies |= put.getMap().getType().getAligned();
    if (auto put = dyn_cast<hopper::PutVectorOp>(op))
      copies |= put.getZeroFill() && !put.getChannel().getType().isBits();
  });
  if (copies) {
    NVVM::CpAsyncCommitGroupOp::create(b);
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
  }
}

/// Shared memory must last until copies out of it are done.
static void emitStoresEnd(ThreadBuilder &b, Block &body) {
  bool stores = false;
  body.walk([&](hopper::StoreOp store) {
    stores |= !store.getMap().getType().getStrided();
  });
  if (stores)
    b.ifThen(b.thread.isGroupLeader,
             [&] { NVVM::CpAsyncBulkWaitGroupOp::create(b, 0, UnitAttr()); });
}

void mlir::attn::emitPartitionStarts(Kernel &kernel) {
  hopper::PartitionLayout layout(kernel.specialize);
  for (auto [number, region] : llvm::enumerate(kernel.specialize.getBodies())) {
    Block &body = region.front();
    OpBuilder builder(kernel.function.getContext());
    builder.setInsertionPointToStart(&body);
    Thread &thread = kernel.threads[&region];
    thread.id = kernel.all.id;
    thread.sharedBase = kernel.all.sharedBase;
    thread.group = kernel.all.group;
    thread.partition = kernel.specialize.getPartition(number);
    thread.firstGroup = layout.getFirstGroup(number);
    ThreadBuilder b(builder, kernel.specialize.getLoc(), kernel, thread);
    int64_t firstThread = layout.firstWarps[number] * hopper::kWarpThreads;
    thread.isLeader = b.eq(thread.id, firstThread);
    // The number of the only one needs no register. Where one partition
    // computes it stays a value: as a constant, ptxas 13.0 spills for three
    // CTAs of an SM.
    constexpr size_t loadAndCompute = 2;
    bool isOnly = thread.partition.getReplicas() == 1 &&
                  (!thread.partition.hasWarpgroups() ||
                   kernel.specialize.getBodies().size() > loadAndCompute);
    thread.warpgroup = isOnly ? b.i32(0) : thread.group;
    if (!isOnly && thread.firstGroup != 0)
      thread.warpgroup = b.sub(thread.group, thread.firstGroup);
    thread.lane = b.andI(thread.id, hopper::kWarpThreads - 1);
    if (thread.partition.hasWarpgroups()) {
      emitWarpgroupStart(b, body);
      b.setInsertionPoint(body.getTerminator());
      emitCopiesEnd(b, body);
      emitStoresEnd(b, body);
      continue;
    }
    thread.isLane0 = b.eq(thread.lane, 0);
    if (!isOnly) {
      Value inPartition = b.shrU(b.addOffset(thread.id, -firstThread), 5);
      thread.warpgroup =
          b.divU(inPartition, thread.partition.getWarpsOfReplica());
    }
    b.setInsertionPoint(body.getTerminator());
    emitCopiesEnd(b, body);
  }
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// Puts the program of a partition at the insertion point.
static void moveBody(ThreadBuilder &b, unsigned number) {
  Block &body = b.kernel.specialize.getBodies()[number].front();
  body.getTerminator()->erase();
  b.getInsertionBlock()->getOperations().splice(b.getInsertionPoint(),
                                                body.getOperations());
}

/// The program of a partition of fewer warps than a warpgroup, for its threads
/// among those of the warps that get here.
static void emitWarps(ThreadBuilder &b, unsigned number, Value isIn) {
  OpBuilder::InsertionGuard guard(b);
  auto branch = scf::IfOp::create(b, isIn, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  moveBody(b, number);
}

/// What warpgroups do, all of which are the partitions from `first` to before
/// `end`.
static void emitWarpgroups(ThreadBuilder &b,
                           const hopper::PartitionLayout &layout,
                           unsigned first, unsigned end) {
  hopper::WarpSpecializeOp specialize = b.kernel.specialize;
  Value id = b.kernel.all.id;
  int64_t registers = layout.getRegisters(first);
  NVVM::SetMaxRegisterOp::create(b, registers,
                                 registers < layout.startRegisters
                                     ? NVVM::SetMaxRegisterAction::decrease
                                     : NVVM::SetMaxRegisterAction::increase);
  hopper::PartitionAttr only = specialize.getPartition(first);
  if (only.hasWarpgroups())
    return moveBody(b, first);
  auto equals = [&](Value value, int64_t number) -> Value {
    return b.eq(value, number);
  };
  auto isBelow = [&](Value value, int64_t number) -> Value {
    return b.ult(value, number);
  };
  int64_t from = layout.firstWarps[first] * hopper::kWarpThreads;
  if (end == first + 1 && only.getReplicas() == 1)
    return emitWarps(b, first,
                     only.getThreads() == 1
                         ? equals(id, from)
                         : isBelow(b.addOffset(id, -from),
                                   only.getWarps() * hopper::kWarpThreads));
  // Each warp branches to one program and ends with it: ptxas keeps what is
  // uniform in uniform registers only where no thread of the warp goes on to
  // another one.
  Value warp = b.broadcast(b.shrU(id, 5));
  Value lane = b.andI(id, hopper::kWarpThreads - 1);
  for (unsigned number = first; number < end; ++number) {
    hopper::PartitionAttr one = specialize.getPartition(number);
    Value isHere =
        isBelow(b.addOffset(warp, -layout.firstWarps[number]), one.getWarps());
    if (one.getWarps() == 1)
      isHere = equals(warp, layout.firstWarps[number]);
    auto branch = scf::IfOp::create(b, isHere, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    if (one.getThreads() == 1)
      emitWarps(b, number, equals(lane, 0));
    else
      moveBody(b, number);
    b.setInsertionPointToStart(branch.elseBlock());
  }
}

void mlir::attn::emitPartitionBranches(Kernel &kernel) {
  hopper::WarpSpecializeOp specialize = kernel.specialize;
  OpBuilder builder(specialize);
  ThreadBuilder b(builder, specialize.getLoc(), kernel, kernel.all);
  hopper::PartitionLayout layout(specialize);
  unsigned numPartitions = specialize.getPartitions().size();
  for (unsigned first = 0, end; first < numPartitions; first = end) {
    // Those that share warpgroups with the first one.
    for (end = first + 1; end < numPartitions; ++end)
      if (specialize.getPartition(first).hasWarpgroups() ||
          specialize.getPartition(end).hasWarpgroups())
        break;
    if (end == numPartitions) {
      emitWarpgroups(b, layout, first, end);
      break;
    }
    int64_t from = layout.getFirstGroup(first), to = layout.getFirstGroup(end);
    Value isHere = to == from + 1 ? b.eq(kernel.all.group, from)
                                  : b.ult(kernel.all.group, to);
    auto branch = scf::IfOp::create(b, isHere, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    emitWarpgroups(b, layout, first, end);
    b.setInsertionPointToStart(branch.elseBlock());
  }
  // What is left of channels and ping-pong barriers.
  Block *block = specialize->getBlock();
  specialize.erase();
  for (Operation &op : llvm::make_early_inc_range(*block))
    if (isa<hopper::CreateChannelOp, hopper::CreateWorkQueueOp,
            hopper::CreatePingPongOp, hopper::CreateTurnsOp>(op))
      op.erase();
}
