//===- HopperElementLoops.cpp - Tensors around attentions as loops --------===//
//
// A GPU kernel reads and writes memory, so what an attention reads, or a
// function returns, has to be there. What computes it element by element
// becomes a loop over its elements, with all that goes into an element of it.
//
//===----------------------------------------------------------------------===//

#include "ElementValues.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERELEMENTLOOPSPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// What a value is a cast of: kernels see through casts.
static Value skipCasts(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

/// A sum over several loops becomes one over the last of them, for each index
/// of the others, whose results are summed in the same way: there are as many
/// threads for it as the tensor has rows.
static void splitSums(linalg::LinalgOp op) {
  SmallVector<unsigned> reductions;
  op.getReductionDims(reductions);
  if (reductions.size() < 2 || op->getNumResults() != 1 ||
      !op.hasPureTensorSemantics())
    return;
  OpOperand &init = *op.getDpsInitOperand(0);
  BlockArgument sum = op.getMatchingBlockArgument(&init);
  auto add = op.getBlock()
                 ->getTerminator()
                 ->getOperand(0)
                 .getDefiningOp<arith::AddFOp>();
  if (!add || !sum.hasOneUse() || *sum.user_begin() != add)
    return;
  OpBuilder builder(op);
  Location loc = op.getLoc();
  SmallVector<OpFoldResult> extents;
  for (unsigned loop = 0; loop < op.getNumLoops(); ++loop)
    if (!extents.emplace_back(getLoopExtent(builder, op, loop)))
      return;
  AffineMap results = op.getMatchingIndexingMap(&init);
  // The loops that are left, and what is summed over them so far.
  SmallVector<unsigned> loops =
      llvm::to_vector(llvm::seq<unsigned>(0, op.getNumLoops()));
  Value part;
  while (!reductions.empty()) {
    unsigned last = reductions.pop_back_val();
    auto getMap = [&](auto isThere, ArrayRef<unsigned> order) {
      SmallVector<AffineExpr> exprs;
      for (unsigned loop : order)
        if (isThere(loop))
          exprs.push_back(builder.getAffineDimExpr(llvm::find(loops, loop) -
                                                   loops.begin()));
      return AffineMap::get(loops.size(), 0, exprs, builder.getContext());
    };
    SmallVector<unsigned> all(loops);
    auto isLeft = [&](unsigned loop) { return loop != last; };
    Value out = init.get();
    SmallVector<unsigned> order(all);
    if (!reductions.empty()) {
      SmallVector<OpFoldResult> sizes;
      for (unsigned loop : all)
        if (isLeft(loop))
          sizes.push_back(extents[loop]);
      Value zero = arith::ConstantOp::create(
          builder, loc, builder.getZeroAttr(sum.getType()));
      Value empty = tensor::EmptyOp::create(builder, loc, sizes, sum.getType());
      out = linalg::FillOp::create(builder, loc, zero, empty).getResult(0);
    } else {
      order.clear();
      for (AffineExpr expr : results.getResults())
        order.push_back(cast<AffineDimExpr>(expr).getPosition());
    }
    SmallVector<AffineMap> maps;
    SmallVector<Value> inputs;
    if (part) {
      inputs.push_back(part);
      maps.push_back(getMap([](unsigned) { return true; }, all));
    } else {
      for (OpOperand *input : op.getDpsInputOperands()) {
        inputs.push_back(input->get());
        maps.push_back(op.getMatchingIndexingMap(input));
      }
    }
    maps.push_back(getMap(isLeft, order));
    SmallVector<utils::IteratorType> iterators;
    for (unsigned loop : all)
      iterators.push_back(isLeft(loop) ? utils::IteratorType::parallel
                                       : utils::IteratorType::reduction);
    auto generic = linalg::GenericOp::create(
        builder, loc, TypeRange(out.getType()), inputs, out, maps, iterators,
        [&](OpBuilder &inner, Location, ValueRange arguments) {
          Value result;
          if (part) {
            result =
                arith::AddFOp::create(inner, loc, arguments[1], arguments[0]);
          } else {
            IRMapping mapping;
            mapping.map(op.getBlock()->getArguments(), arguments);
            for (Operation &one : op.getBlock()->without_terminator())
              inner.clone(one, mapping);
            result = mapping.lookup(add.getResult());
          }
          linalg::YieldOp::create(inner, loc, result);
        });
    part = generic.getResult(0);
    llvm::erase(loops, last);
  }
  op->getResult(0).replaceAllUsesWith(part);
  op->erase();
}

/// The tensors that have to be in memory, in the order of the program: what
/// attentions read and what the function returns or takes a number of, sums,
/// and what several of these are computed of, unless it is as quickly computed
/// as read.
static SmallVector<Value> findRoots(Block &block) {
  DenseSet<Value> needed;
  for (Operation &op : block) {
    if (isa<AttentionLikeOpInterface>(op)) {
      auto style = cast<DestinationStyleOpInterface>(op);
      for (OpOperand *operand : style.getDpsInputOperands())
        needed.insert(skipCasts(operand->get()));
    } else if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
      needed.insert(skipCasts(extract.getTensor()));
    } else if (op.hasTrait<OpTrait::ReturnLike>()) {
      for (Value operand : op.getOperands())
        needed.insert(skipCasts(operand));
    }
  }
  // By tensor, for the elements of which others it is computed.
  DenseMap<Value, SetVector<Value>> loops;
  SmallVector<Value> roots;
  for (Operation &op : llvm::reverse(block))
    for (Value value : llvm::reverse(op.getResults())) {
      if (!isComputedByElement(value))
        continue;
      SetVector<Value> own;
      for (OpOperand &use : value.getUses())
        if (isElementRead(use))
          for (Value result : use.getOwner()->getResults())
            own.insert_range(loops.lookup(result));
      bool isUsed = needed.contains(value) || !own.empty();
      if (needed.contains(value) || (isUsed && isSum(value)) ||
          (own.size() > 1 && isArithmetic(value))) {
        roots.push_back(value);
        own.clear();
        own.insert(value);
      }
      loops[value] = std::move(own);
    }
  return SmallVector<Value>(llvm::reverse(roots));
}

/// A loop with an iteration for each element of `root`, one of a number.
static FailureOr<Value> emitLoop(Value root) {
  Operation *op = root.getDefiningOp();
  Location loc = op->getLoc();
  OpBuilder builder(op);
  auto type = cast<RankedTensorType>(root.getType());
  SmallVector<OpFoldResult> sizes = getExtents(builder, root);
  Value empty =
      tensor::EmptyOp::create(builder, loc, sizes, type.getElementType());
  OpFoldResult one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> bounds = sizes, ones(type.getRank(), one);
  if (bounds.empty())
    bounds.push_back(one);
  SmallVector<Attribute> workers;
  for (size_t dim = 0; dim < bounds.size(); ++dim)
    workers.push_back(WorkerAttr::get(builder.getContext(), dim));
  auto loop = scf::ForallOp::create(builder, loc, bounds, empty,
                                    builder.getArrayAttr(workers));
  builder.setInsertionPoint(loop.getTerminator());
  SmallVector<Value> place(loop.getInductionVars());
  place.resize(type.getRank());
  FailureOr<Value> value = computeElement(builder, root, place);
  if (failed(value))
    return failure();
  Value argument = loop.getRegionIterArgs()[0];
  SmallVector<OpFoldResult> offsets(place.begin(), place.end());
  Value slice = tensor::ExtractSliceOp::create(builder, loc, argument, offsets,
                                               ones, ones);
  SmallVector<Value> zeros(type.getRank());
  for (Value &zero : zeros)
    zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value written = tensor::InsertOp::create(builder, loc, *value, slice, zeros);
  builder.setInsertionPointToEnd(loop.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, written, argument,
                                        offsets, ones, ones);
  return loop.getResult(0);
}

static LogicalResult emitLoops(func::FuncOp function) {
  if (!function.getBody().hasOneBlock())
    return success();
  Block &block = function.getBody().front();
  for (auto op : llvm::make_early_inc_range(block.getOps<linalg::LinalgOp>()))
    splitSums(op);
  for (Value root : findRoots(block)) {
    FailureOr<Value> computed = emitLoop(root);
    if (failed(computed))
      return failure();
    root.replaceAllUsesWith(*computed);
  }
  // Extents are those of what is in memory.
  for (Operation &op : llvm::make_early_inc_range(block))
    if (auto dim = dyn_cast<tensor::DimOp>(op);
        dim && dim.getConstantIndex() && isComputedByElement(dim.getSource())) {
      OpBuilder builder(dim);
      OpFoldResult extent =
          getExtents(builder, dim.getSource())[*dim.getConstantIndex()];
      dim.replaceAllUsesWith(
          getValueOrCreateConstantIndexOp(builder, dim.getLoc(), extent));
      dim.erase();
    }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(block)))
    if (isOpTriviallyDead(&op))
      op.erase();
  return success();
}

namespace {
struct AttnHopperElementLoops
    : public mlir::attn::impl::AttnHopperElementLoopsPassBase<
          AttnHopperElementLoops> {
  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName) &&
          failed(emitLoops(function)))
        return signalPassFailure();
  }
};
} // namespace
