//===- AttnGrad.cpp - Gradients of attention ------------------------------===//

#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "AttnVerify.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Accessors
//===----------------------------------------------------------------------===//

double AttentionGradOp::getEffectiveScale() {
  return getScaleOrDefault(*this, getScaleAttr());
}

Value AttentionGradOp::getOutOf(int64_t input) {
  auto found = llvm::find(getWrt(), input);
  return found == getWrt().end() ? Value()
                                 : getOuts()[found - getWrt().begin()];
}

Value AttentionGradOp::getInput(int64_t input) {
  switch (input) {
  case kGradQuery:
    return getQuery();
  case kGradKey:
    return getKey();
  case kGradValue:
    return getValue();
  default:
    return getCaptures()[input - kGradCapture];
  }
}

AttentionGradOp mlir::attn::cloneGradients(OpBuilder &builder,
                                           AttentionGradOp op,
                                           ArrayRef<unsigned> results) {
  SmallVector<Value> outs;
  SmallVector<int64_t> wrt;
  for (unsigned number : results) {
    outs.push_back(op.getOuts()[number]);
    wrt.push_back(op.getWrt()[number]);
  }
  OperationState state(op.getLoc(), op->getName());
  state.addOperands(op->getOperands());
  state.addTypes(llvm::to_vector(ValueRange(outs).getTypes()));
  state.propertiesAttr = op->getPropertiesAsAttribute();
  state.addAttributes(llvm::to_vector(op->getDiscardableAttrs()));
  for (Region &region : op->getRegions()) {
    IRMapping mapping;
    region.cloneInto(state.addRegion(), mapping);
  }
  auto clone = cast<AttentionGradOp>(builder.create(state));
  clone.getOutsMutable().assign(outs);
  clone.setWrt(wrt);
  return clone;
}

int64_t ContributeOp::getCaptureNumber() {
  return cast<BlockArgument>(getCapture()).getArgNumber() - kNumAdjointArgs;
}

//===----------------------------------------------------------------------===//
// Verifiers
//===----------------------------------------------------------------------===//

/// What an input is called.
static std::string getInputName(int64_t input) {
  switch (input) {
  case kGradQuery:
    return "q";
  case kGradKey:
    return "k";
  case kGradValue:
    return "v";
  default:
    return "capture " + std::to_string(input - kGradCapture);
  }
}

static LogicalResult verifyWrt(AttentionGradOp op) {
  ArrayRef<int64_t> wrt = op.getWrt();
  if (wrt.empty())
    return op.emitOpError("expects wrt to name an input");
  for (auto [number, input] : llvm::enumerate(wrt)) {
    if (input < 0 ||
        input >= kGradCapture + static_cast<int64_t>(op.getCaptures().size()))
      return op.emitOpError("expects wrt to name q, k, v or one of ")
             << op.getCaptures().size() << " captures, but got "
             << input - kGradCapture;
    if (number > 0 && input <= wrt[number - 1])
      return op.emitOpError("expects wrt to name inputs once and in order, but "
                            "got ")
             << getInputName(input) << " behind "
             << getInputName(wrt[number - 1]);
    Type element = getElementTypeOrSelf(op.getInput(input).getType());
    if (!isSupportedElementType(element))
      return op.emitOpError("expects wrt to name inputs of f64, f32, f16 or "
                            "bf16, but got ")
             << getInputName(input) << " of " << element;
  }
  if (op.getOuts().size() != wrt.size())
    return op.emitOpError("expects one out for each of ")
           << wrt.size() << " inputs in wrt, but got " << op.getOuts().size();
  for (auto [out, input] : llvm::zip_equal(op.getOuts(), wrt)) {
    Type type = op.getInput(input).getType();
    if (!isa<TensorType>(type))
      type = RankedTensorType::get({}, type);
    auto got = cast<RankedTensorType>(out.getType());
    if (got.getElementType() != getElementTypeOrSelf(type) ||
        failed(verifyCompatibleShape(got, type)))
      return op.emitOpError("expects the gradient of ")
             << getInputName(input) << " to be like " << type << ", but got "
             << got;
  }
  return success();
}

LogicalResult AttentionGradOp::verify() {
  AttentionLikeOpInterface op = *this;
  if (failed(verifyInputs(op)) ||
      failed(verifyScale(*this, getScaleAttr(), op.getAccumulatorType())))
    return failure();
  Type element = op.getQueryType().getElementType();
  if (failed(verifyOutput(op, "o", getOutput().getType(), element)) ||
      failed(verifyRows(op, "lse", getLse().getType(), op.getLayout(3))) ||
      failed(verifyOutput(op, "do", getOutputGrad().getType(), element)))
    return failure();
  if (getLseGrad() &&
      failed(verifyRows(op, "dlse", getLseGrad().getType(), op.getLayout(3))))
    return failure();
  if (failed(verifyWrt(*this)))
    return failure();
  return verifyResultTypes(*this, getOuts());
}

LogicalResult AttentionGradOp::verifyRegions() {
  AttentionLikeOpInterface op = *this;
  if (failed(verifyScoreAndMask(op)) || failed(verifyConstantWeight(op)))
    return failure();
  if (getScore().empty() != getAdjoint().empty())
    return emitOpError("expects the adjoint region of a score region, but got ")
           << (getScore().empty() ? "one without a score" : "none");
  Type acc = op.getAccumulatorType(), index = IndexType::get(getContext());
  if (failed(verifyRegion(op, getAdjoint(), "adjoint",
                          {acc, acc, index, index, index, index}, {acc})))
    return failure();
  return verifyTiles(op, getTiles());
}

LogicalResult ContributeOp::verify() {
  auto parent = (*this)->getParentOfType<AttentionGradOp>();
  auto argument = dyn_cast<BlockArgument>(getCapture());
  if (!parent || !argument ||
      argument.getOwner()->getParent() != &parent.getAdjoint() ||
      argument.getArgNumber() < kNumAdjointArgs)
    return emitOpError("expects the capture to be an argument of the adjoint "
                       "region around it");
  Type element = getElementTypeOrSelf(argument.getType());
  if (!isa<FloatType>(element))
    return emitOpError("expects a capture of floats, but got ")
           << argument.getType();
  auto tensor = dyn_cast<RankedTensorType>(argument.getType());
  int64_t rank = tensor ? tensor.getRank() : 0;
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("expects one index for each of ")
           << rank << " dimensions, but got " << getIndices().size();
  AttentionLikeOpInterface op = parent;
  if (getValue().getType() != op.getAccumulatorType())
    return emitOpError("expects a value of ")
           << op.getAccumulatorType() << ", but got " << getValue().getType();
  return success();
}

void ScatterOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getSumEffects(getIntoMutable(), getResult(), effects);
}

/// That a buffer has the words of exact sums with so many indices.
static LogicalResult verifyWords(Operation *op, Type type, size_t numIndices) {
  auto words = dyn_cast<MemRefType>(type);
  if (!words || !words.getElementType().isInteger(64) || words.getRank() < 1 ||
      words.getDimSize(0) != kExactSumWords)
    return op->emitOpError("expects a buffer of i64 with a first dimension of ")
           << kExactSumWords << " for exact sums, but got " << type;
  if (static_cast<int64_t>(numIndices) != words.getRank() - 1)
    return op->emitOpError("expects one index for each of ")
           << words.getRank() - 1 << " dimensions behind the words, but got "
           << numIndices;
  return success();
}

LogicalResult ScatterOp::verify() {
  auto tile = cast<VectorType>(getValues().getType());
  auto into = cast<ShapedType>(getInto().getType());
  bool isExact = getMode() == ScatterMode::Exact;
  if (isExact && !tile.getElementType().isF32())
    return emitOpError("expects a tile of f32 for exact sums, but got ")
           << tile;
  if (failed(isExact ? verifyWords(*this, into, getIndices().size())
                     : verifyElements(*this, tile, into, getIndices())))
    return failure();
  auto fits = [&](VectorType type, bool mayBeOne) {
    return type.getRank() == tile.getRank() &&
           llvm::all_of(llvm::zip_equal(type.getShape(), tile.getShape()),
                        [&](auto extents) {
                          auto [own, all] = extents;
                          return own == all || (mayBeOne && own == 1);
                        });
  };
  SmallVector<Value> shaped(getIndices());
  shaped.push_back(getMask());
  for (Value operand : shaped) {
    auto type = dyn_cast<VectorType>(operand.getType());
    bool mayBeOne = getMode() != ScatterMode::InOrder && operand != getMask();
    if (type && !fits(type, mayBeOne))
      return emitOpError("expects indices and mask to have the shape of the "
                         "tile, ")
             << tile << ", but got " << type;
  }
  return verifySumResult(*this, into, getResult());
}

LogicalResult SumDiagonalsOp::verify() {
  ArrayRef<int64_t> shape = getTile().getType().getShape();
  int64_t count = shape[0] + shape[1];
  if (getSums().getType().getDimSize(0) == count)
    return success();
  return emitOpError("expects ") << count << " sums of " << getTile().getType()
                                 << ", but got " << getSums().getType();
}

LogicalResult AddRowsOp::verify() {
  VectorType tile = getTile().getType(), sums = getSums().getType();
  if (sums.getDimSize(0) != kSumParts ||
      sums.getDimSize(1) != tile.getDimSize(1))
    return emitOpError("expects sums of ")
           << kSumParts << "x" << tile.getDimSize(1) << ", but got " << sums;
  if (getMask().getType().getShape() != tile.getShape())
    return emitOpError("expects a mask of the shape of the tile, ")
           << tile << ", but got " << getMask().getType();
  return success();
}

LogicalResult ExactSumOp::verify() {
  return verifyWords(*this, getWords().getType(), getIndices().size());
}

//===----------------------------------------------------------------------===//
// Result shapes
//===----------------------------------------------------------------------===//

LogicalResult
AttentionGradOp::reifyResultShapes(OpBuilder &builder,
                                   ReifiedRankedShapedTypeDims &shapes) {
  for (Value out : getOuts())
    shapes.push_back(tensor::getMixedSizes(builder, getLoc(), out));
  return success();
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnGradOps.cpp.inc"
