//===- HopperInsertChannels.cpp - Tiles that go between partitions --------===//

#include "BlockSearch.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "llvm/ADT/TypeSwitch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERINSERTCHANNELSPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

/// Whether `a` runs before `b`: by stage and order in a pipelined loop,
/// otherwise as they are written.
static bool runsBefore(Operation *a, Operation *b) {
  auto loop = dyn_cast<PipelinedForOp>(a->getParentOp());
  if (!loop)
    return a->isBeforeInBlock(b);
  auto getTime = [&](Operation *op) {
    auto [order, stage] = loop.getPlace(cast<hopper::StepOp>(op).getName());
    return std::pair(stage, order);
  };
  return getTime(a) < getTime(b);
}

/// The tile of the next use of a channel: waits for it, or names it again for
/// reader number `reader`, which is not 0 then.
static Value emitGet(RewriterBase &rewriter, Location loc, Value channel,
                     int64_t reader) {
  Value number = NextUseOp::create(rewriter, loc, channel, reader);
  if (reader == 0)
    return GetOp::create(rewriter, loc, channel, number).getTile();
  return ViewOp::create(rewriter, loc,
                        cast<ChannelType>(channel.getType()).getTileType(),
                        channel, number);
}

/// With `isStoredFrom`, stores have read the tile before.
static void emitRelease(RewriterBase &rewriter, Location loc, Value channel,
                        bool isStoredFrom) {
  if (isStoredFrom)
    DrainOp::create(rewriter, loc);
  Value number = NextUseOp::create(rewriter, loc, channel);
  ReleaseOp::create(rewriter, loc, channel, number);
}

/// The step that an operation is in.
static hopper::StepOp getStepOf(Operation *op) {
  while (op && !isa<hopper::StepOp>(op))
    op = op->getParentOp();
  return cast_or_null<hopper::StepOp>(op);
}

/// The steps of one partition next to the producer, or loops with such steps,
/// that use a tile.
static SmallVector<Operation *> getUsers(Block *block, Value tile,
                                         StringRef partition) {
  SmallVector<Operation *> users;
  for (Operation *user : tile.getUsers()) {
    if (getStepOf(user).getPartition() != partition)
      continue;
    Operation *ancestor = block->findAncestorOpInBlock(*user);
    if (!isa<EndOp>(ancestor) && !llvm::is_contained(users, ancestor))
      users.push_back(ancestor);
  }
  llvm::sort(users, runsBefore);
  return users;
}

/// Whether results are staged in a tile, or in rows of it.
static bool isStoredFrom(Value tile) {
  return llvm::any_of(tile.getUsers(), [&](Operation *user) {
    bool isPart = getTileOfPart(user) == tile;
    return isa<StoreOp>(user) || (isPart && isStoredFrom(user->getResult(0)));
  });
}

/// The last operation of a block that reads a tile, itself or in a region, by
/// whatever name.
static Operation *getLastReader(Block *block, Value tile) {
  Operation *last = nullptr;
  for (Operation *user : tile.getUsers()) {
    Operation *reader = block->findAncestorOpInBlock(*user);
    if (!reader)
      continue;
    if (getTileOfPart(user))
      if (Operation *other = getLastReader(block, user->getResult(0)))
        reader = other;
    if (!last || last->isBeforeInBlock(reader))
      last = reader;
  }
  return last;
}

/// What uses a tile, in the order in which it runs, by stage.
static SmallVector<SmallVector<Operation *>>
groupByStage(ArrayRef<Operation *> users) {
  SmallVector<SmallVector<Operation *>> groups;
  int64_t last = -1;
  for (Operation *user : users) {
    auto loop = dyn_cast<PipelinedForOp>(user->getParentOp());
    int64_t stage =
        loop ? loop.getPlace(cast<hopper::StepOp>(user).getName()).second : 0;
    if (groups.empty() || stage != last)
      groups.emplace_back();
    last = stage;
    groups.back().push_back(user);
  }
  return groups;
}

/// Gives the users of one stage the tile, which is obtained in the first one, a
/// step.
static void emitUsesOfStage(RewriterBase &rewriter, Value tile, Value channel,
                            ArrayRef<Operation *> users, int64_t reader) {
  auto first = cast<hopper::StepOp>(users.front());
  rewriter.setInsertionPointToStart(first.getBlock());
  Value own = emitGet(rewriter, tile.getLoc(), channel, reader);
  auto replaceIn = [&](Operation *user, Value value) {
    rewriter.replaceUsesWithIf(tile, value, [&](OpOperand &use) {
      return user->isAncestor(use.getOwner());
    });
  };
  replaceIn(first, own);
  if (users.size() == 1)
    return;
  hopper::StepOp step = rebuildStep(rewriter, first, getAllResults(first), own);
  for (Operation *other : users.drop_front())
    replaceIn(other, step->getResults().back());
}

/// A tile arrives in the step that uses it first, is named again in the first
/// one of each later stage, and is given back in the one that uses it last,
/// behind the last operation that reads it. Around a loop that uses it, both
/// are steps of their own.
static void emitUses(RewriterBase &rewriter, hopper::StepOp producer,
                     Value tile, Value channel, StringRef partition) {
  Block *block = producer->getBlock();
  auto type = cast<TileType>(tile.getType());
  SmallVector<Operation *> users = getUsers(block, tile, partition);
  Location loc = producer.getLoc();
  auto createStep = [&](StringRef suffix, TypeRange types) {
    auto step = hopper::StepOp::create(
        rewriter, loc, types, (producer.getName() + suffix).str(), partition);
    rewriter.createBlock(&step.getBody());
    return step;
  };
  bool isStaging = isStoredFrom(tile);
  // Given back first, as the users may be replaced.
  if (auto last = dyn_cast<hopper::StepOp>(users.back())) {
    rewriter.setInsertionPointAfter(getLastReader(last.getBlock(), tile));
    emitRelease(rewriter, loc, channel, isStaging);
  } else {
    rewriter.setInsertionPointAfter(users.back());
    OpBuilder::InsertionGuard guard(rewriter);
    createStep(".release", {});
    emitRelease(rewriter, loc, channel, isStaging);
    EndOp::create(rewriter, loc);
  }
  if (isa<hopper::StepOp>(users.front())) {
    for (auto [reader, group] : llvm::enumerate(groupByStage(users)))
      emitUsesOfStage(rewriter, tile, channel, group, reader);
    return;
  }
  rewriter.setInsertionPoint(users.front());
  hopper::StepOp step = createStep(".get", type);
  Value own = emitGet(rewriter, loc, channel, /*reader=*/0);
  EndOp::create(rewriter, loc, own);
  rewriter.replaceUsesWithIf(tile, step.getResult(0), [&](OpOperand &use) {
    return getStepOf(use.getOwner()).getPartition() == partition;
  });
}

/// A tile that comes under a condition arrives where the predicate that reads
/// it is computed, and is given back there.
static LogicalResult emitConditionalUses(RewriterBase &rewriter,
                                         Operation *load, Value tile,
                                         Value channel, StringRef partition) {
  MaskOp mask;
  for (Operation *user : tile.getUsers()) {
    if (getStepOf(user).getPartition() != partition)
      continue;
    auto reader = user->getParentOfType<MaskOp>();
    if (!reader || (mask && reader != mask))
      return load->emitOpError("expects a tile that comes under a condition to "
                               "be used in the predicate of one hopper.mask");
    mask = reader;
  }
  Block *block = &mask.getPredicate().front();
  rewriter.setInsertionPointAfter(getLastReader(block, tile));
  emitRelease(rewriter, load->getLoc(), channel, /*isStoredFrom=*/false);
  rewriter.setInsertionPointToStart(block);
  Value own = emitGet(rewriter, load->getLoc(), channel, /*reader=*/0);
  rewriter.replaceUsesWithIf(tile, own, [&](OpOperand &use) {
    return mask->isAncestor(use.getOwner());
  });
  return success();
}

/// Fills a channel with what an operation gives.
static void emitPut(RewriterBase &rewriter, Operation *op, Value channel) {
  Location loc = op->getLoc();
  rewriter.setInsertionPoint(op);
  if (auto load = dyn_cast<LoadVectorOp>(op); load && load.getCondition()) {
    auto branch = scf::IfOp::create(rewriter, loc, load.getCondition());
    rewriter.setInsertionPointToStart(branch.thenBlock());
  }
  Value use = NextUseOp::create(rewriter, loc, channel);
  if (auto load = dyn_cast<LoadOp>(op)) {
    PutOp::create(rewriter, loc, channel, use, load.getMap(), load.getBatch(),
                  load.getHead(), load.getRow(), load.getColumn(),
                  load.getList(), load.getPosition(), /*payload=*/Value());
    return;
  }
  if (auto load = dyn_cast<LoadVectorOp>(op)) {
    PutVectorOp::create(rewriter, loc, channel, use, load.getSource(),
                        load.getIndices(), load.getZeroFill());
    return;
  }
  if (auto split = dyn_cast<PublishBF16x3Op>(op)) {
    PutBF16x3Op::create(rewriter, loc, channel, use, split.getVector(),
                        split.getFactorAttr(), split.getLimitAttr());
    return;
  }
  auto publish = cast<PublishOp>(op);
  PutFragmentOp::create(rewriter, loc, channel, use, publish.getVector(),
                        WarpgroupIdOp::create(rewriter, loc),
                        /*condition=*/Value(), publish.getTransposed());
}

static int64_t getStages(Operation *op) {
  return llvm::TypeSwitch<Operation *, int64_t>(op)
      .Case<LoadOp, LoadVectorOp, PublishOp, PublishBF16x3Op>(
          [](auto op) { return op.getStages(); });
}

/// The number that comes with a tile is its payload, a result of the step that
/// gets the tile.
static void emitPayloadUses(RewriterBase &rewriter, Value number,
                            Value channel) {
  for (Operation *user : llvm::make_early_inc_range(channel.getUsers())) {
    auto get = dyn_cast<GetOp>(user);
    if (!get)
      continue;
    rewriter.setInsertionPointAfter(get);
    Value own = arith::BitcastOp::create(rewriter, get.getLoc(),
                                         number.getType(), get.getPayload());
    hopper::StepOp step = getStepOf(get);
    StringRef partition = step.getPartition();
    step = rebuildStep(rewriter, step, getAllResults(step), own);
    rewriter.replaceUsesWithIf(number, own, [&](OpOperand &use) {
      return step->isAncestor(use.getOwner());
    });
    rewriter.replaceUsesWithIf(
        number, step->getResults().back(), [&](OpOperand &use) {
          return getStepOf(use.getOwner()).getPartition() == partition;
        });
  }
}

/// A tile that a step loads, or has computed, goes to other partitions by way
/// of a channel. What replicas publish goes to all replicas of their own
/// partition, too.
static LogicalResult insertChannel(RewriterBase &rewriter,
                                   gpu::GPUFuncOp kernel, Operation *load) {
  auto producer = dyn_cast<hopper::StepOp>(load->getParentOp());
  if (!producer)
    return load->emitOpError("expects to be in a step");
  EndOp end = producer.getEnd();
  // The tile, and what comes with it.
  SmallVector<unsigned> numbers;
  for (Value result : load->getResults()) {
    if (!result.hasOneUse() || *result.user_begin() != end)
      return load->emitOpError("expects its tile to be a result of its step, "
                               "and to have no other use there");
    numbers.push_back(result.use_begin()->getOperandNumber());
  }
  Value tile = producer.getResult(numbers.front());
  llvm::SetVector<StringRef> partitions;
  for (Operation *user : tile.getUsers()) {
    hopper::StepOp step = getStepOf(user);
    if (!step)
      return user->emitOpError("expects to be in a step, as it uses a tile of "
                               "another one");
    if (step.getPartition() == producer.getPartition() &&
        !isa<PublishOp>(load)) {
      InFlightDiagnostic diagnostic =
          user->emitOpError("expects the tile of '")
          << producer.getName()
          << "' to go to other partitions, but got it in '"
          << step.getPartition() << "'";
      diagnostic.attachNote(producer.getLoc())
          << "which is where it comes from";
      return failure();
    }
    partitions.insert(step.getPartition());
  }
  if (tile.use_empty())
    return producer.emitOpError("expects a use of the tile that it gives");
  auto type = cast<TileType>(tile.getType());
  // In the order of the loads.
  Block &body = kernel.getBody().front();
  rewriter.setInsertionPointToStart(&body);
  for (auto other : body.getOps<CreateChannelOp>())
    rewriter.setInsertionPointAfter(other);
  Value channel = CreateChannelOp::create(
      rewriter, load->getLoc(),
      ChannelType::get(rewriter.getContext(), getStages(load), type.getRows(),
                       type.getColumns(), type.getElementType(),
                       /*payload=*/isa<PublishBF16x3Op>(load),
                       type.getChunkColumns()));
  auto vector = dyn_cast<LoadVectorOp>(load);
  bool isConditional = vector && vector.getCondition();
  for (StringRef partition : partitions) {
    if (!isConditional)
      emitUses(rewriter, producer, tile, channel, partition);
    else if (failed(
                 emitConditionalUses(rewriter, load, tile, channel, partition)))
      return failure();
  }
  if (isa<PublishBF16x3Op>(load))
    emitPayloadUses(rewriter, producer.getResult(numbers.back()), channel);
  emitPut(rewriter, load, channel);
  SmallVector<unsigned> kept;
  for (unsigned result : getAllResults(producer))
    if (!llvm::is_contained(numbers, result))
      kept.push_back(result);
  rebuildStep(rewriter, producer, kept, {});
  rewriter.eraseOp(load);
  return success();
}

/// Writes the steps of a loop in the order in which they run for one block, in
/// which what one of them gets is there for those behind it.
static void sortSteps(PipelinedForOp loop) {
  SmallVector<Operation *> steps(loop.getBlock()->getOps<hopper::StepOp>());
  if (llvm::is_sorted(steps, runsBefore))
    return;
  llvm::sort(steps, runsBefore);
  for (Operation *step : steps)
    step->moveBefore(loop.getBlock()->getTerminator());
}

namespace {
struct HopperInsertChannels
    : public mlir::attn::impl::HopperInsertChannelsPassBase<
          HopperInsertChannels> {
  void runOnOperation() override {
    gpu::GPUFuncOp kernel = getOperation();
    IRRewriter rewriter(&getContext());
    kernel.walk(sortSteps);
    SmallVector<Operation *> loads;
    kernel.walk([&](Operation *op) {
      if (isa<LoadOp, LoadVectorOp, PublishOp, PublishBF16x3Op>(op))
        loads.push_back(op);
    });
    for (Operation *load : loads)
      if (failed(insertChannel(rewriter, kernel, load)))
        return signalPassFailure();
    SmallVector<PipelinedForOp> loops;
    kernel.walk([&](PipelinedForOp loop) { loops.push_back(loop); });
    for (PipelinedForOp loop : loops)
      if (loop.hasClasses() && failed(addPayloads(rewriter, loop)))
        return signalPassFailure();
  }
};
} // namespace
