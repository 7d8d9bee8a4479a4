//===- ConsumerOverlap.cpp - A tile that starts before the last one ends --===//
//
// The steps of a warpgroup with tiles of queries t, t + 1, ... that overlap,
// all warpgroups with all tiles of keys of each:
//
//   S = scores(first of 0); P, l = softmax(S)
//   for t = 0, 1, ...:
//     all tiles of keys but the first, as elsewhere
//     start S = scores(first of t + 1)
//     start O += values(last of t) * P
//     wait for S; P, l of t + 1 = softmax(S)
//     wait for O; results of t
//
// So that the tensor cores have work in the first softmax of a tile, which is a
// masked one, and need not wait for the results of the tile before.
//
//===----------------------------------------------------------------------===//

#include "Consumer.h"

using namespace mlir;
using namespace mlir::attn;

/// Probabilities rounded, shift, sum, and queries.
FailureOr<SmallVector<Value>> Consumer::start(const Work &work) {
  if (failed(mapOwnRows()))
    return failure();
  holdQueries(work);
  Value keys = get(resources.keyChannel, work.keyNumber);
  Value product = wait(startScores(keys), 0);
  release(resources.keyChannel, work.keyNumber);
  FailureOr<SoftmaxState> first = emitFirst(work, number(0), product);
  if (failed(first))
    return failure();
  return SmallVector<Value>{round(first->probabilities), first->shift,
                            first->sum, queries};
}

/// Result, probabilities rounded, shift, sum, and queries.
FailureOr<SmallVector<Value>> Consumer::proceed(const Work &work,
                                                ValueRange state) {
  if (failed(mapOwnRows()))
    return failure();
  queries = state[3];
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
SmallVector<Type> Consumer::getEndTypes() {
  Type f32 = builder.getF32Type();
  return {getVectorType(program.value.columns, f32),
          getVectorType(program.schedule.getTileN(), program.value.elementType),
          getVectorType(1, f32), getVectorType(4, f32),
          getVectorType(program.query.columns, program.query.elementType)};
}

FailureOr<SmallVector<Value>> Consumer::end(const Work &work,
                                            const std::optional<Work> &next,
                                            ValueRange middle) {
  Value lastUse = add(work.keyNumber, work.last);
  if (!next) {
    Value values = get(resources.valueChannel, lastUse);
    takeTurn();
    Value pending = startValues(middle[1], values, middle[0]);
    passTurn();
    Value acc = wait(pending, 0);
    release(resources.valueChannel, lastUse);
    return SmallVector<Value>{acc, middle[1], middle[2], middle[3], middle[4]};
  }
  if (failed(mapOwnRows()))
    return failure();
  holdQueries(*next);
  Value keys = get(resources.keyChannel, next->keyNumber);
  takeTurn();
  Value pendingScores = startScores(keys);
  Value values = get(resources.valueChannel, lastUse);
  Value pendingAcc = startValues(middle[1], values, middle[0]);
  passTurn();
  Value product = wait(pendingScores, 1);
  release(resources.keyChannel, next->keyNumber);
  FailureOr<SoftmaxState> first = emitFirst(*next, number(0), product);
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
