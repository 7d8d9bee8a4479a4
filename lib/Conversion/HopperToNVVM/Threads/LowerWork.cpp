//===- LowerWork.cpp - Distribution of work -------------------------------===//

#include "Shared/SharedMemory.h"
#include "ThreadPatterns.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"

using namespace mlir;
using namespace mlir::attn;

static Value addAtomically(ThreadBuilder &b, Value pointer, Value value) {
  return LLVM::AtomicRMWOp::create(b, LLVM::AtomicBinOp::add, pointer, value,
                                   LLVM::AtomicOrdering::monotonic,
                                   /*syncscope=*/"device");
}

/// The first operation of the block of `op` that uses its result, or has an
/// operation that does.
static Operation *getFirstUser(Operation *op) {
  Operation *first = op->getBlock()->getTerminator();
  for (Operation *user : op->getUsers())
    if (Operation *own = op->getBlock()->findAncestorOpInBlock(*user);
        own && own->isBeforeInBlock(first))
      first = own;
  return first;
}

/// The thread that asks does not wait for the answer, and the others have it
/// from that one where they need it: a warp would wait there.
static Elements lowerFetchNext(hopper::FetchNextOp op,
                               Operands<hopper::FetchNextOp> in,
                               ThreadBuilder &b) {
  OpBuilder::InsertionGuard guard(b);
  Value counter = in.getCounter().front(), before;
  if (b.thread.partition.getThreads() == 1) {
    before = addAtomically(b, counter, b.i32(1));
  } else {
    auto branch = scf::IfOp::create(b, b.getI32Type(), b.thread.isLeader,
                                    /*withElseRegion=*/true);
    b.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(b, addAtomically(b, counter, b.i32(1)));
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, b.i32(0));
    b.setInsertionPoint(getFirstUser(op));
    before = b.broadcast(branch.getResult(0));
  }
  Value blocks =
      b.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type());
  return {b.add(before, blocks)};
}

/// The second number counts the CTAs that are done.
static void lowerResetCounter(hopper::ResetCounterOp,
                              Operands<hopper::ResetCounterOp> in,
                              ThreadBuilder &b) {
  emitByLeader(b, [&] {
    Value pointer = in.getCounter().front();
    Value second = b.offsetPointer(pointer, 4);
    LLVM::FenceOp::create(b, LLVM::AtomicOrdering::acq_rel, "device");
    Value before = addAtomically(b, second, b.i32(1));
    Value blocks =
        b.intrinsic("llvm.nvvm.read.ptx.sreg.nctaid.x", {}, b.getI32Type());
    Value isLast = b.eq(before, b.sub(blocks, 1));
    b.ifThen(isLast, [&] {
      LLVM::StoreOp::create(b, b.i32(0), pointer);
      LLVM::StoreOp::create(b, b.i32(0), second);
    });
  });
}

void mlir::attn::populateWorkPatterns(ThreadPatterns &patterns) {
  patterns.add(lowerFetchNext);
  patterns.add(lowerResetCounter);
}
