//===- MaskLifterPositions.cpp - Values computed for each position --------===//

#include "MaskLifter.h"
#include "RegionSlice.h"

using namespace mlir;
using namespace mlir::attn;

/// How many heads have to share what is found. To evaluate a mask takes about
/// as long as the attention of one head with D = 64, more or less by the mask.
static constexpr int64_t kFewestHeads = 4;

RangeOverOp
MaskLifter::emitRangeOver(Value value, Type type,
                          function_ref<Value(OpBuilder &, Value)> convert,
                          Value isOpen) {
  ArrayRef<BlockArgument> arguments =
      builder.getInsertionBlock()->getArguments();
  auto getEnd = [&](BlockArgument first, BlockArgument end) -> Value {
    return isOpen
               ? arith.select(isOpen, end, arith.add(first, arith.constant(1)))
               : Value(end);
  };
  SmallVector<Value, 2> positions, lows, highs;
  if (values.dependsOnQuery(value)) {
    positions.push_back(values.getQueryIndex());
    lows.push_back(arguments[2]);
    highs.push_back(getEnd(arguments[2], arguments[3]));
  }
  if (values.dependsOnKey(value)) {
    positions.push_back(values.getKeyIndex());
    lows.push_back(arguments[4]);
    highs.push_back(getEnd(arguments[4], arguments[5]));
  }
  if (!type)
    type = value.getType();
  auto range = RangeOverOp::create(builder, loc, type, type, lows, highs);
  OpBuilder::InsertionGuard guard(builder);
  Block *body = builder.createBlock(
      &range.getBody(), {},
      SmallVector<Type>(positions.size(), builder.getIndexType()),
      SmallVector<Location>(positions.size(), loc));
  IRMapping inner = copies;
  inner.map(positions, body->getArguments());
  for (Operation *op :
       getRegionSlice(values.getRegion(), value,
                      [&](Value known) { return copies.contains(known); }))
    builder.clone(*op, inner);
  Value computed = inner.lookup(value);
  YieldOp::create(builder, loc,
                  convert ? convert(builder, computed) : computed);
  return range;
}

void MaskLifter::liftOver(Value value) {
  if (!uncomputed.erase(value))
    return;
  RangeOverOp range = emitRangeOver(value);
  if (value.getType().isInteger(1))
    ternaries[value] = {range.getMax(), range.getMin()};
  else
    intervals[value] = {asIndex(range.getMin(), value),
                        asIndex(range.getMax(), value)};
}

MaskLifter::Ternary MaskLifter::evaluate(Ternary lifted) {
  Region &region = values.getRegion();
  Value mask = region.front().getTerminator()->getOperand(0);
  int64_t heads = op.getQueryType().getDimSize(op.getLayout(0).h);
  if (!region.getArgument(1).use_empty() ||
      (!ShapedType::isDynamic(heads) && heads < kFewestHeads))
    return lifted;
  // Where all pairs are allowed, or none can be, one stands for them: the tile
  // may be a part of one of which less is known.
  Value isOpen = arith.both(lifted.may, arith.negate(lifted.must));
  RangeOverOp range = emitRangeOver(mask, /*type=*/{}, /*convert=*/{}, isOpen);
  return {arith.either(lifted.must, arith.both(lifted.may, range.getMax())),
          arith.either(lifted.must, arith.both(isOpen, range.getMin()))};
}
