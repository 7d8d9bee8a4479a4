//===- ConsumerClasses.cpp - Tiles that the producer has found ------------===//
//
// The queries come with the code of the first tile, and each tile of keys with
// that of the next one (TileSearch.h); all warpgroups compute with all of them.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"
#include "TileSearch.h"

using namespace mlir;
using namespace mlir::attn;

FailureOr<Value> Consumer::emitTileByClass(const Work &work) {
  IntBuilder ib{builder, loc};
  Type f32 = builder.getF32Type();
  Type types[] = {getVectorType(program.value.columns, f32),
                  getVectorType(1, f32), getVectorType(4, f32),
                  builder.getI32Type()};
  hopper::GetOp get = getWithNote(resources.queryChannel, work.queryNumber);
  TileCode first = {get.getNote()};
  Value hasKeys = first.isTile(ib);
  auto branch = scf::IfOp::create(builder, loc, types, hasKeys,
                                  /*withElseRegion=*/true);
  cloner.setAnchor(branch);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    if (failed(holdQueries(work, get.getTile())) ||
        failed(emitNeeded(work, first.code)))
      return failure();
    builder.setInsertionPointToStart(branch.elseBlock());
    releaseQueries(work);
    scf::YieldOp::create(builder, loc,
                         ValueRange{splat(types[0], 0),
                                    splat(types[1], -INFINITY),
                                    splat(types[2], 0), work.keyNumber});
  }
  cloner.setAnchor(nullptr);
  if (failed(emitTileResults(work, branch.getResults(), hasKeys)))
    return failure();
  return branch.getResult(3);
}

/// All tiles from the code of the first one.
LogicalResult Consumer::emitNeeded(const Work &work, Value first) {
  IntBuilder ib{builder, loc};
  hopper::GetOp keys = getWithNote(resources.keyChannel, work.keyNumber);
  // Without a turn; see emitKeys.
  Value pendingScores = startScores(keys.getTile());
  WorkerCloner::State saved = cloner.save();
  Value firstKey = TileCode{first}.getKey(ib);
  if (failed(emitFirstReads(firstKey)))
    return failure();
  Value product = wait(pendingScores, 0);
  release(resources.keyChannel, work.keyNumber);
  FailureOr<SoftmaxState> start = emitFirst(firstKey, work.keyNumber, product);
  cloner.restore(std::move(saved));
  if (failed(start))
    return failure();

  SmallVector<Value> inits = {add(work.keyNumber, number(1)),
                              keys.getNote(),
                              emitZeroAcc(),
                              start->shift,
                              start->sum,
                              round(start->probabilities)};
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, types, locs);
    scf::ConditionOp::create(builder, loc,
                             TileCode{before->getArgument(1)}.isTile(ib),
                             before->getArguments());
    Block *after = builder.createBlock(&loop.getAfter(), {}, types, locs);
    Value use = after->getArgument(0);
    TileCode tile = {after->getArgument(1)};
    hopper::GetOp next = getWithNote(resources.keyChannel, use);
    // Keys and values are used equally often.
    Value previous = ib.sub(use, number(1));
    FailureOr<SoftmaxState> state = emitStep(
        {next.getTile(), tile.getKey(ib), use, previous, tile.isFull(ib)},
        {after->getArgument(2), after->getArgument(3), after->getArgument(4),
         after->getArgument(5)});
    if (failed(state))
      return failure();
    scf::YieldOp::create(builder, loc,
                         ValueRange{add(use, number(1)), next.getNote(),
                                    state->acc, state->shift, state->sum,
                                    state->probabilities});
  }
  Value next = loop.getResult(0);
  if (!program.schedule.getQInRegisters())
    releaseQueries(work);
  Value last = ib.sub(next, number(1));
  Value values = get(resources.valueChannel, last);
  takeTurn();
  Value pendingAcc = startValues(loop.getResult(5), values, loop.getResult(2));
  passTurn();
  Value acc = wait(pendingAcc, 0);
  release(resources.valueChannel, last);
  Value max = arith::NegFOp::create(builder, loc, loop.getResult(3));
  scf::YieldOp::create(builder, loc,
                       ValueRange{acc, max, loop.getResult(4), next});
  return success();
}
