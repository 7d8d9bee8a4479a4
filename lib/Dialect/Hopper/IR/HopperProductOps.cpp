//===- HopperProductOps.cpp - Matrix products -----------------------------===//

#include "Verify.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

LogicalResult RowsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  constexpr int64_t least = 8;
  if (source.isVector() && !source.isWords())
    return emitOpError("expects rows of 32-bit elements, but got ") << source;
  if (result.getRows() % least != 0 ||
      source.getRows() != source.getParentRows() ||
      source.getRows() % result.getRows() != 0 ||
      result.getColumns() != source.getColumns() ||
      result.getElementType() != source.getElementType() ||
      result.getChunkColumns() != source.getChunkColumns() ||
      result.getParentRows() != source.getRows())
    return emitOpError("expects a multiple of ")
           << least << " rows of " << source << ", but got " << result;
  return success();
}

LogicalResult ColumnsOp::verify() {
  TileType source = getSource().getType(), result = getResult().getType();
  int64_t least = source.getChunkColumns();
  if (source.isVector() || result.isVector() ||
      result.getColumns() % least != 0 ||
      llvm::alignTo(source.getColumns(), least) % result.getColumns() != 0 ||
      result.getRows() != source.getRows() ||
      result.getElementType() != source.getElementType() ||
      result.getChunkColumns() != least ||
      result.getParentRows() != source.getParentRows())
    return emitOpError("expects a multiple of ")
           << least << " columns of " << source << ", but got " << result;
  return success();
}

LogicalResult LoadFragmentOp::verify() {
  TileType tile = getTile().getType();
  Type element = tile.getElementType();
  auto ofRows = VectorType::get(
      {std::max<int64_t>(tile.getColumns(), 1), kWarpgroupRows}, element);
  auto ofColumns = VectorType::get({tile.getRows(), 1}, element);
  ShapedType result = getResult().getType();
  if (tile.isVector() && isLike(result, ofColumns))
    return verifyInWarpgroups(*this);
  if (tile.getRows() != kWarpgroupRows)
    return emitOpError("expects a tile of ")
           << kWarpgroupRows << " rows, but got " << tile;
  if (tile.isVector() && !tile.isWords())
    return emitOpError("expects the result to be ")
           << ofColumns << ", but got " << result;
  if (!isLike(result, ofRows))
    return emitOpError("expects the result to be ")
           << ofRows << ", but got " << result;
  return verifyInWarpgroups(*this);
}

LogicalResult NegateRowsOp::verify() {
  TileType tile = getTile().getType();
  if (tile.isVector() || tile.getRows() != kWarpgroupRows ||
      getElementBytes(tile.getElementType()) != 2)
    return emitOpError("expects a tile of ")
           << kWarpgroupRows << " rows of elements of 16 bits, but got "
           << tile;
  auto ofRows =
      VectorType::get({1, kWarpgroupRows}, IntegerType::get(getContext(), 1));
  if (!isLike(getWhere().getType(), ofRows))
    return emitOpError("expects ")
           << ofRows << ", but got " << getWhere().getType();
  return verifyInWarpgroups(*this);
}

/// Checks a product, complete or pending.
template <typename OpT>
static LogicalResult verifyProduct(OpT op, ShapedType result) {
  TileType rhs = op.getRhs().getType();
  int64_t inner, rows;
  Type element;
  auto lhs = dyn_cast<TileType>(op.getLhs().getType());
  if (rhs.isVector() || (lhs && lhs.isVector()))
    return op.emitOpError("expects tiles with columns, but got ")
           << (rhs.isVector() ? rhs : lhs);
  if (lhs) {
    inner = op.getLhsTransposed() ? lhs.getRows() : lhs.getColumns();
    rows = op.getLhsTransposed() ? lhs.getColumns() : lhs.getRows();
    element = lhs.getElementType();
  } else {
    auto vector = cast<ShapedType>(op.getLhs().getType());
    inner = vector.getDimSize(0);
    rows = vector.getDimSize(1);
    element = vector.getElementType();
    if (op.getLhsTransposed())
      return op.emitOpError("expects lhs_transposed of a tile, but got ")
             << vector;
  }
  bool isTransposed = op.getRhsTransposed();
  int64_t rhsInner = isTransposed ? rhs.getRows() : rhs.getColumns();
  int64_t outer = isTransposed ? rhs.getColumns() : rhs.getRows();
  if (rows != kWarpgroupRows)
    return op.emitOpError("expects ")
           << kWarpgroupRows << " rows of the result, but got " << rows;
  auto isOneChunk = [](TileType type, bool isTransposed) {
    return !isTransposed || type.getChunkColumns() == kChunkColumns ||
           type.getColumns() <= type.getChunkColumns();
  };
  if (!isOneChunk(rhs, isTransposed) ||
      (lhs && !isOneChunk(lhs, op.getLhsTransposed())))
    return op.emitOpError("expects the columns of a transposed tile to be in "
                          "one chunk, or in chunks of ")
           << kChunkColumns << ", but got "
           << (isOneChunk(rhs, isTransposed) ? lhs : rhs);
  if (element != rhs.getElementType())
    return op.emitOpError("expects operands of one element type, but got ")
           << element << " and " << rhs.getElementType();
  if (!isa<BFloat16Type, Float16Type>(element))
    return op.emitOpError("expects operands of bf16 or f16, but got ")
           << element;
  if (inner != rhsInner)
    return op.emitOpError(
               "expects operands to agree on the reduced extent, but "
               "got ")
           << inner << " and " << rhsInner;
  bool isAlongRows = isTransposed || op.getLhsTransposed();
  if (int64_t multiple = isAlongRows ? kProductStep : 8; inner % multiple != 0)
    return op.emitOpError("expects the reduced extent to be a multiple of ")
           << multiple << ", but got " << inner;
  if (outer % 8 != 0 || outer > 256)
    return op.emitOpError("expects columns of the result to be a multiple of 8 "
                          "up to 256, but got ")
           << outer;
  if (result.getShape() != ArrayRef<int64_t>({outer, kWarpgroupRows}) ||
      !result.getElementType().isF32())
    return op.emitOpError("expects a result of ")
           << outer << "x" << kWarpgroupRows << "xf32, but got " << result;
  if (Value acc = op.getAcc()) {
    Type type = acc.getType();
    if (auto pending = dyn_cast<PendingType>(type))
      type = pending.getFragment();
    if (type != result)
      return op.emitOpError("expects the accumulator to be ")
             << result << ", but got " << type;
  }
  return success();
}

LogicalResult MmaOp::verify() {
  if (failed(verifyProduct(*this, getResult().getType().getFragment())))
    return failure();
  return verifyInWarpgroups(*this);
}

LogicalResult DotOp::verify() {
  return verifyProduct(*this, cast<VectorType>(getResult().getType()));
}

LogicalResult CreateIotaTileOp::verify() {
  TileType tile = getResult().getType();
  constexpr int64_t columns = 8, most = 256;
  if (tile.getColumns() != columns || tile.getRows() > most ||
      tile.getRows() != tile.getParentRows())
    return emitOpError("expects a tile of ")
           << columns << " columns and up to " << most << " rows, but got "
           << tile;
  return success();
}

LogicalResult SplitBF16x3Op::verify() {
  ShapedType source = getSource().getType(), result = getResult().getType();
  constexpr int64_t rows = 8;
  if (source.getShape() != ArrayRef<int64_t>({1, kWarpgroupRows}) ||
      result.getShape() != ArrayRef<int64_t>({rows, kWarpgroupRows}))
    return emitOpError("expects 1x64 numbers as 8x64, but got ")
           << source << " as " << result;
  return success();
}

LogicalResult WaitOp::inferReturnTypes(MLIRContext *, std::optional<Location>,
                                       Adaptor adaptor,
                                       SmallVectorImpl<Type> &types) {
  for (Value pending : adaptor.getPending())
    types.push_back(cast<PendingType>(pending.getType()).getFragment());
  return success();
}

LogicalResult WaitOp::verify() {
  if (getPending().empty())
    return emitOpError("expects products to wait for");
  if (int64_t count = getInFlight(); count < 0 || count > kMostInFlight)
    return emitOpError("expects 0 to ")
           << kMostInFlight << " products in flight, but got " << count;
  return verifyInWarpgroups(*this);
}
