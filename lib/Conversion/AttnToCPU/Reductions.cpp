//===- Reductions.cpp - Reductions over the rows of a tile on a CPU -------===//
//
// The loop over rows is inside of one over a few vectors of columns, so that
// what is reduced so far stays in registers. It also computes the tile that is
// reduced, and leaves it in memory if it is read again: a softmax goes over its
// scores twice, once for their maxima, and once for their powers and the sums.
//
//===----------------------------------------------------------------------===//

#include "TileLowering.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isMaxFromNumber(vector::MultiDimReductionOp op) {
  DenseFPElementsAttr elements;
  return op.getKind() == vector::CombiningKind::MAXNUMF &&
         matchPattern(op.getAcc(), m_Constant(&elements)) &&
         elements.isSplat() && !elements.getSplatValue<APFloat>().isNaN();
}

Value mlir::attn::createCombined(OpBuilder &builder, Location loc,
                                 vector::MultiDimReductionOp op, Value element,
                                 Value running) {
  if (!isMaxFromNumber(op))
    return vector::makeArithReduction(builder, loc, op.getKind(), element,
                                      running);
  // The larger one of a float, if it is not NaN, and a number. This is one
  // instruction of x86; arith.maxnumf is more.
  Value isGreater = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OGT, element, running);
  return arith::SelectOp::create(builder, loc, isGreater, element, running);
}

Value mlir::attn::reduceLanes(OpBuilder &builder, Location loc, Value vector,
                              function_ref<Value(Value, Value)> combine) {
  int64_t size = cast<VectorType>(vector.getType()).getDimSize(0);
  auto slice = [&](int64_t first, int64_t length) -> Value {
    return vector::ExtractStridedSliceOp::create(
        builder, loc, vector, ArrayRef<int64_t>{first},
        ArrayRef<int64_t>{length}, ArrayRef<int64_t>{1});
  };
  Value rest;
  for (; size > 1; size /= 2) {
    if (size % 2 != 0) {
      Value last = slice(size - 1, 1);
      rest = rest ? combine(rest, last) : last;
    }
    vector = combine(slice(0, size / 2), slice(size / 2, size / 2));
  }
  return rest ? combine(vector, rest) : vector;
}

LogicalResult TileLowering::lowerReduction(vector::MultiDimReductionOp op) {
  VectorType type = op.getSourceVectorType();
  auto resultType = dyn_cast<VectorType>(op.getDestType());
  if (type.getRank() != 2 || !resultType || resultType.getRank() != 1 ||
      op.isReducedDim(1))
    return op.emitError("expects a reduction over the rows of a tile");
  unsigned dim = hasFewQueries ? 0 : 1;
  int64_t step = hasFewQueries ? lanes : lanes * unrollM;
  if (type.getDimSize(dim) % step != 0)
    return op.emitError("expects a multiple of ")
           << step << (hasFewQueries ? " rows" : " columns") << ", but got "
           << type.getDimSize(dim);
  Value source = op.getSource();
  bool isReadAgain = isReadAfter(source, op);
  // What comes from around a loop may be read behind it, too.
  bool isFromOutside = source.getParentBlock() != op->getBlock();
  if ((!isVectorReadable(source, dim, buffers) ||
       (isReadAgain && isFromOutside)) &&
      failed(materialize(source)))
    return failure();
  Value tile;
  if (!buffers.contains(source) && isReadAgain)
    tile = getOverwritable(source, op, source);
  Value result = allocate(resultType);
  if (failed(hasFewQueries ? emitReductionOfFew(op, tile, result)
                           : emitReduction(op, tile, result)))
    return failure();
  if (tile)
    buffers[source] = tile;
  buffers[op.getResult()] = result;
  dead.push_back(op);
  return success();
}

LogicalResult TileLowering::emitReduction(vector::MultiDimReductionOp op,
                                          Value tile, Value result) {
  VectorType type = op.getSourceVectorType();
  Value source = op.getSource();
  auto emitColumns = [&](Value base) -> LogicalResult {
    // What columns alone decide is computed in front of the loop over rows.
    TileEvaluator outer = evaluator();
    SmallVector<Value> columns, inits;
    for (int64_t u = 0; u < unrollM; ++u) {
      Value column =
          arith::AddIOp::create(builder, loc, base, index(u * lanes));
      TileCoord coord = {column, /*isVector=*/true};
      columns.push_back(column);
      inits.push_back(outer.evaluateVector(op.getAcc(), coord));
      if (!inits.back() || failed(outer.evaluateOfColumns(source, coord)))
        return failure();
    }
    Value zero = index(0), end = index(type.getDimSize(0)), one = index(1);
    auto rows = scf::ForOp::create(builder, loc, zero, end, one, inits);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(rows.getBody());
      TileEvaluator inner = outer;
      Value row = rows.getInductionVar();
      SmallVector<Value> next;
      for (auto [column, running] :
           llvm::zip_equal(columns, rows.getRegionIterArgs())) {
        Value element = inner.evaluateVector(
            source, {TileCoord{row}, TileCoord{column, true}});
        if (!element)
          return failure();
        if (tile)
          vector::StoreOp::create(builder, loc, element, tile,
                                  ValueRange{row, column});
        next.push_back(createCombined(builder, loc, op, element, running));
      }
      scf::YieldOp::create(builder, loc, next);
    }
    for (auto [column, value] : llvm::zip_equal(columns, rows.getResults()))
      vector::StoreOp::create(builder, loc, value, result, column);
    return success();
  };
  return emitLoop(getQueriesEnd(type.getDimSize(1)), lanes * unrollM,
                  emitColumns);
}
