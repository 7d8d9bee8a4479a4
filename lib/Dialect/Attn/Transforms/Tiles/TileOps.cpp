//===- TileOps.cpp - What programs of tiles are built from ----------------===//

#include "TileOps.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Value mlir::attn::createIndex(OpBuilder &builder, Location loc, int64_t value) {
  return arith::ConstantIndexOp::create(builder, loc, value);
}

Value mlir::attn::createFloat(OpBuilder &builder, Location loc, Type type,
                              double value) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  TypedAttr attribute = FloatAttr::get(element, value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value mlir::attn::convertTile(OpBuilder &builder, Location loc, Value value,
                              Type element) {
  Type type = value.getType();
  if (auto vector = dyn_cast<VectorType>(type))
    element = vector.clone(element);
  return convertFloats(builder, loc, value, element);
}

Value mlir::attn::contractTiles(OpBuilder &builder, Location loc, Value lhs,
                                Value rhs, Value acc, bool isTransposed) {
  AffineExpr row, query, inner;
  bindDims(builder.getContext(), row, query, inner);
  auto map = [&](AffineExpr a, AffineExpr b) {
    return AffineMap::get(3, 0, {a, b}, builder.getContext());
  };
  auto iterator = [&](vector::IteratorType type) {
    return vector::IteratorTypeAttr::get(builder.getContext(), type);
  };
  Attribute parallel = iterator(vector::IteratorType::parallel);
  Attribute reduction = iterator(vector::IteratorType::reduction);
  return vector::ContractionOp::create(
      builder, loc, lhs, rhs, acc,
      builder.getAffineMapArrayAttr(
          {isTransposed ? map(inner, row) : map(row, inner), map(inner, query),
           map(row, query)}),
      builder.getArrayAttr({parallel, parallel, reduction}));
}

//===----------------------------------------------------------------------===//
// Reads
//===----------------------------------------------------------------------===//

Value mlir::attn::createRead(OpBuilder &builder, Location loc, VectorType type,
                             Value tensor, ArrayRef<Value> indices,
                             ArrayRef<unsigned> dims, ArrayRef<bool> inBounds,
                             Value condition) {
  SmallVector<AffineExpr> results;
  for (unsigned dim : dims)
    results.push_back(builder.getAffineDimExpr(dim));
  AffineMap map =
      AffineMap::get(indices.size(), 0, results, builder.getContext());
  Value padding = arith::ConstantOp::create(
      builder, loc, builder.getZeroAttr(type.getElementType()));
  Value mask;
  if (condition)
    mask = vector::BroadcastOp::create(
        builder, loc, vector::inferTransferOpMaskType(type, map), condition);
  return vector::TransferReadOp::create(builder, loc, type, tensor, indices,
                                        AffineMapAttr::get(map), padding, mask,
                                        builder.getBoolArrayAttr(inBounds));
}

Value mlir::attn::readColumns(OpBuilder &builder, Location loc, Value tensor,
                              Layout layout, const TileRows &rows,
                              int64_t numQueries) {
  auto tensorType = cast<RankedTensorType>(tensor.getType());
  auto type = VectorType::get({tensorType.getDimSize(layout.d), numQueries},
                              tensorType.getElementType());
  Value zero = createIndex(builder, loc, 0);
  return createRead(builder, loc, type, tensor,
                    layout.arrange(rows.batch, rows.head, rows.row, zero),
                    {layout.d, layout.s}, {true, false});
}

Value mlir::attn::readRows(OpBuilder &builder, Location loc, Value tensor,
                           Layout layout, const TileRows &rows,
                           int64_t numQueries) {
  auto type =
      VectorType::get({numQueries}, getElementTypeOrSelf(tensor.getType()));
  return createRead(builder, loc, type, tensor,
                    layout.arrangeRows(rows.batch, rows.head, rows.row),
                    {layout.rowDim(layout.s)}, {false});
}

//===----------------------------------------------------------------------===//
// Places
//===----------------------------------------------------------------------===//

Value mlir::attn::withOffset(OpBuilder &builder, AttentionLikeOpInterface op,
                             Value local, unsigned which) {
  if (op.getOffsets().empty())
    return local;
  return arith::AddIOp::create(builder, op.getLoc(), local,
                               op.getOffsets()[which]);
}

Value mlir::attn::emitShared(OpBuilder &builder, Location loc, Value tensor,
                             unsigned number, Value position) {
  int64_t extent = cast<RankedTensorType>(tensor.getType()).getDimSize(number);
  if (extent == 1)
    return createIndex(builder, loc, 0);
  if (!ShapedType::isDynamic(extent))
    return position;
  Value isOne =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                            tensor::DimOp::create(builder, loc, tensor, number),
                            createIndex(builder, loc, 1));
  return arith::SelectOp::create(builder, loc, isOne,
                                 createIndex(builder, loc, 0), position);
}

Value mlir::attn::emitGroup(OpBuilder &builder, AttentionLikeOpInterface op) {
  Location loc = op.getLoc();
  auto getHeads = [&](Value tensor, Layout layout) -> Value {
    return builder.createOrFold<tensor::DimOp>(loc, tensor, layout.h);
  };
  Value heads = getHeads(op.getQuery(), op.getLayout(0));
  return builder.createOrFold<arith::DivUIOp>(
      loc, heads, getHeads(op.getKey(), op.getLayout(1)));
}

KeyPlace mlir::attn::emitKeyPlace(OpBuilder &builder,
                                  AttentionLikeOpInterface op, Value batch,
                                  Value head) {
  Location loc = op.getLoc();
  Layout layout = op.getLayout(1);
  KeyPlace place;
  place.numKeys = tensor::DimOp::create(builder, loc, op.getKey(), layout.s);
  // The batch of k and v is that of q, or 1 for all.
  place.batch = emitShared(builder, loc, op.getKey(), layout.b, batch);
  place.head =
      arith::DivUIOp::create(builder, loc, head, emitGroup(builder, op));
  return place;
}

Value mlir::attn::gatherRows(OpBuilder &builder, Location loc, Value tensor,
                             Layout layout, const KeyPlace &place, Value rows,
                             Value mask) {
  auto tensorType = cast<RankedTensorType>(tensor.getType());
  auto type = VectorType::get({cast<VectorType>(rows.getType()).getDimSize(0),
                               tensorType.getDimSize(layout.d)},
                              tensorType.getElementType());
  SmallVector<Value> indices =
      layout.arrange(place.batch, place.head, Value(), Value());
  llvm::erase(indices, Value());
  return GatherRowsOp::create(builder, loc, type, tensor, indices, rows, mask,
                              layout.s, layout.d);
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

Value mlir::attn::emitTileBegin(OpBuilder &builder, Location loc, Value lo,
                                Value hi, int64_t size) {
  if (matchPattern(lo, m_Zero()))
    return lo;
  Value tile = createIndex(builder, loc, size);
  Value begin = arith::MulIOp::create(
      builder, loc, arith::DivUIOp::create(builder, loc, lo, tile), tile);
  // Where there is nothing, the loop must not start at the tile around lo.
  Value isEmpty =
      arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::sge, lo, hi);
  return arith::SelectOp::create(builder, loc, isEmpty, hi, begin);
}

LogicalResult
mlir::attn::emitTileClass(OpBuilder &builder, TileLoopOp loop, Region &region,
                          function_ref<FailureOr<Value>(Value)> emit) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(loop.addClass(region));
  FailureOr<Value> yielded = emit(region.getArgument(0));
  if (succeeded(yielded))
    YieldOp::create(builder, loop.getLoc(), *yielded);
  return failure(failed(yielded));
}

void mlir::attn::emitFullWithin(OpBuilder &builder, TileLoopOp loop,
                                Value lower, Value upper) {
  Location loc = loop.getLoc();
  loop.getFullLowerMutable().assign(lower);
  loop.getFullUpperMutable().assign(upper);
  auto emit = [&](Value first) -> FailureOr<Value> {
    Value end = arith::AddIOp::create(
        builder, loc, first, createIndex(builder, loc, loop.getStep()));
    Value isBefore = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle, end, upper);
    if (matchPattern(lower, m_Zero()))
      return isBefore;
    Value isBehind = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sge, first, lower);
    return arith::AndIOp::create(builder, loc, isBehind, isBefore).getResult();
  };
  (void)emitTileClass(builder, loop, loop.getFull(), emit);
}

FailureOr<ValueRange>
mlir::attn::emitStep(OpBuilder &builder, Location loc, StringRef name,
                     function_ref<FailureOr<SmallVector<Value>>()> body) {
  // The types of the results are known when the body is.
  Block block;
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(&block);
    FailureOr<SmallVector<Value>> yielded = body();
    if (failed(yielded))
      return failure();
    YieldOp::create(builder, loc, *yielded);
  }
  auto step = StepOp::create(builder, loc, name,
                             block.getTerminator()->getOperandTypes());
  Block &stepBlock = step.getBody().front();
  stepBlock.getOperations().splice(stepBlock.end(), block.getOperations());
  return ValueRange(step.getResults());
}

Value mlir::attn::emitStep(OpBuilder &builder, Location loc, StringRef name,
                           function_ref<Value()> body) {
  auto emit = [&]() -> FailureOr<SmallVector<Value>> {
    return SmallVector<Value>{body()};
  };
  return emitStep(builder, loc, name, emit)->front();
}
