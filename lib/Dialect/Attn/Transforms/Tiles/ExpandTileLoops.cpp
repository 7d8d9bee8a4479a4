//===- ExpandTileLoops.cpp - Plain loops over tiles -----------------------===//

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNEXPANDTILELOOPSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

/// In a full tile, rows that are read from its start on are there.
static void setInBounds(RewriterBase &rewriter, vector::TransferReadOp read,
                        Value start, int64_t size) {
  SmallVector<bool> inBounds = read.getInBoundsValues();
  for (auto [number, result] :
       llvm::enumerate(read.getPermutationMap().getResults())) {
    auto dim = dyn_cast<AffineDimExpr>(result);
    if (dim && read.getIndices()[dim.getPosition()] == start &&
        read.getVectorType().getDimSize(number) <= size)
      inBounds[number] = true;
  }
  read.setInBoundsAttr(rewriter.getBoolArrayAttr(inBounds));
}

/// Ends the block where the builder stands with the body for the tile from
/// `start`.
static void emitBody(RewriterBase &rewriter, TileLoopOp loop, Value start,
                     ValueRange carried, bool isFull) {
  IRMapping mapping;
  Block &body = loop.getBody().front();
  mapping.map(body.getArgument(0), start);
  mapping.map(loop.getRegionIterArgs(), carried);
  SmallVector<Operation *> clones;
  for (Operation &op : body.without_terminator())
    clones.push_back(rewriter.clone(op, mapping));
  SmallVector<Value> yielded;
  for (Value value : loop.getYielded())
    yielded.push_back(mapping.lookupOrDefault(value));
  scf::YieldOp::create(rewriter, loop.getLoc(), yielded);

  SmallVector<MaskTileOp> masks;
  SmallVector<StepOp> steps;
  for (Operation *clone : clones)
    clone->walk([&](Operation *op) {
      if (auto mask = dyn_cast<MaskTileOp>(op))
        masks.push_back(mask);
      if (auto step = dyn_cast<StepOp>(op))
        steps.push_back(step);
      if (auto read = dyn_cast<vector::TransferReadOp>(op); read && isFull)
        setInBounds(rewriter, read, start, loop.getStep());
    });
  for (MaskTileOp mask : masks) {
    if (isFull)
      rewriter.replaceOp(mask, mask.getScores());
    else
      mask.expand(rewriter);
  }
  OpBuilder::InsertionGuard guard(rewriter);
  for (StepOp step : steps)
    step.inlineBody(rewriter);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static Value createStep(RewriterBase &rewriter, TileLoopOp loop) {
  return arith::ConstantIndexOp::create(rewriter, loop.getLoc(),
                                        loop.getStep());
}

/// A loop over the tiles from `lo` to below `hi`, whose body is to be ended.
static scf::ForOp createLoop(RewriterBase &rewriter, TileLoopOp loop, Value lo,
                             Value hi, ValueRange inits) {
  auto result = scf::ForOp::create(rewriter, loop.getLoc(), lo, hi,
                                   createStep(rewriter, loop), inits);
  Block *body = result.getBody();
  if (!body->empty())
    rewriter.eraseOp(body->getTerminator());
  rewriter.setInsertionPointToEnd(body);
  return result;
}

/// A loop over tiles of one class.
static SmallVector<Value> emitLoop(RewriterBase &rewriter, TileLoopOp loop,
                                   Value lo, Value hi, ValueRange inits,
                                   bool isFull) {
  OpBuilder::InsertionGuard guard(rewriter);
  scf::ForOp result = createLoop(rewriter, loop, lo, hi, inits);
  emitBody(rewriter, loop, result.getInductionVar(), result.getRegionIterArgs(),
           isFull);
  return result.getResults();
}

/// Whether no tile is before the interval of full ones.
static bool startsFull(TileLoopOp loop) {
  if (loop.getFullLower() == loop.getLowerBound())
    return true;
  std::optional<int64_t> full = getConstantIntValue(loop.getFullLower()),
                         lower = getConstantIntValue(loop.getLowerBound());
  return full && lower && *full <= *lower;
}

/// Loops over the tiles before those in the interval of full ones, in it, and
/// behind it.
static SmallVector<Value> emitByInterval(RewriterBase &rewriter,
                                         TileLoopOp loop) {
  ScalarBuilder b(loop.getLoc(), rewriter);
  Value lo = loop.getLowerBound(), hi = loop.getUpperBound();
  Value step = createStep(rewriter, loop);
  // The start of the last tile at or before a position, or the first of all.
  auto roundDown = [&](Value position) {
    Value number = b.divU(b.maxS(b.sub(position, lo), 0), step);
    return b.add(lo, b.mul(number, step));
  };
  SmallVector<Value> carried(loop.getInitArgs());
  Value first = lo;
  if (!startsFull(loop)) {
    Value up = b.add(loop.getFullLower(), loop.getStep() - 1);
    first = b.minS(roundDown(up), hi);
    carried = emitLoop(rewriter, loop, lo, first, carried, /*isFull=*/false);
  }
  Value end = b.maxS(b.minS(roundDown(loop.getFullUpper()), hi), first);
  carried = emitLoop(rewriter, loop, first, end, carried, /*isFull=*/true);
  return emitLoop(rewriter, loop, end, hi, carried, /*isFull=*/false);
}

/// Ends a block with a choice between two blocks, which `yes` and `no` end.
static void emitChoice(RewriterBase &rewriter, TileLoopOp loop, Value condition,
                       function_ref<void()> yes, function_ref<void()> no) {
  auto branch =
      scf::IfOp::create(rewriter, loop.getLoc(), loop.getResultTypes(),
                        condition, /*withElseRegion=*/true);
  for (bool isElse : {false, true}) {
    OpBuilder::InsertionGuard guard(rewriter);
    Block *block = isElse ? branch.elseBlock() : branch.thenBlock();
    if (!block->empty())
      rewriter.eraseOp(block->getTerminator());
    rewriter.setInsertionPointToEnd(block);
    isElse ? no() : yes();
  }
  scf::YieldOp::create(rewriter, loop.getLoc(), branch.getResults());
}

/// One loop, which asks for the class of each tile.
static SmallVector<Value> emitByClass(RewriterBase &rewriter, TileLoopOp loop) {
  OpBuilder::InsertionGuard guard(rewriter);
  scf::ForOp result = createLoop(rewriter, loop, loop.getLowerBound(),
                                 loop.getUpperBound(), loop.getInitArgs());
  Value start = result.getInductionVar();
  ValueRange carried = result.getRegionIterArgs();
  Value isNeeded, isFull;
  if (loop.hasNeeded())
    isNeeded = loop.cloneClass(rewriter, loop.getNeeded(), start);
  if (loop.hasFull())
    isFull = loop.cloneClass(rewriter, loop.getFull(), start);
  auto emitFull = [&] { emitBody(rewriter, loop, start, carried, true); };
  auto emitPartial = [&] { emitBody(rewriter, loop, start, carried, false); };
  auto emitTile = [&] {
    if (isFull)
      emitChoice(rewriter, loop, isFull, emitFull, emitPartial);
    else
      emitPartial();
  };
  auto passOver = [&] {
    scf::YieldOp::create(rewriter, loop.getLoc(), carried);
  };
  if (isNeeded)
    emitChoice(rewriter, loop, isNeeded, emitTile, passOver);
  else
    emitTile();
  return result.getResults();
}

static void expand(RewriterBase &rewriter, TileLoopOp loop) {
  rewriter.setInsertionPoint(loop);
  bool isInterval = loop.getFullLower() && !loop.hasNeeded();
  rewriter.replaceOp(loop, isInterval ? emitByInterval(rewriter, loop)
                                      : emitByClass(rewriter, loop));
}

namespace {
struct AttnExpandTileLoops
    : public mlir::attn::impl::AttnExpandTileLoopsPassBase<
          AttnExpandTileLoops> {
  using AttnExpandTileLoopsPassBase::AttnExpandTileLoopsPassBase;

  void runOnOperation() override {
    auto isRow = [&](Operation *op) {
      auto worker = op->getParentOfType<scf::ForallOp>();
      return worker && isa_and_present<RowScheduleAttr>(
                           worker->getAttr(kScheduleAttrName));
    };
    auto isChosen = [&](Operation *op) { return !keyLists || isRow(op); };
    IRRewriter rewriter(&getContext());
    // What other targets have a use for.
    getOperation()->walk([&](Operation *op) {
      if (!isChosen(op))
        return;
      if (auto scores = dyn_cast<AffineScoresOp>(op))
        scores.expand(rewriter);
      else if (auto gather = dyn_cast<GatherOp>(op);
               gather && gather.getBox() && !isRow(op))
        gather.expandBox(rewriter);
    });
    // From inside out, so that a loop in a loop is expanded once.
    SmallVector<TileLoopOp> loops;
    getOperation()->walk([&](TileLoopOp loop) {
      if (isChosen(loop))
        loops.push_back(loop);
    });
    for (TileLoopOp loop : loops)
      expand(rewriter, loop);
    // Those around a loop.
    SmallVector<Operation *> rest;
    getOperation()->walk([&](Operation *op) {
      if (isa<StepOp, MaskTileOp>(op) && isChosen(op))
        rest.push_back(op);
    });
    for (Operation *op : rest) {
      if (auto mask = dyn_cast<MaskTileOp>(op))
        mask.expand(rewriter);
      else
        cast<StepOp>(op).inlineBody(rewriter);
    }
  }
};
} // namespace
