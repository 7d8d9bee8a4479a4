//===- SkewLoop.cpp - Late steps without a prologue -----------------------===//

#include "SkewLoop.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

static int64_t getStage(PipelinedForOp source, Operation *op) {
  auto step = dyn_cast<hopper::StepOp>(op);
  if (!step)
    step = op->getParentOfType<hopper::StepOp>();
  return source.getPlace(step.getName()).second;
}

//===----------------------------------------------------------------------===//
// What can be skewed
//===----------------------------------------------------------------------===//

namespace {
/// A channel that a loop fills and reads itself: what fills it, and how many
/// stages later its tiles are read.
struct OwnChannel {
  PutFragmentOp put;
  int64_t distance = 0;
};
} // namespace

/// What a loop does with a channel that nobody else uses, or none.
static std::optional<OwnChannel> getOwnChannel(PipelinedForOp loop,
                                               Value channel) {
  OwnChannel own;
  std::optional<int64_t> read;
  for (Operation *user : channel.getUsers()) {
    if (!loop->isAncestor(user))
      return std::nullopt;
    if (isa<NextUseOp>(user))
      continue;
    if (auto put = dyn_cast<PutFragmentOp>(user)) {
      if (own.put || put.getCondition())
        return std::nullopt;
      own.put = put;
      continue;
    }
    // Got and released once in an iteration, whatever that is.
    bool isPlain = isa<GetOp, ReleaseOp>(user) && user->getNumOperands() == 2 &&
                   isa<hopper::StepOp>(user->getParentOp());
    int64_t stage = getStage(loop, user);
    if (!isPlain || (read && *read != stage))
      return std::nullopt;
    read = stage;
  }
  if (!own.put || !read)
    return std::nullopt;
  own.distance = *read - getStage(loop, own.put);
  return own;
}

/// Whether a partition takes turns nowhere but in a loop.
static bool areOwnTurns(PipelinedForOp loop, Value turns) {
  return llvm::all_of(turns.getUsers(), [&](Operation *user) {
    return loop->isAncestor(user) || getPartition(user) != getPartition(loop);
  });
}

/// Whether an operation of a late step may run for a block that there is not.
static bool mayRunEarly(PipelinedForOp loop, Operation *op) {
  if (isa<GetOp, ReleaseOp, PutFragmentOp>(op))
    return getOwnChannel(loop, op->getOperand(0)).has_value();
  if (isa<TakeTurnOp, GiveTurnOp>(op))
    return areOwnTurns(loop, op->getOperand(0));
  return isa<NextUseOp, ReduceAddOp>(op) || isPure(op) ||
         op->hasTrait<OpTrait::HasRecursiveMemoryEffects>() ||
         hasSingleEffect<MemoryEffects::Read>(op);
}

bool mlir::attn::hopper::canSkew(PipelinedForOp loop) {
  for (auto name : loop.getExclusive().getAsRange<StringAttr>())
    if (loop.getPlace(name.getValue()).second > 0)
      return false;
  bool hasLate = false;
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>()) {
    int64_t stage = getStage(loop, step);
    if (stage == 0)
      continue;
    hasLate = true;
    for (Value carried : loop.getEnd().getValues())
      if (carried.getDefiningOp() == step)
        return false;
    WalkResult walk = step.walk([&](Operation *op) {
      for (Value operand : op->getOperands()) {
        auto from = operand.getDefiningOp<hopper::StepOp>();
        if (from && isa<TileType>(operand.getType()) &&
            from->getParentOp() == loop && getStage(loop, from) != stage)
          return WalkResult::interrupt();
      }
      return op == step || mayRunEarly(loop, op) ? WalkResult::advance()
                                                 : WalkResult::interrupt();
    });
    if (walk.wasInterrupted())
      return false;
  }
  return hasLate;
}

//===----------------------------------------------------------------------===//
// The skewed loop
//===----------------------------------------------------------------------===//

namespace {
class LoopSkewer {
public:
  LoopSkewer(RewriterBase &rewriter, scf::ForOp loop, PipelinedForOp source)
      : rewriter(rewriter), loop(loop), source(source), loc(loop.getLoc()) {}

  scf::ForOp run();

private:
  void collectSteps();
  void emitFirstTiles();
  void emitStep(hopper::StepOp step, Value number, Value exists,
                function_ref<Value(Value, int64_t)> lookup,
                DenseMap<Value, Value> &results);
  void emitIteration(scf::ForOp next);
  void emitEpilogue(scf::ForOp next);

  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  }
  Value subtract(Value a, int64_t b) {
    return b == 0 ? a : arith::SubIOp::create(rewriter, loc, a, i32(b));
  }
  /// How many iterations lie between the one that gives a value and one of a
  /// step of this stage that uses it.
  int64_t getDistance(Value value, int64_t stage) {
    Operation *from = value.getDefiningOp();
    return stage - (from ? getStage(source, from) : 0);
  }
  /// Whether a value is another one in each iteration.
  bool isOfLoop(Value value) {
    return value.getParentBlock() == loop.getBody() &&
           value != loop.getInductionVar();
  }

  RewriterBase &rewriter;
  scf::ForOp loop;
  PipelinedForOp source;
  Location loc;
  /// In the order of the schedule.
  SmallVector<hopper::StepOp> steps;
  int64_t lastStage = 0;
  /// Values that are used up to so many iterations after their own, and the
  /// number of the first carried value that holds them.
  llvm::MapVector<Value, int64_t> delays;
  DenseMap<Value, unsigned> firstDelayed;
};
} // namespace

void LoopSkewer::collectSteps() {
  for (auto place : source.getSchedule().getAsRange<PlaceAttr>())
    for (auto step : loop.getBody()->getOps<hopper::StepOp>()) {
      if (step.getName() != place.getName())
        continue;
      steps.push_back(step);
      int64_t stage = place.getStage();
      lastStage = std::max(lastStage, stage);
      step.walk([&](Operation *op) {
        for (Value operand : op->getOperands())
          if (isOfLoop(operand))
            if (int64_t distance = getDistance(operand, stage); distance > 0)
              delays[operand] = std::max(delays[operand], distance);
      });
    }
  unsigned number = loop.getInitArgs().size();
  for (auto [value, delay] : delays) {
    firstDelayed[value] = number;
    number += delay;
  }
}

/// Late steps of the first iterations read tiles of zeros.
void LoopSkewer::emitFirstTiles() {
  SmallVector<PutFragmentOp> puts;
  loop.walk([&](PutFragmentOp put) { puts.push_back(put); });
  for (PutFragmentOp put : puts) {
    int64_t read = -1;
    for (Operation *user : put.getChannel().getUsers())
      if (isa<GetOp>(user) && loop->isAncestor(user))
        read = std::max(read, getStage(source, user));
    for (int64_t stage = getStage(source, put); stage < read; ++stage) {
      Value number = NextUseOp::create(rewriter, loc, put.getChannel());
      Value zeros = createSplat(rewriter, loc, put.getVector().getType(), 0);
      Value block =
          put.getBlock() ? WarpgroupIdOp::create(rewriter, loc) : Value();
      PutFragmentOp::create(rewriter, loc, put.getChannel(), number, zeros,
                            block, /*condition=*/Value(), put.getTransposed());
    }
  }
}

/// Copies a step for block `number`; `lookup` gives values of iterations
/// before. What others see is left out unless the block `exists`; null stands
/// for true.
void LoopSkewer::emitStep(hopper::StepOp step, Value number, Value exists,
                          function_ref<Value(Value, int64_t)> lookup,
                          DenseMap<Value, Value> &results) {
  int64_t stage = getStage(source, step);
  IRMapping mapping;
  mapping.map(loop.getInductionVar(), number);
  step.walk([&](Operation *op) {
    for (Value operand : op->getOperands())
      if (isOfLoop(operand))
        mapping.map(operand, lookup(operand, getDistance(operand, stage)));
  });
  auto copy = cast<hopper::StepOp>(rewriter.clone(*step, mapping));
  for (auto [from, to] : llvm::zip_equal(step.getResults(), copy.getResults()))
    results[from] = to;
  // No turn is taken for the blocks that there are not.
  copy.walk([&](NextUseOp next) {
    if (isa<TurnsType>(next.getChannel().getType()))
      next.setSkipped(stage);
  });
  if (!exists)
    return;
  auto restrict = [&](auto op) {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPoint(op);
    Value condition = op.getCondition();
    condition = condition
                    ? arith::AndIOp::create(rewriter, loc, condition, exists)
                          .getResult()
                    : exists;
    rewriter.modifyOpInPlace(
        op, [&] { op.getConditionMutable().assign(condition); });
  };
  copy.walk([&](Operation *op) {
    llvm::TypeSwitch<Operation *>(op).Case<ReduceAddOp, TakeTurnOp, GiveTurnOp>(
        restrict);
  });
}

void LoopSkewer::emitIteration(scf::ForOp next) {
  rewriter.setInsertionPointToStart(next.getBody());
  DenseMap<Value, Value> now;
  for (auto [from, to] :
       llvm::zip(loop.getRegionIterArgs(), next.getRegionIterArgs()))
    now[from] = to;
  auto lookup = [&](Value value, int64_t distance) -> Value {
    if (distance == 0)
      return now.at(value);
    return next.getRegionIterArg(firstDelayed.at(value) + distance - 1);
  };
  SmallVector<Value> numbers, exist = {Value()};
  for (int64_t stage : llvm::seq(lastStage + 1))
    numbers.push_back(subtract(next.getInductionVar(), stage));
  for (int64_t stage : llvm::seq<int64_t>(1, lastStage + 1))
    exist.push_back(
        arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge,
                              numbers[stage], next.getLowerBound()));
  for (hopper::StepOp step : steps) {
    int64_t stage = getStage(source, step);
    emitStep(step, numbers[stage], exist[stage], lookup, now);
  }
  SmallVector<Value> yielded;
  for (Value value : loop.getYieldedValues())
    yielded.push_back(isOfLoop(value) ? now.at(value) : value);
  for (auto [value, delay] : delays)
    for (int64_t distance : llvm::seq(delay))
      yielded.push_back(lookup(value, distance));
  scf::YieldOp::create(rewriter, loc, yielded);
}

/// What is left of the last blocks: in each further iteration the steps of one
/// stage fewer.
void LoopSkewer::emitEpilogue(scf::ForOp next) {
  rewriter.setInsertionPointAfter(next);
  SmallVector<DenseMap<Value, Value>> results(lastStage);
  for (int64_t further : llvm::seq(lastStage))
    for (hopper::StepOp step : steps) {
      int64_t stage = getStage(source, step), back = stage - further;
      if (back <= 0)
        continue;
      auto lookup = [&](Value value, int64_t distance) -> Value {
        if (distance <= further && value.getDefiningOp())
          return results[further - distance].at(value);
        return next.getResult(firstDelayed.at(value) + distance - further - 1);
      };
      Value number = subtract(next.getUpperBound(), back), exists;
      if (back > 1)
        exists = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::sge,
                                       number, next.getLowerBound());
      emitStep(step, number, exists, lookup, results[further]);
    }
}

scf::ForOp LoopSkewer::run() {
  collectSteps();
  rewriter.setInsertionPoint(loop);
  emitFirstTiles();
  SmallVector<Value> inits(loop.getInitArgs());
  for (auto [value, delay] : delays) {
    Value zero = arith::ConstantOp::create(
        rewriter, loc, rewriter.getZeroAttr(value.getType()));
    inits.append(delay, zero);
  }
  auto next = scf::ForOp::create(rewriter, loc, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getStep(), inits);
  // A loop that carries nothing has its end already.
  if (inits.empty())
    rewriter.eraseOp(next.getBody()->getTerminator());
  emitIteration(next);
  emitEpilogue(next);
  rewriter.replaceOp(loop, next.getResults().take_front(loop.getNumResults()));
  return next;
}

scf::ForOp mlir::attn::hopper::skewLoop(RewriterBase &rewriter, scf::ForOp loop,
                                        PipelinedForOp source) {
  return LoopSkewer(rewriter, loop, source).run();
}
