//===- ConsumerRole.cpp - The order in which a warpgroup computes ---------===//
//
// For one tile of queries, with the tiles of keys from first to end - 1 that
// the queries of the warpgroup may attend to:
//
//   release keys and values before first
//   S = scores(first); P, l = softmax(S)
//   for t = first + 1, ...:
//     start S = scores(t)
//     start O += values(t - 1) * P
//     wait for S; release keys t
//     P, l = softmax(S), rescaling O and l if a maximum has grown
//     wait for O; release values t - 1
//   O += values(end - 1) * P
//   release keys and values from end
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Tiles
//===----------------------------------------------------------------------===//

/// The tiles that are for other warpgroups of the thread block alone; each use
/// is got and released as any other, and the turn passed on.
void Consumer::emitSkip(const Work &work, Value from, Value to) {
  auto loop = scf::ForOp::create(builder, loc, from, to, number(1));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.getBody());
  Value use = add(work.keyNumber, loop.getInductionVar());
  // First, as another warpgroup may wait for it before it frees the memory for
  // the values.
  takeTurn();
  passTurn();
  SmallVector<Value> channels = {resources.keyChannel};
  llvm::append_range(channels, resources.captureChannels);
  channels.push_back(resources.valueChannel);
  for (Value channel : channels) {
    get(channel, use);
    release(channel, use);
  }
}

/// Whether `value` depends on one of the others.
static bool dependsOnAny(Value value, ArrayRef<OpFoldResult> others) {
  return llvm::any_of(others, [&](OpFoldResult other) {
    auto dynamic = dyn_cast<Value>(other);
    DenseSet<Value> seen;
    return dynamic && dependsOn(value, dynamic, seen);
  });
}

/// The rows of this warpgroup become those of `own`, unless they are all rows
/// of a tile.
FailureOr<Consumer::OwnRows> Consumer::mapOwnRows() {
  own.emplace(builder, program, arguments, warpgroup);
  own->mapAll(program.grid.getInductionVars(), cloner);
  Value row = program.getRow();
  const TileResult *output = program.getOutput();
  OwnRows rows;
  rows.areAll = program.schedule.getNumConsumers() == 1 || !row || !output;
  if (rows.areAll)
    return rows;
  FailureOr<Value> firstRow = cloner.getScalar(row),
                   numRows = cloner.getScalar(output->numRows);
  if (failed(firstRow) || failed(numRows))
    return failure();
  Value size = index(hopper::kWarpgroupRows);
  Value before = arith::MulIOp::create(builder, loc, warpgroup, size);
  rows.count = arith::MinSIOp::create(
      builder, loc, size,
      arith::SubIOp::create(builder, loc, *numRows, before));
  rows.first = add(*firstRow, before);
  own->map(row, rows.first);
  if (auto value = dyn_cast<Value>(output->numRows);
      value && !getConstantIntValue(value))
    own->map(value, rows.count);
  return rows;
}

/// Where a tile has rows of several warpgroups, each has its own limits, which
/// are those of the tile as a function of its rows.
FailureOr<TileRange> Consumer::emitRange(const Work &work) {
  TileRange all = {number(0), work.count};
  FailureOr<OwnRows> ownRows = mapOwnRows();
  if (failed(ownRows))
    return failure();
  if (ownRows->areAll)
    return all;
  Value hasRows = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sgt,
                                        ownRows->count, index(0));
  // How many tiles are visited, from the last to the first, before those that
  // lie below a bound of the loop; `otherwise` if it is the same for all rows.
  int64_t tileN = program.schedule.getTileN();
  OpFoldResult rows[] = {program.getRow(), program.getOutput()->numRows};
  auto getLimit = [&](Value bound, Value otherwise,
                      int64_t extra) -> FailureOr<Value> {
    if (!dependsOnAny(bound, rows))
      return otherwise;
    FailureOr<Value> key = own->getScalar(bound);
    if (failed(key))
      return failure();
    Value length = arith::SubIOp::create(
        builder, loc,
        arith::IndexCastOp::create(builder, loc, builder.getI32Type(), *key),
        work.lo);
    length = arith::MaxSIOp::create(builder, loc, length, number(0));
    if (extra)
      length = add(length, number(extra));
    Value tiles = arith::DivUIOp::create(builder, loc, length, number(tileN));
    tiles = arith::MinSIOp::create(builder, loc, tiles, work.count);
    return Value(arith::SubIOp::create(builder, loc, work.count, tiles));
  };
  FailureOr<Value> first = getLimit(program.keys.getUpperBound(), all.first,
                                    /*extra=*/tileN - 1),
                   end = getLimit(program.keys.getLowerBound(), all.end,
                                  /*extra=*/0);
  if (failed(first) || failed(end))
    return failure();
  return TileRange{
      *first, arith::SelectOp::create(builder, loc, hasRows, *end, *first)};
}

LogicalResult Consumer::holdQueries(const Work &work, Value tile) {
  queries = getRows(tile);
  if (failed(holdSlopes()))
    return failure();
  if (!program.schedule.getQInRegisters())
    return success();
  queries = hopper::LoadFragmentOp::create(
      builder, loc,
      getVectorType(program.query.columns, program.query.elementType), queries);
  releaseQueries(work);
  return success();
}

/// The softmax of the first tile.
FailureOr<SoftmaxState> Consumer::emitFirst(Value key, Value use,
                                            Value product) {
  WorkerCloner::State saved = cloner.save();
  for (bool arePacked : {true, false})
    emitCaptures(use, arePacked);
  if (failed(emitStarts(key)))
    return failure();
  cloner.setRarelyRun(true);
  FailureOr<Scores> scores = emitScores(product, key, /*isFirst=*/true);
  cloner.setRarelyRun(false);
  cloner.restore(std::move(saved));
  if (failed(scores))
    return failure();
  return emitFirstSoftmax(*scores);
}

/// A tile that is not the first one, with the product of the probabilities
/// before.
FailureOr<SoftmaxState> Consumer::emitStep(const Step &step,
                                           SoftmaxState state) {
  takeTurn();
  Value pendingScores = startScores(step.keys);
  Value values = get(resources.valueChannel, step.valueUse);
  Value pendingAcc = startValues(state.probabilities, values, state.acc);
  passTurn();
  WorkerCloner::State saved = cloner.save();
  Value key = step.key ? step.key : step.getKey();
  emitCaptures(step.use, /*arePacked=*/true);
  if (failed(emitReads(key)) || failed(emitStarts(key)))
    return failure();
  Value next = wait(pendingScores, 1);
  release(resources.keyChannel, step.use);
  // There are no registers for these beside the product.
  emitCaptures(step.use, /*arePacked=*/false);
  FailureOr<Scores> scores =
      emitScores(next, key, /*isFirst=*/false, step.isFull);
  cloner.restore(std::move(saved));
  if (failed(scores))
    return failure();
  SoftmaxState result = emitSoftmax(*scores, pendingAcc,
                                    {Value(), state.shift, state.sum, Value()});
  result.acc = wait(pendingAcc, 0);
  release(resources.valueChannel, step.valueUse);
  result.probabilities = round(result.probabilities);
  return result;
}

/// All tiles after the first one of a range, but for the product of the last
/// probabilities. They come and go rounded.
FailureOr<SoftmaxState> Consumer::emitLoop(const Work &work, TileRange range,
                                           SoftmaxState state) {
  Value one = number(1);
  auto loop = scf::ForOp::create(
      builder, loc, add(range.first, one), range.end, one,
      ValueRange{state.acc, state.shift, state.sum, state.probabilities});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value t = loop.getInductionVar();
    Value use = add(work.keyNumber, t);
    Value previous =
        arith::SubIOp::create(builder, loc, add(work.keyNumber, t), one);
    Value keys = get(resources.keyChannel, use);
    auto getKey = [&] {
      return work.getKey(builder, loc, t, program.schedule.getTileN());
    };
    ValueRange carried = loop.getRegionIterArgs();
    FailureOr<SoftmaxState> next = emitStep(
        {keys, /*key=*/Value(), use, previous, /*isFull=*/Value(), getKey},
        {carried[0], carried[1], carried[2], carried[3]});
    if (failed(next))
      return failure();
    scf::YieldOp::create(
        builder, loc,
        ValueRange{next->acc, next->shift, next->sum, next->probabilities});
  }
  return SoftmaxState{loop.getResult(0), loop.getResult(1), loop.getResult(2),
                      loop.getResult(3)};
}

LogicalResult Consumer::emitKeys(const Work &work, TileRange range) {
  if (failed(holdQueries(work, get(resources.queryChannel, work.queryNumber))))
    return failure();
  emitSkip(work, number(0), range.first);
  Value firstUse = add(work.keyNumber, range.first);
  Value keys = get(resources.keyChannel, firstUse);
  // Without a turn, as all warpgroups start together; the last product has one
  // instead, so that there is one for each tile.
  Value product = wait(startScores(keys), 0);
  release(resources.keyChannel, firstUse);
  FailureOr<SoftmaxState> state = emitFirst(
      work.getKey(builder, loc, range.first, program.schedule.getTileN()),
      firstUse, product);
  if (failed(state))
    return failure();
  state->acc = emitZeroAcc();
  state->probabilities = round(state->probabilities);
  state = emitLoop(work, range, *state);
  if (failed(state))
    return failure();
  if (!program.schedule.getQInRegisters())
    releaseQueries(work);
  Value use = arith::SubIOp::create(builder, loc,
                                    add(work.keyNumber, range.end), number(1));
  Value values = get(resources.valueChannel, use);
  takeTurn();
  Value pendingAcc = startValues(state->probabilities, values, state->acc);
  passTurn();
  Value acc = wait(pendingAcc, 0);
  release(resources.valueChannel, use);
  emitSkip(work, range.end, work.count);
  Value max = arith::NegFOp::create(builder, loc, state->shift);
  scf::YieldOp::create(builder, loc, ValueRange{acc, max, state->sum});
  return success();
}

FailureOr<Value> Consumer::emitTile(const Work &work) {
  Type f32 = builder.getF32Type();
  Type types[] = {getVectorType(program.value.columns, f32),
                  getVectorType(1, f32), getVectorType(4, f32)};
  FailureOr<TileRange> range = emitRange(work);
  if (failed(range))
    return failure();
  Value hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                        range->first, range->end);
  auto branch = scf::IfOp::create(builder, loc, types, hasKeys,
                                  /*withElseRegion=*/true);
  cloner.setAnchor(branch);
  own->setAnchor(branch);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    if (failed(emitKeys(work, *range)))
      return failure();
    builder.setInsertionPointToStart(branch.elseBlock());
    get(resources.queryChannel, work.queryNumber);
    releaseQueries(work);
    emitSkip(work, number(0), work.count);
    scf::YieldOp::create(builder, loc,
                         ValueRange{splat(types[0], 0),
                                    splat(types[1], -INFINITY),
                                    splat(types[2], 0)});
  }
  cloner.setAnchor(nullptr);
  if (failed(emitTileResults(work, branch.getResults(), hasKeys)))
    return failure();
  return add(work.keyNumber, work.count);
}

/// Writes what a tile of queries has come to: acc, maximum, and parts of the
/// sum.
LogicalResult Consumer::emitTileResults(const Work &work, ValueRange state,
                                        Value hasKeys) {
  Value sum = hopper::ReduceOp::create(builder, loc, state[1].getType(), "add",
                                       state[2]);
  if (work.part)
    return emitPartResults(work, hasKeys, state[0], state[1], sum);
  if (failed(emitResults(state[0], state[1], sum)))
    return failure();
  if (resources.stagesInQueries) {
    hopper::DrainOp::create(builder, loc);
    release(resources.queryChannel, work.queryNumber);
  }
  return success();
}

LogicalResult Consumer::emitResults(Value acc, Value max, Value sum) {
  TileLoopOp keys = program.keys;
  cloner.map(keys.getResult(0), acc);
  cloner.map(keys.getResult(1), VectorKind::Query, max);
  cloner.map(keys.getResult(2), VectorKind::Query, sum);
  Value first = arith::MulIOp::create(builder, loc, warpgroup,
                                      index(hopper::kWarpgroupRows));
  for (auto [number, result] : llvm::enumerate(program.results)) {
    FailureOr<Value> vector =
        cloner.getVector(result.vector, VectorKind::Query);
    if (failed(vector))
      return failure();
    bool isRows = !result.hasColumns();
    ArrayRef<OpFoldResult> offsets =
        isRows ? ArrayRef(result.offsets)
               : ArrayRef(result.access.position).take_front(3);
    SmallVector<Value> position;
    for (OpFoldResult offset : offsets) {
      FailureOr<Value> value = cloner.getScalar(offset);
      if (failed(value))
        return failure();
      position.push_back(*value);
    }
    int64_t rowDim = isRows ? result.rowDim : 2;
    if (!isRows) {
      position[2] = add(position[2], first);
      if (result.packing) {
        FailureOr<SmallVector<Value>> unpacked = cloner.getUnpackedPosition(
            result.packing, position[1], position[2], loc);
        if (failed(unpacked))
          return failure();
        std::tie(position[1], position[2]) =
            std::pair((*unpacked)[0], (*unpacked)[1]);
      }
      Value staging = resources.staging.lookup(number);
      if (resources.stagesInQueries) {
        auto channel =
            cast<hopper::ChannelType>(resources.queryChannel.getType());
        staging = hopper::ReuseOp::create(builder, loc, channel.getTileType(),
                                          resources.queryChannel);
      }
      hopper::StoreOp::create(
          builder, loc, *vector, getRows(staging),
          arguments.getMap(result.access, hopper::kWarpgroupRows), position[0],
          position[1], position[2]);
      continue;
    }
    FailureOr<Value> numRows = cloner.getScalar(result.numRows);
    if (failed(numRows))
      return failure();
    Value end = add(position[rowDim], *numRows);
    position[rowDim] = add(position[rowDim], first);
    Value packed;
    IntegerAttr heads;
    if (PackedCountOp packing = result.packing) {
      FailureOr<Value> count = cloner.getScalar(packing.getCount());
      if (failed(count))
        return failure();
      packed = *count;
      heads = builder.getI64IntegerAttr(result.headDim);
    }
    hopper::StoreRowsOp::create(
        builder, loc, *vector, arguments.getMemRef(result.argument), position,
        builder.getI64IntegerAttr(rowDim), end, packed, heads);
  }
  return success();
}

LogicalResult mlir::attn::emitConsumer(OpBuilder &builder, TileProgram &program,
                                       KernelArguments &arguments,
                                       const KernelResources &resources) {
  return Consumer(builder, program, arguments, resources).emit();
}
