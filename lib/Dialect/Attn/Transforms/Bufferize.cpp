//===- Bufferize.cpp - Replace tensors by buffers -------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotAnalysis.h"
#include "mlir/Dialect/Bufferization/Transforms/OneShotModuleBufferize.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Pass/PassManager.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/MathExtras.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNBUFFERIZEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// A buffer with free offset and strides but for the innermost stride, 1.
static bufferization::BufferLikeType
getArgumentType(bufferization::TensorLikeType type, Attribute memorySpace,
                func::FuncOp, const bufferization::BufferizationOptions &) {
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (!tensor)
    return cast<bufferization::BufferLikeType>(UnrankedMemRefType::get(
        cast<TensorType>(type).getElementType(), memorySpace));
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = 1;
  int64_t offset = strides.empty() ? 0 : ShapedType::kDynamic;
  MemRefLayoutAttrInterface layout;
  if (!strides.empty())
    layout = StridedLayoutAttr::get(type.getContext(), offset, strides);
  return cast<bufferization::BufferLikeType>(MemRefType::get(
      tensor.getShape(), tensor.getElementType(), layout, memorySpace));
}

static bufferization::OneShotBufferizationOptions getOptions() {
  bufferization::OneShotBufferizationOptions options;
  options.bufferizeFunctionBoundaries = true;
  options.functionArgTypeConverterFn = getArgumentType;
  options.inferFunctionResultLayout = true;
  options.allowReturnAllocsFromLoops = true;
  return options;
}

/// Follows casts and views of the same elements.
static Value skipCasts(Value buffer) {
  while (auto cast = buffer.getDefiningOp<memref::CastOp>())
    buffer = cast.getSource();
  return buffer;
}

/// Removes results, each of which must be an argument.
static LogicalResult dropResults(func::FuncOp function) {
  if (llvm::none_of(function.getResultTypes(), llvm::IsaPred<BaseMemRefType>))
    return success();
  for (auto op : function.getFunctionBody().getOps<func::ReturnOp>()) {
    SmallVector<Value> kept;
    for (auto [number, value] : llvm::enumerate(op.getOperands())) {
      if (!isa<BaseMemRefType>(value.getType()))
        kept.push_back(value);
      else if (!isa<BlockArgument>(skipCasts(value)))
        return function.emitOpError("expects results that are tensors to be "
                                    "destination arguments, but result ")
               << number
               << " is not: run attn-destination-arguments before "
                  "attn-bufferize";
    }
    op.getOperandsMutable().assign(kept);
  }
  llvm::BitVector dropped(function.getNumResults());
  for (auto [number, type] : llvm::enumerate(function.getResultTypes()))
    if (isa<BaseMemRefType>(type))
      dropped.set(number);
  return function.eraseResults(dropped);
}

/// Copies as linalg operations; none where source and target are the same.
static void lowerCopies(Operation *root) {
  root->walk([](memref::CopyOp copy) {
    if (skipCasts(copy.getSource()) != skipCasts(copy.getTarget())) {
      OpBuilder builder(copy);
      linalg::CopyOp::create(builder, copy.getLoc(), copy.getSource(),
                             copy.getTarget());
    }
    copy->erase();
  });
}

/// The number of bytes of what is allocated has to be one of 64 bits. Extents
/// that a call tells are asked when it comes.
static LogicalResult checkSizes(Operation *root) {
  WalkResult walk = root->walk([](memref::AllocOp alloc) {
    MemRefType type = alloc.getType();
    if (!type.hasStaticShape())
      return WalkResult::advance();
    int64_t bytes = llvm::divideCeil(
        DataLayout::closest(alloc).getTypeSizeInBits(type.getElementType()), 8);
    bool isTooLarge = false;
    // Without elements, it is nothing.
    for (int64_t extent : type.getShape())
      if (extent == 0)
        return WalkResult::advance();
    for (int64_t extent : type.getShape())
      isTooLarge |= llvm::MulOverflow(bytes, extent, bytes) != 0;
    if (!isTooLarge)
      return WalkResult::advance();
    alloc.emitError("expects intermediate results of less than 2^63 bytes, but "
                    "got one of ")
        << RankedTensorType::get(type.getShape(), type.getElementType());
    return WalkResult::interrupt();
  });
  return failure(walk.wasInterrupted());
}

/// Gives a function that reports errors in data the argument for them.
static LogicalResult addStatusArgument(func::FuncOp function) {
  WalkResult walk = function.walk([](Operation *op) {
    auto gather = dyn_cast<GatherOp>(op);
    bool reports = gather ? gather.getSite().has_value() : isa<ReportOp>(op);
    return reports ? WalkResult::interrupt() : WalkResult::advance();
  });
  if (!walk.wasInterrupted())
    return success();
  MLIRContext *context = function.getContext();
  auto type =
      MemRefType::get({ShapedType::kDynamic}, IntegerType::get(context, 64));
  NamedAttribute attribute(StringAttr::get(context, kStatusAttrName),
                           UnitAttr::get(context));
  return function.insertArgument(function.getNumArguments(), type,
                                 DictionaryAttr::get(context, attribute),
                                 function.getLoc());
}

namespace {
struct AttnBufferize
    : public mlir::attn::impl::AttnBufferizePassBase<AttnBufferize> {
  void runOnOperation() override {
    bufferization::OneShotBufferizationOptions options = getOptions();
    bufferization::BufferizationState state;
    if (failed(bufferization::runOneShotModuleBufferize(getOperation(), options,
                                                        state)))
      return signalPassFailure();
    // Results that are computed in place are copied onto themselves, which
    // shows once equal views are one value.
    OpPassManager cleanup(ModuleOp::getOperationName());
    cleanup.addPass(createCanonicalizerPass());
    cleanup.addPass(createCSEPass());
    cleanup.addPass(createCanonicalizerPass());
    if (failed(runPipeline(cleanup, getOperation())))
      return signalPassFailure();
    lowerCopies(getOperation());
    if (failed(checkSizes(getOperation())))
      return signalPassFailure();
    for (func::FuncOp function : getOperation().getOps<func::FuncOp>()) {
      if (function.isExternal())
        continue;
      if ((function.isPublic() && failed(dropResults(function))) ||
          failed(addStatusArgument(function)))
        return signalPassFailure();
    }
  }
};
} // namespace
