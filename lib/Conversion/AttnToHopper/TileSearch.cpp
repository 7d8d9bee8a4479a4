//===- TileSearch.cpp - Which tiles of keys are needed --------------------===//

#include "TileSearch.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

TileSearch::TileSearch(OpBuilder &builder, TileProgram &program,
                       WorkerCloner &cloner, const Work &work)
    : builder(builder), program(program), cloner(cloner), work(work),
      ib{builder, program.keys.getLoc()} {}

FailureOr<TileSearch::State> TileSearch::start() {
  lane = ib.fromIndex(
      gpu::LaneIdOp::create(builder, ib.loc, /*upper_bound=*/IntegerAttr()));
  for (Value value : {program.isNeeded, program.isFull})
    if (value && failed(cloner.computeInvariants(value)))
      return failure();
  return State{ib.constant(-hopper::kWarpThreads), ib.constant(0),
               ib.constant(0)};
}

/// The classes of the 32 tiles from `base`, one in each thread. Beyond the last
/// tile there are none; what is computed there is for the last one.
FailureOr<TileSearch::State> TileSearch::refill(Value base) {
  Value number = ib.add(base, lane);
  Value isTile = arith::CmpIOp::create(
      builder, ib.loc, arith::CmpIPredicate::slt, number, work.count);
  number = arith::MinSIOp::create(builder, ib.loc, number, work.last);
  WorkerCloner::State saved = cloner.save();
  cloner.map(program.keys.getInductionVar(),
             work.getKey(builder, ib.loc, number, program.schedule.getTileN()));
  FailureOr<Value> isNeeded = cloner.getScalar(program.isNeeded);
  if (failed(isNeeded))
    return failure();
  State state;
  state.base = base;
  state.needed = hopper::BallotOp::create(
      builder, ib.loc,
      arith::AndIOp::create(builder, ib.loc, isTile, *isNeeded));
  state.full = ib.constant(0);
  if (program.isFull) {
    FailureOr<Value> isFull = cloner.getScalar(program.isFull);
    if (failed(isFull))
      return failure();
    state.full = hopper::BallotOp::create(builder, ib.loc, *isFull);
  }
  cloner.restore(std::move(saved));
  return state;
}

FailureOr<TileCode> TileSearch::next(State &state) {
  Location loc = ib.loc;
  SmallVector<Value> inits = state.getValues();
  SmallVector<Type> types(ValueRange(inits).getTypes());
  SmallVector<Location> locs(types.size(), loc);
  auto loop = scf::WhileOp::create(builder, loc, types, inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *before = builder.createBlock(&loop.getBefore(), {}, types, locs);
    Value zero = ib.constant(0);
    Value isEmpty = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, before->getArgument(1), zero);
    Value nextBase =
        ib.add(before->getArgument(0), ib.constant(hopper::kWarpThreads));
    Value hasMore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::slt, nextBase, work.count);
    scf::ConditionOp::create(
        builder, loc, arith::AndIOp::create(builder, loc, isEmpty, hasMore),
        before->getArguments());
    Block *after = builder.createBlock(&loop.getAfter(), {}, types, locs);
    FailureOr<State> refilled = refill(
        ib.add(after->getArgument(0), ib.constant(hopper::kWarpThreads)));
    if (failed(refilled))
      return failure();
    scf::YieldOp::create(builder, loc, refilled->getValues());
  }
  state = State::get(loop.getResults());
  Value exists = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ne,
                                       state.needed, ib.constant(0));
  Value bit = math::CountTrailingZerosOp::create(builder, loc, state.needed);
  Value isFull = arith::AndIOp::create(
      builder, loc, arith::ShRUIOp::create(builder, loc, state.full, bit),
      ib.constant(1));
  Value isPartial = arith::XOrIOp::create(builder, loc, isFull, ib.constant(1));
  Value key = work.getKeyNumber(builder, loc, ib.add(state.base, bit),
                                program.schedule.getTileN());
  Value code = arith::OrIOp::create(builder, loc, key, isPartial);
  // The lowest bit is gone.
  state.needed = arith::AndIOp::create(builder, loc, state.needed,
                                       ib.sub(state.needed, ib.constant(1)));
  return TileCode{
      arith::SelectOp::create(builder, loc, exists, code, ib.constant(-1))};
}
