//===- AttnOps.cpp - Operations of the tensor and the online level --------===//

#include "AttnVerify.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

double mlir::attn::getScaleOrDefault(AttentionLikeOpInterface op,
                                     FloatAttr scale) {
  if (scale)
    return scale.getValueAsDouble();
  return 1.0 / std::sqrt(static_cast<double>(op.getQueryKeyDim()));
}

double AttentionOp::getEffectiveScale() {
  return getScaleOrDefault(*this, getScaleAttr());
}

void AttentionOp::build(OpBuilder &builder, OperationState &state, Value query,
                        Value key, Value value, ValueRange captures,
                        ValueRange outs, FloatAttr scale, ArrayAttr layouts,
                        SparsityAttr sparsity, ValueRange sparsityOperands) {
  build(builder, state, outs.getTypes(), query, key, value, captures,
        sparsityOperands, /*offsets=*/ValueRange(), outs, scale, layouts,
        /*schedule=*/ScheduleAttrInterface(), sparsity);
}

LogicalResult AttentionOp::verify() {
  AttentionLikeOpInterface op = *this;
  if (failed(verifyInputs(op)) ||
      failed(verifyScale(*this, getScaleAttr(), op.getAccumulatorType())))
    return failure();
  if (getOuts().empty() || getOuts().size() > 2)
    return emitOpError("expects outs to hold o and at most lse, but got ")
           << getOuts().size() << " operands";
  if (failed(verifyOutput(op, "o", getOuts()[0].getType(),
                          op.getQueryType().getElementType())))
    return failure();
  if (getLseInit() &&
      failed(verifyRows(op, "lse", getLseInit().getType(), op.getLayout(3))))
    return failure();
  return verifyResultTypes(*this, getOuts());
}

LogicalResult AttentionOp::verifyRegions() { return verifyScoreAndMask(*this); }

LogicalResult OnlineAttentionOp::verify() {
  AttentionLikeOpInterface op = *this;
  if (failed(verifyInputs(op)) ||
      failed(verifyScale(*this, getScaleAttr(), op.getAccumulatorType())))
    return failure();
  if (getOuts().size() != 3)
    return emitOpError("expects outs to hold acc, max and sum, but got ")
           << getOuts().size() << " operands";
  if (failed(verifyOutput(op, "acc", getAccInit().getType(),
                          op.getAccumulatorType())) ||
      failed(verifyRows(op, "max", getMaxInit().getType(), op.getLayout(3))) ||
      failed(verifyRows(op, "sum", getSumInit().getType(), op.getLayout(3))))
    return failure();
  return verifyResultTypes(*this, getOuts());
}

LogicalResult OnlineAttentionOp::verifyRegions() {
  if (failed(verifyScoreAndMask(*this)))
    return failure();
  SmallVector<Type> indices(kNumBlocksArgs, IndexType::get(getContext()));
  ArrayRef<Type> all = indices;
  if (failed(
          verifyRegion(*this, getBlocks(), "blocks", all, all.take_front(4))))
    return failure();
  Type number =
      cast<AttentionLikeOpInterface>(getOperation()).getAccumulatorType();
  Type allowed = IntegerType::get(getContext(), 1);
  if (failed(verifyRegion(*this, getRows(), "rows",
                          all.take_front(kNumRowsArgs),
                          {number, allowed, number})))
    return failure();
  return verifyTiles(*this, getTiles());
}

LogicalResult RangeOp::verify() {
  auto source = cast<RankedTensorType>(getSource().getType());
  if (!source.getElementType().isSignlessIntOrIndex())
    return emitOpError("expects a tensor of integers, but got ") << source;
  if (static_cast<int64_t>(getLows().size()) != source.getRank())
    return emitOpError("expects two indices for each of ")
           << source.getRank() << " dimensions, but got " << getLows().size()
           << " and " << getHighs().size();
  for (Value result : getResults())
    if (result.getType() != source.getElementType())
      return emitOpError("expects results of the element type of ")
             << source << ", but got " << result.getType();
  return success();
}

LogicalResult RangeOverOp::verify() {
  if (getLows().empty() || getLows().size() > 2)
    return emitOpError("expects one or two positions, but got ")
           << getLows().size();
  if (getMin().getType() != getMax().getType())
    return emitOpError("expects results of one type, but got ")
           << getMin().getType() << " and " << getMax().getType();
  return success();
}

LogicalResult RangeOverOp::verifyRegions() {
  SmallVector<Type> indices(getLows().size(), IndexType::get(getContext()));
  if (getBody().getArgumentTypes() != TypeRange(indices))
    return emitOpError("expects the body to have an index for each of ")
           << indices.size() << " positions, but got "
           << getBody().getNumArguments() << " arguments";
  auto yield = dyn_cast<YieldOp>(getBody().front().getTerminator());
  if (!yield || yield.getOperandTypes() != TypeRange(getMin().getType()))
    return emitOpError("expects the body to yield ") << getMin().getType();
  return success();
}

ParseResult RangeOverOp::parse(OpAsmParser &parser, OperationState &result) {
  Builder &builder = parser.getBuilder();
  Type index = builder.getIndexType(), type;
  SmallVector<OpAsmParser::Argument> positions;
  SmallVector<OpAsmParser::UnresolvedOperand> lows, highs;
  auto parsePosition = [&] {
    positions.emplace_back().type = index;
    return failure(
        parser.parseArgument(positions.back()) || parser.parseEqual() ||
        parser.parseOperand(lows.emplace_back()) || parser.parseKeyword("to") ||
        parser.parseOperand(highs.emplace_back()));
  };
  Region *body = result.addRegion();
  if (parser.parseCommaSeparatedList(OpAsmParser::Delimiter::Paren,
                                     parsePosition) ||
      parser.parseColonType(type) ||
      parser.resolveOperands(lows, index, result.operands) ||
      parser.resolveOperands(highs, index, result.operands) ||
      parser.parseRegion(*body, positions) ||
      parser.parseOptionalAttrDict(result.attributes))
    return failure();
  result.addTypes({type, type});
  return success();
}

void RangeOverOp::print(OpAsmPrinter &printer) {
  printer << " (";
  llvm::interleaveComma(
      llvm::zip_equal(getBody().getArguments(), getLows(), getHighs()), printer,
      [&](auto position) {
        auto [argument, low, high] = position;
        printer << argument << " = " << low << " to " << high;
      });
  printer << ") : " << getMin().getType() << " ";
  printer.printRegion(getBody(), /*printEntryBlockArgs=*/false);
  printer.printOptionalAttrDict((*this)->getAttrs());
}

OnlineAttentionOp FinalizeOp::getOwnProducer() {
  auto online = getAcc().getDefiningOp<OnlineAttentionOp>();
  if (!online || online->getBlock() != getOperation()->getBlock())
    return nullptr;
  Value state[] = {getAcc(), getMax(), getSum()};
  for (auto [result, operand] : llvm::zip_equal(online->getResults(), state))
    if (result != operand || !result.hasOneUse())
      return nullptr;
  return online;
}

FinalizeOp OnlineAttentionOp::getOwnFinalize() {
  if (getResult(0).use_empty())
    return nullptr;
  auto finalize = dyn_cast<FinalizeOp>(*getResult(0).user_begin());
  return finalize && finalize.getOwnProducer() == *this ? finalize : nullptr;
}

LogicalResult FinalizeOp::verify() {
  if (AffineMapAttr layout = getLayoutAttr()) {
    AffineMap map = layout.getValue();
    if (map.getNumSymbols() != 0 || map.getNumDims() != 4 ||
        !map.isPermutation())
      return emitOpError("expects the layout to be a permutation of (b, h, s, "
                         "d), but got ")
             << layout;
  }
  auto accType = cast<RankedTensorType>(getAcc().getType());
  if (failed(verifyRank(*this, "acc", accType, 4)))
    return failure();
  Type element = accType.getElementType();
  if (!element.isF32() && !element.isF64())
    return emitOpError("expects acc to have element type f32 or f64, but got ")
           << element;
  if (getOuts().empty() || getOuts().size() > 2)
    return emitOpError("expects outs to hold o and at most lse, but got ")
           << getOuts().size() << " operands";
  auto oType = cast<RankedTensorType>(getOuts()[0].getType());
  if (!isSupportedElementType(oType.getElementType()) ||
      getAccumulatorType(oType.getElementType()) != element)
    return emitOpError("expects o to have an element type that accumulates in ")
           << element << ", but got " << oType.getElementType();
  if (failed(verifyCompatibleShape(accType, oType)))
    return emitOpError("expects o to have the shape of acc, ")
           << accType << ", but got " << oType;

  SmallVector<int64_t> rowShape(accType.getShape());
  rowShape.erase(rowShape.begin() + getAccLayout().d);
  SmallVector<std::pair<StringRef, Value>> rows = {{"max", getMax()},
                                                   {"sum", getSum()}};
  if (Value lse = getLseInit())
    rows.push_back({"lse", lse});
  for (auto [name, value] : rows) {
    auto type = cast<RankedTensorType>(value.getType());
    if (failed(verifyRank(*this, name, type, 3)) ||
        failed(verifyElementType(*this, name, type, element)))
      return failure();
    if (failed(verifyCompatibleShape(rowShape, type.getShape())))
      return emitOpError("expects ")
             << name << " to have the shape of acc without d, "
             << RankedTensorType::get(rowShape, element) << ", but got "
             << type;
  }
  return verifyResultTypes(*this, getOuts());
}

LogicalResult OnlineStepOp::verify() {
  auto scores = cast<VectorType>(getScores().getType());
  auto acc = cast<VectorType>(getAcc().getType());
  auto max = cast<VectorType>(getMax().getType());
  for (auto [name, type, rank] :
       {std::tuple<StringRef, VectorType, int64_t>{"scores", scores, 2},
        {"acc", acc, 2},
        {"max", max, 1}}) {
    if (type.getRank() != rank)
      return emitOpError("expects ")
             << name << " to have rank " << rank << ", but got " << type;
    if (type.isScalable())
      return emitOpError("expects vectors of fixed size, but got ") << type;
    if (type.getElementType() != scores.getElementType())
      return emitOpError("expects all vectors to have element type ")
             << scores.getElementType() << ", but got " << type;
  }
  if (!scores.getElementType().isF32() && !scores.getElementType().isF64())
    return emitOpError("expects element type f32 or f64, but got ")
           << scores.getElementType();
  if (acc.getDimSize(1) != scores.getDimSize(1) ||
      max.getDimSize(0) != scores.getDimSize(1))
    return emitOpError("expects scores, acc, max and sum to have the same "
                       "number of queries, but got ")
           << scores.getDimSize(1) << ", " << acc.getDimSize(1) << " and "
           << max.getDimSize(0);
  double factor = getFactor().convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return emitOpError("expects a factor that is positive and finite, but got ")
           << factor;
  return success();
}

LogicalResult GatherOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  if (static_cast<int64_t>(getIndices().size()) != source.getRank())
    return emitOpError("expects one index for each of ")
           << source.getRank() << " dimensions, but got "
           << getIndices().size();
  Type result = getResult().getType();
  if (getElementTypeOrSelf(result) != source.getElementType())
    return emitOpError("expects a result of element type ")
           << source.getElementType() << ", but got " << result;
  auto vector = dyn_cast<VectorType>(result);
  auto tensor = dyn_cast<RankedTensorType>(result);
  auto tile = dyn_cast<ShapedType>(result);
  if (tile && !vector && !(tensor && tensor.getEncoding()))
    return emitOpError("expects the result to be a scalar or a vector, but "
                       "got ")
           << result;
  SmallVector<Value> shaped(getIndices());
  shaped.push_back(getMask());
  for (Value operand : shaped) {
    auto type = dyn_cast<ShapedType>(operand.getType());
    if (type &&
        (!tile || type != tile.cloneWith(std::nullopt, type.getElementType())))
      return emitOpError("expects indices and mask to have the shape of the "
                         "result, ")
             << result << ", but got " << type;
  }
  return verifyBox();
}

void GatherOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         SideEffects::DefaultResource::get());
}

//===----------------------------------------------------------------------===//
// Result shapes
//===----------------------------------------------------------------------===//

static LogicalResult reifyFromInits(OpBuilder &builder,
                                    DestinationStyleOpInterface op,
                                    ReifiedRankedShapedTypeDims &shapes) {
  for (Value init : op.getDpsInits())
    shapes.push_back(tensor::getMixedSizes(builder, op->getLoc(), init));
  return success();
}

LogicalResult
AttentionOp::reifyResultShapes(OpBuilder &builder,
                               ReifiedRankedShapedTypeDims &shapes) {
  return reifyFromInits(builder, *this, shapes);
}
LogicalResult
OnlineAttentionOp::reifyResultShapes(OpBuilder &builder,
                                     ReifiedRankedShapedTypeDims &shapes) {
  return reifyFromInits(builder, *this, shapes);
}
LogicalResult
FinalizeOp::reifyResultShapes(OpBuilder &builder,
                              ReifiedRankedShapedTypeDims &shapes) {
  return reifyFromInits(builder, *this, shapes);
}
