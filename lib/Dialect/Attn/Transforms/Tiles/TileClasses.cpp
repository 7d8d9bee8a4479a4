//===- TileClasses.cpp - Whether a worker needs a KV block ----------------===//

#include "TileClasses.h"
#include "RangeLoops.h"
#include "RegionSlice.h"

using namespace mlir;
using namespace mlir::attn;

TileClasses::TileClasses(OpBuilder &builder, const TileQuestions &questions,
                         const TileRows &rows, const BlockMetadata &metadata,
                         int64_t numRows)
    : builder(builder), questions(questions), rows(rows), metadata(metadata),
      numRows(numRows), loc(questions.op->getLoc()),
      dependence(getTileDependence(*questions.tiles)),
      values(builder, loc, questions.numKeys, questions.numQueries,
             /*sites=*/nullptr) {}

LogicalResult TileClasses::emitOperation(Operation &inner, Value keyTile) {
  auto range = dyn_cast<RangeOp>(inner);
  auto over = dyn_cast<RangeOverOp>(inner);
  if (!range && !over)
    return values.emit(inner);
  FailureOr<std::pair<Value, Value>> answer;
  auto minMax = metadata.ranges.find(&inner);
  if (minMax != metadata.ranges.end()) {
    answer = readBlockMinMax(builder, inner.getLoc(), minMax->second, rows,
                             numRows, keyTile);
  } else if (over) {
    // The threads of a warp share out the keys of a tile.
    constexpr int64_t threads = 32, most = 4;
    std::optional<SharedTile> shared;
    if (questions.schedule.hasSingleKeyLoop())
      shared = {std::clamp<int64_t>(questions.numKeys / threads, 1, most),
                numRows};
    answer = emitRangeOver(builder, over, values, shared);
  } else {
    auto get = [&](OperandRange indices) {
      return llvm::map_to_vector(
          indices, [&](Value index) { return values.get(index).value; });
    };
    answer = mlir::attn::emitRange(builder, range.getLoc(),
                                   values.get(range.getSource()).value,
                                   get(range.getLows()), get(range.getHighs()),
                                   getSingleDims(range, questions));
  }
  if (failed(answer))
    return failure();
  values.set(inner.getResult(0), {answer->first});
  values.set(inner.getResult(1), {answer->second});
  return success();
}

FailureOr<std::pair<Value, Value>> TileClasses::emitRange(Operation &range,
                                                          TileSpan keys) {
  Region &tiles = *questions.tiles;
  SmallVector<Value> arguments = {rows.batch,  rows.head,  rows.row,
                                  rows.rowEnd, keys.begin, keys.end};
  llvm::append_range(arguments, questions.op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(tiles.getArguments(), arguments))
    if (value)
      values.set(argument, {value});
  Value keyTile;
  if (keys.begin)
    keyTile = arith::DivUIOp::create(
        builder, loc, keys.begin,
        arith::ConstantIndexOp::create(builder, loc, questions.numKeys));
  for (Operation *inner : getRegionSlice(tiles, range.getResult(0)))
    if (failed(emitOperation(*inner, keyTile)))
      return failure();
  return std::pair(values.get(range.getResult(0)).value,
                   values.get(range.getResult(1)).value);
}

/// The end of a tile, which has at least one position: so its last position is
/// known not to be negative, and that and its parts need no 64 bits on a GPU.
Value TileClasses::emitEnd(Value begin, Value end) {
  Value least = arith::AddIOp::create(
      builder, loc, begin, arith::ConstantIndexOp::create(builder, loc, 1));
  return arith::MaxSIOp::create(builder, loc, end, least);
}

LogicalResult TileClasses::emitRows() {
  Region &tiles = *questions.tiles;
  SmallVector<Value> arguments = {rows.batch, rows.head,
                                  rows.row,   emitEnd(rows.row, rows.rowEnd),
                                  Value(),    Value()};
  llvm::append_range(arguments, questions.op.getCaptures());
  for (auto [argument, value] :
       llvm::zip_equal(tiles.getArguments(), arguments))
    if (value)
      values.set(argument, {value});
  for (Operation &inner : tiles.front().without_terminator())
    if (!dependence.lookup(inner.getResult(0)).keys &&
        failed(emitOperation(inner, /*keyTile=*/Value())))
      return failure();
  return success();
}

FailureOr<TileClasses::TileClass> TileClasses::emit(Value begin, Value end) {
  Region &tiles = *questions.tiles;
  values.set(tiles.getArgument(4), {begin});
  values.set(tiles.getArgument(5), {emitEnd(begin, end)});
  Value size = arith::ConstantIndexOp::create(builder, loc, questions.numKeys);
  Value keyTile = arith::DivUIOp::create(builder, loc, begin, size);
  for (Operation &inner : tiles.front().without_terminator())
    if (dependence.lookup(inner.getResult(0)).keys &&
        failed(emitOperation(inner, keyTile)))
      return failure();
  auto yielded = tiles.front().getTerminator()->getOperands();
  return TileClass{values.get(yielded[0]).value, values.get(yielded[1]).value};
}
