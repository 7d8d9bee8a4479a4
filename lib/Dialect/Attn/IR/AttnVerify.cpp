//===- AttnVerify.cpp - Verifiers of the attn dialect ---------------------===//

#include "AttnVerify.h"
#include "AttnSparsity.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferIntRangeInterface.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

/// A dimension as a user reads it: a number, or '?'.
static std::string dimText(int64_t size) {
  return ShapedType::isDynamic(size) ? std::string("?") : std::to_string(size);
}

static bool areCompatible(int64_t a, int64_t b) {
  return ShapedType::isDynamic(a) || ShapedType::isDynamic(b) || a == b;
}

LogicalResult mlir::attn::verifyRank(Operation *op, StringRef name, Type type,
                                     int64_t rank) {
  int64_t got = cast<RankedTensorType>(type).getRank();
  if (got != rank)
    return op->emitOpError("expects ")
           << name << " to have rank " << rank << ", but got rank " << got;
  return success();
}

LogicalResult mlir::attn::verifyElementType(Operation *op, StringRef name,
                                            Type type, Type expected) {
  Type got = cast<RankedTensorType>(type).getElementType();
  if (got != expected)
    return op->emitOpError("expects ") << name << " to have element type "
                                       << expected << ", but got " << got;
  return success();
}

static LogicalResult verifySameDim(Operation *op, StringRef what,
                                   StringRef aName, int64_t a, StringRef bName,
                                   int64_t b) {
  if (areCompatible(a, b))
    return success();
  return op->emitOpError("expects ")
         << aName << " and " << bName << " to have the same " << what
         << ", but got " << a << " and " << b;
}

/// The scale is applied in the accumulator type, where it has to be a number.
LogicalResult mlir::attn::verifyScale(Operation *op, FloatAttr scale,
                                      FloatType accType) {
  if (!scale)
    return success();
  APFloat value = scale.getValue();
  bool losesInfo;
  value.convert(accType.getFloatSemantics(), APFloat::rmNearestTiesToEven,
                &losesInfo);
  if (value.isFinite())
    return success();
  return op->emitOpError("expects the scale to be finite in ")
         << accType << ", but got " << scale.getValueAsDouble();
}

static LogicalResult verifyLayouts(Operation *op, ArrayAttr layouts) {
  if (!layouts)
    return success();
  if (layouts.size() != 4)
    return op->emitOpError("expects four layouts, for q, k, v and o, but got ")
           << layouts.size();
  for (Attribute layout : layouts) {
    AffineMap map = cast<AffineMapAttr>(layout).getValue();
    if (map.getNumSymbols() != 0 || map.getNumDims() != 4 ||
        !map.isPermutation())
      return op->emitOpError("expects each layout to be a permutation of (b, "
                             "h, s, d), but got ")
             << layout;
  }
  return success();
}

/// Checks what both levels demand of q, k, v, captures and offsets.
LogicalResult mlir::attn::verifyInputs(AttentionLikeOpInterface op) {
  if (failed(verifyLayouts(op, op.getLayoutsAttr())))
    return failure();
  std::pair<StringRef, RankedTensorType> tensors[] = {{"q", op.getQueryType()},
                                                      {"k", op.getKeyType()},
                                                      {"v", op.getValueType()}};
  Type elementType = op.getQueryType().getElementType();
  if (!isSupportedElementType(elementType))
    return op->emitOpError("expects q to have element type f64, f32, f16 or "
                           "bf16, but got ")
           << elementType;
  for (auto [name, type] : tensors)
    if (failed(verifyRank(op, name, type, 4)) ||
        failed(verifyElementType(op, name, type, elementType)))
      return failure();

  Layout qLayout = op.getLayout(0), kLayout = op.getLayout(1),
         vLayout = op.getLayout(2);
  auto q = [&](unsigned dim) { return op.getQueryType().getDimSize(dim); };
  auto k = [&](unsigned dim) { return op.getKeyType().getDimSize(dim); };
  auto v = [&](unsigned dim) { return op.getValueType().getDimSize(dim); };
  if (failed(verifySameDim(op, "head dimension", "q", q(qLayout.d), "k",
                           k(kLayout.d))) ||
      failed(
          verifySameDim(op, "length", "k", k(kLayout.s), "v", v(vLayout.s))) ||
      failed(verifySameDim(op, "number of heads", "k", k(kLayout.h), "v",
                           v(vLayout.h))) ||
      failed(verifySameDim(op, "batch", "k", k(kLayout.b), "v", v(vLayout.b))))
    return failure();
  for (auto [name, size] : {std::pair<StringRef, int64_t>{"q", q(qLayout.d)},
                            {"k", k(kLayout.d)},
                            {"v", v(vLayout.d)}})
    if (ShapedType::isDynamic(size) || size == 0)
      return op->emitOpError("expects ")
             << name << " to have a static head dimension of at least 1, but "
             << "got " << dimText(size);
  // What analyses of positions, and sizes of tiles, reckon with.
  constexpr int64_t maxExtent = (int64_t(1) << 31) - 1;
  for (auto [name, type] : tensors)
    for (int64_t size : type.getShape())
      if (!ShapedType::isDynamic(size) && size > maxExtent)
        return op->emitOpError("expects ")
               << name << " to have extents below 2^31, but got " << size;
  int64_t batchQ = q(qLayout.b), batchK = k(kLayout.b);
  if (batchK != 1 && !areCompatible(batchQ, batchK))
    return op->emitOpError("expects k and v to have the batch of q or 1, but "
                           "got ")
           << batchK << " for " << batchQ;
  int64_t headsQ = q(qLayout.h), headsK = k(kLayout.h);
  if (!ShapedType::isDynamic(headsQ) && !ShapedType::isDynamic(headsK) &&
      (headsK == 0 ? headsQ != 0 : headsQ % headsK != 0))
    return op->emitOpError("expects the heads of q to be a multiple of the "
                           "heads of k and v, but got ")
           << headsQ << " and " << headsK;

  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    Type type = capture.getType();
    auto tensor = dyn_cast<RankedTensorType>(type);
    Type element = tensor ? tensor.getElementType() : type;
    if ((isa<TensorType>(type) && !tensor) || !element.isIntOrIndexOrFloat()) {
      InFlightDiagnostic diagnostic =
          op->emitOpError("expects captures to be ranked tensors or scalars of "
                          "index, integer or float, but got ")
          << type;
      diagnostic.attachNote(capture.getLoc()) << "capture " << number;
      return diagnostic;
    }
  }
  if (!op.getOffsets().empty() && op.getOffsets().size() != 4)
    return op->emitOpError("expects no offsets or four, of b, h, i and j, but "
                           "got ")
           << op.getOffsets().size();
  return verifySparsity(op);
}

/// Checks that `type` is [B, H, S] of q arranged as `layout` without d.
LogicalResult mlir::attn::verifyRows(AttentionLikeOpInterface op,
                                     StringRef name, Type type, Layout layout) {
  if (failed(verifyRank(op, name, type, 3)) ||
      failed(verifyElementType(op, name, type, op.getAccumulatorType())))
    return failure();
  RankedTensorType q = op.getQueryType();
  Layout qLayout = op.getLayout(0);
  SmallVector<int64_t> expected = layout.arrangeRows<int64_t>(
      q.getDimSize(qLayout.b), q.getDimSize(qLayout.h),
      q.getDimSize(qLayout.s));
  auto got = cast<RankedTensorType>(type);
  if (failed(verifyCompatibleShape(expected, got.getShape())))
    return op->emitOpError("expects ")
           << name << " to have the batch, heads and length of q, which are "
           << RankedTensorType::get(expected, got.getElementType())
           << ", but got " << got;
  return success();
}

/// Checks that `type` is [B, H, S, Dv] in the layout of o.
LogicalResult mlir::attn::verifyOutput(AttentionLikeOpInterface op,
                                       StringRef name, Type type,
                                       Type elementType) {
  if (failed(verifyRank(op, name, type, 4)) ||
      failed(verifyElementType(op, name, type, elementType)))
    return failure();
  RankedTensorType q = op.getQueryType();
  Layout qLayout = op.getLayout(0);
  SmallVector<int64_t> expected = op.getLayout(3).arrange<int64_t>(
      q.getDimSize(qLayout.b), q.getDimSize(qLayout.h), q.getDimSize(qLayout.s),
      op.getValueDim());
  auto got = cast<RankedTensorType>(type);
  if (failed(verifyCompatibleShape(expected, got.getShape())))
    return op->emitOpError("expects ")
           << name << " to have the shape "
           << RankedTensorType::get(expected, got.getElementType())
           << ", but got " << got;
  return success();
}

LogicalResult mlir::attn::verifyResultTypes(Operation *op, ValueRange outs) {
  if (op->getResultTypes() == TypeRange(outs.getTypes()))
    return success();
  InFlightDiagnostic diagnostic =
      op->emitOpError("expects results to have the types of outs, (");
  llvm::interleaveComma(outs.getTypes(), diagnostic);
  diagnostic << "), but got (";
  llvm::interleaveComma(op->getResultTypes(), diagnostic);
  return diagnostic << ")";
}

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

static bool isAllowedInRegion(Operation *op) {
  // Operations of unregistered dialects have none.
  return isa_and_nonnull<arith::ArithDialect, math::MathDialect,
                         index::IndexDialect>(op->getDialect()) ||
         isa<tensor::ExtractOp, tensor::DimOp, scf::IfOp, scf::ForOp,
             scf::YieldOp, YieldOp>(op);
}

/// Checks that a loop in a region has bounds that are known. One of an adjoint
/// may begin where a loop around it stands.
static LogicalResult verifyLoop(scf::ForOp loop, bool isOfAdjoint) {
  auto isOfLoop = [&](Value bound) {
    auto argument = dyn_cast<BlockArgument>(bound);
    auto around =
        argument
            ? dyn_cast_or_null<scf::ForOp>(argument.getOwner()->getParentOp())
            : scf::ForOp();
    return isOfAdjoint && around && argument == around.getInductionVar();
  };
  bool beginsInLoop = isOfLoop(loop.getLowerBound());
  Value bounds[] = {loop.getLowerBound(), loop.getUpperBound(), loop.getStep()};
  for (Value bound : ArrayRef(bounds).drop_front(beginsInLoop))
    if (!getConstantIntValue(bound))
      return loop.emitError("expects scf.for in a region of an attention to "
                            "have constant bounds");
  int64_t upper = *getConstantIntValue(loop.getUpperBound()),
          step = *getConstantIntValue(loop.getStep());
  if (step <= 0)
    return loop.emitError("expects scf.for in a region of an attention to have "
                          "a step of 1 or more, but got ")
           << step;
  if (beginsInLoop)
    return success();
  // MLIR counts the runs of a loop in its type, as a signed number.
  int64_t lower = *getConstantIntValue(loop.getLowerBound());
  Type type = loop.getInductionVar().getType();
  int64_t length;
  bool fits = !llvm::SubOverflow(upper, lower, length) &&
              llvm::isIntN(ConstantIntRanges::getStorageBitwidth(type), length);
  if (fits && !(loop.getUnsignedCmp() && (lower < 0 || upper < 0)))
    return success();
  return loop.emitError("expects the bounds of scf.for in a region of an "
                        "attention, and their distance, to be signed numbers "
                        "of its type, but got ")
         << lower << " to " << upper << " of " << type;
}

/// Reads of more than one element are for the `tiles` region alone, and sums of
/// gradients for the `adjoint`.
static bool isAllowedInRegion(Operation *op, StringRef region) {
  return isAllowedInRegion(op) ||
         (region == "tiles" && isa<RangeOp, RangeOverOp>(op)) ||
         (region == "adjoint" && isa<ContributeOp>(op)) ||
         ((region == "score" || region == "adjoint") && isa<DropoutOp>(op));
}

/// Checks that a value inside a region is a scalar. Captures, which are block
/// arguments, may be tensors.
static LogicalResult verifyScalarResults(Operation *op) {
  for (Type type : op->getResultTypes()) {
    if (isa<FloatType>(type) &&
        !isa<Float16Type, BFloat16Type, Float32Type, Float64Type>(type))
      return op->emitError("expects floats in a region of an attention to be "
                           "f16, bf16, f32 or f64, which targets compute "
                           "with, but got ")
             << type << "; convert them before";
    if (!type.isIntOrIndexOrFloat())
      return op->emitOpError("expects operations in a region of an attention "
                             "to yield index, integer or float, but got ")
             << type;
  }
  return success();
}

LogicalResult mlir::attn::verifyRegion(AttentionLikeOpInterface op,
                                       Region &region, StringRef name,
                                       ArrayRef<Type> leading,
                                       ArrayRef<Type> yielded) {
  if (region.empty())
    return success();
  SmallVector<Type> expected(leading);
  llvm::append_range(expected, op.getCaptures().getTypes());
  if (region.getNumArguments() != expected.size())
    return op->emitOpError("expects the ")
           << name << " region to have " << expected.size()
           << " arguments, but got " << region.getNumArguments();
  for (auto [number, argument, type] :
       llvm::enumerate(region.getArguments(), expected))
    if (argument.getType() != type)
      return op->emitOpError("expects argument ")
             << number << " of the " << name << " region to have type " << type
             << ", but got " << argument.getType();

  // From outside in: of nested operations that are not allowed, the outermost
  // is what the user has to know.
  WalkResult walk = region.walk<WalkOrder::PreOrder>([&](Operation *inner) {
    if (!isAllowedInRegion(inner, name)) {
      InFlightDiagnostic diagnostic =
          inner->emitError("'")
          << inner->getName() << "' is not allowed in the " << name
          << " region of an attention: expects operations of arith, math and "
             "index, tensor.extract, tensor.dim, scf.if"
          << (name == "tiles" ? ", scf.for, attn.range or attn.range_over"
              : name == "adjoint"
                  ? ", scf.for, attn.dropout, or attn.contribute"
              : name == "score" ? ", scf.for, or attn.dropout"
                                : ", or scf.for");
      diagnostic.attachNote(op->getLoc()) << "in this attention";
      return WalkResult::interrupt();
    }
    if (auto loop = dyn_cast<scf::ForOp>(inner);
        loop && failed(verifyLoop(loop, name == "adjoint")))
      return WalkResult::interrupt();
    return WalkResult(verifyScalarResults(inner));
  });
  if (walk.wasInterrupted())
    return failure();

  // The only terminator among the allowed operations that may be here.
  auto yield = cast<YieldOp>(region.front().getTerminator());
  if (yield.getOperandTypes() == TypeRange(yielded))
    return success();
  InFlightDiagnostic diagnostic = op->emitOpError("expects the ")
                                  << name << " region to yield ";
  llvm::interleaveComma(yielded, diagnostic);
  diagnostic << ", but got ";
  if (yield.getValues().empty())
    diagnostic << "nothing";
  llvm::interleaveComma(yield.getOperandTypes(), diagnostic);
  diagnostic.attachNote(yield.getLoc()) << "yielded here";
  return diagnostic;
}

LogicalResult mlir::attn::verifyTiles(AttentionLikeOpInterface op,
                                      Region &tiles) {
  SmallVector<Type> indices(kNumTilesArgs, IndexType::get(op.getContext()));
  Type boolean = IntegerType::get(op.getContext(), 1);
  return verifyRegion(op, tiles, "tiles", indices, {boolean, boolean});
}

LogicalResult mlir::attn::verifyScoreAndMask(AttentionLikeOpInterface op) {
  Builder builder(op->getContext());
  Type index = builder.getIndexType();
  Type acc = op.getAccumulatorType();
  SmallVector<Type> yielded(getWeight(op) ? 2 : 1, acc);
  return success(
      succeeded(verifyRegion(op, op.getScore(), "score",
                             {acc, index, index, index, index}, yielded)) &&
      succeeded(verifyRegion(op, op.getMask(), "mask",
                             {index, index, index, index},
                             {builder.getI1Type()})));
}

//===----------------------------------------------------------------------===//
// Sums in memory
//===----------------------------------------------------------------------===//

LogicalResult mlir::attn::verifyYielded(Operation *op, Region &region,
                                        StringRef what, TypeRange types) {
  auto yield = dyn_cast<YieldOp>(region.front().back());
  if (!yield)
    return op->emitOpError("expects ") << what << " to end with attn.yield";
  if (yield.getOperandTypes() == types)
    return success();
  InFlightDiagnostic error = op->emitOpError("expects ")
                             << what << " to yield ";
  if (types.empty())
    error << "nothing";
  llvm::interleaveComma(types, error);
  error << ", but got ";
  if (yield.getNumOperands() == 0)
    error << "nothing";
  llvm::interleaveComma(yield.getOperandTypes(), error);
  return error;
}

void mlir::attn::getSumEffects(
    OpOperand &into, Value result,
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (result)
    return;
  effects.emplace_back(MemoryEffects::Read::get(), &into);
  effects.emplace_back(MemoryEffects::Write::get(), &into);
}

LogicalResult mlir::attn::verifyElements(Operation *op, VectorType tile,
                                         ShapedType into, ValueRange indices) {
  if (tile.getElementType() != into.getElementType())
    return op->emitOpError("expects a tile of element type ")
           << into.getElementType() << ", but got " << tile;
  if (static_cast<int64_t>(indices.size()) != into.getRank())
    return op->emitOpError("expects one index for each of ")
           << into.getRank() << " dimensions, but got " << indices.size();
  return success();
}

LogicalResult mlir::attn::verifySumResult(Operation *op, ShapedType into,
                                          Value result) {
  if (isa<MemRefType>(into)) {
    if (result)
      return op->emitOpError("expects no result for a buffer");
    return success();
  }
  if (!result || result.getType() != into)
    return op->emitOpError("expects a result of type ") << into;
  return success();
}
