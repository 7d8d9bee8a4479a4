//===- LowerPartitions.cpp - Which threads do what ------------------------===//
//
// The warpgroups of a CTA branch to their partitions by their number. Of
// partitions that share warpgroups each is under a condition of its own.
//
//===----------------------------------------------------------------------===//

#include "ThreadProgram.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static constexpr int64_t kWarpsOfGroup = 4;
static constexpr int64_t kGroupThreads = kWarpsOfGroup * hopper::kWarpThreads;
/// Named barriers: 0 is for all threads, then come those of turns, the one of
/// each warpgroup, and one of a partition.
static constexpr int64_t kGroupBarrier = 7, kSyncBarrier = 15;

//===----------------------------------------------------------------------===//
// Partitions
//===----------------------------------------------------------------------===//

LogicalResult ThreadProgram::emitPartitions() {
  hopper::PartitionLayout layout(roles);
  unsigned numPartitions = roles.getPartitions().size();
  if (layout.getNumGroups() > 1)
    // Uniform in a warp, which a compiler does not see in a shifted thread id.
    group = NVVM::ShflOp::create(
        b, b.getI32Type(), i32(-1), arith::ShRUIOp::create(b, threadId, i32(7)),
        i32(0), i32(31), NVVM::ShflKind::idx, UnitAttr());
  else
    group = i32(0);
  OpBuilder::InsertionGuard guard(b);
  for (unsigned first = 0, end; first < numPartitions; first = end) {
    // Those that share warpgroups with the first one.
    for (end = first + 1; end < numPartitions; ++end)
      if (roles.getPartition(first).hasWarpgroups() ||
          roles.getPartition(end).hasWarpgroups())
        break;
    if (end == numPartitions)
      return emitWarpgroups(layout, first, end);
    int64_t from = layout.getFirstGroup(first), to = layout.getFirstGroup(end);
    Value isHere = to == from + 1
                       ? arith::CmpIOp::create(b, arith::CmpIPredicate::eq,
                                               group, i32(from))
                       : arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                               group, i32(to));
    auto branch = scf::IfOp::create(b, isHere, /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(emitWarpgroups(layout, first, end)))
      return failure();
    b.setInsertionPointToStart(branch.elseBlock());
  }
  return success();
}

/// What warpgroups do, all of which are the partitions from `first` to before
/// `end`.
LogicalResult
ThreadProgram::emitWarpgroups(const hopper::PartitionLayout &layout,
                              unsigned first, unsigned end) {
  int64_t registers = layout.getRegisters(first);
  NVVM::SetMaxRegisterOp::create(b, registers,
                                 registers < layout.startRegisters
                                     ? NVVM::SetMaxRegisterAction::decrease
                                     : NVVM::SetMaxRegisterAction::increase);
  LogicalResult result = success();
  for (unsigned number = first; number < end; ++number) {
    hopper::PartitionAttr one = roles.getPartition(number);
    if (one.hasWarpgroups())
      return emitPartition(layout, number);
    int64_t from = layout.firstWarps[number] * hopper::kWarpThreads;
    Value isIn;
    if (one.getThreads() == 1 && one.getReplicas() == 1) {
      isIn = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadId,
                                   i32(from));
    } else {
      isIn = arith::CmpIOp::create(b, arith::CmpIPredicate::ult,
                                   addOffset(threadId, -from),
                                   i32(one.getWarps() * hopper::kWarpThreads));
      if (one.getThreads() == 1)
        isIn = arith::AndIOp::create(
            b, isIn,
            arith::CmpIOp::create(
                b, arith::CmpIPredicate::eq,
                arith::AndIOp::create(b, threadId,
                                      i32(hopper::kWarpThreads - 1)),
                i32(0)));
    }
    emitIfThen(isIn, [&] { result = emitPartition(layout, number); });
    if (failed(result))
      return failure();
  }
  return result;
}

LogicalResult
ThreadProgram::emitPartition(const hopper::PartitionLayout &layout,
                             unsigned number) {
  partition = roles.getPartition(number);
  firstGroup = layout.getFirstGroup(number);
  int64_t firstThread = layout.firstWarps[number] * hopper::kWarpThreads;
  descriptors.clear();
  stores = false;
  isLeader = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, threadId,
                                   i32(firstThread));
  if (partition.hasWarpgroups())
    warpgroup = firstGroup == 0
                    ? group
                    : arith::SubIOp::create(b, group, i32(firstGroup));
  lane = arith::AndIOp::create(b, threadId, i32(hopper::kWarpThreads - 1));
  if (!partition.hasWarpgroups()) {
    isLane0 = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
    warpgroup = i32(0);
    if (partition.getReplicas() > 1) {
      Value inPartition =
          arith::ShRUIOp::create(b, addOffset(threadId, -firstThread), i32(5));
      warpgroup = arith::DivUIOp::create(b, inPartition,
                                         i32(partition.getWarpsOfReplica()));
    }
    return emitBlock(roles.getBodies()[number].front());
  }
  warp = arith::AndIOp::create(b, arith::ShRUIOp::create(b, threadId, i32(5)),
                               i32(kWarpsOfGroup - 1));
  quad = arith::AndIOp::create(b, lane, i32(3));
  row = arith::AddIOp::create(b, arith::MulIOp::create(b, warp, i32(16)),
                              arith::ShRUIOp::create(b, lane, i32(2)));
  isLane0 = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, lane, i32(0));
  groupThread = threadId;
  if (firstGroup != 0 || partition.getReplicas() > 1)
    groupThread = arith::AndIOp::create(b, threadId, i32(kGroupThreads - 1));
  isGroupLeader =
      arith::CmpIOp::create(b, arith::CmpIPredicate::eq, groupThread, i32(0));
  sharedInt = LLVM::PtrToIntOp::create(b, b.getI32Type(), sharedBase);
  // Descriptors go before this.
  partitionStart = i32(0).getDefiningOp();
  Block &body = roles.getBodies()[number].front();
  // The first replica starts.
  for (auto &entry : turnBarriers) {
    Value turns = entry.first;
    bool isHere = llvm::any_of(turns.getUsers(), [&](Operation *user) {
      return roles.findPartition(user) == number;
    });
    if (!isHere)
      continue;
    Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, warpgroup,
                                         i32(partition.getReplicas() - 1));
    emitIfThen(isLast, [&] { emitPassTurn(turns, warpgroup); });
  }
  if (failed(emitBlock(body)))
    return failure();
  // A thread does not end before its copies have.
  bool copies = body.walk([](hopper::PutOp put) {
                      return put.getMap().getType().getAligned()
                                 ? WalkResult::interrupt()
                                 : WalkResult::advance();
                    })
                    .wasInterrupted();
  if (copies) {
    NVVM::CpAsyncCommitGroupOp::create(b);
    NVVM::CpAsyncWaitGroupOp::create(b, 0);
  }
  emitStoreEnd();
  return success();
}

//===----------------------------------------------------------------------===//
// Barriers of threads
//===----------------------------------------------------------------------===//

void ThreadProgram::emitNamedBarrier(Value id, int64_t threads) {
  NVVM::BarrierOp::create(b, TypeRange(), id, i32(threads),
                          NVVM::BarrierReductionAttr(), Value());
}

void ThreadProgram::emitGroupBarrier() {
  emitNamedBarrier(addOffset(warpgroup, kGroupBarrier + firstGroup),
                   kGroupThreads);
}

void ThreadProgram::emitSync() {
  if (partition.getReplicas() == 1 && partition.hasWarpgroups())
    return emitGroupBarrier();
  if (partition.getWarps() == 1) {
    NVVM::SyncWarpOp::create(b, i32(-1));
    return;
  }
  emitNamedBarrier(i32(syncBarriers.at(partition.getName())),
                   partition.getWarps() * hopper::kWarpThreads);
}

/// The barrier of a replica is for its threads, which wait, and those of the
/// one before, which only arrive.
void ThreadProgram::emitTakeTurn(Value turns) {
  emitNamedBarrier(addOffset(warpgroup, turnBarriers.at(turns)),
                   2 * kGroupThreads);
}

void ThreadProgram::emitPassTurn(Value turns, Value from) {
  int64_t first = turnBarriers.at(turns);
  Value last = i32(partition.getReplicas() - 1);
  Value isLast = arith::CmpIOp::create(b, arith::CmpIPredicate::eq, from, last);
  Value next = arith::SelectOp::create(b, isLast, i32(first),
                                       addOffset(from, first + 1));
  NVVM::BarrierArriveOp::create(b, next, i32(2 * kGroupThreads));
}

/// Gives turns and partitions that synchronise their named barriers.
LogicalResult ThreadProgram::assignBarriers() {
  int64_t next = 1, last = kSyncBarrier;
  for (auto create : kernel.getBody().front().getOps<hopper::CreateTurnsOp>()) {
    turnBarriers[create.getResult()] = next;
    for (Operation *user : create.getResult().getUsers())
      if (std::optional<unsigned> number = roles.findPartition(user)) {
        next += roles.getPartition(*number).getReplicas();
        break;
      }
  }
  for (auto [number, body] : llvm::enumerate(roles.getBodies())) {
    hopper::PartitionAttr one = roles.getPartition(number);
    bool hasOwn =
        one.getWarps() == 1 || (one.getReplicas() == 1 && one.hasWarpgroups());
    bool syncs =
        body.walk([](hopper::SyncOp) { return WalkResult::interrupt(); })
            .wasInterrupted();
    if (hasOwn || !syncs)
      continue;
    syncBarriers[one.getName()] = last;
    // The barriers of warpgroups are in between.
    last = last == kSyncBarrier ? kGroupBarrier - 1 : last - 1;
  }
  int64_t end = std::min(last + 1, kGroupBarrier);
  if (next > end)
    return roles.emitError("expects turns and partitions that synchronise to "
                           "need fewer than ")
           << kGroupBarrier << " barriers";
  return success();
}
