//===- HopperFragmentOps.cpp - Fragments and results ----------------------===//

#include "Verify.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

LogicalResult IotaOp::verify() {
  ShapedType type = getResult().getType();
  int64_t keys = type.getDimSize(0), queries = type.getDimSize(1);
  bool isOne = queries == kWarpgroupRows ||
               (queries > 0 && queries % kWarpgroupThreads == 0);
  if ((keys != 1 || !isOne) && (keys % 8 != 0 || queries != 1))
    return emitOpError("expects positions of a multiple of 8 keys, of ")
           << kWarpgroupRows << " queries, or of a multiple of "
           << kWarpgroupThreads << " numbers for threads, but got " << type;
  return success();
}

LogicalResult ReduceOp::verify() {
  ShapedType source = getSource().getType(), result = getResult().getType();
  if (getKind() != "max" && getKind() != "add")
    return emitOpError("expects max or add, but got ") << getKind();
  int64_t rows = result.getDimSize(0), sourceRows = source.getDimSize(0);
  bool isOfParts = sourceRows == kSumParts && rows == 1 && getKind() == "add";
  if (source.getDimSize(1) != kWarpgroupRows ||
      (sourceRows % 8 != 0 && !isOfParts))
    return emitOpError("expects a multiple of 8 rows of ")
           << kWarpgroupRows << " queries, or the parts of a sum, but got "
           << source;
  if (result.getDimSize(1) != source.getDimSize(1) ||
      (rows != 1 && (rows != kSumParts || getKind() != "add")))
    return emitOpError("expects a result with one row, or four for add, but "
                       "got ")
           << result;
  return success();
}

LogicalResult DrainOp::verify() { return verifyInWarpgroups(*this); }

LogicalResult StoreOp::verify() {
  ShapedType vector = getVector().getType();
  TileType tile = getStaging().getType();
  MapType map = getMap().getType();
  if (tile.isVector())
    return emitOpError("expects a tile with columns, but got ") << tile;
  if (map.getStrided() && getColumn())
    return emitOpError("expects no column of a strided map");
  if (tile.getChunkColumns() != getChunkColumns(tile.getElementType()))
    return emitOpError("expects chunks of 128 bytes, but got ") << tile;
  // A part of the columns at a time is in units that copies have.
  bool isPart = tile.getColumns() < vector.getDimSize(0) &&
                tile.getColumns() % kChunkColumns == 0 && !map.getStrided();
  int64_t tileColumns = isPart ? vector.getDimSize(0) : tile.getColumns();
  for (auto [rows, columns, element] :
       {std::tuple{vector.getDimSize(1), vector.getDimSize(0),
                   vector.getElementType()},
        {tile.getRows(), tileColumns, tile.getElementType()},
        {map.getRows(), map.getColumns(), map.getElementType()}})
    if (rows != kWarpgroupRows || columns != vector.getDimSize(0) ||
        element != vector.getElementType())
      return emitOpError("expects vector, tile and map to agree, but got ")
             << vector << ", " << tile << " and " << map;
  return verifyInWarpgroups(*this);
}

LogicalResult StoreRowsOp::verify() {
  auto type = cast<MemRefType>(getMemref().getType());
  int64_t rows = getVector().getType().getDimSize(0);
  bool hasColumns = rows > 1 && type.getRank() > 0 &&
                    !ShapedType::isDynamic(type.getShape().back());
  auto expected =
      VectorType::get({hasColumns ? type.getShape().back() : 1, kWarpgroupRows},
                      Float32Type::get(getContext()));
  int64_t numIndices = type.getRank() - (hasColumns ? 1 : 0);
  if (!type.getElementType().isF32())
    return emitOpError("expects a buffer of f32, but got ") << type;
  if (!isLike(getVector().getType(), expected) || (hasColumns && rows % 8 != 0))
    return emitOpError("expects the vector to be ")
           << expected << ", but got " << getVector().getType();
  if (static_cast<int64_t>(getIndices().size()) != numIndices)
    return emitOpError("expects ")
           << numIndices << " indices, but got " << getIndices().size();
  if (int64_t dim = getDim(); dim < 0 || dim >= numIndices)
    return emitOpError("expects a dimension of the memref, but got ") << dim;
  if (static_cast<bool>(getPacked()) != getHeads().has_value())
    return emitOpError("expects packed heads and their dimension together");
  if (std::optional<uint64_t> heads = getHeads();
      heads &&
      (*heads == getDim() || *heads >= static_cast<uint64_t>(type.getRank())))
    return emitOpError("expects a dimension of heads of the memref beside that "
                       "of rows, but got ")
           << *heads;
  return verifyInWarpgroups(*this);
}

LogicalResult ReduceAddOp::verify() {
  ShapedType vector = getVector().getType();
  auto memref = cast<MemRefType>(getMemref().getType());
  int64_t rank = memref.getRank();
  if (vector.getDimSize(1) != kWarpgroupRows || vector.getDimSize(0) % 8 != 0)
    return emitOpError("expects a multiple of 8 rows of ")
           << kWarpgroupRows << " elements, but got " << vector;
  if (!memref.getElementType().isF32())
    return emitOpError("expects a buffer of f32, but got ") << memref;
  if (static_cast<int64_t>(getIndices().size()) != rank - 1)
    return emitOpError("expects ")
           << std::max<int64_t>(rank - 1, 0) << " indices, but got "
           << getIndices().size();
  bool hasCounters = getCounters() != nullptr;
  if (hasCounters != (getAfter() != nullptr) ||
      hasCounters != (getOwn() != nullptr) ||
      (!hasCounters && !getCounterIndices().empty()))
    return emitOpError("expects the numbers of two workers, and indices, with "
                       "counters and not without");
  if (hasCounters &&
      failed(verifyCounters(*this, getCounters(), getCounterIndices().size())))
    return failure();
  if (hasCounters && getFirst())
    return emitOpError("expects counters, or whether it is the first, or none "
                       "of them");
  if (getLast() && !hasCounters && !getFirst())
    return emitOpError("expects counters, or whether it is the first, where "
                       "there is a last one");
  if (getOut()) {
    auto out = cast<MemRefType>(getOut().getType());
    if (static_cast<int64_t>(getOutIndices().size()) != out.getRank())
      return emitOpError("expects ")
             << out.getRank() << " indices of the result, but got "
             << getOutIndices().size();
    auto rank = static_cast<uint64_t>(out.getRank());
    if (*getOutM() >= rank || *getOutN() >= rank || *getOutM() == *getOutN())
      return emitOpError("expects two dimensions of the result, but got ")
             << *getOutM() << " and " << *getOutN();
    bool isAlong = *getOutM() + 1 == rank || *getOutN() + 1 == rank;
    if (!isAlong || failed(verifyContiguous(out)))
      return emitOpError("expects one of the dimensions of the result to be a "
                         "contiguous last one, but got ")
             << out;
  }
  if (memref.getShape().back() != vector.getNumElements() ||
      failed(verifyContiguous(memref)))
    return emitOpError("expects a last dimension of ")
           << vector.getNumElements() << " contiguous elements, but got "
           << memref;
  return verifyInWarpgroups(*this);
}

LogicalResult DiagonalSumsOp::verify() {
  if (getVector().getType().getShape() !=
      ArrayRef<int64_t>{kWarpgroupRows, kWarpgroupRows})
    return emitOpError("expects a vector of ")
           << kWarpgroupRows << "x" << kWarpgroupRows << ", but got "
           << getVector().getType();
  TileType tile = getTile().getType();
  constexpr int64_t floats = kWarpgroupRows * kDiagonalStride;
  if (!tile.isVector() || tile.getRows() != floats ||
      !tile.getElementType().isF32())
    return emitOpError("expects a tile of ")
           << floats << " f32, but got " << tile;
  if (getSums().getType().getShape() != ArrayRef<int64_t>{1, kWarpgroupThreads})
    return emitOpError("expects sums of 1x")
           << kWarpgroupThreads << ", but got " << getSums().getType();
  return verifyInWarpgroups(*this);
}

LogicalResult PutDiagonalsOp::verify() {
  ArrayRef<int64_t> diagonals = getDiagonals().getType().getShape();
  if (diagonals[0] != 1 || diagonals[1] % kWarpgroupThreads != 0)
    return emitOpError("expects one row of a multiple of ")
           << kWarpgroupThreads << " diagonals, but got "
           << getDiagonals().getType();
  TileType tile = getTile().getType();
  if (!tile.isVector() || tile.getRows() != diagonals[1] ||
      !tile.getElementType().isF32())
    return emitOpError("expects a tile of ")
           << diagonals[1] << " f32, but got " << tile;
  return verifyInWarpgroups(*this);
}

LogicalResult SpreadDiagonalsOp::verify() {
  ArrayRef<int64_t> shape = getVector().getType().getShape();
  if (shape[0] % 8 != 0 || shape[1] != kWarpgroupRows)
    return emitOpError("expects a vector of a multiple of 8 by ")
           << kWarpgroupRows << ", but got " << getVector().getType();
  TileType tile = getTile().getType();
  if (!tile.isVector() || tile.getRows() < shape[0] + kWarpgroupRows ||
      !tile.getElementType().isF32())
    return emitOpError("expects a tile of at least ")
           << shape[0] + kWarpgroupRows << " f32, but got " << tile;
  return verifyInWarpgroups(*this);
}

LogicalResult ScatterAddOp::verify() {
  ShapedType vector = getVector().getType();
  auto memref = cast<MemRefType>(getMemref().getType());
  int64_t rows = vector.getDimSize(0), columns = vector.getDimSize(1);
  bool isOfThreads = rows == 1 && columns == kWarpgroupThreads,
       isOfParts = rows == kSumParts;
  if (!isOfThreads &&
      (columns != kWarpgroupRows || (rows % 8 != 0 && !isOfParts)))
    return emitOpError("expects a multiple of 8 rows of ")
           << kWarpgroupRows << " elements, the parts of a sum, or one row of "
           << kWarpgroupThreads << ", but got " << vector;
  bool hasWords = isExact() && memref.getRank() > 0 &&
                  memref.getDimSize(0) == kExactSumWords;
  if (!memref.getElementType().isF32() && !hasWords)
    return emitOpError("expects a buffer of f32, or of i64 with a first "
                       "dimension of ")
           << kExactSumWords << ", but got " << memref;
  int64_t rank = memref.getRank() - (isExact() ? 1 : 0);
  if (static_cast<int64_t>(getIndices().size()) != rank)
    return emitOpError("expects ")
           << rank << " indices, but got " << getIndices().size();
  for (Value index : getIndices()) {
    auto type = dyn_cast<ShapedType>(index.getType());
    if (type && ((type.getDimSize(0) != 1 &&
                  (type.getDimSize(0) != rows || isOfParts)) ||
                 (type.getDimSize(1) != 1 && type.getDimSize(1) != columns)))
      return emitOpError("expects indices with the extents of the vector or 1, "
                         "but got ")
             << type << " for " << vector;
  }
  ShapedType mask = getMask().getType();
  if (mask.getShape() != vector.getShape())
    return emitOpError("expects a mask of the shape of the vector, but got ")
           << mask << " for " << vector;
  return verifyInWarpgroups(*this);
}

LogicalResult CombineOp::verify() {
  auto parts = cast<MemRefType>(getParts().getType());
  auto into = cast<MemRefType>(getInto().getType());
  auto verifyIndices = [&](ValueRange indices, int64_t count) -> LogicalResult {
    if (static_cast<int64_t>(indices.size()) == count)
      return success();
    return emitOpError("expects ")
           << count << " indices, but got " << indices.size();
  };
  if (failed(verifyIndices(getRow(), 3)) ||
      failed(verifyIndices(getIndices(), into.getRank())) ||
      failed(verifyIndices(getLseIndices(), getLse() ? 3 : 0)))
    return failure();
  int64_t dim = getDim();
  if (dim < 0 || dim >= into.getRank())
    return emitOpError("expects a dimension of the memref, but got ") << dim;
  int64_t columns = parts.getShape().back();
  if (ShapedType::isDynamic(columns) || columns % 8 != 0 ||
      columns != into.getDimSize(dim))
    return emitOpError("expects rows of a multiple of 8 columns in parts and "
                       "result, but got ")
           << parts << " and " << into;
  return success();
}
