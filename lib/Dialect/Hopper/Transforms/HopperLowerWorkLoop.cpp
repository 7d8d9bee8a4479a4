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

static Value divideCeil(ScalarBuilder &b, Value dividend, Value divisor) {
  return b.divU(b.add(dividend, b.sub(divisor, 1)), divisor);
}

namespace {
class WorkLoopLowering {
public:
  WorkLoopLowering(IRRewriter &rewriter, WorkLoopOp loop,
                   hopper::ScheduleAttr schedule, Value workQueue)
      : rewriter(rewriter), loop(loop), schedule(schedule),
        workQueue(workQueue), loc(loop.getLoc()) {
    // Who copies, which is the first one, also fetches work tiles.
    auto specialize = loop->getParentOfType<WarpSpecializeOp>();
    isProducer = specialize.findPartition(loop) == 0;
  }

  void run();

private:
  Value getBlock() {
    ScalarBuilder b = here();
    return b.toI32(gpu::BlockIdOp::create(b, gpu::Dimension::x));
  }
  Value emitHeadSwizzle(ArrayRef<Value> grid);
  SmallVector<Value> emitOrder(Value number, ArrayRef<Value> grid, Value group);
  bool hasTurns();
  Value fetchNext(bool isFirst);
  void inlineBody(Block *into, ValueRange ids, Value number, ValueRange carried,
                  SmallVectorImpl<Value> &ends);
  void emitPersistent(ArrayRef<Value> grid, Value group);

  /// Where the rewriter is.
  ScalarBuilder here() { return ScalarBuilder(loc, rewriter); }

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
  ScalarBuilder b = here();
  Value heads = b.mul(grid[0], grid[1]);
  Value groups = divideCeil(b, heads, b.toI32(loop.getGroup()));
  return divideCeil(b, heads, b.maxU(groups, 1));
}

/// The work tile that is `number`th in order, and the part of it.
SmallVector<Value>
WorkLoopLowering::emitOrder(Value number, ArrayRef<Value> grid, Value group) {
  ScalarBuilder b = here();
  SmallVector<Value> part;
  if (loop.getNumSplits()) {
    part.push_back(b.remU(number, grid[3]));
    number = b.divU(number, grid[3]);
  }
  Value heads = b.mul(grid[0], grid[1]), head, tile;
  if (!group) {
    head = b.divU(number, grid[2]);
    tile = b.remU(number, grid[2]);
  } else {
    // The last group may have fewer heads.
    Value groupSize = b.mul(grid[2], group);
    Value which = b.divU(number, groupSize);
    Value first = b.mul(which, group);
    Value size = b.minU(group, b.sub(heads, first));
    Value rest = b.sub(number, b.mul(which, groupSize));
    tile = b.divU(rest, size);
    head = b.add(first, b.remU(rest, size));
  }
  auto fromEnd = [&](Value number) { return b.sub(b.sub(grid[2], 1), number); };
  if (hasTurns())
    tile = schedule.emitPlaceInTurns(b, tile, grid[2], heads);
  else if (Value isFromEnd = schedule.emitIsLongestFirst(b, grid[2], heads))
    tile = b.select(isFromEnd, fromEnd(tile), tile);
  if (schedule.getZigzag()) {
    Value half = b.divU(tile, 2), isEven = b.eq(b.remU(tile, 2), 0);
    tile = b.select(isEven, fromEnd(half), half);
  }
  SmallVector<Value> ids = {b.divU(head, grid[1]), b.remU(head, grid[1]), tile};
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

/// Whether work tiles wait for those before them.
bool WorkLoopLowering::hasTurns() {
  auto turns = loop->getParentOfType<gpu::GPUFuncOp>().getOps<CreateTurnsOp>();
  return !turns.empty();
}

/// The first work tile is the one with the number of the CTA. Where work tiles
/// wait for others it is fetched, too: the one with that number may be of a CTA
/// that does not start before those that wait for it have ended.
Value WorkLoopLowering::fetchNext(bool isFirst) {
  if (isFirst && !hasTurns())
    return getBlock();
  ScalarBuilder b = here();
  Value next = FetchNextOp::create(b, b.getI32Type(), loop.getCounter());
  if (!hasTurns())
    return next;
  return b.sub(next, b.toI32(gpu::GridDimOp::create(b, gpu::Dimension::x)));
}

/// The producer does its first work tile, then fetches others, and tells the
/// consumers. It fetches when it has started all copies of a work tile, some
/// blocks before that one ends: late, as others may be free by then, and nobody
/// else can compute what has been fetched, nor what waits for it in turns.
void WorkLoopLowering::emitPersistent(ArrayRef<Value> grid, Value group) {
  Type i32Type = rewriter.getI32Type();
  SmallVector<Value> inits = {here().i32(0)};
  llvm::append_range(inits, loop.getInits());
  size_t numOwn = inits.size();
  if (isProducer)
    inits.push_back(fetchNext(/*isFirst=*/true));
  unsigned numIds = loop.getNumIds();
  SmallVector<Type> types(ValueRange(inits).getTypes()),
      afterTypes(ArrayRef<Type>(types).take_front(numOwn));
  afterTypes.append(numIds, i32Type);
  auto work = scf::WhileOp::create(rewriter, loc, afterTypes, inits);
  Block *before = rewriter.createBlock(
      &work.getBefore(), {}, types, SmallVector<Location>(types.size(), loc));
  ScalarBuilder b = here();
  Value use = before->getArgument(0), exists;
  SmallVector<Value> passed(before->getArguments().take_front(numOwn)), ids;
  if (isProducer) {
    Value number = before->getArguments().back();
    Value count = grid.front();
    for (Value extent : grid.drop_front())
      count = b.mul(count, extent);
    exists = b.slt(number, count);
    ids = emitOrder(number, grid, group);
    // Of all messages, only the end is negative.
    Value batch = b.andI(ids[0], std::numeric_limits<int32_t>::max());
    ids[0] = b.select(exists, batch, b.i32(-1));
    PostOp::create(rewriter, loc, workQueue, use, ids);
  } else {
    auto message = ReceiveOp::create(
        rewriter, loc, SmallVector<Type>(numIds, i32Type), workQueue, use);
    ids.assign(message.result_begin(), message.result_end());
    exists = b.sge(ids[0], 0);
  }
  llvm::append_range(passed, ids);
  scf::ConditionOp::create(rewriter, loc, exists, passed);

  Block *after =
      rewriter.createBlock(&work.getAfter(), {}, afterTypes,
                           SmallVector<Location>(afterTypes.size(), loc));
  ValueRange arguments = after->getArguments();
  SmallVector<Value> ends;
  inlineBody(after, arguments.drop_front(numOwn), arguments[0],
             arguments.slice(1, numOwn - 1), ends);
  rewriter.setInsertionPointToEnd(after);
  SmallVector<Value> yielded = {here().add(arguments[0], 1)};
  llvm::append_range(yielded, ends);
  if (isProducer)
    yielded.push_back(fetchNext(/*isFirst=*/false));
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
    grid.push_back(here().toI32(extent));
  bool isPersistent = loop.getCounter() != nullptr;
  Value group = isProducer || !isPersistent ? emitHeadSwizzle(grid) : Value();
  if (isPersistent)
    return emitPersistent(grid, group);
  SmallVector<Value> ends;
  inlineBody(loop->getBlock(), emitOrder(getBlock(), grid, group),
             here().i32(0), loop.getInits(), ends);
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
  Value length = b.maxS(b.sub(upper, lower), 0);
  Value blocks = b.maxU(divideCeil(b, divideCeil(b, length, step), parts),
                        range.getLeast());
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
