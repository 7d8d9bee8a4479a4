//===- TileLoop.cpp - The tiles of queries of a thread block --------------===//

#include "IntBuilder.h"
#include "Roles.h"

using namespace mlir;
using namespace mlir::attn;

Value Work::getKeyNumber(OpBuilder &builder, Location loc, Value t,
                         int64_t tileN) const {
  Value size = arith::ConstantIntOp::create(builder, loc, tileN, 32);
  Value back = arith::SubIOp::create(builder, loc, last, t);
  return arith::AddIOp::create(builder, loc, lo,
                               arith::MulIOp::create(builder, loc, back, size));
}

Value Work::getKey(OpBuilder &builder, Location loc, Value t,
                   int64_t tileN) const {
  return hopper::PositionOp::create(builder, loc,
                                    getKeyNumber(builder, loc, t, tileN));
}

/// More heads than are in a group by its schedule take turns up to these.
static constexpr int64_t kMostHeads = 32;

/// The tile of the grid that is `number`th in order; `groupHeads` is how many
/// take turns, or null for one.
static SmallVector<Value> emitOrder(IntBuilder &ib, Value number,
                                    ArrayRef<Value> grid, Value groupHeads,
                                    hopper::ScheduleAttr schedule) {
  Value heads = ib.mul(grid[0], grid[1]), head, tile;
  if (!groupHeads) {
    head = ib.div(number, grid[2]);
    tile = ib.rem(number, grid[2]);
  } else {
    // The last group may have fewer heads.
    Value groupSize = ib.mul(grid[2], groupHeads);
    Value group = ib.div(number, groupSize);
    Value first = ib.mul(group, groupHeads);
    Value size = arith::MinUIOp::create(ib.builder, ib.loc, groupHeads,
                                        ib.sub(heads, first));
    Value rest = ib.sub(number, ib.mul(group, groupSize));
    tile = ib.div(rest, size);
    head = ib.add(first, ib.rem(rest, size));
  }
  auto fromEnd = [&](Value number) {
    return ib.sub(ib.sub(grid[2], ib.constant(1)), number);
  };
  if (schedule.getReverse())
    tile = fromEnd(tile);
  if (schedule.getBothEnds()) {
    Value two = ib.constant(2), half = ib.div(tile, two);
    Value isEven =
        arith::CmpIOp::create(ib.builder, ib.loc, arith::CmpIPredicate::eq,
                              ib.rem(tile, two), ib.constant(0));
    tile = arith::SelectOp::create(ib.builder, ib.loc, isEven, fromEnd(half),
                                   half);
  }
  return {ib.div(head, grid[1]), ib.rem(head, grid[1]), tile};
}

namespace {
/// Walks the tiles of queries in one role.
class TileLoop {
public:
  TileLoop(OpBuilder &builder, TileProgram &program, WorkerCloner &cloner,
           const KernelResources &resources, bool isProducer)
      : builder(builder), program(program), cloner(cloner),
        resources(resources), isProducer(isProducer),
        loc(program.grid.getLoc()), ib{builder, loc}, zero(ib.constant(0)),
        one(ib.constant(1)) {}

  LogicalResult emit(function_ref<FailureOr<Value>(const Work &)> body);

private:
  LogicalResult start();
  void takePart(Work &work);
  FailureOr<Work> getWork(ValueRange ids, Value keyNumber, Value queryNumber);
  Value getBlock() {
    return ib.fromIndex(
        gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  }
  Value exchange(Value use, Value number, SmallVectorImpl<Value> &ids);

  OpBuilder &builder;
  TileProgram &program;
  WorkerCloner &cloner;
  const KernelResources &resources;
  bool isProducer;
  Location loc;
  IntBuilder ib;
  Value zero, one;
  SmallVector<Value> grid;
  /// How many heads take turns; null for one.
  Value groupHeads;
  /// Which part of the keys of a tile this thread block has, of how many; null
  /// if it has all.
  Value part, numParts;
};
} // namespace

/// Batch, head and tile.
static constexpr unsigned kNumIds = 3;

LogicalResult TileLoop::start() {
  for (OpFoldResult extent : program.grid.getMixedUpperBound()) {
    FailureOr<Value> value = cloner.getScalar(extent);
    if (failed(value))
      return failure();
    grid.push_back(ib.fromIndex(*value));
  }
  hopper::ScheduleAttr schedule = program.schedule;
  bool isOrdered = isProducer || !schedule.getPersistent();
  if (!isOrdered ||
      (schedule.getHeadGroup() == 1 && schedule.getHeadGroupKeys() == 0))
    return success();
  groupHeads = ib.constant(schedule.getHeadGroup());
  if (schedule.getHeadGroupKeys() == 0)
    return success();
  Value keys = arith::MaxSIOp::create(
      builder, loc,
      ib.fromIndex(
          cloner.getExtent(program.key.argument, program.key.dims[2], loc)),
      one);
  // Beyond some number of heads it makes no difference in the end, but costs.
  Value heads = arith::MinUIOp::create(
      builder, loc, ib.div(ib.constant(schedule.getHeadGroupKeys()), keys),
      ib.constant(kMostHeads));
  groupHeads = arith::MaxUIOp::create(builder, loc, groupHeads, heads);
  // Its tiles are no more than there are.
  groupHeads = arith::MinUIOp::create(builder, loc, groupHeads,
                                      ib.mul(grid[0], grid[1]));
  return success();
}

/// The work of a tile, whose indices are mapped from here on.
FailureOr<Work> TileLoop::getWork(ValueRange ids, Value keyNumber,
                                  Value queryNumber) {
  int64_t sizes[] = {1, 1, program.schedule.getTileM()};
  for (auto [from, to, size] :
       llvm::zip_equal(program.grid.getInductionVars(), ids, sizes))
    cloner.map(from, ib.toPosition(to, size));
  FailureOr<Value> lo = cloner.getScalar(program.keys.getLowerBound());
  FailureOr<Value> hi = cloner.getScalar(program.keys.getUpperBound());
  if (failed(lo) || failed(hi))
    return failure();
  Work work;
  work.keyNumber = keyNumber;
  work.queryNumber = queryNumber;
  work.lo = ib.fromIndex(*lo);
  Value length = arith::MaxSIOp::create(
      builder, loc, ib.sub(ib.fromIndex(*hi), work.lo), zero);
  int64_t tileN = program.schedule.getTileN();
  work.count =
      ib.div(ib.add(length, ib.constant(tileN - 1)), ib.constant(tileN));
  if (part)
    takePart(work);
  work.last = ib.sub(work.count, one);
  return work;
}

/// Of the tiles of keys, those of this thread block: all parts have as many,
/// but for the last ones, which may have fewer or none.
void TileLoop::takePart(Work &work) {
  Value size = ib.div(ib.add(work.count, ib.sub(numParts, one)), numParts);
  size = arith::MaxUIOp::create(builder, loc, size,
                                ib.constant(hopper::kLeastPartTiles));
  Value first = ib.mul(part, size);
  Value count =
      arith::MinSIOp::create(builder, loc, ib.sub(work.count, first), size);
  work.part = part;
  work.lo =
      ib.add(work.lo, ib.mul(first, ib.constant(program.schedule.getTileN())));
  work.count = arith::MaxSIOp::create(builder, loc, count, zero);
}

/// Which tile is the next one: the producer finds out, by its `number`, and
/// tells the consumers in message `use`. Gives whether there is one.
Value TileLoop::exchange(Value use, Value number, SmallVectorImpl<Value> &ids) {
  if (!isProducer) {
    auto message = hopper::ReceiveOp::create(
        builder, loc, SmallVector<Type>(kNumIds, builder.getI32Type()),
        resources.mailbox, use);
    ids.assign(message.result_begin(), message.result_end());
    return arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                 ids[0], zero);
  }
  Value exists =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number,
                            ib.mul(ib.mul(grid[0], grid[1]), grid[2]));
  ids = emitOrder(ib, number, grid, groupHeads, program.schedule);
  // Of all messages, only the end is negative.
  Value batch = arith::AndIOp::create(
      builder, loc, ids[0], ib.constant(std::numeric_limits<int32_t>::max()));
  ids[0] =
      arith::SelectOp::create(builder, loc, exists, batch, ib.constant(-1));
  hopper::PostOp::create(builder, loc, resources.mailbox, use, ids);
  return exists;
}

LogicalResult
TileLoop::emit(function_ref<FailureOr<Value>(const Work &)> body) {
  if (failed(start()))
    return failure();
  if (!program.schedule.getPersistent()) {
    Value number = getBlock();
    // The parts of a tile are neighbours, so that they end together.
    if (resources.parts) {
      numParts = ib.fromIndex(resources.parts->numParts);
      part = ib.rem(number, numParts);
      number = ib.div(number, numParts);
    }
    FailureOr<Work> work = getWork(
        emitOrder(ib, number, grid, groupHeads, program.schedule), zero, zero);
    return failure(failed(work) || failed(body(*work)));
  }

  // The producer does the tile with its block's number, then claims others, one
  // tile ahead, so that the answer is there when it is needed.
  Type i32 = builder.getI32Type();
  SmallVector<Value> inits = {zero, zero};
  if (isProducer)
    inits.push_back(getBlock());
  SmallVector<Type> types(inits.size(), i32), afterTypes(2 + kNumIds, i32);
  auto loop = scf::WhileOp::create(builder, loc, afterTypes, inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types,
                                      SmallVector<Location>(types.size(), loc));
  SmallVector<Value> passed(before->getArguments().take_front(2)), ids;
  Value exists = exchange(before->getArgument(0),
                          isProducer ? before->getArgument(2) : Value(), ids);
  llvm::append_range(passed, ids);
  scf::ConditionOp::create(builder, loc, exists, passed);

  Block *after =
      builder.createBlock(&loop.getAfter(), {}, afterTypes,
                          SmallVector<Location>(afterTypes.size(), loc));
  Value next;
  if (isProducer)
    next = hopper::ClaimOp::create(builder, loc, i32, resources.counter);
  Value use = after->getArgument(0), keyNumber = after->getArgument(1);
  FailureOr<Work> work = getWork(
      ValueRange(after->getArguments()).slice(2, kNumIds), keyNumber, use);
  if (failed(work))
    return failure();
  FailureOr<Value> nextKeyNumber = body(*work);
  if (failed(nextKeyNumber))
    return failure();
  SmallVector<Value> yielded = {ib.add(use, one), *nextKeyNumber};
  if (isProducer)
    yielded.push_back(next);
  scf::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointAfter(loop);
  if (isProducer)
    hopper::RetireOp::create(builder, loc, resources.counter);
  return success();
}

LogicalResult
mlir::attn::emitWork(OpBuilder &builder, TileProgram &program,
                     WorkerCloner &cloner, const KernelResources &resources,
                     bool isProducer,
                     function_ref<FailureOr<Value>(const Work &)> body) {
  return TileLoop(builder, program, cloner, resources, isProducer).emit(body);
}
