//===- RangeLoops.cpp - Loops over parts of captured tensors --------------===//

#include "RangeLoops.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

std::pair<Value, Value> mlir::attn::createEnds(OpBuilder &builder, Location loc,
                                               Type type) {
  unsigned width = type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  APInt min = APInt::getSignedMinValue(width),
        max = APInt::getSignedMaxValue(width);
  if (width == 1)
    std::swap(min, max);
  auto create = [&](const APInt &value) -> Value {
    return arith::ConstantOp::create(builder, loc,
                                     builder.getIntegerAttr(type, value));
  };
  return {create(min), create(max)};
}

std::pair<Value, Value> mlir::attn::include(OpBuilder &builder, Location loc,
                                            std::pair<Value, Value> range,
                                            std::pair<Value, Value> other) {
  auto [min, max] = range;
  auto [low, high] = other;
  if (min.getType().isInteger(1))
    return {arith::AndIOp::create(builder, loc, min, low),
            arith::OrIOp::create(builder, loc, max, high)};
  return {arith::MinSIOp::create(builder, loc, min, low),
          arith::MaxSIOp::create(builder, loc, max, high)};
}

/// Whether `high` is `low` + 1 over any tile.
static bool isSingle(Value low, Value high, const TileQuestions &questions) {
  auto add = high.getDefiningOp<arith::AddIOp>();
  if (!add || !matchPattern(add.getRhs(), m_One()))
    return false;
  if (add.getLhs() == low)
    return true;
  // Both ends of a tile over the extent of a block, where a tile lies in one.
  Operation *first = low.getDefiningOp(), *last = add.getLhs().getDefiningOp();
  std::optional<int64_t> divisor = getDivisor(first);
  if (!divisor || divisor != getDivisor(last))
    return false;
  auto end = last->getOperand(0).getDefiningOp<arith::SubIOp>();
  if (!end || !matchPattern(end.getRhs(), m_One()))
    return false;
  auto isTile = [&](unsigned number, int64_t size) {
    return first->getOperand(0) == questions.tiles->getArgument(number) &&
           end.getLhs() == questions.tiles->getArgument(number + 1) &&
           *divisor % size == 0;
  };
  return isTile(2, questions.numQueries) || isTile(4, questions.numKeys);
}

SmallVector<bool> mlir::attn::getSingleDims(RangeOp range,
                                            const TileQuestions &questions) {
  SmallVector<bool> result;
  for (auto [low, high] : llvm::zip_equal(range.getLows(), range.getHighs()))
    result.push_back(isSingle(low, high, questions));
  return result;
}

MinMax mlir::attn::emitRange(OpBuilder &builder, Location loc, Value source,
                             ValueRange lows, ValueRange highs,
                             ArrayRef<bool> isSingle) {
  Type type = getElementTypeOrSelf(source.getType());
  auto [least, most] = createEnds(builder, loc, type);
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  Value one = arith::ConstantIndexOp::create(builder, loc, 1);
  Value isInside =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  auto require = [&](arith::CmpIPredicate predicate, Value a, Value b) {
    isInside = arith::AndIOp::create(
        builder, loc, isInside,
        arith::CmpIOp::create(builder, loc, predicate, a, b));
  };
  for (auto [dim, low, high] : llvm::enumerate(lows, highs)) {
    Value extent = tensor::DimOp::create(builder, loc, source, dim);
    require(arith::CmpIPredicate::sge, low, zero);
    if (!isSingle[dim])
      require(arith::CmpIPredicate::slt, low, high);
    require(arith::CmpIPredicate::sle, high, extent);
  }

  // Around the read of one element a loop for each dimension along which there
  // may be more. That of the last one is outermost: threads that share it out
  // read next to each other.
  SmallVector<Value> indices(lows.begin(), lows.end());
  std::function<std::pair<Value, Value>(size_t, Value, Value)> emitLoops =
      [&](size_t numLeft, Value min, Value max) -> std::pair<Value, Value> {
    while (numLeft > 0 && isSingle[numLeft - 1])
      --numLeft;
    if (numLeft == 0) {
      Value element = tensor::ExtractOp::create(builder, loc, source, indices);
      return include(builder, loc, {min, max}, {element, element});
    }
    size_t dim = numLeft - 1;
    auto loop = scf::ForOp::create(builder, loc, lows[dim], highs[dim], one,
                                   ValueRange{min, max});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(loop.getBody());
    indices[dim] = loop.getInductionVar();
    auto [newMin, newMax] =
        emitLoops(dim, loop.getRegionIterArg(0), loop.getRegionIterArg(1));
    scf::YieldOp::create(builder, loc, ValueRange{newMin, newMax});
    return {loop.getResult(0), loop.getResult(1)};
  };
  // Nothing outside is read.
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isInside,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  auto [min, max] = emitLoops(lows.size(), most, least);
  scf::YieldOp::create(builder, loc, ValueRange{min, max});
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, ValueRange{least, most});
  return {branch.getResult(0), branch.getResult(1)};
}
