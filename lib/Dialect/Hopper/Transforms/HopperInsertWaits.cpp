//===- HopperInsertWaits.cpp - Products become asynchronous ---------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/EquivalenceClasses.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERINSERTWAITSPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// A product that was started and that nobody has waited for.
struct Group {
  /// What it computes, as other operations name it, and as it is pending.
  Value result, pending;
  /// The registers that it reads, and the channels whose tiles it reads.
  SmallVector<Value, 2> registers, channels;
  /// How many products had been started before.
  int64_t number = 0;
  /// What gives back tiles that it reads, with the numbers of the uses.
  SmallVector<ReleaseOp> releases;
};

/// Values that share registers: what a loop carries from iteration to
/// iteration, and what its branches make of it.
class SharedRegisters {
public:
  explicit SharedRegisters(Operation *root);

  bool areSame(Value a, Value b) const { return classes.isEquivalent(a, b); }

private:
  void share(ValueRange a, ValueRange b) {
    // A constant is one value wherever it is used.
    for (auto [one, other] : llvm::zip_equal(a, b))
      if (!matchPattern(one, m_Constant()))
        classes.unionSets(one, other);
  }

  llvm::EquivalenceClasses<Value> classes;
};

/// Walks a partition in the order in which it runs, and waits where a result is
/// needed, and not before.
class WaitInserter {
public:
  /// With `mostInFlight` the start of so many products waits for the first of
  /// them, without it is 0.
  WaitInserter(IRRewriter &rewriter, const SharedRegisters &shared,
               int64_t mostInFlight)
      : rewriter(rewriter), shared(shared), mostInFlight(mostInFlight) {}

  LogicalResult run(Block &block);

private:
  void start(DotOp dot);
  void wait(Group &group);
  void needOperands(Operation *op);
  void needRegistersOf(Operation *op);
  void postpone(ReleaseOp release);
  LogicalResult runBranch(scf::IfOp branch);
  LogicalResult runNested(Operation *op);
  void drain(Operation *before);
  Group *find(Value value);

  IRRewriter &rewriter;
  const SharedRegisters &shared;
  int64_t mostInFlight;
  /// In the order in which they were started.
  SmallVector<Group> groups;
  int64_t numStarted = 0;
};
} // namespace

SharedRegisters::SharedRegisters(Operation *root) {
  root->walk([&](Operation *op) {
    if (auto loop = dyn_cast<scf::ForOp>(op)) {
      share(loop.getInitArgs(), loop.getRegionIterArgs());
      share(loop.getYieldedValues(), loop.getRegionIterArgs());
      share(loop.getResults(), loop.getRegionIterArgs());
    } else if (auto loop = dyn_cast<scf::WhileOp>(op)) {
      share(loop.getInits(), loop.getBeforeArguments());
      share(loop.getYieldedValues(), loop.getBeforeArguments());
      share(loop.getConditionOp().getArgs(), loop.getAfterArguments());
      share(loop.getResults(), loop.getAfterArguments());
    } else if (auto loop = dyn_cast<WorkLoopOp>(op)) {
      share(loop.getInits(), loop.getCarried());
      share(loop.getEnd().getValues(), loop.getCarried());
      share(loop.getResults(), loop.getCarried());
    } else if (auto branch = dyn_cast<scf::IfOp>(op);
               branch && branch.elseBlock()) {
      share(branch.thenYield().getOperands(), branch.getResults());
      share(branch.elseYield().getOperands(), branch.getResults());
    }
  });
}

Group *WaitInserter::find(Value value) {
  auto it = llvm::find_if(
      groups, [&](const Group &group) { return group.result == value; });
  return it == groups.end() ? nullptr : &*it;
}

void WaitInserter::start(DotOp dot) {
  rewriter.setInsertionPoint(dot);
  for (Value operand : dot->getOperands().take_front(2))
    if (Group *group = find(operand)) {
      wait(*group);
      rewriter.setInsertionPoint(dot);
    }
  // By its place, as the result of a branch may be pending already.
  Value acc = dot->getNumOperands() > 2 ? dot->getOperand(2) : Value();
  // A product may add to what another one is still computing.
  Group *before = acc ? find(acc) : nullptr;
  if (before)
    acc = before->pending;
  auto type =
      PendingType::get(rewriter.getContext(), cast<VectorType>(dot.getType()));
  Value pending =
      MmaOp::create(rewriter, dot.getLoc(), type, dot.getLhs(), dot.getRhs(),
                    acc, dot.getRhsTransposed(), dot.getLhsTransposed());
  Group group;
  // Waiting for the later one waits for both.
  if (before) {
    group = *before;
    groups.erase(groups.begin() + (before - groups.data()));
  }
  group.result = dot.getResult();
  group.pending = pending;
  group.number = numStarted++;
  if (isa<VectorType>(dot.getLhs().getType()))
    group.registers.push_back(dot.getLhs());
  for (Value operand : dot->getOperands().take_front(2))
    if (Value channel = getChannelOf(operand))
      group.channels.push_back(channel);
  groups.push_back(group);
  if (mostInFlight > 0 && static_cast<int64_t>(groups.size()) >= mostInFlight) {
    rewriter.setInsertionPointAfter(dot);
    wait(groups.front());
  }
}

/// Waits for a product, and so for all that were started before, at the
/// insertion point, and gives back what they have read.
void WaitInserter::wait(Group &group) {
  size_t count = &group - groups.data() + 1;
  SmallVector<Group> done(groups.begin(), groups.begin() + count);
  groups.erase(groups.begin(), groups.begin() + count);
  SmallVector<Value> pending;
  for (const Group &one : done)
    pending.push_back(one.pending);
  auto wait = WaitOp::create(rewriter, done.back().pending.getLoc(), pending,
                             numStarted - 1 - done.back().number);
  Operation *last = wait;
  for (auto [one, value] : llvm::zip_equal(done, wait.getResults())) {
    for (ReleaseOp release : one.releases) {
      auto use = release.getNumber().getDefiningOp<NextUseOp>();
      if (use) {
        rewriter.moveOpAfter(use, last);
        last = use;
      }
      rewriter.moveOpAfter(release, last);
      last = release;
    }
    rewriter.replaceAllUsesExcept(one.result, value, wait);
  }
  rewriter.setInsertionPointAfter(last);
}

/// Waits for what an operation, or one inside of it, reads.
void WaitInserter::needOperands(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (Group *group = find(operand)) {
        rewriter.setInsertionPoint(op);
        wait(*group);
      }
  });
}

/// The next value of shared registers is not written while a product reads this
/// one.
void WaitInserter::needRegistersOf(Operation *op) {
  for (Value result : op->getResults())
    for (size_t number = groups.size(); number-- > 0;)
      if (llvm::any_of(groups[number].registers, [&](Value value) {
            return shared.areSame(value, result);
          })) {
        rewriter.setInsertionPoint(op);
        wait(groups[number]);
        break;
      }
}

/// A tile is given back when the last product that reads it is done.
void WaitInserter::postpone(ReleaseOp release) {
  Group *last = nullptr;
  for (Group &group : groups)
    if (llvm::is_contained(group.channels, release.getChannel()))
      last = &group;
  if (last)
    last->releases.push_back(release);
}

/// Whether the condition of a branch is found out behind the start of a
/// product: from what another one has given since.
static bool isFoundOutBehind(AnyOp any, Operation *start) {
  BackwardSliceOptions options;
  // What a mask reads in its branch, too.
  options.omitUsesFromAbove = false;
  options.filter = [&](Operation *op) {
    return op->getBlock() == start->getBlock() && start->isBeforeInBlock(op);
  };
  SetVector<Operation *> slice;
  return succeeded(getBackwardSlice(any.getOperation(), &slice, options)) &&
         llvm::any_of(slice, llvm::IsaPred<WaitOp>);
}

/// A branch that is rarely taken waits for itself: its result may be pending
/// where it is not taken. A branch on anything else could be in front of the
/// product, and ptxas follows no product through it.
LogicalResult WaitInserter::runBranch(scf::IfOp branch) {
  auto any = branch.getCondition().getDefiningOp<AnyOp>();
  bool isRare = any && any->getBlock() == branch->getBlock();
  if (!isRare || !branch.elseBlock()) {
    needOperands(branch);
    return runNested(branch);
  }
  scf::YieldOp thenYield = branch.thenYield(), elseYield = branch.elseYield();
  for (size_t number = 0; number < groups.size(); ++number) {
    Group &group = groups[number];
    OpOperand *kept = nullptr;
    for (OpOperand &operand : elseYield->getOpOperands())
      if (operand.get() == group.result)
        kept = &operand;
    bool isUsed = false, isUsedInElse = false;
    for (Operation *user : group.result.getUsers()) {
      bool isInElse =
          branch.getElseRegion().isAncestor(user->getParentRegion());
      isUsed |= branch->isAncestor(user);
      isUsedInElse |= isInElse && user != elseYield;
    }
    if (!isUsed)
      continue;
    if (!kept || isUsedInElse ||
        !isFoundOutBehind(any, group.pending.getDefiningOp())) {
      rewriter.setInsertionPoint(branch);
      wait(group);
      number = -1;
      continue;
    }
    unsigned place = kept->getOperandNumber();
    // Where the branch is taken, the result is waited for, and then is as good
    // as pending.
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Operation *first = nullptr;
    for (Operation &op : *branch.thenBlock()) {
      bool uses =
          op.walk([&](Operation *inner) {
              return llvm::is_contained(inner->getOperands(), group.result)
                         ? WalkResult::interrupt()
                         : WalkResult::advance();
            }).wasInterrupted();
      if (uses) {
        first = &op;
        break;
      }
    }
    Location loc = branch.getLoc();
    auto type = cast<PendingType>(group.pending.getType());
    if (first) {
      rewriter.setInsertionPoint(first);
      Value own = WaitOp::create(rewriter, loc, ValueRange(group.pending),
                                 numStarted - 1 - group.number)
                      .getResult(0);
      rewriter.replaceUsesWithIf(group.result, own, [&](OpOperand &use) {
        return branch.getThenRegion().isAncestor(
            use.getOwner()->getParentRegion());
      });
    }
    rewriter.setInsertionPoint(thenYield);
    Value asPending =
        InFlightOp::create(rewriter, loc, type, thenYield.getOperand(place));
    rewriter.modifyOpInPlace(thenYield,
                             [&] { thenYield.setOperand(place, asPending); });
    rewriter.modifyOpInPlace(
        elseYield, [&] { elseYield.setOperand(place, group.pending); });
    // The branch's result is what others name the product by from here on.
    Value result = branch.getResult(place);
    rewriter.setInsertionPointAfter(branch);
    group.result = result;
    group.pending = result;
    result.setType(type);
  }
  return success();
}

/// What is inside of an operation has no product of outside in flight, and
/// leaves none.
LogicalResult WaitInserter::runNested(Operation *op) {
  for (Region &region : op->getRegions())
    for (Block &block : region) {
      WaitInserter nested(rewriter, shared, mostInFlight);
      if (failed(nested.run(block)))
        return failure();
    }
  return success();
}

void WaitInserter::drain(Operation *before) {
  while (!groups.empty()) {
    rewriter.setInsertionPoint(before);
    wait(groups.front());
  }
}

LogicalResult WaitInserter::run(Block &block) {
  for (Operation &op : llvm::make_early_inc_range(block)) {
    if (auto dot = dyn_cast<DotOp>(op)) {
      start(dot);
      continue;
    }
    if (auto release = dyn_cast<ReleaseOp>(op)) {
      postpone(release);
      continue;
    }
    if (op.hasTrait<OpTrait::IsTerminator>()) {
      drain(&op);
      continue;
    }
    if (auto branch = dyn_cast<scf::IfOp>(op)) {
      if (failed(runBranch(branch)))
        return failure();
      continue;
    }
    needOperands(&op);
    needRegistersOf(&op);
    if (op.getNumRegions() == 0)
      continue;
    // Products are followed within one iteration only.
    if (isa<LoopLikeOpInterface>(op))
      drain(&op);
    if (failed(runNested(&op)))
      return failure();
  }
  return success();
}

namespace {
struct HopperInsertWaits
    : public mlir::attn::impl::HopperInsertWaitsPassBase<HopperInsertWaits> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    auto schedule = getOperation()->getAttrOfType<hopper::ScheduleAttr>(
        hopper::kScheduleAttrName);
    SharedRegisters shared(getOperation());
    WaitInserter inserter(rewriter, shared,
                          schedule ? schedule.getInFlight() : 0);
    if (failed(inserter.run(getOperation().getBody().front())))
      return signalPassFailure();
    // Their results have been replaced by those of waits.
    SmallVector<DotOp> dots;
    getOperation()->walk([&](DotOp dot) { dots.push_back(dot); });
    for (DotOp dot : llvm::reverse(dots)) {
      if (!dot->use_empty()) {
        dot.emitOpError("expects its result to be waited for");
        return signalPassFailure();
      }
      rewriter.eraseOp(dot);
    }
  }
};
} // namespace
