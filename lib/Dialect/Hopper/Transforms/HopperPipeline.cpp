//===- HopperPipeline.cpp - Later stages run beside the next block --------===//

#include "CarryPlaces.h"
#include "PingPongSteps.h"
#include "SkewLoop.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/SCF/Transforms/Transforms.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/StringMap.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERPIPELINEPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// The blocks of a loop by the order in which they are visited, from the last
/// one: `count` of them come by channels, and the partition computes with those
/// from `first` up to `end`. All are i32.
struct VisitedBlocks {
  Value lower, last, count, first, end;
};

class Pipeliner {
public:
  Pipeliner(IRRewriter &rewriter, PipelinedForOp loop, Value pingPong)
      : rewriter(rewriter), loop(loop), loc(loop.getLoc()),
        pingPong(loop.getExclusive().empty() ? Value() : pingPong),
        isSkewed(!loop.isWhile() && canSkew(loop)), places(rewriter, loop) {}

  LogicalResult run();

private:
  LogicalResult runWhile();
  LogicalResult checkTiles();
  LogicalResult checkPredicates();
  VisitedBlocks emitRange();
  void sinkScalars();
  SmallVector<hopper::StepOp> getReleases(ArrayRef<Operation *> epilogue);
  void releaseEarly(scf::IfOp branch, scf::ForOp main);
  void emitPassed(Value from, Value to);
  Value emitPassedTold(Value code, Value upper);
  Value emitPass(Value code);
  FailureOr<scf::ForOp> pipeline(scf::ForOp result);
  Operation *predicate(Operation *op, Value exists);
  void selectByBranch(Block *block);
  int64_t getLastStage();
  FailureOr<scf::ForOp> pipelineBody(scf::ForOp result);
  void finish(Block &block);

  Value i32(int64_t value) {
    return arith::ConstantIntOp::create(rewriter, loc, value, 32);
  }
  template <typename Op> Value emit(Value a, Value b) {
    return Op::create(rewriter, loc, a, b);
  }
  Value toI32(Value index) {
    return arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(),
                                      index);
  }

  IRRewriter &rewriter;
  PipelinedForOp loop;
  Location loc;
  Value pingPong;
  /// Whether late steps have no prologue.
  bool isSkewed;
  CarriedPlaces places;
};
} // namespace

/// A tile is a place in shared memory, which is not carried from block to
/// block.
LogicalResult Pipeliner::checkTiles() {
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
    for (Value result : step.getResults()) {
      if (!isa<TileType>(result.getType()))
        continue;
      int64_t stage = loop.getPlace(step.getName()).second;
      for (Operation *user : result.getUsers()) {
        auto other = user->getParentOfType<hopper::StepOp>();
        if (other && loop.getPlace(other.getName()).second == stage)
          continue;
        InFlightDiagnostic diagnostic =
            user->emitOpError("expects a tile that arrives in its own stage; "
                              "give both steps one stage");
        diagnostic.attachNote(step.getLoc())
            << "'" << step.getName() << "', where it arrives, is in stage "
            << stage;
        return failure();
      }
    }
  return success();
}

/// Around a loop of more than two stages steps are under branches, as there may
/// be fewer blocks than stages. A tile does not leave a branch, and of a loop
/// that is told its blocks nobody knows how many there are.
LogicalResult Pipeliner::checkPredicates() {
  if (getLastStage() < 2 || isSkewed)
    return success();
  if (loop.isWhile())
    return loop.emitOpError("expects stages 0 and 1 in the schedule of a loop "
                            "that is told its blocks, but got ")
           << getLastStage();
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
    if (llvm::any_of(step.getResultTypes(), llvm::IsaPred<TileType>))
      return step.emitOpError("expects a tile that one step alone uses, in a "
                              "loop of more than two stages");
  return success();
}

VisitedBlocks Pipeliner::emitRange() {
  Value zero = i32(0);
  int64_t step = loop.getStep();
  bool isPart = loop.getOuterLower() != nullptr;
  Value upper = isPart ? loop.getOuterUpper() : loop.getUpper();
  VisitedBlocks range;
  range.lower = toI32(isPart ? loop.getOuterLower() : loop.getLower());
  /// How many blocks `length` positions are, at least, or at most.
  auto getBlocks = [&](Value position, int64_t extra) {
    Value length = emit<arith::MaxSIOp>(
        emit<arith::SubIOp>(toI32(position), range.lower), zero);
    if (extra)
      length = emit<arith::AddIOp>(length, i32(extra));
    return emit<arith::DivUIOp>(length, i32(step));
  };
  range.count = getBlocks(upper, step - 1);
  range.last = emit<arith::SubIOp>(range.count, i32(1));
  range.first = zero;
  range.end = range.count;
  if (!isPart)
    return range;
  auto getVisited = [&](Value position, int64_t extra) {
    return emit<arith::SubIOp>(
        range.count,
        emit<arith::MinSIOp>(getBlocks(position, extra), range.count));
  };
  range.first = getVisited(loop.getUpper(), step - 1);
  range.end = getVisited(loop.getLower(), 0);
  return range;
}

/// Scalars between steps are computed in each step that uses them, so that the
/// loop has nothing but steps.
void Pipeliner::sinkScalars() {
  SmallVector<Operation *> scalars;
  for (Operation &op : loop.getBlock()->without_terminator())
    if (!isa<hopper::StepOp>(op))
      scalars.push_back(&op);
  for (Operation *op : llvm::reverse(scalars)) {
    for (auto step : loop.getBlock()->getOps<hopper::StepOp>()) {
      auto isInStep = [&](OpOperand &use) {
        return step->isProperAncestor(use.getOwner());
      };
      if (llvm::none_of(op->getUses(), isInStep))
        continue;
      rewriter.setInsertionPointToStart(step.getBlock());
      Operation *clone = rewriter.clone(*op);
      for (auto [from, to] :
           llvm::zip_equal(op->getResults(), clone->getResults()))
        rewriter.replaceUsesWithIf(from, to, isInStep);
    }
    rewriter.eraseOp(op);
  }
}

/// Blocks that come by channels and are for other replicas are waited for, and
/// given back unread, in the order of the steps: of one block, those of a later
/// stage come later.
void Pipeliner::emitPassed(Value from, Value to) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto passed = scf::ForOp::create(rewriter, loc, from, to, i32(1));
  rewriter.setInsertionPointToStart(passed.getBody());
  emitPass(/*code=*/Value());
}

/// Passes over one block, and gives the code of the next one where blocks are
/// told, of which this one has `code`.
Value Pipeliner::emitPass(Value code) {
  // The turn first, as others may wait for it before they give back a block.
  if (pingPong) {
    PingPongWaitOp::create(rewriter, loc, pingPong);
    PingPongArriveOp::create(rewriter, loc, pingPong);
  }
  Value next;
  auto pass = [&](GetOp get) {
    OpBuilder::InsertionGuard guard(rewriter);
    // What a predicate gets has come for partial blocks alone.
    if (code && get->getParentOfType<MaskOp>()) {
      Value isPartial =
          arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ne,
                                emit<arith::AndIOp>(code, i32(1)), i32(0));
      auto branch = scf::IfOp::create(rewriter, loc, isPartial);
      rewriter.setInsertionPointToStart(branch.thenBlock());
    }
    Value channel = get.getChannel();
    Value number = NextUseOp::create(rewriter, loc, channel);
    auto passed = GetOp::create(rewriter, loc, channel, number);
    if (get.getPayload())
      next = passed.getPayload();
    number = NextUseOp::create(rewriter, loc, channel);
    ReleaseOp::create(rewriter, loc, channel, number);
  };
  for (int64_t stage : llvm::seq(getLastStage() + 1))
    for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
      for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
        if (place.getStage() == stage && step.getName() == place.getName())
          step.walk(pass);
  return next;
}

/// Passes over the blocks that are told from that with `code` on, and start at
/// `upper` or behind it; over all that there are if that is null. Gives the
/// code of the block behind them.
Value Pipeliner::emitPassedTold(Value code, Value upper) {
  OpBuilder::InsertionGuard guard(rewriter);
  auto passed = scf::WhileOp::create(
      rewriter, loc, code.getType(), code,
      [&](OpBuilder &, Location, ValueRange values) {
        Value first = upper ? upper : i32(0);
        Value goesOn = arith::CmpIOp::create(
            rewriter, loc, arith::CmpIPredicate::sge, values[0], first);
        scf::ConditionOp::create(rewriter, loc, goesOn, values);
      },
      [&](OpBuilder &, Location, ValueRange values) {
        Value next = emitPass(values[0]);
        scf::YieldOp::create(rewriter, loc, next);
      });
  return passed.getResult(0);
}

/// What is after the loop, and gives back tiles that `epilogue` does not use.
SmallVector<hopper::StepOp>
Pipeliner::getReleases(ArrayRef<Operation *> epilogue) {
  DenseSet<Value> used;
  for (Operation *op : epilogue)
    op->walk([&](Operation *inner) {
      used.insert(inner->operand_begin(), inner->operand_end());
    });
  DenseSet<Value> kept;
  for (auto step : loop->getBlock()->getOps<hopper::StepOp>())
    if (llvm::any_of(step.getResults(),
                     [&](Value result) { return used.contains(result); }))
      step.walk([&](GetOp get) { kept.insert(get.getChannel()); });
  SmallVector<hopper::StepOp> releases;
  for (Operation *op = loop->getNextNode(); op; op = op->getNextNode()) {
    auto step = dyn_cast<hopper::StepOp>(op);
    auto isRelease = [&](Operation &inner) {
      auto release = dyn_cast<ReleaseOp>(inner);
      return release ? !kept.contains(release.getChannel())
                     : isa<NextUseOp>(inner);
    };
    if (!step ||
        !llvm::all_of(step.getBlock()->without_terminator(), isRelease))
      break;
    releases.push_back(step);
  }
  return releases;
}

/// What the loop alone reads is given back before the epilogue, so that it can
/// come for the next work tile.
void Pipeliner::releaseEarly(scf::IfOp branch, scf::ForOp main) {
  SmallVector<Operation *> epilogue;
  for (Operation *op = main->getNextNode(); op; op = op->getNextNode())
    epilogue.push_back(op);
  for (hopper::StepOp step : getReleases(epilogue)) {
    rewriter.setInsertionPoint(epilogue.front());
    rewriter.clone(*step);
    rewriter.moveOpBefore(step, branch.elseBlock()->getTerminator());
  }
}

int64_t Pipeliner::getLastStage() {
  int64_t last = 0;
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    last = std::max(last, place.getStage());
  return last;
}

FailureOr<scf::ForOp> Pipeliner::pipeline(scf::ForOp result) {
  int64_t lastStage = getLastStage();
  // In the order of the schedule.
  SmallVector<hopper::StepOp> steps(result.getBody()->getOps<hopper::StepOp>());
  std::vector<std::pair<Operation *, unsigned>> order;
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    for (hopper::StepOp step : steps)
      if (step.getName() == place.getName())
        order.emplace_back(step, place.getStage());
  if (lastStage == 0) {
    for (auto [step, stage] : order)
      rewriter.moveOpBefore(step, result.getBody()->getTerminator());
    return result;
  }
  scf::PipeliningOption options;
  options.getScheduleFn =
      [&](scf::ForOp, std::vector<std::pair<Operation *, unsigned>> &ops) {
        ops = order;
      };
  options.supportDynamicLoops = true;
  // How often a step has been written: for the blocks 0, 1, ... in the
  // prologue, for the last ones in the epilogue. There is a block, which is the
  // only one that is known to be the first, or the last, of a stage.
  llvm::StringMap<int64_t> written;
  options.predicateFn = [&](RewriterBase &, Operation *op,
                            Value exists) -> Operation * {
    auto step = dyn_cast<hopper::StepOp>(op);
    if (!step)
      return op;
    int64_t stage = loop.getPlace(step.getName()).second;
    int64_t number = written[step.getName()]++;
    // The prologue has `lastStage - stage` of them, the epilogue `stage`.
    bool isFirst = stage != lastStage && number == 0;
    bool isLast = stage == lastStage && number == 0;
    return isFirst || isLast ? op : predicate(op, exists);
  };
  bool onlyLastPartial = loop.getOnlyLastPartial();
  options.annotateFn = [&](Operation *op,
                           scf::PipeliningOption::PipelinerPart part,
                           unsigned iteration) {
    using Part = scf::PipeliningOption::PipelinerPart;
    // The first block visited has a prologue of its own.
    op->walk([&](MaskOp mask) {
      auto step = mask->getParentOfType<hopper::StepOp>();
      if (loop.getPlace(step.getName()).second != 0)
        return;
      // What it reads may come for partial blocks alone.
      bool getsTiles = mask.getPredicate()
                           .walk([](GetOp) { return WalkResult::interrupt(); })
                           .wasInterrupted();
      if (part == Part::Prologue && iteration == 0 && !getsTiles)
        mask.setWhen("always");
      else if (onlyLastPartial)
        mask.setWhen("never");
    });
  };
  // Prologue and epilogue go where the rewriter stands.
  rewriter.setInsertionPoint(result);
  return scf::pipelineForLoop(rewriter, result, options);
}

/// A step for a block that there may not be.
Operation *Pipeliner::predicate(Operation *op, Value exists) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  auto branch = scf::IfOp::create(rewriter, loc, op->getResultTypes(), exists,
                                  /*withElseRegion=*/op->getNumResults() > 0);
  if (op->getNumResults() == 0) {
    rewriter.moveOpBefore(op, branch.thenBlock()->getTerminator());
    return branch;
  }
  rewriter.setInsertionPointToEnd(branch.thenBlock());
  auto yield = scf::YieldOp::create(rewriter, loc, op->getResults());
  rewriter.moveOpBefore(op, yield);
  // What nobody uses, or what there was before (selectByBranch).
  rewriter.setInsertionPointToEnd(branch.elseBlock());
  SmallVector<Value> none;
  for (Type type : op->getResultTypes())
    none.push_back(
        arith::ConstantOp::create(rewriter, loc, rewriter.getZeroAttr(type)));
  scf::YieldOp::create(rewriter, loc, none);
  return branch;
}

/// What is carried where a block does not exist is the other side of the branch
/// of its step. All else is known to exist: what is carried by it is what its
/// step gives. The sign of the loop's step is between constants.
void Pipeliner::selectByBranch(Block *block) {
  for (auto select :
       llvm::make_early_inc_range(block->getOps<arith::SelectOp>())) {
    Value value = select.getTrueValue();
    if (matchPattern(value, m_Constant()))
      continue;
    auto branch = value.getDefiningOp<scf::IfOp>();
    if (branch && branch.getCondition() == select.getCondition())
      branch.elseYield()->setOperand(cast<OpResult>(value).getResultNumber(),
                                     select.getFalseValue());
    rewriter.replaceOp(select, value);
  }
}

/// Puts what is in the steps of an operation or a block in their place.
template <typename Around>
static void inlineSteps(RewriterBase &rewriter, Around &around) {
  SmallVector<hopper::StepOp> steps;
  around.walk([&](hopper::StepOp step) { steps.push_back(step); });
  for (hopper::StepOp step : steps) {
    SmallVector<Value> values(step.getEnd().getValues());
    rewriter.eraseOp(step.getEnd());
    rewriter.inlineBlockBefore(step.getBlock(), step);
    rewriter.replaceOp(step, values);
  }
}

/// Steps that have their places go.
void Pipeliner::finish(Block &block) {
  inlineSteps(rewriter, block);
  waitBeforePingPong(rewriter, block);
}

/// Moves the body of the loop to one that has its carried values, and pipelines
/// that.
FailureOr<scf::ForOp> Pipeliner::pipelineBody(scf::ForOp result) {
  Block *body = result.getBody(), *source = loop.getBlock();
  EndOp end = loop.getEnd();
  SmallVector<Value> values(end.getValues());
  if (!body->empty())
    rewriter.eraseOp(body->getTerminator());
  rewriter.eraseOp(end);
  // The loop's variable has no use any more.
  ValueRange carried = result.getRegionIterArgs();
  size_t numCarried = values.size();
  rewriter.replaceAllUsesWith(loop.getCarried(),
                              carried.take_front(numCarried));
  source->eraseArguments(0, source->getNumArguments());
  rewriter.inlineBlockBefore(source, body, body->end());
  rewriter.setInsertionPointToEnd(body);
  llvm::append_range(values, places.emitNext(carried.drop_front(numCarried)));
  scf::YieldOp::create(rewriter, loc, values);
  // The body of the loop is gone; its schedule is needed until the end.
  rewriter.createBlock(&loop.getBody());
  if (isSkewed)
    return skewLoop(rewriter, result, loop);
  FailureOr<scf::ForOp> pipelined = pipeline(result);
  if (failed(pipelined))
    return loop.emitOpError("expects a schedule that can be pipelined");
  return pipelined;
}

/// A loop goes on while the first of its carried values is not less than
/// `least`, in place of its number of iterations.
static void makeWhile(IRRewriter &rewriter, scf::ForOp loop, Value least) {
  Location loc = loop.getLoc();
  rewriter.setInsertionPoint(loop);
  auto result = scf::WhileOp::create(
      rewriter, loc, loop.getResultTypes(), loop.getInitArgs(),
      [&](OpBuilder &builder, Location, ValueRange values) {
        Value goesOn = arith::CmpIOp::create(
            builder, loc, arith::CmpIPredicate::sge, values[0], least);
        scf::ConditionOp::create(builder, loc, goesOn, values);
      },
      [](OpBuilder &, Location, ValueRange) {});
  rewriter.inlineBlockBefore(
      loop.getBody(), result.getAfterBody(), result.getAfterBody()->end(), [&] {
        // The number of an iteration has no use.
        SmallVector<Value> arguments = {loop.getLowerBound()};
        llvm::append_range(arguments, result.getAfterArguments());
        return arguments;
      }());
  rewriter.replaceOp(loop, result.getResults());
}

/// How many blocks there are is not known before: it is pipelined as a loop
/// over all numbers, which then ends where the blocks do.
LogicalResult Pipeliner::runWhile() {
  rewriter.setInsertionPoint(loop);
  Value first = loop.getInits().front(), least = i32(0);
  bool isPart = loop.getLower() != nullptr;
  if (isPart) {
    // Codes are compared as they are. Of a block that starts below a multiple
    // of 16 the code is below it, too, whatever it says besides. Blocks whose
    // codes are the least or more start above `lower - step`.
    auto roundUp = [&](Value position) {
      return emit<arith::AndIOp>(
          emit<arith::AddIOp>(position, i32(kCodeAlignment - 1)),
          i32(-kCodeAlignment));
    };
    Value above =
        emit<arith::SubIOp>(toI32(loop.getLower()), i32(loop.getStep() - 1));
    least = roundUp(emit<arith::MaxSIOp>(above, least));
    Value upper = emit<arith::MaxSIOp>(toI32(loop.getUpper()), i32(0));
    first = emitPassedTold(first, roundUp(upper));
    rewriter.modifyOpInPlace(loop,
                             [&] { loop.getInitsMutable()[0].assign(first); });
  }
  Value hasBlocks = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::sge, first, least);
  Value zero = i32(0), all = i32(std::numeric_limits<int32_t>::max()),
        one = i32(1);
  auto branch = scf::IfOp::create(rewriter, loc, loop.getResultTypes(),
                                  hasBlocks, /*withElseRegion=*/true);
  if (isPart)
    emitPassedTold(branch.getResult(0), /*upper=*/Value());
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, loop.getInits());
  if (pingPong)
    addPingPongSteps(rewriter, loop, pingPong);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  auto result =
      scf::ForOp::create(rewriter, loc, zero, all, one, loop.getInits());
  scf::YieldOp::create(rewriter, loc, result.getResults());
  FailureOr<scf::ForOp> pipelined = pipelineBody(result);
  if (failed(pipelined))
    return failure();
  releaseEarly(branch, *pipelined);
  makeWhile(rewriter, *pipelined, least);
  finish(*branch.thenBlock());
  loop->replaceAllUsesWith(branch.getResults());
  return success();
}

LogicalResult Pipeliner::run() {
  if (failed(checkTiles()) || failed(checkPredicates()))
    return failure();
  sinkScalars();
  if (!loop.isWhile() && failed(places.match()))
    return failure();
  if (loop.isWhile())
    return runWhile();
  rewriter.setInsertionPoint(loop);
  VisitedBlocks range = emitRange();
  bool isPart = loop.getOuterLower() != nullptr;
  if (isPart)
    emitPassed(i32(0), range.first);
  Value hasBlocks = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::slt, range.first, range.end);
  auto branch = scf::IfOp::create(rewriter, loc, loop.getResultTypes(),
                                  hasBlocks, /*withElseRegion=*/true);
  if (isPart)
    emitPassed(range.end, range.count);
  if (branch.getNumResults() != 0) {
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, loop.getInits());
  }
  if (pingPong)
    addPingPongSteps(rewriter, loop, pingPong);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  auto getPosition = [&](Value number) {
    Value back = emit<arith::SubIOp>(range.last, number);
    return emit<arith::AddIOp>(range.lower,
                               emit<arith::MulIOp>(back, i32(loop.getStep())));
  };
  SmallVector<Value> inits(loop.getInits());
  if (places.exist())
    llvm::append_range(inits, places.emitFirst(getPosition(range.first)));
  auto result =
      scf::ForOp::create(rewriter, loc, range.first, range.end, i32(1), inits);
  if (branch.getNumResults() != 0)
    scf::YieldOp::create(
        rewriter, loc, result.getResults().take_front(branch.getNumResults()));
  // The position of a block is computed in each step.
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>()) {
    auto isInStep = [&](OpOperand &use) {
      return step->isProperAncestor(use.getOwner());
    };
    if (llvm::none_of(loop.getInductionVar().getUses(), isInStep))
      continue;
    rewriter.setInsertionPointToStart(step.getBlock());
    Value position = getPosition(result.getInductionVar());
    rewriter.replaceUsesWithIf(loop.getInductionVar(),
                               PositionOp::create(rewriter, loc, position),
                               isInStep);
  }
  FailureOr<scf::ForOp> pipelined = pipelineBody(result);
  if (failed(pipelined))
    return failure();
  releaseEarly(branch, *pipelined);
  selectByBranch(branch.thenBlock());
  finish(*branch.thenBlock());
  loop->replaceAllUsesWith(branch.getResults());
  return success();
}

namespace {
struct HopperPipeline
    : public mlir::attn::impl::HopperPipelinePassBase<HopperPipeline> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    IRRewriter rewriter(&getContext());
    SmallVector<PipelinedForOp> loops;
    kernel.walk([&](PipelinedForOp loop) { loops.push_back(loop); });
    Value pingPong;
    for (auto op : kernel.getBody().front().getOps<CreatePingPongOp>())
      pingPong = op;
    for (PipelinedForOp loop : loops) {
      if (failed(Pipeliner(rewriter, loop, pingPong).run()))
        return signalPassFailure();
      rewriter.eraseOp(loop);
    }
    // Steps outside of loops.
    inlineSteps(rewriter, *kernel);
  }
};
} // namespace
