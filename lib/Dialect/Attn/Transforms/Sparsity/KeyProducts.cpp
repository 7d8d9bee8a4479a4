//===- KeyProducts.cpp - Products of captured rows with a query -----------===//

#include "KeyProducts.h"
#include "Tiles/TileOps.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether a product is of whole rows of elements that can be gathered.
static bool isOfWholeRows(const RowProduct &product) {
  if (product.length == 0 || product.first != 0 ||
      !product.columns.reads(kKeyPosition))
    return false;
  for (const CapturedRows *captured : {&product.rows, &product.columns}) {
    auto type = cast<RankedTensorType>(captured->capture.getType());
    if (!isa<Float16Type, BFloat16Type, Float32Type>(type.getElementType()))
      return false;
    for (auto [dim, place] : llvm::enumerate(captured->places))
      if (place == CapturedRows::kRowElement &&
          type.getDimSize(dim) != product.length)
        return false;
  }
  return true;
}

/// The loops of the score of `op` that are such products.
static std::vector<std::pair<scf::ForOp, RowProduct>>
findLoops(AttentionLikeOpInterface op) {
  std::vector<std::pair<scf::ForOp, RowProduct>> loops;
  if (op.getScore().empty())
    return loops;
  for (auto loop : op.getScore().front().getOps<scf::ForOp>()) {
    RowProduct product = getRowProduct(loop);
    if (isOfWholeRows(product) &&
        loop.getResult(0).getType() == op.getAccumulatorType() &&
        matchPattern(loop.getInitArgs()[0], m_AnyZeroFloat()))
      loops.push_back({loop, product});
  }
  return loops;
}

int64_t mlir::attn::getCapturedRowElements(AttentionLikeOpInterface op) {
  int64_t elements = 0;
  for (const auto &[loop, product] : findLoops(op))
    elements += product.length;
  return elements;
}

void KeyProducts::emitRows() {
  for (auto &[loop, product] : findLoops(op)) {
    Value row = emitRow(product.rows);
    products.push_back({loop, product, row, Value()});
  }
}

/// The batch, the head or the query, as regions see it.
Value KeyProducts::getPosition(unsigned place) const {
  Value local = place == kBatchPosition  ? rows.batch
                : place == kHeadPosition ? rows.head
                                         : rows.row;
  return withOffset(builder, op, local, place - kBatchPosition);
}

/// `condition`, or null for true, where a position is one of the tensor, too.
Value KeyProducts::isInside(Value condition, Value position, Value tensor,
                            int64_t dim) {
  Value extent = tensor::DimOp::create(builder, loc, tensor, dim);
  if (auto type = dyn_cast<VectorType>(position.getType()))
    extent = vector::BroadcastOp::create(builder, loc, type, extent);
  Value isBelow = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::ult,
                                        position, extent);
  if (!condition)
    return isBelow;
  if (isBelow.getType() != condition.getType())
    isBelow =
        vector::BroadcastOp::create(builder, loc, condition.getType(), isBelow);
  return arith::AndIOp::create(builder, loc, condition, isBelow);
}

/// The row that is captured for the query, 0 where there is none.
Value KeyProducts::emitRow(const CapturedRows &captured) {
  Value tensor = getCapture(captured);
  auto type = cast<RankedTensorType>(tensor.getType());
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0), condition;
  SmallVector<Value> indices;
  unsigned columnDim = 0;
  for (auto [dim, place] : llvm::enumerate(captured.places)) {
    if (place == CapturedRows::kRowElement) {
      columnDim = dim;
      indices.push_back(zero);
      continue;
    }
    indices.push_back(getPosition(place));
    condition = isInside(condition, indices.back(), tensor, dim);
  }
  int64_t length = type.getDimSize(columnDim);
  Value row =
      createRead(builder, loc, VectorType::get({length}, type.getElementType()),
                 tensor, indices, {columnDim}, {true}, condition);
  row = convertTile(builder, loc, row, accType);
  return vector::ShapeCastOp::create(
      builder, loc, VectorType::get({length, 1}, accType), row);
}

Value KeyProducts::emitProduct(const Product &product, Value positions,
                               Value exist) {
  const CapturedRows &captured = product.product.columns;
  Value tensor = getCapture(captured);
  auto type = cast<RankedTensorType>(tensor.getType());
  SmallVector<Value> indices;
  int64_t rowDim = 0, columnDim = 0;
  for (auto [dim, place] : llvm::enumerate(captured.places)) {
    if (place == CapturedRows::kRowElement) {
      columnDim = dim;
      continue;
    }
    Value position = positions;
    if (place == kKeyPosition)
      rowDim = dim;
    else
      indices.push_back(position = getPosition(place));
    exist = isInside(exist, position, tensor, dim);
  }
  int64_t numKeys = cast<VectorType>(positions.getType()).getDimSize(0);
  Value gathered = GatherRowsOp::create(
      builder, loc,
      VectorType::get({numKeys, type.getDimSize(columnDim)},
                      type.getElementType()),
      tensor, indices, positions, exist, rowDim, columnDim);
  gathered = convertTile(builder, loc, gathered, accType);
  Value none =
      createFloat(builder, loc, VectorType::get({numKeys, 1}, accType), 0.0);
  Value sums = contractTiles(builder, loc, gathered, product.row, none,
                             /*isTransposed=*/false);
  return vector::ShapeCastOp::create(builder, loc,
                                     VectorType::get({numKeys}, accType), sums);
}

void KeyProducts::emit(Value positions, Value exist) {
  for (Product &product : products)
    product.value = emitProduct(product, positions, exist);
}

void KeyProducts::set(RegionVectorizer &vectorizer) const {
  for (const Product &product : products)
    vectorizer.setResult(product.loop, {product.value, TileKind::Key});
}
