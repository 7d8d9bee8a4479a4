//===- FewQueries.cpp - Products and reductions of few queries on a CPU ---===//
//
// Where a tile has fewer queries than a vector has lanes, vectors lie along
// keys and columns: buffers of tiles have one query behind the other.
//
//   products   acc[key, query] += sum_inner lhs[key, inner] * rhs[inner, query]
//              `lanes` keys at a time, each with a vector of partial sums; the
//              sums over these vectors are taken of all of them together
//   values     acc[row, query] += sum_key lhs[key, row] * rhs[key, query]
//              unrollN vectors of rows by unrollM queries stay in registers
//   reductions over the vectors of a query, and then over their lanes
//
// Keys and values are read along the columns of a head, as they lie in memory
// most often; with other strides they are copied first.
//
//===----------------------------------------------------------------------===//

#include "LhsReader.h"
#include "TileLowering.h"
#include "Transpose.h"

using namespace mlir;
using namespace mlir::attn;

/// Vectors of a sum that are written out rather than looped over.
static constexpr int64_t kMaxUnrolled = 8;
/// Sums that wait for each other unless there are as many.
static constexpr int64_t kIndependentSums = 8;

//===----------------------------------------------------------------------===//
// Products
//===----------------------------------------------------------------------===//

static Value getZeros(OpBuilder &builder, Location loc, VectorType type) {
  return arith::ConstantOp::create(builder, loc,
                                   cast<TypedAttr>(builder.getZeroAttr(type)));
}

LogicalResult TileLowering::leaveSums(vector::ContractionOp op, Value sums,
                                      int64_t count, Value row, Value query,
                                      Value to) {
  auto leave = [&](Value sum, TileCoord at) -> LogicalResult {
    if (!isFromZero(op)) {
      Value before =
          evaluator().evaluateVector(op.getAcc(), {at, TileCoord{query}});
      if (!before)
        return failure();
      sum = arith::AddFOp::create(builder, loc, before, sum);
    }
    storeTile(builder, loc, sum, to, {at.offset, query});
    return success();
  };
  if (count == lanes)
    return leave(sums, {row, /*isVector=*/true});
  for (int64_t lane = 0; lane < count; ++lane) {
    Value sum = vector::ExtractOp::create(builder, loc, sums, lane);
    Value at = arith::AddIOp::create(builder, loc, row, index(lane));
    if (failed(leave(sum, {at})))
      return failure();
  }
  return success();
}

LogicalResult TileLowering::emitProductsOfKeys(vector::ContractionOp op,
                                               LhsReader &lhs, Value rhs,
                                               Value acc) {
  auto accType = cast<VectorType>(op.getAccType());
  auto vectorType = VectorType::get({lanes}, accType.getElementType());
  int64_t numInner = op.getRhsType().getDimSize(0);
  int64_t whole = numInner - numInner % lanes;
  // The right-hand side lies along the sum.
  Value right = rhs.getDefiningOp<memref::TransposeOp>().getIn();

  auto emitQuery = [&](ArrayRef<Value> lhsRows, Value row,
                       Value query) -> LogicalResult {
    SmallVector<Value> sums(lanes, getZeros(builder, loc, vectorType));
    auto add = [&](Value inner, int64_t count, MutableArrayRef<Value> sums) {
      Value part = LhsReader::loadFirst(builder, loc, vectorType, right,
                                        {query, inner}, count);
      Value lhsInner = lhs.prepareInner(inner);
      for (auto [sum, lhsRow] : llvm::zip(sums, lhsRows))
        sum = vector::FMAOp::create(
            builder, loc, lhs.loadVector(lhsRow, lhsInner, vectorType, count),
            part, sum);
    };
    if (whole / lanes <= kMaxUnrolled) {
      for (int64_t inner = 0; inner < whole; inner += lanes)
        add(index(inner), lanes, sums);
    } else {
      Value first = index(0), end = index(whole), step = index(lanes);
      auto inner = scf::ForOp::create(builder, loc, first, end, step, sums);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(inner.getBody());
      SmallVector<Value> next(inner.getRegionIterArgs());
      add(inner.getInductionVar(), lanes, next);
      scf::YieldOp::create(builder, loc, next);
      llvm::copy(inner.getResults(), sums.begin());
    }
    if (whole != numInner)
      add(index(whole), numInner - whole, sums);
    return leaveSums(op, emitSums(builder, loc, sums), lhsRows.size(), row,
                     query, acc);
  };
  auto emitRows = [&](Value row, int64_t count) -> LogicalResult {
    SmallVector<Value> rows;
    for (int64_t r = 0; r < count; ++r)
      rows.push_back(
          lhs.prepareRow(arith::AddIOp::create(builder, loc, row, index(r))));
    return emitLoop(getQueriesEnd(accType.getDimSize(1)), 1,
                    [&](Value query) { return emitQuery(rows, row, query); });
  };
  int64_t numRows = accType.getDimSize(0);
  int64_t wholeRows = numRows - numRows % lanes;
  if (failed(emitLoop(index(wholeRows), lanes,
                      [&](Value row) { return emitRows(row, lanes); })))
    return failure();
  if (wholeRows == numRows)
    return success();
  return emitRows(index(wholeRows), numRows - wholeRows);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

LogicalResult TileLowering::emitSumsOverKeys(vector::ContractionOp op,
                                             LhsReader &lhs, Value rhs,
                                             Value acc) {
  auto accType = cast<VectorType>(op.getAccType());
  auto vectorType = VectorType::get({lanes}, accType.getElementType());
  int64_t numKeys = op.getRhsType().getDimSize(0);
  int64_t numRows = accType.getDimSize(0);

  /// Sums of `vectors` vectors of rows, of which the last has `count` rows.
  auto emitBlock = [&](Value row, int64_t vectors, int64_t count,
                       Value firstQuery, int64_t unrollM) -> LogicalResult {
    SmallVector<Value> rows, lhsRows, queries;
    for (int64_t number = 0; number < vectors; ++number) {
      rows.push_back(
          arith::AddIOp::create(builder, loc, row, index(number * lanes)));
      lhsRows.push_back(lhs.prepareRow(rows.back()));
    }
    for (int64_t number = 0; number < unrollM; ++number)
      queries.push_back(
          arith::AddIOp::create(builder, loc, firstQuery, index(number)));
    int64_t numSums = vectors * unrollM;
    // Keys in turns have sums of their own.
    int64_t turns = 1;
    while (2 * turns * numSums <= kIndependentSums &&
           numKeys % (2 * turns) == 0)
      turns *= 2;
    SmallVector<Value> sums(turns * numSums,
                            getZeros(builder, loc, vectorType));
    Value first = index(0), end = index(numKeys), step = index(turns);
    auto keys = scf::ForOp::create(builder, loc, first, end, step, sums);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(keys.getBody());
      SmallVector<Value> next(keys.getRegionIterArgs());
      for (int64_t turn = 0; turn < turns; ++turn) {
        Value key = arith::AddIOp::create(builder, loc, keys.getInductionVar(),
                                          index(turn));
        Value lhsKey = lhs.prepareInner(key);
        SmallVector<Value> weights;
        for (Value query : queries)
          weights.push_back(vector::BroadcastOp::create(
              builder, loc, vectorType,
              loadTile(builder, loc, vectorType.getElementType(), rhs,
                       {key, query})));
        for (int64_t number = 0; number < vectors; ++number) {
          Value left = lhs.loadVector(lhsRows[number], lhsKey, vectorType,
                                      number + 1 == vectors ? count : lanes);
          for (auto [query, weight] : llvm::enumerate(weights)) {
            Value &sum = next[(turn * vectors + number) * unrollM + query];
            sum = vector::FMAOp::create(builder, loc, left, weight, sum);
          }
        }
      }
      scf::YieldOp::create(builder, loc, next);
    }
    llvm::copy(keys.getResults(), sums.begin());
    for (; turns > 1; turns /= 2)
      for (int64_t number = 0; number < turns / 2 * numSums; ++number)
        sums[number] = arith::AddFOp::create(
            builder, loc, sums[number], sums[turns / 2 * numSums + number]);
    for (int64_t number = 0; number < vectors; ++number)
      for (auto [query, at] : llvm::enumerate(queries))
        if (failed(leaveSums(op, sums[number * unrollM + query],
                             number + 1 == vectors ? count : lanes,
                             rows[number], at, acc)))
          return failure();
    return success();
  };
  auto emitQueries = [&](Value query, int64_t unrollM) -> LogicalResult {
    int64_t block = unrollN * lanes;
    int64_t whole = numRows - numRows % block;
    if (failed(emitLoop(index(whole), block, [&](Value row) {
          return emitBlock(row, unrollN, lanes, query, unrollM);
        })))
      return failure();
    if (whole == numRows)
      return success();
    int64_t rest = numRows - whole, last = (rest - 1) % lanes + 1;
    return emitBlock(index(whole), llvm::divideCeil(rest, lanes), last, query,
                     unrollM);
  };
  Value all = getQueriesEnd(accType.getDimSize(1)), together = all;
  bool areLeft = queriesEnd && unrollM != 1;
  if (areLeft)
    together = arith::SubIOp::create(
        builder, loc, all,
        arith::RemUIOp::create(builder, loc, all, index(unrollM)));
  if (failed(emitLoop(together, unrollM, [&](Value query) {
        return emitQueries(query, unrollM);
      })))
    return failure();
  if (!areLeft)
    return success();
  return emitLoop(together, all, 1,
                  [&](Value query) { return emitQueries(query, 1); });
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

LogicalResult TileLowering::emitReductionOfFew(vector::MultiDimReductionOp op,
                                               Value tile, Value result) {
  VectorType type = op.getSourceVectorType();
  Value source = op.getSource();
  auto vectorType = VectorType::get({lanes}, type.getElementType());
  bool isMax = isMaxFromNumber(op);
  auto combine = [&](Value element, Value running) {
    return createCombined(builder, loc, op, element, running);
  };
  auto emitQuery = [&](Value query) -> LogicalResult {
    // What the query alone decides is computed in front of the loop over rows.
    TileEvaluator outer = evaluator();
    Value before = outer.evaluate(op.getAcc(), TileCoord{query});
    if (!before || failed(outer.evaluateOfColumns(source, TileCoord{query})))
      return failure();
    auto evaluateRows = [&](Value row, TileEvaluator inner) -> Value {
      Value element = inner.evaluateVector(
          source, {TileCoord{row, true}, TileCoord{query}});
      if (element && tile)
        storeTile(builder, loc, element, tile, {row, query});
      return element;
    };
    Value first = index(0);
    Value running = evaluateRows(first, outer);
    if (!running)
      return failure();
    // The larger one of what may be NaN and a number is a number.
    if (isMax)
      running = combine(running, vector::BroadcastOp::create(
                                     builder, loc, vectorType, before));
    Value start = index(lanes), end = index(type.getDimSize(0)),
          step = index(lanes);
    auto rows = scf::ForOp::create(builder, loc, start, end, step, running);
    {
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(rows.getBody());
      Value element = evaluateRows(rows.getInductionVar(), outer);
      if (!element)
        return failure();
      scf::YieldOp::create(builder, loc,
                           combine(element, rows.getRegionIterArgs()[0]));
    }
    Value total = reduceLanes(builder, loc, rows.getResult(0), combine);
    total = vector::ExtractOp::create(builder, loc, total, 0);
    if (!isMax)
      total = combine(total, before);
    storeTile(builder, loc, total, result, query);
    return success();
  };
  return emitLoop(getQueriesEnd(type.getDimSize(1)), 1, emitQuery);
}
