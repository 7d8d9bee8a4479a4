//===- HopperInsertTurns.cpp - Who waits for a turn to add to memory ------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERINSERTTURNSPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// Gives additions that have one turn that turn, and the step of the first of
/// them others beside it: one that takes the turn, and some in the partition
/// that holds turns.
class TurnInserter {
public:
  TurnInserter(IRRewriter &rewriter, gpu::GPUFuncOp kernel,
               ArrayRef<ReduceAddOp> ops)
      : rewriter(rewriter), kernel(kernel), ops(ops), op(ops.front()),
        adding(cast<hopper::StepOp>(op->getParentOp())), loc(op.getLoc()) {}

  void run();

private:
  SetVector<Operation *> getSlice(ValueRange values);
  hopper::StepOp emitStep(StringRef prefix, ValueRange values,
                          TypeRange results, IRMapping mapping,
                          function_ref<void(IRMapping &)> emit,
                          StringRef suffix = "_turns");
  void schedule(hopper::StepOp read, hopper::StepOp hold, hopper::StepOp pass,
                hopper::StepOp take);

  IRRewriter &rewriter;
  gpu::GPUFuncOp kernel;
  ArrayRef<ReduceAddOp> ops;
  ReduceAddOp op;
  hopper::StepOp adding;
  Location loc;
  Value turns;
};
} // namespace

/// What some values are computed from in the step.
SetVector<Operation *> TurnInserter::getSlice(ValueRange values) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = [&](Operation *op) {
    return op->getBlock() == adding.getBlock();
  };
  for (Value value : values)
    (void)getBackwardSlice(value, &slice, options);
  return topologicalSort(slice);
}

/// A step that computes some values again, and has others from elsewhere.
hopper::StepOp TurnInserter::emitStep(StringRef prefix, ValueRange values,
                                      TypeRange results, IRMapping mapping,
                                      function_ref<void(IRMapping &)> emit,
                                      StringRef suffix) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(adding);
  auto step = hopper::StepOp::create(rewriter, loc, results,
                                     (prefix + adding.getName()).str(),
                                     (adding.getPartition() + suffix).str());
  rewriter.createBlock(&step.getBody());
  SmallVector<Value> missing;
  for (Value value : values)
    if (!mapping.contains(value))
      missing.push_back(value);
  for (Operation *needed : getSlice(missing))
    rewriter.clone(*needed, mapping);
  emit(mapping);
  return step;
}

/// Turns of all steps are held before the first of them is passed on, so that
/// none is late as another one takes long. What tells whose turn comes before
/// is read while the turn of the block before is taken. The turn is taken while
/// the product that is added is under way.
void TurnInserter::schedule(hopper::StepOp read, hopper::StepOp hold,
                            hopper::StepOp pass, hopper::StepOp take) {
  auto loop = dyn_cast<PipelinedForOp>(adding->getParentOp());
  if (!loop)
    return;
  auto getPlace = [&](hopper::StepOp step, int64_t stage) {
    return PlaceAttr::get(rewriter.getContext(), step.getName(), stage);
  };
  SmallVector<Attribute> places(loop.getSchedule().getValue());
  auto from = op.getVector().getDefiningOp<hopper::StepOp>();
  int64_t behind = from ? loop.getPlace(from.getName()).first + 1
                        : loop.getPlace(adding.getName()).first;
  places.insert(places.begin() + behind,
                getPlace(take, loop.getPlace(adding.getName()).second));
  // Behind other steps that hold.
  auto *at = llvm::find_if(places, [&](Attribute place) {
    StringRef name = cast<PlaceAttr>(place).getName();
    return llvm::none_of(
        loop.getBlock()->getOps<hopper::StepOp>(), [&](hopper::StepOp step) {
          return step.getName() == name &&
                 !step.getBlock()->getOps<HoldTurnOp>().empty();
        });
  });
  int64_t stage = read ? 1 : 0;
  at = std::next(places.insert(at, getPlace(hold, stage)));
  if (read)
    places.insert(at, getPlace(read, 0));
  places.push_back(getPlace(pass, stage));
  rewriter.modifyOpInPlace(
      loop, [&] { loop.setScheduleAttr(rewriter.getArrayAttr(places)); });
}

void TurnInserter::run() {
  Block &body = kernel.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  for (Operation &other : body)
    if (isa<CreateChannelOp, CreateTurnsOp>(other))
      rewriter.setInsertionPointAfter(&other);
  turns = CreateTurnsOp::create(rewriter, loc,
                                TurnsType::get(rewriter.getContext()));
  auto lookup = [](ValueRange values, const IRMapping &mapping) {
    return llvm::map_to_vector(
        values, [&](Value value) { return mapping.lookupOrDefault(value); });
  };
  auto end = [&](ValueRange values = {}) {
    EndOp::create(rewriter, loc, values);
  };
  Value counters = op.getCounters(), after = op.getAfter(), own = op.getOwn();
  SmallVector<Value> indices(op.getCounterIndices());
  hopper::StepOp read;
  IRMapping before;
  SmallVector<Value> told = {after};
  if (Value last = op.getLast())
    told.push_back(last);
  if (isa<PipelinedForOp>(adding->getParentOp()) &&
      !llvm::all_of(getSlice(told), isPure)) {
    read = emitStep("read_", told, ValueRange(told).getTypes(), {},
                    [&](IRMapping &mapping) { end(lookup(told, mapping)); });
    before.map(ValueRange(told), read.getResults());
  }
  SmallVector<Value> needed = indices;
  llvm::append_range(needed, told);
  auto hold =
      emitStep("hold_", needed, TypeRange(), before, [&](IRMapping &mapping) {
        Value number = NextUseOp::create(rewriter, loc, turns);
        Value last = op.getLast();
        HoldTurnOp::create(rewriter, loc, turns, number,
                           mapping.lookupOrDefault(after),
                           last ? mapping.lookupOrDefault(last) : last,
                           counters, lookup(indices, mapping));
        end();
      });
  needed = indices;
  needed.push_back(own);
  auto pass =
      emitStep("pass_", needed, TypeRange(), {}, [&](IRMapping &mapping) {
        Value number = NextUseOp::create(rewriter, loc, turns);
        PassTurnOp::create(rewriter, loc, turns, number,
                           mapping.lookupOrDefault(own), counters,
                           lookup(indices, mapping));
        end();
      });
  Type i1 = rewriter.getI1Type();
  auto take = emitStep(
      "take_", {}, {i1, i1}, {},
      [&](IRMapping &) {
        Value number = NextUseOp::create(rewriter, loc, turns);
        end(TakeTurnOp::create(rewriter, loc, turns, number,
                               /*condition=*/Value())
                .getResults());
      },
      /*suffix=*/"");
  schedule(read, hold, pass, take);
  for (ReduceAddOp one : ops)
    rewriter.modifyOpInPlace(one, [&] {
      one.getAfterMutable().clear();
      one.getOwnMutable().clear();
      one.getCountersMutable().clear();
      one.getCounterIndicesMutable().clear();
      one.getFirstMutable().assign(take.getResult(0));
      if (one.getLast())
        one.getLastMutable().assign(take.getResult(1));
    });
  rewriter.setInsertionPointAfter(ops.back());
  GiveTurnOp::create(rewriter, loc, turns, /*condition=*/Value());
}

//===----------------------------------------------------------------------===//
// Additions of one turn
//===----------------------------------------------------------------------===//

/// Whether two values are the same, as equal operations compute them. Nobody
/// writes what they read.
static bool areEqual(Value a, Value b) {
  if (a == b)
    return true;
  if (!a || !b)
    return false;
  Operation *from = a.getDefiningOp(), *to = b.getDefiningOp();
  if (!from || !to ||
      cast<OpResult>(a).getResultNumber() !=
          cast<OpResult>(b).getResultNumber())
    return false;
  bool computes = isPure(from) || hasSingleEffect<MemoryEffects::Read>(from);
  return computes &&
         OperationEquivalence::isEquivalentTo(
             from, to, [](Value x, Value y) { return success(areEqual(x, y)); },
             nullptr, OperationEquivalence::IgnoreLocations);
}

static int64_t getStage(ReduceAddOp op) {
  auto step = cast<hopper::StepOp>(op->getParentOp());
  auto loop = dyn_cast<PipelinedForOp>(step->getParentOp());
  return loop ? loop.getPlace(step.getName()).second : 0;
}

/// Whether a partition may add both in one turn: in one iteration, by the same
/// CTA, and behind the same one.
static bool haveOneTurn(ReduceAddOp a, ReduceAddOp b) {
  auto first = cast<hopper::StepOp>(a->getParentOp()),
       second = cast<hopper::StepOp>(b->getParentOp());
  return isa<PipelinedForOp>(first->getParentOp()) &&
         first->getParentOp() == second->getParentOp() &&
         first.getPartition() == second.getPartition() &&
         getStage(a) == getStage(b) && a.getCounters() == b.getCounters() &&
         areEqual(a.getAfter(), b.getAfter()) &&
         areEqual(a.getOwn(), b.getOwn()) && areEqual(a.getLast(), b.getLast());
}

/// In the order in which they run.
static SmallVector<SmallVector<ReduceAddOp>> group(ArrayRef<ReduceAddOp> ops) {
  SmallVector<SmallVector<ReduceAddOp>> groups;
  for (ReduceAddOp op : ops) {
    auto *same = llvm::find_if(groups, [&](ArrayRef<ReduceAddOp> group) {
      return haveOneTurn(group.front(), op);
    });
    if (same == groups.end())
      groups.push_back({op});
    else
      same->push_back(op);
  }
  for (SmallVector<ReduceAddOp> &group : groups)
    llvm::sort(group, [](ReduceAddOp a, ReduceAddOp b) {
      auto first = cast<hopper::StepOp>(a->getParentOp()),
           second = cast<hopper::StepOp>(b->getParentOp());
      if (first == second)
        return a->isBeforeInBlock(b);
      auto loop = cast<PipelinedForOp>(first->getParentOp());
      return loop.getPlace(first.getName()).first <
             loop.getPlace(second.getName()).first;
    });
  return groups;
}

namespace {
struct HopperInsertTurns
    : public mlir::attn::impl::HopperInsertTurnsPassBase<HopperInsertTurns> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    IRRewriter rewriter(&getContext());
    SmallVector<ReduceAddOp> ops;
    kernel.walk([&](ReduceAddOp op) {
      if (op.getCounters())
        ops.push_back(op);
    });
    for (ReduceAddOp op : ops)
      if (!isa<hopper::StepOp>(op->getParentOp())) {
        op.emitOpError("expects to be in a step, as it adds in an order");
        return signalPassFailure();
      }
    for (ArrayRef<ReduceAddOp> one : group(ops))
      TurnInserter(rewriter, kernel, one).run();
  }
};
} // namespace
