//===- HopperOverlapTiles.cpp - Work tiles in two stages ------------------===//
//
// The loop over work tiles is skewed: an iteration finishes the work tile
// before its own. Vectors of that one are carried, scalars are computed again
// from its numbers. ptxas follows products in straight code, and gives results
// that several branches make registers beside those of products. So what is to
// overlap stands in one branch, up to the stores, and again where it does not.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/SetVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPEROVERLAPTILESPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// A work tile that something is written for: what the values of the original
/// body are for it. Scalars of the work tile before are computed again where
/// they are used, so that a copy is for what stands in a region.
struct Site {
  IRMapping map;
  bool isBefore = false;
};

class TileOverlap {
public:
  TileOverlap(IRRewriter &rewriter, VisitBlocksOp visit)
      : rewriter(rewriter), visit(visit), loc(visit.getLoc()) {}

  LogicalResult run();

private:
  void simplifyParts();
  LogicalResult collectLeaves(Value value);
  LogicalResult collectLeaves(Operation *op);
  LogicalResult collectCarried();
  WorkLoopOp createLoop();
  Site getBefore(ValueRange carried);
  Value lookup(Site &site, Value value);
  SmallVector<Value> lookup(Site &site, ValueRange values);
  Operation *clone(Site &site, Operation *op);
  SmallVector<Value> cloneBody(Site &site, Region &region);
  void emitPass(Value from, Value to);
  void emitEnd(Site site);
  void emitTail(Site &site, ValueRange results);
  Value emitIsTogether(Site before, Value exists, Value hasBlocks);
  SmallVector<Value> emitTogether(Site before);
  SmallVector<Value> emitApart(const Site &before, Value exists,
                               Value hasBlocks);
  SmallVector<Value> emitRest(ValueRange started, Value hasBlocks);
  SmallVector<Value> emitIteration(const Site &before, Value exists);
  SmallVector<Value> emitBranch(Value condition, TypeRange types,
                                function_ref<SmallVector<Value>()> emitThen,
                                function_ref<SmallVector<Value>()> emitElse);

  void emitIf(Value condition, function_ref<void()> emitThen) {
    OpBuilder::InsertionGuard guard(rewriter);
    auto branch = scf::IfOp::create(rewriter, loc, condition,
                                    /*withElseRegion=*/false);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    emitThen();
  }
  SmallVector<Type> getTypes(Region &region, ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(numbers, [&](unsigned number) {
      return region.getArgument(number).getType();
    });
  }
  SmallVector<Value> getZeros(TypeRange types) {
    return llvm::map_to_vector(types, [&](Type type) -> Value {
      return arith::ConstantOp::create(
          rewriter, loc, cast<TypedAttr>(rewriter.getZeroAttr(type)));
    });
  }
  SmallVector<Value> pick(ValueRange values, ArrayRef<unsigned> numbers) {
    return llvm::map_to_vector(numbers,
                               [&](unsigned number) { return values[number]; });
  }
  /// Values from outside of the parts are not passed on.
  bool isOfPart(Value value) {
    return visit->isAncestor(value.getParentBlock()->getParentOp());
  }
  Value compare(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(rewriter, loc, predicate, a, b);
  }
  Value zero() { return arith::ConstantIntOp::create(rewriter, loc, 0, 32); }
  static EndOp getEndOf(Region &region) {
    return cast<EndOp>(region.front().getTerminator());
  }

  IRRewriter &rewriter;
  VisitBlocksOp visit;
  Location loc;
  WorkLoopOp work;
  /// What comes behind the blocks of a work tile.
  SmallVector<Operation *> tail;
  /// Values of a work tile that its end reads, and that cannot be computed
  /// again, such as what was loaded.
  llvm::SetVector<Value> leaves;
  /// Of what `start` passes on to `rest`, and that to `finish`, what differs
  /// from work tile to work tile.
  SmallVector<unsigned> startKept, restKept;
};
} // namespace

//===----------------------------------------------------------------------===//
// What is carried
//===----------------------------------------------------------------------===//

/// What a part passes on that is from outside of it needs no argument.
void TileOverlap::simplifyParts() {
  auto simplify = [&](Region &from, Region &to, SmallVector<unsigned> &kept) {
    for (auto [number, value] : llvm::enumerate(getEndOf(from).getValues())) {
      BlockArgument argument = to.getArgument(number);
      if (!isOfPart(value))
        rewriter.replaceAllUsesWith(argument, value);
      else if (!argument.use_empty())
        kept.push_back(number);
    }
  };
  simplify(visit.getStart(), visit.getRest(), startKept);
  simplify(visit.getRest(), visit.getFinish(), restKept);
}

LogicalResult TileOverlap::collectLeaves(Value value) {
  // The numbers of a work tile are carried anyway.
  if (value.getParentBlock() != work.getBlock() || isa<BlockArgument>(value))
    return success();
  Operation *op = value.getDefiningOp();
  if (op == visit || llvm::is_contained(tail, op))
    return success();
  if (isPure(op) && op->getNumRegions() == 0)
    return collectLeaves(op);
  if (isa<TileType>(value.getType()))
    return op->emitOpError("expects no use behind the blocks of its work tile "
                           "in a schedule with overlap_tiles; leave that out");
  leaves.insert(value);
  return success();
}

LogicalResult TileOverlap::collectLeaves(Operation *op) {
  WalkResult walk = op->walk([&](Operation *inner) -> WalkResult {
    for (Value operand : inner->getOperands())
      if (failed(collectLeaves(operand)))
        return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

LogicalResult TileOverlap::collectCarried() {
  for (Operation *op = visit->getNextNode(); !isa<EndOp>(op);
       op = op->getNextNode())
    tail.push_back(op);
  SmallVector<Operation *> late(tail);
  for (Operation &op : visit.getFinish().front())
    late.push_back(&op);
  for (Operation *op : late)
    if (failed(collectLeaves(op)))
      return failure();
  for (Value operand : visit->getOperands())
    if (failed(collectLeaves(operand)))
      return failure();
  return success();
}

/// The loop with the body of the original one. Carried are whether there is a
/// work tile before, its numbers, the leaves, and what `finish` reads.
WorkLoopOp TileOverlap::createLoop() {
  rewriter.setInsertionPoint(work);
  Type i32 = rewriter.getI32Type();
  SmallVector<Type> types = {rewriter.getI1Type()};
  types.append(work.getNumIds(), i32);
  llvm::append_range(types, ValueRange(leaves.getArrayRef()).getTypes());
  for (unsigned number : restKept)
    types.push_back(visit.getFinish().getArgument(number).getType());
  auto next = WorkLoopOp::create(
      rewriter, loc, types, work.getBatches(), work.getHeads(), work.getTiles(),
      work.getNumSplits(), work.getCounter(), work.getGroup(), getZeros(types));
  next.getBody().takeBody(work.getBody());
  for (Type type : types)
    next.getBlock()->addArgument(type, loc);
  rewriter.eraseOp(work);
  return next;
}

//===----------------------------------------------------------------------===//
// Copies for a work tile
//===----------------------------------------------------------------------===//

Site TileOverlap::getBefore(ValueRange carried) {
  Site site;
  site.isBefore = true;
  carried = carried.drop_front();
  for (Value id : work.getIds()) {
    site.map.map(id, PositionOp::create(rewriter, loc, carried.front(),
                                        WorkLoopOp::getRowsOf(id)));
    carried = carried.drop_front();
  }
  for (Value leaf : leaves) {
    site.map.map(leaf, carried.front());
    carried = carried.drop_front();
  }
  for (auto [number, value] : llvm::zip_equal(restKept, carried))
    site.map.map(visit.getFinish().getArgument(number), value);
  return site;
}

Value TileOverlap::lookup(Site &site, Value value) {
  bool isOfTile =
      value.getParentBlock() == work.getBlock() && !isa<BlockArgument>(value);
  if (site.isBefore && isOfTile && !site.map.contains(value))
    clone(site, value.getDefiningOp());
  return site.map.lookupOrDefault(value);
}

SmallVector<Value> TileOverlap::lookup(Site &site, ValueRange values) {
  return llvm::map_to_vector(values,
                             [&](Value value) { return lookup(site, value); });
}

Operation *TileOverlap::clone(Site &site, Operation *op) {
  op->walk([&](Operation *inner) { lookup(site, inner->getOperands()); });
  return rewriter.clone(*op, site.map);
}

/// Returns what the region ends with.
SmallVector<Value> TileOverlap::cloneBody(Site &site, Region &region) {
  for (Operation &op : region.front().without_terminator())
    clone(site, &op);
  return lookup(site, getEndOf(region).getValues());
}

SmallVector<Value>
TileOverlap::emitBranch(Value condition, TypeRange types,
                        function_ref<SmallVector<Value>()> emitThen,
                        function_ref<SmallVector<Value>()> emitElse) {
  auto branch = scf::IfOp::create(rewriter, loc, types, condition,
                                  /*addThenBlock=*/true, /*addElseBlock=*/true);
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(rewriter, loc, emitThen());
  rewriter.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(rewriter, loc, emitElse());
  return SmallVector<Value>(branch.getResults());
}

//===----------------------------------------------------------------------===//
// Parts of a work tile
//===----------------------------------------------------------------------===//

/// Blocks that come by channels and are for others. Nothing in the region
/// depends on the work tile.
void TileOverlap::emitPass(Value from, Value to) {
  OpBuilder::InsertionGuard guard(rewriter);
  Value one = arith::ConstantIntOp::create(rewriter, loc, 1, 32);
  auto loop = scf::ForOp::create(rewriter, loc, from, to, one);
  rewriter.setInsertionPointToStart(loop.getBody());
  Site site;
  cloneBody(site, visit.getPass());
}

/// What is left to do for the work tile before.
void TileOverlap::emitEnd(Site site) {
  Value end = lookup(site, visit.getEnd());
  Value hasBlocks =
      compare(arith::CmpIPredicate::slt, lookup(site, visit.getFirst()), end);
  SmallVector<Value> inits = lookup(site, visit.getInits());
  SmallVector<Value> results = emitBranch(
      hasBlocks, visit.getResultTypes(),
      [&] {
        Site own = site;
        return cloneBody(own, visit.getFinish());
      },
      [&] { return inits; });
  if (visit.getCount())
    emitPass(end, lookup(site, visit.getCount()));
  emitTail(site, results);
}

void TileOverlap::emitTail(Site &site, ValueRange results) {
  site.map.map(visit.getResults(), results);
  for (Operation *op : tail)
    clone(site, op);
}

/// Whether the end of the work tile before and the start of this one run
/// together: both have blocks, and none are passed over in between.
Value TileOverlap::emitIsTogether(Site before, Value exists, Value hasBlocks) {
  Value end = lookup(before, visit.getEnd());
  auto require = [&](Value condition, arith::CmpIPredicate predicate, Value a,
                     Value b) -> Value {
    return arith::AndIOp::create(rewriter, loc, condition,
                                 compare(predicate, a, b));
  };
  Value result = arith::AndIOp::create(rewriter, loc, exists, hasBlocks);
  result = require(result, arith::CmpIPredicate::slt,
                   lookup(before, visit.getFirst()), end);
  if (!visit.getCount())
    return result;
  result = require(result, arith::CmpIPredicate::sge, end,
                   lookup(before, visit.getCount()));
  return require(result, arith::CmpIPredicate::sle, visit.getFirst(), zero());
}

/// The operations of a part up to the last product and what passes on a turn,
/// and the others.
static std::pair<SmallVector<Operation *>, SmallVector<Operation *>>
splitAtProducts(Region &region) {
  SmallVector<Operation *> products, others;
  for (Operation &op : region.front().without_terminator()) {
    others.push_back(&op);
    if (isa<DotOp, PingPongArriveOp>(op)) {
      llvm::append_range(products, others);
      others.clear();
    }
  }
  return {products, others};
}

/// Products of both work tiles follow each other in straight code, in one turn.
SmallVector<Value> TileOverlap::emitTogether(Site before) {
  Site now;
  auto [startProducts, startOthers] = splitAtProducts(visit.getStart());
  auto [finishProducts, finishOthers] = splitAtProducts(visit.getFinish());
  Operation *first = nullptr;
  for (Operation *op : startProducts) {
    Operation *copy = clone(now, op);
    if (!first && isa<DotOp>(copy))
      first = copy;
  }
  for (Operation *op : finishProducts) {
    Operation *copy = clone(before, op);
    if (first && isa<PingPongWaitOp>(copy))
      rewriter.moveOpBefore(copy, first);
  }
  for (Operation *op : startOthers)
    clone(now, op);
  for (Operation *op : finishOthers)
    clone(before, op);
  emitTail(before, lookup(before, getEndOf(visit.getFinish()).getValues()));
  return pick(lookup(now, getEndOf(visit.getStart()).getValues()), startKept);
}

/// One after the other, as without overlap.
SmallVector<Value> TileOverlap::emitApart(const Site &before, Value exists,
                                          Value hasBlocks) {
  emitIf(exists, [&] { emitEnd(before); });
  if (visit.getCount())
    emitPass(zero(), visit.getFirst());
  SmallVector<Type> types = getTypes(visit.getRest(), startKept);
  return emitBranch(
      hasBlocks, types,
      [&] {
        Site now;
        return pick(cloneBody(now, visit.getStart()), startKept);
      },
      [&] { return getZeros(types); });
}

/// The loop over the other blocks, with what `start` has passed on.
SmallVector<Value> TileOverlap::emitRest(ValueRange started, Value hasBlocks) {
  SmallVector<Type> types = getTypes(visit.getFinish(), restKept);
  return emitBranch(
      hasBlocks, types,
      [&] {
        Site now;
        for (auto [number, value] : llvm::zip_equal(startKept, started))
          now.map.map(visit.getRest().getArgument(number), value);
        return pick(cloneBody(now, visit.getRest()), restKept);
      },
      [&] {
        Site now;
        cloneBody(now, visit.getNone());
        return getZeros(types);
      });
}

/// Returns what is carried.
SmallVector<Value> TileOverlap::emitIteration(const Site &before,
                                              Value exists) {
  Value hasBlocks =
      compare(arith::CmpIPredicate::slt, visit.getFirst(), visit.getEnd());
  SmallVector<Value> started = emitBranch(
      emitIsTogether(before, exists, hasBlocks),
      getTypes(visit.getRest(), startKept),
      [&] { return emitTogether(before); },
      [&] { return emitApart(before, exists, hasBlocks); });
  SmallVector<Value> carried = {
      arith::ConstantIntOp::create(rewriter, loc, 1, 1)};
  for (Value id : work.getIds())
    carried.push_back(
        arith::IndexCastOp::create(rewriter, loc, rewriter.getI32Type(), id));
  llvm::append_range(carried, leaves);
  llvm::append_range(carried, emitRest(started, hasBlocks));
  return carried;
}

LogicalResult TileOverlap::run() {
  work = dyn_cast<WorkLoopOp>(visit->getParentOp());
  auto all = work ? llvm::to_vector(work.getBlock()->getOps<VisitBlocksOp>())
                  : SmallVector<VisitBlocksOp>();
  if (all.size() != 1 || !work.getInits().empty())
    return visit.emitOpError("expects to be the only one in a work loop that "
                             "carries nothing");
  simplifyParts();
  if (failed(collectCarried()))
    return failure();
  work = createLoop();
  rewriter.setInsertionPoint(visit);
  ValueRange carried = work.getCarried();
  SmallVector<Value> ends = emitIteration(getBefore(carried), carried.front());
  rewriter.setInsertionPoint(work.getEnd());
  EndOp end = work.getEnd();
  rewriter.replaceOpWithNewOp<EndOp>(end, ends);
  // The end of the last work tile.
  rewriter.setInsertionPointAfter(work);
  emitIf(work.getResult(0), [&] { emitEnd(getBefore(work.getResults())); });
  for (Operation *op : llvm::reverse(tail))
    rewriter.eraseOp(op);
  rewriter.eraseOp(visit);
  return success();
}

namespace {
struct HopperOverlapTiles
    : public mlir::attn::impl::HopperOverlapTilesPassBase<HopperOverlapTiles> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<VisitBlocksOp> all;
    getOperation()->walk([&](VisitBlocksOp visit) { all.push_back(visit); });
    for (VisitBlocksOp visit : all)
      if (failed(TileOverlap(rewriter, visit).run()))
        return signalPassFailure();
  }
};
} // namespace
