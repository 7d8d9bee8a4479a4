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

/// The tensors that have to be in memory, in the order of the program: what
/// attentions read and what the function returns, sums, and what several of
/// these are computed of, unless it is as quickly computed as read.
static SmallVector<Value> findRoots(Block &block) {
  DenseSet<Value> needed;
  for (Operation &op : block) {
    if (isa<AttentionLikeOpInterface>(op)) {
      auto style = cast<DestinationStyleOpInterface>(op);
      for (OpOperand *operand : style.getDpsInputOperands())
        needed.insert(skipCasts(operand->get()));
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
