//===- ProducerRole.cpp - The order of tiles, and their copies ------------===//

#include "Roles.h"

using namespace mlir;
using namespace mlir::attn;

Value Work::getKey(OpBuilder &builder, Location loc, Value t,
                   int64_t tileN) const {
  Value size = arith::ConstantIntOp::create(builder, loc, tileN, 32);
  Value back = arith::SubIOp::create(builder, loc, last, t);
  Value key = arith::AddIOp::create(
      builder, loc, lo, arith::MulIOp::create(builder, loc, back, size));
  return hopper::PositionOp::create(builder, loc, builder.getIndexType(), key);
}

namespace {
/// Arithmetic on i32, for short: a launch has less than 2^31 tiles.
struct IntBuilder {
  OpBuilder &builder;
  Location loc;
  Value constant(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value fromIndex(Value value) {
    return arith::IndexCastOp::create(builder, loc, builder.getI32Type(),
                                      value);
  }
  Value toPosition(Value value) {
    return hopper::PositionOp::create(builder, loc, builder.getIndexType(),
                                      value);
  }
  Value add(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulIOp::create(builder, loc, a, b);
  }
  Value div(Value a, Value b) {
    return arith::DivUIOp::create(builder, loc, a, b);
  }
  Value rem(Value a, Value b) {
    return arith::RemUIOp::create(builder, loc, a, b);
  }
};
} // namespace

/// The tile of the grid that is `number`th in order.
static SmallVector<Value> emitOrder(IntBuilder &ib, Value number,
                                    ArrayRef<Value> grid,
                                    hopper::ScheduleAttr schedule) {
  Value heads = ib.mul(grid[0], grid[1]), head, tile;
  if (schedule.getHeadGroup() == 1) {
    head = ib.div(number, grid[2]);
    tile = ib.rem(number, grid[2]);
  } else {
    // The last group may have fewer heads.
    Value groupHeads = ib.constant(schedule.getHeadGroup());
    Value groupSize = ib.mul(grid[2], groupHeads);
    Value group = ib.div(number, groupSize);
    Value first = ib.mul(group, groupHeads);
    Value size = arith::MinUIOp::create(ib.builder, ib.loc, groupHeads,
                                        ib.sub(heads, first));
    Value rest = ib.sub(number, ib.mul(group, groupSize));
    tile = ib.div(rest, size);
    head = ib.add(first, ib.rem(rest, size));
  }
  if (schedule.getReverse())
    tile = ib.sub(ib.sub(grid[2], ib.constant(1)), tile);
  return {ib.div(head, grid[1]), ib.rem(head, grid[1]), tile};
}

/// Makes the first row of the tile a position, of which more is known than of
/// the index arithmetic it comes from.
static LogicalResult mapRow(WorkerCloner &cloner, TileProgram &program,
                            IntBuilder &ib) {
  auto row = dyn_cast<Value>(program.query.position[2]);
  if (!row)
    return success();
  FailureOr<Value> value = cloner.getScalar(row);
  if (failed(value))
    return failure();
  cloner.map(row, ib.toPosition(ib.fromIndex(*value)));
  return success();
}

LogicalResult
mlir::attn::emitWork(OpBuilder &builder, TileProgram &program,
                     WorkerCloner &cloner, const KernelResources &resources,
                     bool isProducer,
                     function_ref<LogicalResult(const Work &)> body) {
  Location loc = program.grid.getLoc();
  IntBuilder ib{builder, loc};
  SmallVector<Value> grid;
  for (OpFoldResult extent : program.grid.getMixedUpperBound()) {
    FailureOr<Value> value = cloner.getScalar(extent);
    if (failed(value))
      return failure();
    grid.push_back(ib.fromIndex(*value));
  }
  Value zero = ib.constant(0), one = ib.constant(1);
  auto emitTile = [&](ValueRange ids, Value keyNumber,
                      Value queryNumber) -> FailureOr<Value> {
    for (auto [from, to] :
         llvm::zip_equal(program.grid.getInductionVars(), ids))
      cloner.map(from, ib.toPosition(to));
    if (failed(mapRow(cloner, program, ib)))
      return failure();
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
    work.last = ib.sub(work.count, one);
    if (failed(body(work)))
      return failure();
    return work.count;
  };
  auto getBlock = [&] {
    return ib.fromIndex(
        gpu::BlockIdOp::create(builder, loc, gpu::Dimension::x));
  };
  if (!program.schedule.getPersistent())
    return emitTile(emitOrder(ib, getBlock(), grid, program.schedule), zero,
                    zero);

  // The producer does the tile with its block's number, then claims others, one
  // tile ahead, so that the answer is there when it is needed. It finds out
  // which tile that is for all; -1 tells the consumers that there is none.
  constexpr unsigned numIds = 3;
  Type i32 = builder.getI32Type();
  SmallVector<Value> inits = {zero, zero};
  if (isProducer)
    inits.push_back(getBlock());
  SmallVector<Type> types(inits.size(), i32), afterTypes(2 + numIds, i32);
  auto loop = scf::WhileOp::create(builder, loc, afterTypes, inits);
  OpBuilder::InsertionGuard guard(builder);
  Block *before = builder.createBlock(&loop.getBefore(), {}, types,
                                      SmallVector<Location>(types.size(), loc));
  Value use = before->getArgument(0), exists;
  SmallVector<Value> passed(before->getArguments().take_front(2));
  if (isProducer) {
    Value number = before->getArgument(2);
    exists =
        arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt, number,
                              ib.mul(ib.mul(grid[0], grid[1]), grid[2]));
    SmallVector<Value> ids = emitOrder(ib, number, grid, program.schedule);
    // Of all messages, only the end is negative.
    Value batch = arith::AndIOp::create(
        builder, loc, ids[0], ib.constant(std::numeric_limits<int32_t>::max()));
    ids[0] =
        arith::SelectOp::create(builder, loc, exists, batch, ib.constant(-1));
    hopper::PostOp::create(builder, loc, resources.mailbox, use, ids);
    llvm::append_range(passed, ids);
  } else {
    auto message = hopper::ReceiveOp::create(
        builder, loc, SmallVector<Type>(numIds, i32), resources.mailbox, use);
    exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge,
                                   message.getResult(0), zero);
    llvm::append_range(passed, message.getResults());
  }
  scf::ConditionOp::create(builder, loc, exists, passed);

  Block *after =
      builder.createBlock(&loop.getAfter(), {}, afterTypes,
                          SmallVector<Location>(afterTypes.size(), loc));
  Value next;
  if (isProducer)
    next = hopper::ClaimOp::create(builder, loc, i32, resources.counter);
  use = after->getArgument(0);
  Value keyNumber = after->getArgument(1);
  FailureOr<Value> count = emitTile(
      ValueRange(after->getArguments()).slice(2, numIds), keyNumber, use);
  if (failed(count))
    return failure();
  SmallVector<Value> yielded = {ib.add(use, one), ib.add(keyNumber, *count)};
  if (isProducer)
    yielded.push_back(next);
  scf::YieldOp::create(builder, loc, yielded);
  builder.setInsertionPointAfter(loop);
  if (isProducer)
    hopper::RetireOp::create(builder, loc, resources.counter);
  return success();
}

LogicalResult mlir::attn::emitProducer(OpBuilder &builder, TileProgram &program,
                                       KernelArguments &arguments,
                                       const KernelResources &resources) {
  WorkerCloner cloner(builder, program, arguments, /*warpgroup=*/nullptr);
  Location loc = program.grid.getLoc();
  IntBuilder ib{builder, loc};
  // `key` stands for the position that the loop over keys counts.
  auto put = [&](Value channel, Value number, Value map,
                 const TileAccess &access, Value key) -> LogicalResult {
    SmallVector<Value> position;
    bool hasColumn = !isConstantIntValue(access.position[3], 0);
    for (OpFoldResult index :
         ArrayRef(access.position).take_front(hasColumn ? 4 : 3)) {
      if (key && index == OpFoldResult(program.keys.getInductionVar())) {
        position.push_back(key);
        continue;
      }
      FailureOr<Value> value = cloner.getScalar(index);
      if (failed(value))
        return failure();
      position.push_back(*value);
    }
    hopper::PutOp::create(builder, loc, channel, number, map, position[0],
                          position[1], position[2],
                          hasColumn ? position[3] : Value());
    return success();
  };
  auto emitTile = [&](const Work &work) -> LogicalResult {
    auto putKeys = [&](Value channel, Value map, const TileAccess &access,
                       Value t) {
      return put(channel, ib.add(work.keyNumber, t), map, access,
                 work.getKey(builder, loc, t, program.schedule.getTileN()));
    };
    auto putKey = [&](Value t) -> LogicalResult {
      if (failed(
              putKeys(resources.keyChannel, resources.keyMap, program.key, t)))
        return failure();
      for (auto [capture, channel, map] :
           llvm::zip_equal(program.captures, resources.captureChannels,
                           resources.captureMaps))
        if (failed(putKeys(channel, map, capture.access, t)))
          return failure();
      return success();
    };
    auto putValue = [&](Value t) {
      return putKeys(resources.valueChannel, resources.valueMap, program.value,
                     t);
    };
    if (failed(put(resources.queryChannel, work.queryNumber, resources.queryMap,
                   program.query, Value())))
      return failure();
    Value zero = ib.constant(0), one = ib.constant(1);
    auto hasKeys = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sgt, work.count, zero);
    auto branch = scf::IfOp::create(builder, loc, hasKeys,
                                    /*withElseRegion=*/false);
    cloner.setAnchor(branch);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    if (failed(putKey(zero)))
      return failure();
    // Consumers start the scores of a tile before the values of the one before.
    auto loop = scf::ForOp::create(builder, loc, one, work.count, one);
    {
      OpBuilder::InsertionGuard inLoop(builder);
      builder.setInsertionPointToStart(loop.getBody());
      Value t = loop.getInductionVar();
      if (failed(putKey(t)) || failed(putValue(ib.sub(t, one))))
        return failure();
    }
    return putValue(work.last);
  };
  return emitWork(builder, program, cloner, resources, /*isProducer=*/true,
                  emitTile);
}
