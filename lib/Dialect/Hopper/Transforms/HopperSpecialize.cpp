//===- HopperSpecialize.cpp - One program becomes a region per partition --===//

#include "BlockSearch.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Analysis/TopologicalSortUtils.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERSPECIALIZEPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

//===----------------------------------------------------------------------===//
// Slices
//===----------------------------------------------------------------------===//

namespace {
/// Keeps of a region the steps of one partition, the loops around them, and
/// what these need.
class Slicer {
public:
  Slicer(IRRewriter &rewriter, StringRef partition)
      : rewriter(rewriter), partition(partition) {}

  LogicalResult slice(Block &block);

private:
  bool isOwn(hopper::StepOp step) { return step.getPartition() == partition; }
  void mark(Value value);
  void markUses(Operation *op);
  void markCarried(PipelinedForOp loop, unsigned number);
  LogicalResult markAll();
  void erase(Block &block);
  void erase(PipelinedForOp loop);

  IRRewriter &rewriter;
  StringRef partition;
  DenseSet<Value> live;
  SmallVector<Value> worklist;
  LogicalResult result = success();
};
} // namespace

void Slicer::mark(Value value) {
  if (live.insert(value).second)
    worklist.push_back(value);
}

/// What an operation, or one inside of it, takes from outside.
void Slicer::markUses(Operation *op) {
  op->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (!op->isAncestor(operand.getParentBlock()->getParentOp()))
        mark(operand);
  });
}

void Slicer::markCarried(PipelinedForOp loop, unsigned number) {
  mark(loop.getInits()[number]);
  mark(loop.getEnd().getValues()[number]);
  mark(loop.getCarried()[number]);
  mark(loop.getResult(number));
}

LogicalResult Slicer::markAll() {
  while (!worklist.empty()) {
    Value value = worklist.pop_back_val();
    if (auto argument = dyn_cast<BlockArgument>(value)) {
      auto loop = dyn_cast<PipelinedForOp>(argument.getOwner()->getParentOp());
      if (loop && argument.getArgNumber() >= loop.getNumVariables())
        markCarried(loop, argument.getArgNumber() - loop.getNumVariables());
      continue;
    }
    Operation *op = value.getDefiningOp();
    if (auto loop = dyn_cast<PipelinedForOp>(op)) {
      markCarried(loop, cast<OpResult>(value).getResultNumber());
      continue;
    }
    auto step = dyn_cast<hopper::StepOp>(op);
    if (step && !isOwn(step)) {
      result = step.emitOpError("expects nothing but tiles to go from '")
               << step.getPartition() << "' to '" << partition
               << "', but got a value of " << value.getType();
      return failure();
    }
    if (!step)
      markUses(op);
  }
  return success();
}

/// Leaves the carried values and the places of what is left.
void Slicer::erase(PipelinedForOp loop) {
  SmallVector<Value> inits, ends;
  SmallVector<unsigned> kept;
  for (auto [number, argument] : llvm::enumerate(loop.getCarried()))
    if (live.contains(argument)) {
      kept.push_back(number);
      inits.push_back(loop.getInits()[number]);
      ends.push_back(loop.getEnd().getValues()[number]);
    }
  rewriter.setInsertionPoint(loop.getEnd());
  rewriter.replaceOpWithNewOp<EndOp>(loop.getEnd(), ends);
  erase(*loop.getBlock());
  llvm::SmallDenseSet<StringRef> names;
  for (auto step : loop.getBlock()->getOps<hopper::StepOp>())
    names.insert(step.getName());
  if (names.empty()) {
    rewriter.eraseOp(loop);
    return;
  }
  SmallVector<Attribute> places, exclusive;
  for (auto place : loop.getSchedule().getAsRange<PlaceAttr>())
    if (names.contains(place.getName()))
      places.push_back(place);
  for (auto name : loop.getExclusive().getAsRange<StringAttr>())
    if (names.contains(name.getValue()))
      exclusive.push_back(name);
  rewriter.setInsertionPoint(loop);
  auto sliced = PipelinedForOp::create(
      rewriter, loop.getLoc(), ValueRange(inits).getTypes(), loop.getLower(),
      loop.getUpper(), loop.getOuterLower(), loop.getOuterUpper(),
      loop.getStep(), loop.getOnlyLastPartial(), loop.getTold(), inits,
      rewriter.getArrayAttr(places), rewriter.getArrayAttr(exclusive));
  sliced.getBody().takeBody(loop.getBody());
  BitVector dead(sliced.getBody().getNumArguments(), true);
  unsigned numVariables = sliced.getNumVariables();
  dead.reset(0, numVariables);
  for (auto [to, from] : llvm::enumerate(kept)) {
    dead.reset(numVariables + from);
    rewriter.replaceAllUsesWith(loop.getResult(from), sliced.getResult(to));
  }
  sliced.getBlock()->eraseArguments(dead);
  rewriter.eraseOp(loop);
}

/// Erases, from the last to the first, what is of other partitions or of no
/// use.
void Slicer::erase(Block &block) {
  SmallVector<Operation *> ops = llvm::map_to_vector(
      block.without_terminator(), [](Operation &op) { return &op; });
  for (Operation *op : llvm::reverse(ops)) {
    if (auto loop = dyn_cast<PipelinedForOp>(op)) {
      erase(loop);
    } else if (auto loop = dyn_cast<WorkLoopOp>(op)) {
      erase(*loop.getBlock());
    } else if (auto step = dyn_cast<hopper::StepOp>(op)) {
      if (!isOwn(step))
        rewriter.eraseOp(step);
    } else if (isOpTriviallyDead(op)) {
      rewriter.eraseOp(op);
    }
  }
}

LogicalResult Slicer::slice(Block &block) {
  for (Operation &op : block)
    op.walk([&](hopper::StepOp step) {
      if (!isOwn(step))
        return;
      markUses(step);
      for (Operation *parent = step->getParentOp();
           !isa<WarpSpecializeOp>(parent); parent = parent->getParentOp()) {
        auto loop = dyn_cast<PipelinedForOp>(parent);
        // What says which block is next.
        if (loop && loop.isWhile())
          markCarried(loop, 0);
        for (Value operand : parent->getOperands())
          if (!loop || operand.getType().isIndex())
            mark(operand);
      }
    });
  if (failed(markAll()))
    return failure();
  erase(block);
  return result;
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// A tile that a replica has rows or columns of is named by the number of its
/// warpgroup.
static void takeOwnParts(IRRewriter &rewriter, Block &block) {
  SmallVector<Operation *> parts;
  block.walk([&](Operation *op) {
    if (isa<OwnRowsOp, OwnColumnsOp>(op))
      parts.push_back(op);
  });
  if (parts.empty())
    return;
  rewriter.setInsertionPointToStart(&block);
  Value warpgroup =
      WarpgroupIdOp::create(rewriter, block.getParentOp()->getLoc());
  for (Operation *part : parts) {
    rewriter.setInsertionPoint(part);
    Type type = part->getResult(0).getType();
    Value source = part->getOperand(0);
    if (isa<OwnRowsOp>(part))
      rewriter.replaceOpWithNewOp<RowsOp>(part, type, source, warpgroup);
    else
      rewriter.replaceOpWithNewOp<ColumnsOp>(part, type, source, warpgroup);
  }
}

/// What some values are computed from in their block.
static SetVector<Operation *> getSlice(ValueRange values, Block *block) {
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.omitBlockArguments = true;
  options.inclusive = true;
  options.filter = [&](Operation *op) { return op->getBlock() == block; };
  for (Value value : values)
    (void)getBackwardSlice(value, &slice, options);
  return topologicalSort(slice);
}

/// The rows of a replica that values depend on, or null.
static WorkRowsOp getOwnRows(const SetVector<Operation *> &slice) {
  for (Operation *op : slice)
    if (auto rows = dyn_cast<WorkRowsOp>(op); rows && rows.getOwn())
      return rows;
  return {};
}

/// Computes values of a slice again for the rows of all replicas.
static IRMapping emitForAll(IRRewriter &rewriter,
                            const SetVector<Operation *> &slice,
                            const IRMapping &ofAll) {
  IRMapping mapping = ofAll;
  for (Operation *op : slice)
    if (!isa<WorkRowsOp>(op) && !mapping.contains(op->getResult(0)))
      rewriter.clone(*op, mapping);
  return mapping;
}

/// A part is one of what the rows of all replicas need: a replica has as much
/// of it as its own rows need.
static void keepPart(IRRewriter &rewriter, SplitOfRangeOp part,
                     IRMapping &ofAll) {
  SetVector<Operation *> slice =
      getSlice(part->getOperands(), part->getBlock());
  if (!getOwnRows(slice))
    return;
  Location loc = part.getLoc();
  rewriter.setInsertionPoint(part);
  Value lower = part.getLower(), upper = part.getUpper();
  IRMapping mapping = emitForAll(rewriter, slice, ofAll);
  auto all = cast<SplitOfRangeOp>(rewriter.clone(*part, mapping));
  Value first = arith::MaxSIOp::create(rewriter, loc, lower, all.getFirst()),
        end = arith::MinSIOp::create(rewriter, loc, upper, all.getEnd());
  ofAll.map(first, all.getFirst());
  ofAll.map(end, all.getEnd());
  rewriter.replaceOp(part, {first, end});
}

/// Whether each replica of a partition visits all blocks of a loop. Others wait
/// for a tile until all replicas have given their part of it, and so they do
/// where they take turns, which others hold for each block.
static bool needsAllBlocks(PipelinedForOp loop) {
  auto needsAll = [](Operation *op) {
    return isa<HoldTurnOp, TakeTurnOp, PutFragmentOp>(op)
               ? WalkResult::interrupt()
               : WalkResult::advance();
  };
  return loop.walk(needsAll).wasInterrupted();
}

/// `upper`, or `lower` for a replica without rows, which needs no block.
static Value emitUpper(IRRewriter &rewriter, PipelinedForOp loop,
                       WorkRowsOp own) {
  Location loc = loop.getLoc();
  Value hasRows = arith::CmpIOp::create(
      rewriter, loc, arith::CmpIPredicate::slt, own.getFirst(), own.getEnd());
  return arith::SelectOp::create(rewriter, loc, hasRows, loop.getUpper(),
                                 loop.getLower());
}

/// The blocks that a loop is told are those for the rows of all replicas. Where
/// its range depends on the rows, a replica has one of its own.
static void keepOwnRange(IRRewriter &rewriter, PipelinedForOp loop,
                         bool hasReplicas) {
  if (!loop.getLower())
    return;
  Value bounds[] = {loop.getLower(), loop.getUpper()};
  WorkRowsOp own;
  if (hasReplicas && !needsAllBlocks(loop))
    own = getOwnRows(getSlice(bounds, loop->getBlock()));
  rewriter.setInsertionPoint(loop);
  Value upper = own ? emitUpper(rewriter, loop, own) : Value();
  rewriter.modifyOpInPlace(loop, [&] {
    if (own)
      return loop.getUpperMutable().assign(upper);
    loop.getLowerMutable().clear();
    loop.getUpperMutable().clear();
  });
}

/// What the bounds of a loop are for the rows of all replicas, and for those of
/// one.
static void keepOuterBounds(IRRewriter &rewriter, PipelinedForOp loop,
                            const IRMapping &ofAll) {
  Value bounds[] = {loop.getLower(), loop.getUpper()};
  SetVector<Operation *> slice = getSlice(bounds, loop->getBlock());
  WorkRowsOp own = getOwnRows(slice);
  // Also where the range is the same for all rows, some may have none.
  if (!own)
    for (auto work : loop->getBlock()->getOps<WorkRowsOp>())
      if (work.getOwn() && work->isBeforeInBlock(loop))
        own = work;
  if (!own)
    return;
  rewriter.setInsertionPoint(loop);
  IRMapping mapping = emitForAll(rewriter, slice, ofAll);
  Value outer[] = {mapping.lookupOrDefault(loop.getLower()),
                   mapping.lookupOrDefault(loop.getUpper())};
  // Not all blocks of all are full.
  if (needsAllBlocks(loop)) {
    rewriter.modifyOpInPlace(loop, [&] {
      loop.getLowerMutable().assign(outer[0]);
      loop.getUpperMutable().assign(outer[1]);
      loop.setOnlyLastPartial(false);
    });
    return;
  }
  Value upper = emitUpper(rewriter, loop, own);
  rewriter.modifyOpInPlace(loop, [&] {
    loop.getUpperMutable().assign(upper);
    loop.getOuterLowerMutable().assign(outer[0]);
    loop.getOuterUpperMutable().assign(outer[1]);
  });
}

/// Of several replicas each computes with rows of its own, and ranges of blocks
/// are those of these rows. What comes by channels are the blocks for the rows
/// of all.
static void distributeRows(IRRewriter &rewriter, Block &block) {
  SmallVector<WorkRowsOp> rows;
  SmallVector<SplitOfRangeOp> parts;
  SmallVector<PipelinedForOp> loops;
  block.walk([&](Operation *op) {
    if (auto work = dyn_cast<WorkRowsOp>(op))
      rows.push_back(work);
    else if (auto part = dyn_cast<SplitOfRangeOp>(op))
      parts.push_back(part);
    else if (auto loop = dyn_cast<PipelinedForOp>(op))
      loops.push_back(loop);
  });
  IRMapping ofAll;
  for (WorkRowsOp work : rows) {
    rewriter.setInsertionPointAfter(work);
    auto own = WorkRowsOp::create(rewriter, work.getLoc(), work.getTile(),
                                  work.getCount(), work.getSize(),
                                  work.getShortFirst(), /*own=*/true);
    rewriter.replaceAllUsesWith(work.getResults(), own.getResults());
    ofAll.map(own.getResults(), work.getResults());
  }
  for (SplitOfRangeOp part : parts)
    keepPart(rewriter, part, ofAll);
  for (PipelinedForOp loop : loops)
    if (!loop.isWhile())
      keepOuterBounds(rewriter, loop, ofAll);
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

/// What all partitions see: memory, barriers, and what they are made of.
static bool isShared(Operation &op) {
  return isa<CreateChannelOp, CreateTileOp, CreateIotaTileOp, CreatePingPongOp,
             CreateTurnsOp, CreateWorkQueueOp>(op);
}

/// How many threads copy a tile: one tells the hardware to, or a warpgroup does
/// it element by element. A warp looks for the blocks of a loop with classes,
/// copies vectors whose end may be outside of their buffer, and computes a
/// number for each key.
static int64_t getThreads(Operation *op) {
  auto put = dyn_cast<PutOp>(op);
  if (auto vector = dyn_cast<PutVectorOp>(op); vector && vector.getZeroFill())
    return kWarpThreads;
  if (isa<PutBF16x3Op>(op))
    return kWarpThreads;
  auto loop = op->getParentOfType<PipelinedForOp>();
  if (put && put.getMap().getType().getStrided())
    return kWarpgroupThreads;
  return loop && loop.hasClasses() ? kWarpThreads : 1;
}

/// The partitions in which steps are: those that copy first, then those that
/// hold turns for others.
static SmallVector<PartitionAttr> getPartitions(gpu::GPUFuncOp kernel,
                                                hopper::ScheduleAttr schedule) {
  // With the threads that its copies need.
  llvm::MapVector<StringRef, int64_t> copying;
  llvm::SetVector<StringRef> computing, holding;
  kernel.walk([&](hopper::StepOp step) {
    computing.insert(step.getPartition());
    step.walk([&](Operation *op) {
      if (isa<HoldTurnOp>(op))
        holding.insert(step.getPartition());
      if (!isa<PutOp, PutVectorOp, PutBF16x3Op>(op))
        return;
      int64_t &threads = copying[step.getPartition()];
      threads = std::max(threads, getThreads(op));
    });
  });
  SmallVector<PartitionAttr> partitions;
  for (auto [name, threads] : copying) {
    computing.remove(name);
    partitions.push_back(PartitionAttr::get(kernel.getContext(), name,
                                            /*replicas=*/1, threads,
                                            /*registers=*/0));
  }
  for (StringRef name : holding) {
    computing.remove(name);
    partitions.push_back(PartitionAttr::get(
        kernel.getContext(), name, schedule.getNumConsumers(), /*threads=*/1,
        /*registers=*/0));
  }
  // Each has all rows of a work tile, a replica 64 of them.
  for (StringRef name : computing)
    partitions.push_back(PartitionAttr::get(
        kernel.getContext(), name, schedule.getNumConsumers(),
        kWarpgroupThreads, schedule.getRegisters()));
  return partitions;
}

static bool hasPingPong(gpu::GPUFuncOp kernel) {
  return kernel
      .walk([](PipelinedForOp loop) {
        return loop.getExclusive().empty() ? WalkResult::advance()
                                           : WalkResult::interrupt();
      })
      .wasInterrupted();
}

static LogicalResult specialize(gpu::GPUFuncOp kernel) {
  auto schedule =
      kernel->getAttrOfType<hopper::ScheduleAttr>(hopper::kScheduleAttrName);
  if (!schedule)
    return kernel.emitError("expects a kernel with a schedule");
  Block &body = kernel.getBody().front();
  IRRewriter rewriter(kernel.getContext());
  Location loc = kernel.getLoc();
  SmallVector<Operation *> ops;
  for (Operation &op : body.without_terminator())
    if (!isShared(op))
      ops.push_back(&op);
  SmallVector<PartitionAttr> partitions = getPartitions(kernel, schedule);
  auto isCopy = [](Operation *op) {
    return isa<PutOp, PutVectorOp>(op) ? WalkResult::interrupt()
                                       : WalkResult::advance();
  };
  if (!kernel.walk(isCopy).wasInterrupted())
    return kernel.emitError("expects a step that copies tiles");
  rewriter.setInsertionPoint(body.getTerminator());
  if (partitions.back().getReplicas() > 1 && hasPingPong(kernel))
    CreatePingPongOp::create(rewriter, loc,
                             PingPongType::get(rewriter.getContext()));
  auto specialize = WarpSpecializeOp::create(rewriter, loc, partitions,
                                             schedule.getMinCtasPerSm());
  for (auto [number, partition] : llvm::enumerate(partitions)) {
    Block *block = &specialize->getRegion(number).front();
    rewriter.setInsertionPointToStart(block);
    IRMapping mapping;
    for (Operation *op : ops)
      rewriter.clone(*op, mapping);
    SmallVector<PipelinedForOp> loops;
    block->walk([&](PipelinedForOp loop) { loops.push_back(loop); });
    for (PipelinedForOp loop : loops)
      if (loop.hasClasses() &&
          failed(tellBlocks(rewriter, loop, partition.getName())))
        return failure();
    if (failed(Slicer(rewriter, partition.getName()).slice(*block)))
      return failure();
    takeOwnParts(rewriter, *block);
    bool hasReplicas = partition.getReplicas() > 1;
    if (hasReplicas)
      distributeRows(rewriter, *block);
    block->walk([&](PipelinedForOp loop) {
      if (loop.isWhile())
        keepOwnRange(rewriter, loop, hasReplicas);
    });
  }
  for (Operation *op : llvm::reverse(ops)) {
    op->dropAllUses();
    rewriter.eraseOp(op);
  }
  return success();
}

namespace {
struct HopperSpecialize
    : public mlir::attn::impl::HopperSpecializePassBase<HopperSpecialize> {
  void runOnOperation() override {
    if (!getOperation()
             .walk([](WorkLoopOp) { return WalkResult::interrupt(); })
             .wasInterrupted())
      return;
    if (failed(specialize(getOperation())))
      signalPassFailure();
  }
};
} // namespace
