//===- RowKernelKeys.cpp - The loop over the keys of a warp ---------------===//

#include "RowKernel.h"
#include "ScalarMath.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include <cmath>
#include <functional>

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Products and softmax
//===----------------------------------------------------------------------===//

/// The keys that each group of lanes reads in a step, some at a time: `body`
/// gets the substep of the first of them.
SmallVector<Value> RowKernel::emitSubsteps(
    ValueRange inits,
    function_ref<SmallVector<Value>(Value first, ValueRange carried)> body) {
  if (!hasSubstepLoop())
    return body(b.i32(0), inits);
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(lanes),
                                 b.i32(getSubstepsAtOnce()), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

/// The lane that has the key of a substep.
Value RowKernel::getLaneOf(Value first, int64_t number) {
  Value ofGroup = b.sub(lane, laneInGroup);
  return b.add(b.add(ofGroup, first), number);
}

LogicalResult RowKernel::emitProducts(vector::ContractionOp op,
                                      const GatheredRows &rows) {
  // One sum for each query.
  using Sums = SmallVector<Value>;
  auto multiply = [&](Value key) {
    Columns row = loadRow(rows, key);
    Sums sums;
    for (Query &each : queries) {
      Value sum;
      for (auto [q, k] : llvm::zip_equal(each.columns.at(op.getRhs()), row))
        sum =
            sum ? LLVM::FMAOp::create(b, b.getF32Type(), q, k, sum).getResult()
                : b.mul(q, k);
      sums.push_back(sum);
    }
    return sums;
  };
  int64_t numAtOnce = getSubstepsAtOnce();
  auto emit = [&](Value first, ValueRange carried) {
    // What the lane has of the sums over the keys from `number` on that are
    // `distance` apart. In each round, lanes that differ in one bit each keep
    // one half of the sums.
    std::function<Sums(int64_t, int64_t)> addUp = [&](int64_t number,
                                                      int64_t distance) {
      if (distance == numAtOnce)
        return multiply(getKey(rows, first, number));
      Sums low = addUp(number, 2 * distance),
           high = addUp(number + distance, 2 * distance);
      Value isUpper = b.ne(b.andI(lane, distance), 0);
      for (auto [own, other] : llvm::zip_equal(low, high)) {
        Value kept = b.select(isUpper, other, own);
        Value sent = b.select(isUpper, own, other);
        own = b.add(kept, shuffleXor(sent, distance));
      }
      return low;
    };
    Sums sums = addUp(/*number=*/0, /*distance=*/1);
    if (!hasSubstepLoop())
      return sums;
    Value isOwn = b.eq(b.andI(laneInGroup, -numAtOnce), first);
    for (auto [sum, before] : llvm::zip_equal(sums, carried)) {
      for (int64_t distance = numAtOnce; distance < lanes; distance *= 2)
        sum = b.add(sum, shuffleXor(sum, distance));
      sum = b.select(isOwn, sum, before);
    }
    return sums;
  };
  Sums sums = emitSubsteps(Sums(queries.size(), b.f32(0)), emit);
  for (auto [each, sum] : llvm::zip_equal(queries, sums))
    each.mapping.map(op.getResult(), sum);
  return success();
}

LogicalResult RowKernel::emitValues(vector::ContractionOp op,
                                    const GatheredRows &rows) {
  // Those of one query after the other.
  SmallVector<Value> acc;
  for (Query &each : queries)
    llvm::append_range(acc, each.columns.at(op.getAcc()));
  acc = emitSubsteps(acc, [&](Value first, ValueRange carried) {
    SmallVector<Value> sums(carried);
    for (int64_t number = 0; number < getSubstepsAtOnce(); ++number) {
      Columns row = loadRow(rows, getKey(rows, first, number));
      MutableArrayRef<Value> rest = sums;
      for (Query &each : queries) {
        Value weight =
            shuffle(each.mapping.lookup(op.getRhs()), getLaneOf(first, number),
                    /*isXor=*/false);
        for (auto [sum, v] : llvm::zip_equal(rest.take_front(row.size()), row))
          sum = LLVM::FMAOp::create(b, b.getF32Type(), weight, v, sum);
        rest = rest.drop_front(row.size());
      }
    }
    return sums;
  });
  size_t numOwn = acc.size() / queries.size();
  for (auto [place, each] : llvm::enumerate(queries))
    each.columns[op.getResult()] =
        Columns(ArrayRef(acc).slice(place * numOwn, numOwn));
  return success();
}

LogicalResult RowKernel::emitContract(vector::ContractionOp op) {
  FailureOr<GatheredRows> rows = getRows(op);
  if (failed(rows))
    return failure();
  // Values have as many rows as keys, which scores may not depend on.
  if (!keyArgument) {
    keyArgument = rows->argument;
    keyDim = rows->rowDim;
  }
  return query->columns.contains(op.getAcc()) ? emitValues(op, *rows)
                                              : emitProducts(op, *rows);
}

/// What this lane has of a column with an element for each key of a step. One
/// that is the same for all keys need not be a vector before.
FailureOr<Value> RowKernel::getOfKey(Value value) {
  if (Value known = query->mapping.lookupOrNull(value))
    return known;
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    return getOfKey(broadcast.getSource());
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, constant.getSplatValue<TypedAttr>())
        .getResult();
  return emitError(
      value.getLoc(),
      "a value of the keys of a query has no form in a GPU kernel");
}

/// The maximum is that of the warp; sums are those of this lane.
LogicalResult RowKernel::emitStep(OnlineStepOp op) {
  FailureOr<Value> known = getOfKey(op.getScores());
  if (failed(known))
    return failure();
  Value scores = *known;
  if (double factor = op.getFactor().convertToDouble(); factor != 1)
    scores = b.mul(scores, b.f32(factor));
  Value max = query->mapping.lookup(op.getMax()),
        sum = query->mapping.lookup(op.getSum());
  Value newMax = scores;
  for (int64_t distance = 1; distance < hopper::kWarpThreads; distance *= 2)
    newMax = arith::MaxNumFOp::create(b, newMax, shuffleXor(newMax, distance));
  newMax = arith::MaxNumFOp::create(b, newMax, max);
  Value isEmpty = b.cmp(arith::CmpFPredicate::OEQ, newMax, b.f32(-INFINITY));
  Value shift = b.select(isEmpty, b.f32(0), newMax);
  auto power = [&](Value x) -> Value {
    return LLVM::CallIntrinsicOp::create(
               b, b.getF32Type(),
               b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
               ValueRange{b.sub(x, shift)})
        .getResult(0);
  };
  Value rescale = power(max), probability = power(scores);
  query->mapping.map(op.getProbabilities(), probability);
  query->mapping.map(op.getNewMax(), newMax);
  query->mapping.map(op.getNewSum(), LLVM::FMAOp::create(b, b.getF32Type(), sum,
                                                         rescale, probability)
                                         .getResult());
  Columns acc;
  for (Value element : query->columns.lookup(op.getAcc()))
    acc.push_back(b.mul(element, rescale));
  query->columns[op.getNewAcc()] = acc;
  return success();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// Whether a lane has a key for which this holds, the same for all lanes.
void RowKernel::emitAny(vector::ReductionOp op) {
  query->mapping.map(op.getResult(), NVVM::VoteSyncOp::create(
                                         b, b.getI1Type(), b.i32(-1),
                                         query->mapping.lookup(op.getVector()),
                                         NVVM::VoteSyncKind::any)
                                         .getResult());
}

void RowKernel::Query::appendParts(SmallVectorImpl<Value> &parts,
                                   ValueRange values) const {
  for (Value value : values) {
    auto it = columns.find(value);
    if (it == columns.end())
      parts.push_back(mapping.lookup(value));
    else
      llvm::append_range(parts, it->second);
  }
}

void RowKernel::Query::setParts(ValueRange values, ValueRange like,
                                ValueRange &parts) {
  for (auto [value, other] : llvm::zip_equal(values, like)) {
    auto it = columns.find(other);
    size_t count = it == columns.end() ? 1 : it->second.size();
    ValueRange own = parts.take_front(count);
    parts = parts.drop_front(count);
    if (it == columns.end())
      mapping.map(value, own.front());
    else
      columns[value] = Columns(own);
  }
}

/// A step that is passed over unless one of the queries needs it.
LogicalResult RowKernel::emitNeeded(scf::IfOp op) {
  if (!op.elseBlock() || !op.elseBlock()->without_terminator().empty())
    return op.emitError("expects a choice to pass over a step as attn-tile "
                        "makes it");
  ValueRange before = op.elseYield().getOperands();
  Value isNeeded;
  SmallVector<Value> kept;
  for (Query &each : queries) {
    Value own = each.mapping.lookup(op.getCondition());
    isNeeded = isNeeded ? b.orI(isNeeded, own) : own;
    each.appendParts(kept, before);
  }
  auto branch = scf::IfOp::create(b, TypeRange(ValueRange(kept)), isNeeded,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(b, kept);
    b.setInsertionPointToStart(branch.thenBlock());
    if (failed(emitBlock(*op.thenBlock())))
      return failure();
    SmallVector<Value> computed;
    for (Query &each : queries)
      each.appendParts(computed, op.thenYield().getOperands());
    scf::YieldOp::create(b, computed);
  }
  ValueRange parts = branch.getResults();
  for (Query &each : queries)
    each.setParts(op.getResults(), before, parts);
  return success();
}

/// The loop over the list, or over the keys that one of the queries needs;
/// gives max, sum and the accumulator of each, of which the latter two are
/// still to be added up.
FailureOr<SmallVector<Value>> RowKernel::emitKeyLoop(scf::ForOp op,
                                                     int64_t numOwn) {
  stepKeys.clear();
  WalkResult walk = op.walk([&](vector::ContractionOp contract) {
    if (!op.isDefinedOutsideOfLoop(contract.getRhs()))
      return WalkResult::advance();
    return WalkResult(forEachQuery([&] { return loadQuery(contract); }));
  });
  if (walk.wasInterrupted())
    return failure();
  SmallVector<Value> inits;
  Value lower, upper;
  for (Query &each : queries) {
    inits.append({b.f32(-INFINITY), b.f32(0)});
    inits.append(numOwn, b.f32(0));
    Value from = each.mapping.lookup(op.getLowerBound()),
          to = each.mapping.lookup(op.getUpperBound());
    lower = lower ? b.minS(lower, from) : from;
    upper = upper ? b.maxS(upper, to) : to;
  }
  Value step = b.index(hopper::kWarpThreads);
  auto loop = scf::ForOp::create(b, lower, upper, step, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    ValueRange carried = loop.getRegionIterArgs();
    for (Query &each : queries) {
      each.mapping.map(op.getInductionVar(), loop.getInductionVar());
      each.mapping.map(op.getRegionIterArg(1), carried[0]);
      each.mapping.map(op.getRegionIterArg(2), carried[1]);
      each.columns[op.getRegionIterArg(0)] = Columns(carried.slice(2, numOwn));
      carried = carried.drop_front(2 + numOwn);
    }
    if (failed(emitBlock(*op.getBody())))
      return failure();
    auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
    SmallVector<Value> next;
    for (Query &each : queries)
      each.appendParts(next, {yield.getOperand(1), yield.getOperand(2),
                              yield.getOperand(0)});
    scf::YieldOp::create(b, next);
  }
  moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
  return SmallVector<Value>(loop.getResults());
}

LogicalResult RowKernel::emitKeys(scf::ForOp op) {
  // Where the maximum may start as a number, it is that of the scores here.
  if (op.getNumRegionIterArgs() != 3 ||
      !op.getInitArgs()[0].getDefiningOp<OnlineStartOp>() ||
      op.getInitArgs() != op.getInitArgs()[0].getDefiningOp()->getResults())
    return op.emitError("expects a loop over a list of keys that starts from "
                        "the neutral state on a GPU")
           << otherTarget;
  Value aligned;
  auto require = [&](Value source, unsigned columnDim) -> LogicalResult {
    FailureOr<unsigned> argument = getArgument(source, op);
    if (failed(argument))
      return failure();
    Value own = isAligned(*argument, columnDim);
    aligned = aligned ? b.andI(aligned, own) : own;
    return success();
  };
  // Elements of the accumulator in this lane.
  int64_t numOwn = 0;
  WalkResult walk = op.walk([&](vector::ContractionOp contract) {
    FailureOr<GatheredRows> rows = getRows(contract);
    if (succeeded(rows) && !op.isDefinedOutsideOfLoop(contract.getRhs()))
      numOwn = getNumOwn(*rows);
    if (failed(rows))
      return WalkResult::interrupt();
    return WalkResult(
        require(function.getArgument(rows->argument), rows->columnDim));
  });
  if (walk.wasInterrupted())
    return failure();
  for (auto read : grid.getOps<vector::TransferReadOp>())
    if (failed(require(read.getBase(),
                       read.getPermutationMap().getDimPosition(0))))
      return failure();

  // The same twice: rows that are aligned to 16 bytes, as a rule, and others.
  SmallVector<Type> types(queries.size() * (2 + numOwn), b.getF32Type());
  auto branch = scf::IfOp::create(b, types, aligned, /*withElseRegion=*/true);
  for (bool wide : {true, false}) {
    isWide = wide;
    b.setInsertionPointToStart(wide ? branch.thenBlock() : branch.elseBlock());
    FailureOr<SmallVector<Value>> state = emitKeyLoop(op, numOwn);
    if (failed(state))
      return failure();
    scf::YieldOp::create(b, *state);
  }
  b.setInsertionPointAfter(branch);
  auto addLanes = [&](Value sum, int64_t from) {
    for (int64_t distance = from; distance < hopper::kWarpThreads;
         distance *= 2)
      sum = b.add(sum, shuffleXor(sum, distance));
    return sum;
  };
  ValueRange results = branch.getResults();
  for (Query &each : queries) {
    each.mapping.map(op.getResult(1), results[0]);
    each.mapping.map(op.getResult(2), addLanes(results[1], 1));
    Columns &acc = each.columns[op.getResult(0)];
    for (Value element : results.slice(2, numOwn))
      acc.push_back(addLanes(element, lanes));
    results = results.drop_front(2 + numOwn);
  }
  return success();
}
