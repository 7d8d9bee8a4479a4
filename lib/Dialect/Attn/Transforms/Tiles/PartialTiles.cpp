//===- PartialTiles.cpp - Which KV blocks need the predicate --------------===//
//
// Of masks that bound keys from above alone, only the last tile that some rows
// need may be partial. That spares the question of the class of a tile.
//
//===----------------------------------------------------------------------===//

#include "TileBody.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// Whether `value` is the lesser of `skv` and a value, which it gives.
static Value getLimit(Value value, Value skv) {
  auto min = value.getDefiningOp<arith::MinSIOp>();
  if (!min)
    return {};
  if (min.getRhs() == skv)
    return min.getLhs();
  return min.getLhs() == skv ? min.getRhs() : Value();
}

/// Whether all rows of a tile need keys up to that of the last row, and the
/// first row allows all up to its own at least.
static bool isDiagonal(Block &blocks, Value fullHi, Value hi) {
  Value first = blocks.getArgument(2), end = blocks.getArgument(3),
        skv = blocks.getArgument(4);
  if (getLimit(hi, skv) != end)
    return false;
  Value limit = getLimit(fullHi, skv);
  if (limit == first)
    return true;
  auto sum = limit ? limit.getDefiningOp<arith::AddIOp>() : arith::AddIOp();
  return sum && sum.getLhs() == first &&
         getConstantIntValue(sum.getRhs()).value_or(-1) >= 0;
}

/// All tiles but the last one end before the loop does, so that they are full
/// where that is the bound of full tiles. Under a causal mask this bound is
/// near the first row, and the loop of a partition ends at the tile of its last
/// row, which has the first one too where tiles are multiples of its rows.
bool mlir::attn::isLastAlonePartial(OnlineAttentionOp op,
                                    const TileRows &rows) {
  if (op.getBlocks().empty())
    return op.getMask().empty();
  Block &blocks = op.getBlocks().front();
  OperandRange bounds = blocks.getTerminator()->getOperands();
  if (!matchPattern(bounds[1], m_Zero()))
    return false;
  if (bounds[2] == bounds[3])
    return true;
  ScheduleAttrInterface schedule = op.getScheduleAttr();
  return rows.haveParts &&
         schedule.getTileN() % schedule.getPartitionRows() == 0 &&
         isDiagonal(blocks, bounds[2], bounds[3]);
}
