//===- ConsumerOverlap.cpp - A tile that starts before the last one ends --===//
//
// The steps of a warpgroup with tiles of queries t, t + 1, ... that overlap,
// all warpgroups with all tiles of keys of each:
//
//   P = 0
//   for t = -1, 0, 1, ...:
//     all tiles of keys but the first, as elsewhere; of -1, none
//     start S = scores(first of t + 1)
//     start O += values(last of t) * P
//     wait for S; P, l of t + 1 = softmax(S)
//     wait for O; results of t, which for -1 are not written
//
// So that the tensor cores have work in the first softmax of a tile, which is a
// masked one, and need not wait for the results of the tile before.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"

using namespace mlir;
using namespace mlir::attn;

/// Probabilities rounded, shift, sum, and queries.
SmallVector<Value> Consumer::start() {
  Type f32 = builder.getF32Type();
  return {splat(getVectorType(program.schedule.getTileN(),
                              program.value.elementType),
                0),
          splat(getVectorType(1, f32), 0), splat(getVectorType(4, f32), 0),
          splat(getVectorType(program.query.columns, program.query.elementType),
                0)};
}

/// Result, probabilities rounded, shift, sum, and queries.
FailureOr<SmallVector<Value>> Consumer::proceed(const Work &work,
                                                ValueRange state) {
  if (failed(mapOwnRows()))
    return failure();
  queries = state[3];
  if (failed(holdSlopes()))
    return failure();
  Value acc = emitZeroAcc();
  for (WorkerCloner *each : {&cloner, &*own})
    each->setAnchor(acc.getDefiningOp());
  FailureOr<SoftmaxState> last = emitLoop(work, {number(0), work.count},
                                          {acc, state[1], state[2], state[0]});
  cloner.setAnchor(nullptr);
  if (failed(last))
    return failure();
  return SmallVector<Value>{last->acc, last->probabilities, last->shift,
                            last->sum, queries};
}

/// Result, and the state of the next tile.
FailureOr<SmallVector<Value>> Consumer::end(const Work &work, const Work &next,
                                            ValueRange middle) {
  Value lastUse = add(work.valueNumber, work.last);
  if (failed(holdQueries(next, get(resources.queryChannel, next.queryNumber))))
    return failure();
  Value keys = get(resources.keyChannel, next.keyNumber);
  takeTurn();
  Value pendingScores = startScores(keys);
  Value values = get(resources.valueChannel, lastUse);
  Value pendingAcc = startValues(middle[1], values, middle[0]);
  passTurn();
  Value product = wait(pendingScores, 1);
  release(resources.keyChannel, next.keyNumber);
  FailureOr<SoftmaxState> first = emitFirst(
      next.getKey(builder, loc, number(0), program.schedule.getTileN()),
      next.keyNumber, product);
  if (failed(first))
    return failure();
  Value acc = wait(pendingAcc, 0);
  release(resources.valueChannel, lastUse);
  return SmallVector<Value>{acc, round(first->probabilities), first->shift,
                            first->sum, queries};
}

LogicalResult Consumer::finish(const Work &, ValueRange middle,
                               ValueRange results) {
  Value sum = hopper::ReduceOp::create(
      builder, loc, getVectorType(1, builder.getF32Type()), "add", middle[3]);
  return emitResults(results[0], arith::NegFOp::create(builder, loc, middle[2]),
                     sum);
}
