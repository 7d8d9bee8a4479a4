//===- ConsumerRole.cpp - The order in which a warpgroup computes ---------===//
//
// For one tile of queries, with tiles of keys t = first, first + 1, ..., end - 1
// that the queries of the warpgroup may attend to:
//
//   release keys and values before first
//   S = scores(first); P, m, l = softmax(S)
//   for t = first + 1, ...:
//     start S = scores(t)
//     start O += values(t - 1) * P
//     wait for S; release keys t
//     P, m, l = softmax(S), rescaling O if a maximum has grown
//     wait for O; release values t - 1
//   O += values(end - 1) * P
//   release keys and values from end
//
//===----------------------------------------------------------------------===//

#include "Roles.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// By how much the base-2 exponent of a maximum may grow before sums and
/// results are brought to it. Probabilities stay below 2^8 then.
static constexpr double kRescaleThreshold = 8;

namespace {
/// acc: vector<Dv x 64>; max: vector<1 x 64>, before the factor of the scores;
/// sum: vector<4 x 64>; probabilities: vector<N x 64>.
struct SoftmaxState {
  Value acc, max, sum, probabilities;
};

/// The tiles of keys that one warpgroup computes with, [first, end), of those
/// that the thread block visits.
struct TileRange {
  Value first, end;
};

/// Scores of one tile, to be multiplied with `factor` for base 2.
struct Scores {
  Value value;
  double factor = 1;
};

class Consumer {
public:
  Consumer(OpBuilder &builder, TileProgram &program, KernelArguments &arguments,
           const KernelResources &resources)
      : builder(builder), program(program), arguments(arguments),
        resources(resources), loc(program.step->getLoc()),
        warpgroup(hopper::WarpgroupIdOp::create(builder, loc)),
        cloner(builder, program, arguments, warpgroup) {}

  LogicalResult emit() {
    return emitWork(builder, program, cloner, resources, /*isProducer=*/false,
                    [&](const Work &work) { return emitTile(work); });
  }

private:
  LogicalResult emitTile(const Work &work);
  FailureOr<TileRange> emitRange(const Work &work);
  void emitSkip(const Work &work, Value from, Value to);
  LogicalResult emitKeys(const Work &work, TileRange range);
  LogicalResult emitResults(Value acc, Value max, Value sum);

  Value startScores(Value keys);
  void emitCaptures(Value number);
  LogicalResult emitReads(Value key);
  FailureOr<Scores> emitScores(Value product, Value key, bool isFirst);
  Scores splitFactor(Value scores);
  FailureOr<Scores> getScores(Value scores);
  SoftmaxState emitFirstSoftmax(Scores scores);
  SoftmaxState emitSoftmax(Scores scores, Value &pendingAcc,
                           SoftmaxState state);
  Value emitProbabilities(Scores scores, Value shift);
  Value emitSafeMax(Value max);

  // Short forms.
  Value index(int64_t value) {
    return arith::ConstantIndexOp::create(builder, loc, value);
  }
  Value splat(Type type, double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(cast<ShapedType>(type),
                               builder.getF32FloatAttr(value).getValue()));
  }
  Value number(int64_t value) {
    return arith::ConstantIntOp::create(builder, loc, value, 32);
  }
  Value add(Value a, Value b) {
    return a.getType().isIntOrIndex()
               ? arith::AddIOp::create(builder, loc, a, b).getResult()
               : arith::AddFOp::create(builder, loc, a, b).getResult();
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(builder, loc, a, b, c);
  }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value get(Value channel, Value number) {
    auto type = cast<hopper::ChannelType>(channel.getType());
    return hopper::GetOp::create(builder, loc, type.getTileType(), channel,
                                 number);
  }
  void release(Value channel, Value number) {
    hopper::ReleaseOp::create(builder, loc, channel, number);
  }
  /// After the last product with them.
  void releaseQueries(const Work &work) {
    if (!resources.stagesInQueries)
      release(resources.queryChannel, work.queryNumber);
  }
  Value wait(Value pending, int64_t inFlight) {
    return hopper::WaitOp::create(
        builder, loc, cast<hopper::PendingType>(pending.getType()).getVector(),
        pending, inFlight);
  }
  void takeTurn() {
    if (resources.turns)
      hopper::TakeTurnOp::create(builder, loc, resources.turns);
  }
  void passTurn() {
    if (resources.turns)
      hopper::PassTurnOp::create(builder, loc, resources.turns);
  }
  Value getRows(Value tile) {
    auto type = cast<hopper::TileType>(tile.getType());
    auto rows = hopper::TileType::get(builder.getContext(),
                                      hopper::kWarpgroupRows, type.getColumns(),
                                      type.getElementType(), type.getRows());
    return hopper::RowsOp::create(builder, loc, rows, tile, warpgroup);
  }
  VectorType getVectorType(int64_t rows, Type element) {
    return VectorType::get({rows, hopper::kWarpgroupRows}, element);
  }
  Value startValues(Value probabilities, Value tile, Value acc) {
    auto type = cast<hopper::TileType>(tile.getType());
    auto result = hopper::PendingType::get(
        builder.getContext(),
        getVectorType(type.getColumns(), builder.getF32Type()));
    return hopper::MmaOp::create(builder, loc, result, probabilities, tile, acc,
                                 /*rhs_transposed=*/true);
  }

  OpBuilder &builder;
  TileProgram &program;
  KernelArguments &arguments;
  const KernelResources &resources;
  Location loc;
  Value warpgroup;
  WorkerCloner cloner;
  /// Computes what holds for the queries of the warpgroup alone: as if they
  /// were a tile of their own.
  std::optional<WorkerCloner> own;
  /// The queries of this consumer: a tile, or a vector.
  Value queries;
  /// The factor of all scores; the maximum is kept without it.
  double factor = 1;
};
} // namespace

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value Consumer::startScores(Value keys) {
  auto type = cast<hopper::TileType>(keys.getType());
  auto result = hopper::PendingType::get(
      builder.getContext(),
      getVectorType(type.getRows(), builder.getF32Type()));
  return hopper::MmaOp::create(builder, loc, result, queries, keys,
                               /*acc=*/Value(), /*rhs_transposed=*/false);
}

/// A positive factor that `scores` of the tile level have in common.
Scores Consumer::splitFactor(Value scores) {
  auto multiply = scores.getDefiningOp<arith::MulFOp>();
  DenseFPElementsAttr constant;
  if (multiply && matchPattern(multiply.getRhs(), m_Constant(&constant)) &&
      constant.isSplat()) {
    double value = constant.getSplatValue<APFloat>().convertToDouble();
    if (value > 0 && std::isfinite(value))
      return {multiply.getLhs(), value};
  }
  return {scores, 1};
}

/// `scores` of the tile level without their factor. Entries that are replaced
/// by -inf, which a positive factor keeps, are replaced after it.
FailureOr<Scores> Consumer::getScores(Value scores) {
  auto select = scores.getDefiningOp<arith::SelectOp>();
  DenseFPElementsAttr constant;
  bool isMasked =
      select && matchPattern(select.getFalseValue(), m_Constant(&constant)) &&
      constant.isSplat() && constant.getSplatValue<APFloat>().isInfinity() &&
      constant.getSplatValue<APFloat>().isNegative();
  Scores split = splitFactor(isMasked ? select.getTrueValue() : scores);
  FailureOr<Value> value = cloner.getVector(split.value, VectorKind::Both);
  if (failed(value))
    return failure();
  split.value = *value;
  if (!isMasked)
    return split;
  FailureOr<Value> condition =
      cloner.getVector(select.getCondition(), VectorKind::Both);
  if (failed(condition))
    return failure();
  split.value = arith::SelectOp::create(builder, loc, *condition, *value,
                                        splat(value->getType(), -INFINITY));
  return split;
}

/// Whether a value of the tile level depends on the product of keys and
/// queries; `seen` are values that are known not to.
static bool dependsOn(Value value, Value product, DenseSet<Value> &seen) {
  if (value == product)
    return true;
  Operation *op = value.getDefiningOp();
  return op && seen.insert(value).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, product, seen);
         });
}

/// Holds use `number` of the captures that come as tiles in registers.
void Consumer::emitCaptures(Value number) {
  for (auto [capture, channel] :
       llvm::zip_equal(program.captures, resources.captureChannels)) {
    const TileAccess &access = capture.access;
    Value vector = hopper::LoadFragmentOp::create(
        builder, loc, getVectorType(access.columns, access.elementType),
        getRows(get(channel, number)));
    release(channel, number);
    for (Value read : capture.reads)
      cloner.map(read, vector);
  }
}

/// Reads of captures that tiles without a predicate need, so that they are
/// under way while the product is computed.
LogicalResult Consumer::emitReads(Value key) {
  auto branch = program.step.getScores().getDefiningOp<scf::IfOp>();
  Block *block = branch ? branch.thenBlock() : program.keys.getBody();
  cloner.map(program.keys.getInductionVar(), key);
  for (auto gather : block->getOps<GatherOp>()) {
    DenseSet<Value> seen;
    if (!isa<VectorType>(gather.getType()) ||
        cloner.isMapped(gather.getResult()) ||
        cloner.isInvariant(gather.getResult()) ||
        dependsOn(gather.getResult(), program.product, seen))
      continue;
    // Along the queries alone nothing changes from tile to tile.
    if (failed(cloner.getVector(gather.getResult(), VectorKind::Key)))
      return failure();
  }
  return success();
}

FailureOr<Scores> Consumer::emitScores(Value product, Value key, bool isFirst) {
  cloner.map(program.product, product);
  scf::ForOp loop = program.keys;
  cloner.map(loop.getInductionVar(), key);
  Value scores = OnlineStepOp(program.step).getScores();
  auto branch = scores.getDefiningOp<scf::IfOp>();
  if (!branch)
    return getScores(scores);
  // The predicate is right for tiles of any class.
  if (isFirst)
    return getScores(branch.elseYield().getOperand(0));
  if (program.isOnlyLastPartial)
    return getScores(branch.thenYield().getOperand(0));
  own->map(loop.getInductionVar(), key);
  WorkerCloner::State ownState = own->save();
  FailureOr<Value> isFull = own->getScalar(branch.getCondition());
  own->restore(std::move(ownState));
  if (failed(isFull))
    return failure();
  auto type = product.getType();
  auto result = scf::IfOp::create(builder, loc, type, *isFull,
                                  /*withElseRegion=*/true);
  double factors[2];
  for (bool isElse : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isElse ? result.elseBlock()
                                            : result.thenBlock());
    WorkerCloner::State saved = cloner.save();
    cloner.setRarelyRun(isElse);
    FailureOr<Scores> side = getScores(
        (isElse ? branch.elseYield() : branch.thenYield()).getOperand(0));
    cloner.setRarelyRun(false);
    cloner.restore(std::move(saved));
    if (failed(side))
      return failure();
    factors[isElse] = side->factor;
    scf::YieldOp::create(builder, loc, side->value);
  }
  if (factors[0] != factors[1])
    return branch.emitError("expects scores with one factor");
  return Scores{result.getResult(0), factors[0]};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// The maximum, or 0 where there is no key yet.
Value Consumer::emitSafeMax(Value max) {
  Value none = splat(max.getType(), -INFINITY);
  Value isNone =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, max, none);
  return arith::SelectOp::create(builder, loc, isNone, splat(max.getType(), 0),
                                 max);
}

/// 2^(factor * scores + shift).
Value Consumer::emitProbabilities(Scores scores, Value shift) {
  Type type = scores.value.getType();
  Value exponent =
      fma(scores.value, splat(type, scores.factor), broadcast(shift, type));
  return math::Exp2Op::create(builder, loc, exponent);
}

SoftmaxState Consumer::emitFirstSoftmax(Scores scores) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  SoftmaxState state;
  state.max =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  Value shift = mul(emitSafeMax(state.max), splat(rowType, -scores.factor));
  Value p = emitProbabilities(scores, shift);
  state.sum = hopper::ReduceOp::create(builder, loc, sumType, "add", p);
  state.probabilities = p;
  return state;
}

SoftmaxState Consumer::emitSoftmax(Scores scores, Value &pendingAcc,
                                   SoftmaxState state) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  Value tileMax =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  Value growth = mul(arith::SubFOp::create(builder, loc, tileMax, state.max),
                     splat(rowType, scores.factor));
  Value grows =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OGT, growth,
                            splat(rowType, kRescaleThreshold));
  Value isNeeded = hopper::AnyOp::create(builder, loc, grows);
  Value larger = arith::MaxNumFOp::create(builder, loc, state.max, tileMax);
  SoftmaxState next;
  next.max = arith::SelectOp::create(builder, loc, isNeeded, larger, state.max);
  Value safeMax = emitSafeMax(next.max);
  Value shift = mul(safeMax, splat(rowType, -scores.factor));
  // Exactly 1 where the maximum is the same, so that no error adds up; 0 where
  // there was no key before.
  Value rescale = math::Exp2Op::create(
      builder, loc,
      mul(arith::SubFOp::create(builder, loc, state.max, safeMax),
          splat(rowType, scores.factor)));
  auto branch = scf::IfOp::create(builder, loc, pendingAcc.getType(), isNeeded,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value acc = wait(pendingAcc, 0);
    Value scaled = mul(acc, broadcast(rescale, acc.getType()));
    scf::YieldOp::create(
        builder, loc,
        hopper::InFlightOp::create(builder, loc, pendingAcc.getType(), scaled)
            .getResult());
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc, pendingAcc);
  }
  pendingAcc = branch.getResult(0);
  Value p = emitProbabilities(scores, shift);
  Value tileSum = hopper::ReduceOp::create(builder, loc, sumType, "add", p);
  next.sum = fma(state.sum, broadcast(rescale, sumType), tileSum);
  next.probabilities = p;
  return next;
}

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
  SmallVector<Value> channels = {resources.keyChannel};
  llvm::append_range(channels, resources.captureChannels);
  channels.push_back(resources.valueChannel);
  for (Value channel : channels) {
    get(channel, use);
    release(channel, use);
  }
  takeTurn();
  passTurn();
}

/// Whether `value` depends on one of the others.
static bool dependsOnAny(Value value, ArrayRef<OpFoldResult> others) {
  return llvm::any_of(others, [&](OpFoldResult other) {
    auto dynamic = dyn_cast<Value>(other);
    DenseSet<Value> seen;
    return dynamic && dependsOn(value, dynamic, seen);
  });
}

/// Where a tile has rows of several warpgroups, each has its own limits, which
/// are those of the tile as a function of its rows.
FailureOr<TileRange> Consumer::emitRange(const Work &work) {
  own.emplace(builder, program, arguments, warpgroup);
  own->mapAll(program.grid.getInductionVars(), cloner);
  TileRange all = {number(0), work.count};
  OpFoldResult row = program.query.position[2];
  auto output = llvm::find_if(program.results, [](const TileResult &result) {
    return cast<VectorType>(result.vector.getType()).getRank() == 2;
  });
  if (program.schedule.getNumConsumers() == 1 || !isa<Value>(row) ||
      output == program.results.end())
    return all;
  FailureOr<Value> firstRow = cloner.getScalar(row),
                   numRows = cloner.getScalar(output->numRows);
  if (failed(firstRow) || failed(numRows))
    return failure();
  // The rows of this warpgroup.
  Value size = index(hopper::kWarpgroupRows);
  Value before = arith::MulIOp::create(builder, loc, warpgroup, size);
  Value ownRows = arith::MinSIOp::create(
      builder, loc, size,
      arith::SubIOp::create(builder, loc, *numRows, before));
  Value hasRows = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sgt, ownRows, index(0));
  own->map(cast<Value>(row), add(*firstRow, before));
  if (auto value = dyn_cast<Value>(output->numRows))
    own->map(value, ownRows);
  Type i32 = builder.getI32Type();
  auto toInt = [&](Value value) {
    return arith::IndexCastOp::create(builder, loc, i32, value);
  };
  Value tileN = number(program.schedule.getTileN());
  Value begin = number(0), end = work.count;
  OpFoldResult rows[] = {row, output->numRows};
  // Keys from the last to the first.
  if (dependsOnAny(program.keys.getUpperBound(), rows)) {
    FailureOr<Value> hi = own->getScalar(program.keys.getUpperBound());
    if (failed(hi))
      return failure();
    Value length = arith::MaxSIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, toInt(*hi), work.lo),
        number(0));
    Value tiles = arith::DivUIOp::create(
        builder, loc, add(length, number(program.schedule.getTileN() - 1)),
        tileN);
    begin = arith::SubIOp::create(
        builder, loc, work.count,
        arith::MinSIOp::create(builder, loc, tiles, work.count));
  }
  if (dependsOnAny(program.keys.getLowerBound(), rows)) {
    FailureOr<Value> lo = own->getScalar(program.keys.getLowerBound());
    if (failed(lo))
      return failure();
    Value length = arith::MaxSIOp::create(
        builder, loc, arith::SubIOp::create(builder, loc, toInt(*lo), work.lo),
        number(0));
    Value tiles = arith::DivUIOp::create(builder, loc, length, tileN);
    end = arith::SubIOp::create(
        builder, loc, work.count,
        arith::MinSIOp::create(builder, loc, tiles, work.count));
  }
  end = arith::SelectOp::create(builder, loc, hasRows, end, begin);
  return TileRange{begin, end};
}

LogicalResult Consumer::emitKeys(const Work &work, TileRange range) {
  TileProgram &p = program;
  int64_t tileN = p.schedule.getTileN();
  Value one = number(1);
  Value tile = getRows(get(resources.queryChannel, work.queryNumber));
  queries = tile;
  bool inRegisters = p.schedule.getQInRegisters();
  if (inRegisters) {
    queries = hopper::LoadFragmentOp::create(
        builder, loc, getVectorType(p.query.columns, p.query.elementType),
        tile);
    releaseQueries(work);
  }
  auto round = [&](Value probabilities) -> Value {
    return arith::TruncFOp::create(
        builder, loc, getVectorType(tileN, p.value.elementType), probabilities);
  };

  emitSkip(work, number(0), range.first);
  Value firstUse = add(work.keyNumber, range.first);
  Value keys = get(resources.keyChannel, firstUse);
  takeTurn();
  Value pending = startScores(keys);
  passTurn();
  Value product = wait(pending, 0);
  release(resources.keyChannel, firstUse);
  WorkerCloner::State saved = cloner.save();
  emitCaptures(firstUse);
  cloner.setRarelyRun(true);
  FailureOr<Scores> scores = emitScores(
      product, work.getKey(builder, loc, range.first, tileN),
      /*isFirst=*/true);
  if (failed(scores))
    return failure();
  factor = scores->factor;
  cloner.setRarelyRun(false);
  cloner.restore(std::move(saved));
  SoftmaxState state = emitFirstSoftmax(*scores);
  state.acc = splat(getVectorType(p.value.columns, builder.getF32Type()), 0);

  auto loop = scf::ForOp::create(
      builder, loc, add(range.first, one), range.end, one,
      ValueRange{state.acc, state.max, state.sum, round(state.probabilities)});
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    Value t = loop.getInductionVar();
    Value use = add(work.keyNumber, t);
    Value previous = arith::SubIOp::create(builder, loc, use, one);
    Value nextKeys = get(resources.keyChannel, use);
    takeTurn();
    Value pendingScores = startScores(nextKeys);
    Value values = get(resources.valueChannel, previous);
    Value pendingAcc =
        startValues(loop.getRegionIterArg(3), values, loop.getRegionIterArg(0));
    passTurn();
    saved = cloner.save();
    Value key = work.getKey(builder, loc, t, tileN);
    emitCaptures(use);
    if (failed(emitReads(key)))
      return failure();
    Value next = wait(pendingScores, 1);
    release(resources.keyChannel, use);
    scores = emitScores(next, key, /*isFirst=*/false);
    cloner.restore(std::move(saved));
    if (failed(scores))
      return failure();
    if (scores->factor != factor)
      return p.keys.emitError("expects scores with one factor");
    SoftmaxState nextState = emitSoftmax(
        *scores, pendingAcc,
        {Value(), loop.getRegionIterArg(1), loop.getRegionIterArg(2), Value()});
    Value acc = wait(pendingAcc, 0);
    release(resources.valueChannel, previous);
    scf::YieldOp::create(builder, loc,
                         ValueRange{acc, nextState.max, nextState.sum,
                                    round(nextState.probabilities)});
  }
  if (!inRegisters)
    releaseQueries(work);
  Value use = arith::SubIOp::create(
      builder, loc, add(work.keyNumber, range.end), one);
  Value values = get(resources.valueChannel, use);
  Value acc =
      wait(startValues(loop.getResult(3), values, loop.getResult(0)), 0);
  release(resources.valueChannel, use);
  emitSkip(work, range.end, work.count);
  Value max =
      mul(loop.getResult(1), splat(loop.getResult(1).getType(), factor));
  scf::YieldOp::create(builder, loc, ValueRange{acc, max, loop.getResult(2)});
  return success();
}

LogicalResult Consumer::emitTile(const Work &work) {
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
  Value sum = hopper::ReduceOp::create(builder, loc, types[1], "add",
                                       branch.getResult(2));
  if (failed(emitResults(branch.getResult(0), branch.getResult(1), sum)))
    return failure();
  if (resources.stagesInQueries) {
    hopper::DrainOp::create(builder, loc);
    release(resources.queryChannel, work.queryNumber);
  }
  return success();
}

LogicalResult Consumer::emitResults(Value acc, Value max, Value sum) {
  scf::ForOp keys = program.keys;
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
    bool isRows = cast<VectorType>(result.vector.getType()).getRank() == 1;
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
    hopper::StoreRowsOp::create(builder, loc, *vector,
                                arguments.getMemRef(result.argument), position,
                                rowDim, end);
  }
  return success();
}

LogicalResult mlir::attn::emitConsumer(OpBuilder &builder, TileProgram &program,
                                       KernelArguments &arguments,
                                       const KernelResources &resources) {
  return Consumer(builder, program, arguments, resources).emit();
}
