//===- RegionLoops.cpp - Loops in regions of an attention -----------------===//

#include "RegionLoops.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

static int64_t getBound(Value bound) {
  if (std::optional<int64_t> constant = getConstantIntValue(bound))
    return *constant;
  Operation *around = cast<BlockArgument>(bound).getOwner()->getParentOp();
  return getBound(cast<scf::ForOp>(around).getLowerBound());
}

int64_t mlir::attn::getTripCount(scf::ForOp loop) {
  int64_t lower = getBound(loop.getLowerBound()),
          upper = getBound(loop.getUpperBound());
  if (upper <= lower)
    return 0;
  return llvm::divideCeil(static_cast<uint64_t>(upper) -
                              static_cast<uint64_t>(lower),
                          static_cast<uint64_t>(getBound(loop.getStep())));
}

int64_t mlir::attn::getLastIteration(scf::ForOp loop) {
  return getBound(loop.getLowerBound()) +
         (getTripCount(loop) - 1) * getBound(loop.getStep());
}

int64_t mlir::attn::getNumRuns(scf::ForOp loop) {
  return std::min<uint64_t>(
      INT64_MAX, llvm::SaturatingMultiply<uint64_t>(countRuns(loop.getRegion()),
                                                    getTripCount(loop)));
}

int64_t mlir::attn::countRuns(Region &region) {
  int64_t runs = 0;
  for (Block &block : region)
    for (Operation &op : block) {
      int64_t own = 1;
      for (Region &inner : op.getRegions())
        own = llvm::SaturatingAdd<uint64_t>(own, countRuns(inner));
      if (auto loop = dyn_cast<scf::ForOp>(op))
        own = llvm::SaturatingMultiply<uint64_t>(own, getTripCount(loop));
      runs = std::min<uint64_t>(INT64_MAX,
                                llvm::SaturatingAdd<uint64_t>(runs, own));
    }
  return runs;
}

void mlir::attn::unrollLoop(scf::ForOp loop) {
  IRRewriter rewriter(loop);
  SmallVector<Value> carried(loop.getInitArgs());
  int64_t lower = getBound(loop.getLowerBound()),
          step = getBound(loop.getStep());
  for (int64_t n = 0, count = getTripCount(loop); n < count; ++n) {
    IRMapping mapping;
    Type type = loop.getInductionVar().getType();
    mapping.map(loop.getInductionVar(),
                arith::ConstantOp::create(
                    rewriter, loop.getLoc(),
                    rewriter.getIntegerAttr(type, lower + n * step)));
    mapping.map(loop.getRegionIterArgs(), carried);
    for (Operation &op : loop.getBody()->without_terminator())
      rewriter.clone(op, mapping);
    for (auto [value, yielded] :
         llvm::zip_equal(carried, loop.getYieldedValues()))
      value = mapping.lookupOrDefault(yielded);
  }
  rewriter.replaceOp(loop, carried);
}

void mlir::attn::beginWithLoopsAround(Region &region) {
  region.walk([](scf::ForOp loop) {
    Value begin = loop.getLowerBound();
    if (getConstantIntValue(begin))
      return;
    OpBuilder builder(loop);
    Location loc = loop.getLoc();
    loop.setLowerBound(arith::ConstantOp::create(
        builder, loc,
        builder.getIntegerAttr(begin.getType(), getBound(begin))));
    Operation *yield = loop.getBody()->getTerminator();
    builder.setInsertionPoint(yield);
    Value isBefore =
        arith::CmpIOp::create(builder, loc,
                              loop.getUnsignedCmp() ? arith::CmpIPredicate::ult
                                                    : arith::CmpIPredicate::slt,
                              loop.getInductionVar(), begin);
    for (auto [next, carried] :
         llvm::zip_equal(yield->getOpOperands(), loop.getRegionIterArgs()))
      next.set(
          arith::SelectOp::create(builder, loc, isBefore, carried, next.get()));
  });
}

void mlir::attn::unrollLoops(Region &region, int64_t most) {
  SmallVector<scf::ForOp> loops;
  // Loops in others first.
  region.walk([&](scf::ForOp loop) { loops.push_back(loop); });
  for (scf::ForOp loop : loops)
    if (getNumRuns(loop) <= most && getConstantIntValue(loop.getLowerBound()))
      unrollLoop(loop);
}
