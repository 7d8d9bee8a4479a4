//===- HopperSelectLaunch.cpp - One launch of several ---------------------===//
//
// A launch computes one attention, the gradients of one, or the elements of a
// tensor, in memory of the caller. So what another launch needs of it is there
// when that runs.
//
//===----------------------------------------------------------------------===//

#include "Kernels/ElementLoops.h"
#include "Kernels/WarpLoops.h"
#include "attn/Conversion/AttnToHopper/Launches.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERSELECTLAUNCHPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

SmallVector<DestinationStyleOpInterface>
mlir::attn::getLaunches(func::FuncOp function) {
  SmallVector<DestinationStyleOpInterface> launches;
  function.walk([&](Operation *op) {
    auto loop = dyn_cast<scf::ForallOp>(op);
    if (isa<AttentionLikeOpInterface>(op) || (loop && isElementLoop(loop)))
      launches.push_back(cast<DestinationStyleOpInterface>(op));
  });
  return launches;
}

/// Makes an argument of each new tensor that a launch computes for others, in
/// the order of the launches.
static LogicalResult addScratch(func::FuncOp function,
                                ArrayRef<DestinationStyleOpInterface> ops) {
  Builder builder(function.getContext());
  SmallVector<Attribute> tables;
  unsigned first = function.getNumArguments();
  for (DestinationStyleOpInterface op : ops)
    for (OpOperand &out : op.getDpsInitsMutable()) {
      auto empty = out.get().getDefiningOp<tensor::EmptyOp>();
      Value result = op.getTiedOpResult(&out);
      if (!empty || result.use_empty())
        continue;
      if (empty.getType().getRank() == 0)
        return op->emitError(
                   "expects what a launch computes for another, or for a "
                   "number, to have dimensions on a GPU; of gradients, name "
                   "those that are wanted without those of numbers, or make "
                   "the number a tensor of rank 0")
               << otherTarget;
      SmallVector<Attribute> extents;
      for (OpFoldResult size : empty.getMixedSizes()) {
        FailureOr<DictionaryAttr> extent =
            describeExtent(builder, function, size, op);
        if (failed(extent))
          return failure();
        extents.push_back(*extent);
      }
      tables.push_back(
          describeTable(builder, empty.getType().getElementType(), extents));
      unsigned number = function.getNumArguments();
      // Others write there: calls share nothing that is made of it.
      NamedAttribute isWritable(
          builder.getStringAttr(
              bufferization::BufferizationDialect::kWritableAttrName),
          builder.getBoolAttr(true));
      if (failed(function.insertArgument(number, empty.getType(),
                                         builder.getDictionaryAttr(isWritable),
                                         op.getLoc())))
        return failure();
      out.set(function.getArgument(number));
    }
  if (!tables.empty())
    function->setAttr(
        hopper::kScratchAttrName,
        builder.getDictionaryAttr(
            {builder.getNamedAttr("first", builder.getI64IntegerAttr(first)),
             builder.getNamedAttr("tables", builder.getArrayAttr(tables))}));
  return success();
}

/// Returns what a launch computes for others, too: nothing in its function
/// reads that, which would be left out as unused.
static void returnScratch(func::FuncOp function, unsigned numArguments,
                          DestinationStyleOpInterface op) {
  auto back = cast<func::ReturnOp>(function.getBody().front().getTerminator());
  OpBuilder builder(back);
  SmallVector<Value> values(back.getOperands());
  for (OpOperand &out : op.getDpsInitsMutable()) {
    auto argument = dyn_cast<BlockArgument>(out.get());
    if (argument && argument.getArgNumber() >= numArguments)
      values.push_back(
          bufferization::MaterializeInDestinationOp::create(
              builder, op.getLoc(), op.getTiedOpResult(&out), argument)
              .getResult());
  }
  back->setOperands(values);
  function.setFunctionType(builder.getFunctionType(
      function.getArgumentTypes(), ValueRange(values).getTypes()));
}

/// The iterations of a loop over elements are those of its result, which a
/// launch knows.
static void takeExtents(DestinationStyleOpInterface op) {
  auto loop = dyn_cast<scf::ForallOp>(op.getOperation());
  auto out = dyn_cast<BlockArgument>(op.getDpsInits().front());
  if (!loop || !out)
    return;
  OpBuilder builder(loop);
  SmallVector<OpFoldResult> extents =
      tensor::getMixedSizes(builder, loop.getLoc(), out);
  if (static_cast<int64_t>(extents.size()) != loop.getRank())
    return;
  SmallVector<Value> bounds;
  for (auto [bound, extent] :
       llvm::zip_equal(loop.getMixedUpperBound(), extents))
    if (isa<Value>(bound))
      bounds.push_back(
          getValueOrCreateConstantIndexOp(builder, loop.getLoc(), extent));
  loop.getDynamicUpperBoundMutable().assign(bounds);
}

static LogicalResult select(func::FuncOp function, unsigned launch) {
  SmallVector<DestinationStyleOpInterface> ops = getLaunches(function);
  if (ops.size() > 1) {
    if (launch >= ops.size())
      return function.emitError("expects a launch from 0 to ")
             << ops.size() - 1 << ", but got " << launch;
    for (DestinationStyleOpInterface op : ops)
      if (op->getBlock() != &function.getBody().front())
        return op.emitError("expects attentions of a function for a GPU to be "
                            "in its first block, if there are several")
               << otherTarget;
    unsigned numArguments = function.getNumArguments();
    if (failed(addScratch(function, ops)))
      return failure();
    returnScratch(function, numArguments, ops[launch]);
    IRRewriter rewriter(function.getContext());
    for (auto [number, op] : llvm::enumerate(ops))
      if (number != launch)
        rewriter.replaceOp(op, SmallVector<Value>(op.getDpsInits()));
    ops = {ops[launch]};
  }
  for (DestinationStyleOpInterface op : ops)
    takeExtents(op);
  return success();
}

namespace {
struct AttnHopperSelectLaunch
    : public mlir::attn::impl::AttnHopperSelectLaunchPassBase<
          AttnHopperSelectLaunch> {
  using AttnHopperSelectLaunchPassBase::AttnHopperSelectLaunchPassBase;

  void runOnOperation() override {
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName) &&
          failed(select(function, launch)))
        return signalPassFailure();
  }
};
} // namespace
