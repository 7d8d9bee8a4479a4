//===- MicroKernel.cpp - Products of tiles on a CPU -----------------------===//
//
// acc[row, query] += sum_inner lhs[row, inner] * rhs[inner, query]
//
// A block of unrollN rows by unrollM vectors of queries stays in registers over
// the whole sum. Elements of lhs are broadcast, so keys and values are read as
// they lie in memory, whatever their strides, and are never packed. The sum of
// a tile is added to acc as one number: the rounding of n products one after
// the other grows as sqrt(n), that of sums of sums as the root of their lengths
// (N. Higham, "The accuracy of floating point summation", 1993).
//
//===----------------------------------------------------------------------===//

#include "LhsReader.h"
#include "TileLowering.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

bool TileLowering::isFromZero(vector::ContractionOp op) {
  return matchPattern(op.getAcc(), m_AnyZeroFloat()) ||
         matchPattern(op.getAcc(), m_Zero());
}

LogicalResult TileLowering::lowerContract(vector::ContractionOp op) {
  auto accType = dyn_cast<VectorType>(op.getAccType());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  MLIRContext *context = op.getContext();
  AffineExpr row, query, inner;
  bindDims(context, row, query, inner);
  auto is = [&](AffineMap map, AffineExpr a, AffineExpr b) {
    return map == AffineMap::get(3, 0, {a, b}, context);
  };
  bool rowFirst = is(maps[0], row, inner);
  if (!accType || accType.getRank() != 2 ||
      op.getKind() != vector::CombiningKind::ADD ||
      !(rowFirst || is(maps[0], inner, row)) || !is(maps[1], inner, query) ||
      !is(maps[2], row, query))
    return op.emitError("expects a contraction of the form acc(row, query) += "
                        "lhs(row, inner) * rhs(inner, query)");
  int64_t numQueries = accType.getDimSize(1);
  if (!hasFewQueries && numQueries % lanes != 0)
    return op.emitError("expects a multiple of ")
           << lanes << " queries, but got " << numQueries;

  FailureOr<Value> rhs = materialize(op.getRhs());
  if (failed(rhs))
    return failure();
  if (hasFewQueries && rowFirst && attn::getVectorDim(*rhs) != 0) {
    // A left-hand side of another product.
    Value copy = allocate(op.getRhsType());
    if (failed(store(op.getRhs(), copy)))
      return failure();
    rhs = copy;
  }
  // With few queries it is read as vectors, else element by element.
  Value lhsBuffer = buffers.lookup(op.getLhs());
  bool direct = !lhsBuffer &&
                op.getLhs().getDefiningOp<vector::TransferReadOp>() &&
                (!hasFewQueries || isVectorReadable(op.getLhs(), 1, buffers));
  if (!lhsBuffer && !direct) {
    FailureOr<Value> made = materialize(op.getLhs());
    if (failed(made))
      return failure();
    lhsBuffer = *made;
  }
  bool fromZero = isFromZero(op);
  if (!fromZero &&
      !isVectorReadable(op.getAcc(), getVectorDim(accType), buffers) &&
      failed(materialize(op.getAcc())))
    return failure();
  Value acc = fromZero ? allocate(accType) : getOverwritable(op.getAcc(), op);
  if (acc == *rhs || acc == lhsBuffer)
    acc = allocate(accType);
  LhsReader lhs(builder, loc, op.getLhs(), lhsBuffer, rowFirst);
  if (failed(!hasFewQueries ? emitProducts(op, lhs, *rhs, acc)
             : rowFirst     ? emitProductsOfKeys(op, lhs, *rhs, acc)
                            : emitSumsOverKeys(op, lhs, *rhs, acc)))
    return failure();
  buffers[op.getResult()] = acc;
  dead.push_back(op);
  return success();
}

LogicalResult TileLowering::emitProducts(vector::ContractionOp op,
                                         LhsReader &lhs, Value rhs, Value acc) {
  auto accType = cast<VectorType>(op.getAccType());
  int64_t numRows = accType.getDimSize(0), numQueries = accType.getDimSize(1);
  int64_t numInner = op.getRhsType().getDimSize(0);
  // Where columns are no multiple of those of the schedule, as those of a head
  // dimension, fewer vectors of more rows take as many registers.
  int64_t unrollM = this->unrollM, unrollN = this->unrollN;
  while (numQueries % (lanes * unrollM) != 0)
    --unrollM;
  if (unrollM != this->unrollM)
    unrollN = std::min<int64_t>(this->unrollM * unrollN / unrollM, 16);
  auto vectorType = VectorType::get({lanes}, accType.getElementType());

  auto emitRows = [&](Value firstRow, int64_t count,
                      ArrayRef<Value> columns) -> LogicalResult {
    SmallVector<Value> rows, lhsRows, sums;
    for (int64_t r = 0; r < count; ++r) {
      rows.push_back(arith::AddIOp::create(builder, loc, firstRow, index(r)));
      lhsRows.push_back(lhs.prepareRow(rows[r]));
    }
    Value zero = arith::ConstantOp::create(builder, loc,
                                           builder.getZeroAttr(vectorType));
    sums.append(count * unrollM, zero);
    Value start = index(0), end = index(numInner), one = index(1);
    auto sum = scf::ForOp::create(builder, loc, start, end, one, sums);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(sum.getBody());
      Value k = sum.getInductionVar();
      SmallVector<Value> right;
      for (Value column : columns)
        right.push_back(vector::LoadOp::create(builder, loc, vectorType, rhs,
                                               ValueRange{k, column}));
      Value lhsInner = lhs.prepareInner(k);
      SmallVector<Value> next(sum.getRegionIterArgs());
      for (int64_t r = 0; r < count; ++r) {
        Value left = vector::BroadcastOp::create(
            builder, loc, vectorType, lhs.load(lhsRows[r], lhsInner));
        for (int64_t u = 0; u < unrollM; ++u) {
          Value &value = next[r * unrollM + u];
          value = vector::FMAOp::create(builder, loc, left, right[u], value);
        }
      }
      scf::YieldOp::create(builder, loc, next);
    }
    // What the sums are added to is computed here, such as an accumulator that
    // is rescaled.
    TileEvaluator old = evaluator();
    for (int64_t r = 0; r < count; ++r)
      for (int64_t u = 0; u < unrollM; ++u) {
        Value value = sum.getResult(r * unrollM + u);
        if (!isFromZero(op)) {
          Value before = old.evaluateVector(
              op.getAcc(), {TileCoord{rows[r]}, TileCoord{columns[u], true}});
          if (!before)
            return failure();
          value = arith::AddFOp::create(builder, loc, before, value);
        }
        vector::StoreOp::create(builder, loc, value, acc,
                                ValueRange{rows[r], columns[u]});
      }
    return success();
  };

  return emitLoop(getQueriesEnd(numQueries), lanes * unrollM, [&](Value base) {
    SmallVector<Value> columns;
    for (int64_t u = 0; u < unrollM; ++u)
      columns.push_back(
          arith::AddIOp::create(builder, loc, base, index(u * lanes)));
    int64_t whole = numRows - numRows % unrollN;
    LogicalResult blocks = emitLoop(index(whole), unrollN, [&](Value firstRow) {
      return emitRows(firstRow, unrollN, columns);
    });
    if (succeeded(blocks) && whole != numRows)
      return emitRows(index(whole), numRows - whole, columns);
    return blocks;
  });
}
