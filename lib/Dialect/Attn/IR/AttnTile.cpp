//===- AttnTile.cpp - What steps of tiles compute -------------------------===//

#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "AttnVerify.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Builders.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::emitPositions(OpBuilder &builder, Location loc, Value first,
                                int64_t length) {
  auto type = VectorType::get({length}, builder.getIndexType());
  Value step = vector::StepOp::create(builder, loc, type);
  Value start = vector::BroadcastOp::create(builder, loc, type, first);
  return arith::AddIOp::create(builder, loc, start, step);
}

Value mlir::attn::broadcastAlong(OpBuilder &builder, Location loc, Value vector,
                                 ArrayRef<int64_t> shape, unsigned dim) {
  auto type = cast<VectorType>(vector.getType());
  if (shape.size() == 1)
    return vector;
  // All other dimensions behind it become 1.
  SmallVector<int64_t> column(shape.size() - dim, 1);
  column.front() = type.getDimSize(0);
  if (column.size() > 1)
    vector = vector::ShapeCastOp::create(
        builder, loc, VectorType::get(column, type.getElementType()), vector);
  return vector::BroadcastOp::create(
      builder, loc, VectorType::get(shape, type.getElementType()), vector);
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

std::optional<AffineMap> GatherOp::getBox() {
  SmallVector<unsigned> dims;
  for (std::optional<uint64_t> dim : {getRowDim(), getColumnDim()})
    if (dim)
      dims.push_back(*dim);
  if (dims.empty())
    return std::nullopt;
  return AffineMap::getMultiDimMapWithTargets(getIndices().size(), dims,
                                              getContext());
}

LogicalResult GatherOp::verifyBox() {
  auto row = getRowDimAttr(), column = getColumnDimAttr();
  if (!row && !column)
    return success();
  if (llvm::any_of(getIndices().getTypes(), llvm::IsaPred<ShapedType>))
    return emitOpError("expects the indices of a box to be of type index");
  int64_t rank = (row ? 1 : 0) + (column ? 1 : 0);
  auto type = dyn_cast<VectorType>(getType());
  if (!type || type.getRank() != rank)
    return emitOpError("expects a box to be a vector of rank ")
           << rank << ", but got " << getType();
  auto numDims = static_cast<int64_t>(getIndices().size());
  for (IntegerAttr dim : {row, column})
    if (dim && (dim.getInt() < 0 || dim.getInt() >= numDims))
      return emitOpError("expects a box along dimensions of ")
             << getSource().getType() << ", but got " << dim.getInt();
  if (row == column)
    return emitOpError("expects rows and columns along two dimensions, but "
                       "got ")
           << row.getInt() << " for both";
  auto loop = (*this)->getParentOfType<TileLoopOp>();
  if (loop && row && type.getDimSize(0) != static_cast<int64_t>(loop.getStep()))
    return emitOpError("expects a row for each of the ")
           << loop.getStep() << " positions of a tile, but got " << type;
  return success();
}

void GatherOp::expandBox(RewriterBase &rewriter) {
  auto type = cast<VectorType>(getType());
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  SmallVector<Value> indices(getIndices());
  for (auto [dim, result] : llvm::enumerate(getBox()->getResults())) {
    Value &index = indices[cast<AffineDimExpr>(result).getPosition()];
    index = broadcastAlong(
        rewriter, getLoc(),
        emitPositions(rewriter, getLoc(), index, type.getDimSize(dim)),
        type.getShape(), dim);
  }
  rewriter.replaceOpWithNewOp<GatherOp>(*this, type, getSource(), indices,
                                        getMask(), getSiteAttr());
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

void MaskTileOp::build(OpBuilder &builder, OperationState &state, Value scores,
                       Value first, Value end) {
  int32_t numEnds = end ? 1 : 0;
  state.addOperands(scores);
  if (end)
    state.addOperands({first, end});
  state.addAttribute(getOperandSegmentSizeAttr(),
                     builder.getDenseI32ArrayAttr({1, numEnds, numEnds}));
  state.addTypes(scores.getType());
  state.addRegion()->emplaceBlock();
}

LogicalResult SpreadDiagonalsOp::verify() {
  ArrayRef<int64_t> shape = getTile().getType().getShape();
  int64_t count = shape[0] + shape[1];
  if (getDiagonals().getType().getDimSize(0) == count)
    return success();
  return emitOpError("expects ")
         << count << " diagonals of " << getTile().getType() << ", but got "
         << getDiagonals().getType();
}

LogicalResult MaskTileOp::verify() {
  if (static_cast<bool>(getFirst()) != static_cast<bool>(getEnd()))
    return emitOpError("expects both the first key and the end, or none");
  if (getEnd() && cast<VectorType>(getScores().getType()).getRank() != 2)
    return emitOpError("expects scores of keys by queries, but got ")
           << getScores().getType();
  return success();
}

LogicalResult MaskTileOp::verifyRegions() {
  if (getAllowed().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  Type allowed = cast<VectorType>(getScores().getType())
                     .clone(IntegerType::get(getContext(), 1));
  return verifyYielded(*this, getAllowed(), "the region", allowed);
}

Value MaskTileOp::emitExist(OpBuilder &builder) {
  auto type = cast<VectorType>(getScores().getType());
  Value keys = emitPositions(builder, getLoc(), getFirst(), type.getDimSize(0));
  Value end =
      vector::BroadcastOp::create(builder, getLoc(), keys.getType(), getEnd());
  Value exist = arith::CmpIOp::create(builder, getLoc(),
                                      arith::CmpIPredicate::slt, keys, end);
  return broadcastAlong(builder, getLoc(), exist, type.getShape(), /*dim=*/0);
}

void MaskTileOp::expand(RewriterBase &rewriter) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(*this);
  Value predicate = getPredicate();
  rewriter.eraseOp(getAllowed().front().getTerminator());
  rewriter.inlineBlockBefore(&getAllowed().front(), *this);
  if (getEnd())
    predicate = arith::AndIOp::create(rewriter, getLoc(), emitExist(rewriter),
                                      predicate);
  auto type = cast<VectorType>(getScores().getType());
  auto infinity = rewriter.getFloatAttr(type.getElementType(), -INFINITY);
  Value none = arith::ConstantOp::create(
      rewriter, getLoc(), DenseElementsAttr::get(type, Attribute(infinity)));
  rewriter.replaceOpWithNewOp<arith::SelectOp>(*this, predicate, getScores(),
                                               none);
}

//===----------------------------------------------------------------------===//
// Biases
//===----------------------------------------------------------------------===//

void AffineScoresOp::build(OpBuilder &builder, OperationState &state,
                           Value product, double factor, Value slope,
                           Value offset, Value keys, Value where) {
  state.addOperands({product, slope, offset});
  for (Value optional : {keys, where})
    if (optional)
      state.addOperands(optional);
  state.getOrAddProperties<Properties>().operandSegmentSizes = {
      1, 1, 1, keys ? 1 : 0, where ? 1 : 0};
  state.addAttribute(getFactorAttrName(state.name),
                     builder.getF64FloatAttr(factor));
  state.addTypes(product.getType());
  state.addRegion()->emplaceBlock();
}

LogicalResult AffineScoresOp::verify() {
  auto product = cast<VectorType>(getProduct().getType());
  auto slope = cast<VectorType>(getSlope().getType());
  if (slope.getDimSize(0) != product.getDimSize(1))
    return emitOpError("expects one slope for each of ")
           << product.getDimSize(1) << " queries, but got " << slope;
  if (getKeys() && cast<VectorType>(getKeys().getType()).getDimSize(0) !=
                       product.getDimSize(0))
    return emitOpError("expects one number for each of ")
           << product.getDimSize(0) << " keys, but got " << getKeys().getType();
  double factor = getFactor().convertToDouble();
  if (!(factor > 0) || !std::isfinite(factor))
    return emitOpError("expects a factor that is positive and finite, but got ")
           << factor;
  auto loop = (*this)->getParentOfType<TileLoopOp>();
  if (loop && !getWhere() && !loop.isDefinedOutsideOfLoop(getSlope()))
    return emitOpError("expects slopes that are computed outside of the loop "
                       "over tiles");
  if (llvm::any_of(getProduct().getUsers(), [&](Operation *user) {
        return user != *this && !(*this)->isProperAncestor(user);
      }))
    return emitOpError("expects a product that nothing else uses");
  return success();
}

LogicalResult AffineScoresOp::verifyRegions() {
  if (getPlain().getNumArguments() != 0)
    return emitOpError("expects a region without arguments");
  return verifyYielded(*this, getPlain(), "the region", getResult().getType());
}

void AffineScoresOp::expand(RewriterBase &rewriter) {
  Value plain = getPlainScores();
  rewriter.eraseOp(getPlain().front().getTerminator());
  rewriter.inlineBlockBefore(&getPlain().front(), *this);
  rewriter.replaceOp(*this, plain);
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void GatherRowsOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  if (isa<MemRefType>(getSource().getType()))
    effects.emplace_back(MemoryEffects::Read::get(), &getSourceMutable(),
                         SideEffects::DefaultResource::get());
}

SmallVector<int64_t> GatherRowsOp::getOtherDims() {
  SmallVector<int64_t> dims;
  int64_t rank = cast<ShapedType>(getSource().getType()).getRank();
  for (int64_t dim = 0; dim < rank; ++dim)
    if (dim != static_cast<int64_t>(getRowDim()) &&
        dim != static_cast<int64_t>(getColumnDim()))
      dims.push_back(dim);
  return dims;
}

SmallVector<Value> GatherRowsOp::getPosition() {
  SmallVector<Value> position(
      cast<ShapedType>(getSource().getType()).getRank());
  for (auto [dim, index] : llvm::zip_equal(getOtherDims(), getIndices()))
    position[dim] = index;
  return position;
}

LogicalResult GatherRowsOp::verify() {
  auto source = cast<ShapedType>(getSource().getType());
  int64_t rank = source.getRank();
  int64_t row = getRowDim(), column = getColumnDim();
  if (row < 0 || column < 0 || row >= rank || column >= rank || row == column)
    return emitOpError("expects two dimensions of ")
           << source << ", but got " << row << " and " << column;
  if (static_cast<int64_t>(getIndices().size()) != rank - 2)
    return emitOpError("expects one index for each of ")
           << rank - 2 << " other dimensions, but got " << getIndices().size();
  auto rows = cast<VectorType>(getRows().getType());
  auto result = cast<VectorType>(getResult().getType());
  if (result.getDimSize(0) != rows.getDimSize(0) ||
      result.getDimSize(1) != source.getDimSize(column) ||
      result.getElementType() != source.getElementType())
    return emitOpError("expects a result with the rows of ")
           << rows << ", and columns and elements of " << source << ", but got "
           << result;
  return success();
}

//===----------------------------------------------------------------------===//
// Accumulation
//===----------------------------------------------------------------------===//

void AccumulateOp::getEffects(
    SmallVectorImpl<SideEffects::EffectInstance<MemoryEffects::Effect>>
        &effects) {
  getSumEffects(getIntoMutable(), getResult(), effects);
  for (OpOperand &counters : getCountersMutable()) {
    effects.emplace_back(MemoryEffects::Read::get(), &counters);
    effects.emplace_back(MemoryEffects::Write::get(), &counters);
  }
  for (OpOperand &out : getOutMutable())
    effects.emplace_back(MemoryEffects::Write::get(), &out);
}

LogicalResult AccumulateOp::verify() {
  auto tile = cast<VectorType>(getVector().getType());
  auto into = cast<ShapedType>(getInto().getType());
  if (failed(verifyElements(*this, tile, into, getIndices())))
    return failure();
  if (tile.getRank() > into.getRank())
    return emitOpError("expects a tile of at most ")
           << into.getRank() << " dimensions, but got " << tile;
  auto verifyMap = [&](AffineMapAttr attribute,
                       ShapedType memory) -> LogicalResult {
    AffineMap map = attribute.getValue();
    if (map.getNumSymbols() != 0 || !map.isProjectedPermutation() ||
        map.getNumDims() != memory.getRank() ||
        map.getNumResults() != tile.getRank())
      return emitOpError("expects a projected permutation of ")
             << memory.getRank() << " dimensions to " << tile.getRank()
             << ", but got " << attribute;
    return success();
  };
  if (AffineMapAttr map = getPermutationMapAttr();
      map && failed(verifyMap(map, into)))
    return failure();
  bool isOrdered = getMode() == AccumulateMode::Ordered;
  if (isOrdered != (getCounters() != nullptr))
    return emitOpError("expects counters with ordered, but got ")
           << (isOrdered ? "none" : "some without it");
  if (isOrdered != (getAfter() != nullptr) ||
      isOrdered != (getOwn() != nullptr) ||
      (!isOrdered && !getCounterIndices().empty()))
    return emitOpError("expects the numbers of two workers, and indices, with "
                       "counters and not without");
  if (isOrdered) {
    auto counters = cast<MemRefType>(getCounters().getType());
    if (!counters.getElementType().isInteger(32))
      return emitOpError("expects counters of i32, but got ") << counters;
    if (static_cast<int64_t>(getCounterIndices().size()) !=
        counters.getRank() - 1)
      return emitOpError("expects ")
             << counters.getRank() - 1 << " indices of the counters, but got "
             << getCounterIndices().size();
  }
  if (getLast() && !isOrdered)
    return emitOpError("expects counters where there is a last worker");
  if (getOut()) {
    auto out = cast<MemRefType>(getOut().getType());
    if (static_cast<int64_t>(getOutIndices().size()) != out.getRank())
      return emitOpError("expects ")
             << out.getRank() << " indices of the result, but got "
             << getOutIndices().size();
    if (failed(verifyMap(getOutMapAttr(), out)))
      return failure();
  }
  return verifySumResult(*this, into, getResult());
}

#define GET_OP_CLASSES
#include "attn/Dialect/Attn/IR/AttnTileOps.cpp.inc"
