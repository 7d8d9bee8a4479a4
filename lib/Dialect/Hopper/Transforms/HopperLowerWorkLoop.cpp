//===- HopperLowerWorkLoop.cpp - Which work tiles a CTA has, in what order ===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERLOWERWORKLOOPPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
class WorkLoopLowering {
public:
  WorkLoopLowering(IRRewriter &rewriter, WorkLoopOp loop,
                   hopper::ScheduleAttr schedule, Value workQueue)
      : rewriter(rewriter), loop(loop), schedule(schedule),
        workQueue(workQueue), loc(loop.getLoc()) {
    // Who copies also fetches work tiles.
    isProducer = !getPartition(loop).hasWarpgroups();
  }

  void run();

private:
  Value getBlock() {
    return toI32(gpu::BlockIdOp::create(rewriter, loc, gpu::Dimension::x));
  }
  Value emitHeadSwizzle(ArrayRef<Value> grid);
  SmallVector<Value> emitOrder(Value number, ArrayRef<Value> grid, Value group);
  void inlineBody(Block *into, ValueRange ids, Value number, ValueRange carried,
                  SmallVectorImpl<Value> &ends);
  void emitPersistent(ArrayRef<Value> grid, Value group);

  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(),
                                      index);
  }
  template <typename Op> Value emit(Value a, Value b) {
    return Op::create(rewriter, loc, a, b);
  }
  Value divideCeil(Value a, Value b) {
    return emit<arith::DivUIOp>(
        emit<arith::AddIOp>(a, emit<arith::SubIOp>(b, i32(1))), b);
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(rewriter, loc, condition, a, b);
  }

  IRRewriter &rewriter;
  WorkLoopOp loop;
  hopper::ScheduleAttr schedule;
  Value workQueue;
  Location loc;
  bool isProducer = false;
};
} // namespace

/// How many heads take turns in the order of work tiles, at most as many as the
/// loop has; null for one.
Value WorkLoopLowering::emitHeadSwizzle(ArrayRef<Value> grid) {
  if (!loop.getGroup())
    return {};
  // As equal as can be, so that the last one keeps all CTAs busy.
  Value heads = emit<arith::MulIOp>(grid[0], grid[1]);
  Value groups = divideCeil(heads, toI32(loop.getGroup()));
  return divideCeil(heads, emit<arith::MaxUIOp>(groups, i32(1)));
}

/// The work tile that is `number`th in order, and the part of it.
SmallVector<Value>
WorkLoopLowering::emitOrder(Value number, ArrayRef<Value> grid, Value group) {
  SmallVector<Value> part;
  if (loop.getNumSplits()) {
    part.push_back(emit<arith::RemUIOp>(number, grid[3]));
    number = emit<arith::DivUIOp>(number, grid[3]);
  }
  Value heads = emit<arith::MulIOp>(grid[0], grid[1]), head, tile;
  if (!group) {
    head = emit<arith::DivUIOp>(number, grid[2]);
    tile = emit<arith::RemUIOp>(number, grid[2]);
  } else {
    // The last group may have fewer heads.
    Value groupSize = emit<arith::MulIOp>(grid[2], group);
    Value which = emit<arith::DivUIOp>(number, groupSize);
    Value first = emit<arith::MulIOp>(which, group);
    Value size = emit<arith::MinUIOp>(group, emit<arith::SubIOp>(heads, first));
    Value rest =
        emit<arith::SubIOp>(number, emit<arith::MulIOp>(which, groupSize));
    tile = emit<arith::DivUIOp>(rest, size);
    head = emit<arith::AddIOp>(first, emit<arith::RemUIOp>(rest, size));
  }
  auto fromEnd = [&](Value number) {
    return emit<arith::SubIOp>(emit<arith::SubIOp>(grid[2], i32(1)), number);
  };
  if (schedule.getLongestFirst())
    tile = fromEnd(tile);
  if (schedule.getZigzag()) {
    Value two = i32(2), half = emit<arith::DivUIOp>(tile, two);
    Value isEven = compare(arith::CmpIPredicate::eq,
                           emit<arith::RemUIOp>(tile, two), i32(0));
    tile = select(isEven, fromEnd(half), half);
  }
  SmallVector<Value> ids = {emit<arith::DivUIOp>(head, grid[1]),
                            emit<arith::RemUIOp>(head, grid[1]), tile};
  ids.append(part);
  return ids;
}

/// The numbers of a work tile become positions, whose ranges are known.
void WorkLoopLowering::inlineBody(Block *into, ValueRange ids, Value number,
                                  ValueRange carried,
                                  SmallVectorImpl<Value> &ends) {
  SmallVector<Value> arguments;
  for (auto [id, argument] : llvm::zip_equal(ids, loop.getIds())) {
    arguments.push_back(
        PositionOp::create(rewriter, loc, id, WorkLoopOp::getRowsOf(argument)));
  }
  arguments.push_back(number);
  llvm::append_range(arguments, carried);
  EndOp end = loop.getEnd();
  llvm::append_range(ends, end.getValues());
  rewriter.eraseOp(end);
  rewriter.inlineBlockBefore(loop.getBlock(), into,
                             rewriter.getInsertionPoint(), arguments);
}

/// The producer does the work tile with its CTA's number, then fetches others,
/// one ahead, so that the answer is there when it is needed. It tells the
/// consumers.
void WorkLoopLowering::emitPersistent(ArrayRef<Value> grid, Value group) {
  Type i32Type = rewriter.getI32Type();
  Value zero = i32(0), one = i32(1);
  SmallVector<Value> inits = {zero};
  llvm::append_range(inits, loop.getInits());
  size_t numOwn = inits.size();
  if (isProducer)
    inits.push_back(getBlock());
  unsigned numIds = loop.getNumIds();
  SmallVector<Type> types(ValueRange(inits).getTypes()),
      afterTypes(ArrayRef<Type>(types).take_front(numOwn));
  afterTypes.append(numIds, i32Type);
  auto work = scf::WhileOp::create(rewriter, loc, afterTypes, inits);
  Block *before = rewriter.createBlock(
      &work.getBefore(), {}, types, SmallVector<Location>(types.size(), loc));
  Value use = before->getArgument(0), exists;
  SmallVector<Value> passed(before->getArguments().take_front(numOwn)), ids;
  if (isProducer) {
    Value number = before->getArguments().back();
    Value count = grid.front();
    for (Value extent : grid.drop_front())
      count = emit<arith::MulIOp>(count, extent);
    exists = compare(arith::CmpIPredicate::slt, number, count);
    ids = emitOrder(number, grid, group);
    // Of all messages, only the end is negative.
    Value batch =
        emit<arith::AndIOp>(ids[0], i32(std::numeric_limits<int32_t>::max()));
    ids[0] = select(exists, batch, i32(-1));
    PostOp::create(rewriter, loc, workQueue, use, ids);
  } else {
    auto message = ReceiveOp::create(
        rewriter, loc, SmallVector<Type>(numIds, i32Type), workQueue, use);
    ids.assign(message.result_begin(), message.result_end());
    exists = compare(arith::CmpIPredicate::sge, ids[0], zero);
  }
  llvm::append_range(passed, ids);
  scf::ConditionOp::create(rewriter, loc, exists, passed);

  Block *after =
      rewriter.createBlock(&work.getAfter(), {}, afterTypes,
                           SmallVector<Location>(afterTypes.size(), loc));
  Value next;
  if (isProducer)
    next = FetchNextOp::create(rewriter, loc, i32Type, loop.getCounter());
  ValueRange arguments = after->getArguments();
  SmallVector<Value> ends;
  inlineBody(after, arguments.drop_front(numOwn), arguments[0],
             arguments.slice(1, numOwn - 1), ends);
  rewriter.setInsertionPointToEnd(after);
  SmallVector<Value> yielded = {emit<arith::AddIOp>(arguments[0], one)};
  llvm::append_range(yielded, ends);
  if (isProducer)
    yielded.push_back(next);
  scf::YieldOp::create(rewriter, loc, yielded);
  rewriter.setInsertionPointAfter(work);
  if (isProducer)
    ResetCounterOp::create(rewriter, loc, loop.getCounter());
  rewriter.replaceOp(loop, work.getResults().slice(1, numOwn - 1));
}

void WorkLoopLowering::run() {
  rewriter.setInsertionPoint(loop);
  SmallVector<Value> grid;
  for (Value extent : loop.getExtents())
    grid.push_back(toI32(extent));
  bool isPersistent = loop.getCounter() != nullptr;
  Value group = isProducer || !isPersistent ? emitHeadSwizzle(grid) : Value();
  if (isPersistent)
    return emitPersistent(grid, group);
  SmallVector<Value> ends;
  inlineBody(loop->getBlock(), emitOrder(getBlock(), grid, group), i32(0),
             loop.getInits(), ends);
  rewriter.replaceOp(loop, ends);
}

/// The rows of a tile, and what a replica has of them.
static void lower(IRRewriter &rewriter, WorkRowsOp rows) {
  rewriter.setInsertionPoint(rows);
  ScalarBuilder b(rows.getLoc(), rewriter);
  Value size = b.index(rows.getSize()), own = b.index(kWarpgroupRows);
  Value first = b.mul(rows.getTile(), size);
  Value count;
  if (rows.getShortFirst() && rows.getSize() != kWarpgroupRows) {
    // What tiles that start with the first row have beyond the last one, in
    // warpgroups.
    auto roundUp = [&](Value unit) {
      return b.mul(b.divU(b.add(rows.getCount(), b.sub(unit, 1)), unit), unit);
    };
    Value end = b.sub(b.add(first, size), b.sub(roundUp(size), roundUp(own)));
    first = b.maxS(b.sub(end, size), 0);
    count = b.sub(b.minS(end, rows.getCount()), first);
  } else {
    count = b.minS(b.sub(rows.getCount(), first), size);
  }
  Value end = b.add(first, count);
  if (rows.getOwn()) {
    Value before = b.mul(WarpgroupIdOp::create(b), own);
    // Without rows, those behind the last one.
    Value hasRows = b.slt(before, count);
    first = b.select(hasRows, b.add(first, before), rows.getCount());
    end = b.select(hasRows, b.minS(b.add(first, own), end), rows.getCount());
  }
  rewriter.replaceOp(rows, {first, end});
}

/// In i32, as positions are.
static void lower(IRRewriter &rewriter, SplitOfRangeOp range) {
  rewriter.setInsertionPoint(range);
  ScalarBuilder b(range.getLoc(), rewriter);
  auto toIndex = [&](Value value) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), value);
  };
  Value lower = b.toI32(range.getLower()), upper = b.toI32(range.getUpper()),
        parts = b.toI32(range.getNumSplits()), step = b.i32(range.getStep());
  auto ceilDiv = [&](Value dividend, Value divisor) {
    return b.divU(b.add(dividend, b.sub(divisor, 1)), divisor);
  };
  Value length = b.maxS(b.sub(upper, lower), 0);
  Value blocks =
      b.maxU(ceilDiv(ceilDiv(length, step), parts), range.getLeast());
  Value size = b.mul(blocks, step);
  Value first = b.add(lower, b.mul(b.toI32(range.getSplit()), size));
  Value end = b.minS(b.add(first, size), upper);
  rewriter.replaceOp(range, {toIndex(first), toIndex(end)});
}

namespace {
struct HopperLowerWorkLoop
    : public mlir::attn::impl::HopperLowerWorkLoopPassBase<
          HopperLowerWorkLoop> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    auto schedule =
        kernel->getAttrOfType<hopper::ScheduleAttr>(hopper::kScheduleAttrName);
    SmallVector<WorkLoopOp> loops;
    kernel.walk([&](WorkLoopOp loop) { loops.push_back(loop); });
    if (loops.empty())
      return;
    for (WorkLoopOp loop : loops)
      if (!schedule || !loop->getParentOfType<WarpSpecializeOp>()) {
        loop.emitOpError("expects to be in a partition of a kernel with a "
                         "schedule: run hopper-specialize before");
        return signalPassFailure();
      }
    IRRewriter rewriter(&getContext());
    Value workQueue;
    if (loops.front().getCounter()) {
      rewriter.setInsertionPoint(
          loops.front()->getParentOfType<WarpSpecializeOp>());
      workQueue = CreateWorkQueueOp::create(
          rewriter, kernel.getLoc(),
          WorkQueueType::get(&getContext(), loops.front().getNumIds()));
    }
    for (WorkLoopOp loop : loops)
      WorkLoopLowering(rewriter, loop, schedule, workQueue).run();
    SmallVector<WorkRowsOp> rows;
    kernel.walk([&](WorkRowsOp op) { rows.push_back(op); });
    for (WorkRowsOp op : rows)
      lower(rewriter, op);
    SmallVector<SplitOfRangeOp> parts;
    kernel.walk([&](SplitOfRangeOp op) { parts.push_back(op); });
    for (SplitOfRangeOp op : parts)
      lower(rewriter, op);
  }
};
} // namespace
