//===- RangeLoops.cpp - Loops that find ranges over a tile ----------------===//

#include "RangeLoops.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// The least and the largest number of an integer type, with true as the
/// largest i1.
static std::pair<Value, Value> createEnds(OpBuilder &builder, Location loc,
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

//===----------------------------------------------------------------------===//
// Values that are computed for each position
//===----------------------------------------------------------------------===//

namespace {
/// The loops of an attn.range_over.
class RangeOverLoops {
public:
  RangeOverLoops(OpBuilder &builder, RangeOverOp range,
                 RegionVectorizer &values)
      : builder(builder), loc(range.getLoc()), range(range),
        body(range.getBody().front()), values(values),
        type(range.getMin().getType()) {
    auto [least, most] = createEnds(builder, loc, type);
    ends = {most, least};
  }

  FailureOr<MinMax> emitOne();
  FailureOr<MinMax> emitPairs();
  FailureOr<MinMax> emitSharedPairs(int64_t keysAtOnce);

private:
  /// What operations depend on, by number: those on the row alone, the key
  /// alone, both, or neither.
  enum Dependence { OfNeither, OfRow, OfKey, OfBoth };

  void findDependences();
  void findRowValues();
  LogicalResult emitOps(Dependence which);
  Value get(Value value) { return values.get(value).value; }
  MinMax getElement() {
    Value element = get(body.getTerminator()->getOperand(0));
    return {element, element};
  }
  MinMax getState(ValueRange carried) { return {carried[0], carried[1]}; }
  scf::ForOp enter(Value low, Value high, ValueRange inits) {
    Value one = arith::ConstantIndexOp::create(builder, loc, 1);
    auto loop = scf::ForOp::create(builder, loc, low, high, one, inits);
    builder.setInsertionPointToStart(loop.getBody());
    return loop;
  }
  void yield(MinMax state, ValueRange others = {}) {
    SmallVector<Value> yielded = {state.first, state.second};
    llvm::append_range(yielded, others);
    scf::YieldOp::create(builder, loc, yielded);
  }
  SmallVector<Value> getInits(MinMax state);
  SmallVector<Value> getRowValues();
  Value getBits(Value value);
  Value emitIsSame(ValueRange carried, ValueRange now);
  Value emitIsKnown(MinMax state);

  OpBuilder &builder;
  Location loc;
  RangeOverOp range;
  Block &body;
  RegionVectorizer &values;
  Type type;
  /// Of no element: the largest number, and the least one.
  MinMax ends;
  llvm::DenseMap<Operation *, Dependence> dependences;
  /// What pairs take of a row. Rows that follow each other with the same values
  /// have the same elements, so that one of them is enough. Nothing where pairs
  /// take the row itself.
  llvm::SetVector<Value> rowValues;
};
} // namespace

void RangeOverLoops::findDependences() {
  for (Operation &op : body) {
    unsigned found = OfNeither;
    op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (auto argument = dyn_cast<BlockArgument>(operand)) {
          if (argument.getOwner() == &body)
            found |= argument.getArgNumber() == 0 ? OfRow : OfKey;
        } else if (auto known = dependences.find(operand.getDefiningOp());
                   known != dependences.end()) {
          found |= known->second;
        }
      }
    });
    dependences[&op] = static_cast<Dependence>(found);
  }
}

void RangeOverLoops::findRowValues() {
  for (Operation &op : body) {
    if (dependences.at(&op) != OfBoth)
      continue;
    WalkResult walk = op.walk([&](Operation *inner) {
      for (Value operand : inner->getOperands()) {
        if (operand == body.getArgument(0))
          return WalkResult::interrupt();
        auto known = dependences.find(operand.getDefiningOp());
        if (known == dependences.end() || known->second != OfRow)
          continue;
        if (!operand.getType().isIntOrIndexOrFloat())
          return WalkResult::interrupt();
        // What it is made of takes fewer registers.
        while (Operation *cast = operand.getDefiningOp())
          if (isa<arith::IndexCastOp, arith::IndexCastUIOp, arith::ExtSIOp,
                  arith::ExtUIOp, arith::ExtFOp>(cast) &&
              cast->getOperand(0) != body.getArgument(0))
            operand = cast->getOperand(0);
          else
            break;
        rowValues.insert(operand);
      }
      return WalkResult::advance();
    });
    if (walk.wasInterrupted()) {
      rowValues.clear();
      return;
    }
  }
}

LogicalResult RangeOverLoops::emitOps(Dependence which) {
  for (Operation &op : body.without_terminator())
    if (dependences.at(&op) == which && failed(values.emit(op)))
      return failure();
  return success();
}

/// Floats are the same if their bits are.
Value RangeOverLoops::getBits(Value value) {
  if (!isa<FloatType>(value.getType()))
    return value;
  unsigned width = value.getType().getIntOrFloatBitWidth();
  return arith::BitcastOp::create(builder, loc, builder.getIntegerType(width),
                                  value);
}

/// What the next row is told of this one.
SmallVector<Value> RangeOverLoops::getRowValues() {
  if (rowValues.empty())
    return {};
  SmallVector<Value> result = {
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true))};
  for (Value value : rowValues)
    result.push_back(getBits(get(value)));
  return result;
}

/// What loops over rows carry: the range, whether there is a row before, and
/// the values of that.
SmallVector<Value> RangeOverLoops::getInits(MinMax state) {
  SmallVector<Value> inits = {state.first, state.second};
  if (!rowValues.empty())
    inits.push_back(
        arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false)));
  for (Value value : rowValues) {
    Type bits = value.getType();
    if (isa<FloatType>(bits))
      bits = builder.getIntegerType(bits.getIntOrFloatBitWidth());
    inits.push_back(
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(bits)));
  }
  return inits;
}

/// Whether a row has the values of the one before, of what is carried.
Value RangeOverLoops::emitIsSame(ValueRange carried, ValueRange now) {
  ScalarBuilder b(loc, builder);
  Value isSame = carried[2];
  for (auto [before, value] :
       llvm::zip_equal(carried.drop_front(3), now.drop_front()))
    isSame = b.andI(isSame, b.cmp(arith::CmpIPredicate::eq, before, value));
  return isSame;
}

/// Once some are true and some are not, no other matters.
Value RangeOverLoops::emitIsKnown(MinMax state) {
  Value yes =
      arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
  return arith::AndIOp::create(
      builder, loc, arith::XOrIOp::create(builder, loc, state.first, yes),
      state.second);
}

FailureOr<MinMax> RangeOverLoops::emitOne() {
  OpBuilder::InsertionGuard guard(builder);
  scf::ForOp loop = enter(get(range.getLows()[0]), get(range.getHighs()[0]),
                          {ends.first, ends.second});
  values.set(body.getArgument(0), {loop.getInductionVar()});
  for (Operation &op : body.without_terminator())
    if (failed(values.emit(op)))
      return failure();
  yield(
      include(builder, loc, getState(loop.getRegionIterArgs()), getElement()));
  return getState(loop.getResults());
}

/// The inner loop is that over keys, which lie next to each other.
FailureOr<MinMax> RangeOverLoops::emitPairs() {
  findDependences();
  findRowValues();
  OpBuilder::InsertionGuard guard(builder);
  if (failed(emitOps(OfNeither)))
    return failure();
  scf::ForOp rows =
      enter(get(range.getLows()[0]), get(range.getHighs()[0]), getInits(ends));
  values.set(body.getArgument(0), {rows.getInductionVar()});
  if (failed(emitOps(OfRow)))
    return failure();
  ValueRange carried = rows.getRegionIterArgs();
  MinMax state = getState(carried);
  SmallVector<Value> now = getRowValues();
  Value isDone = type.isInteger(1) ? emitIsKnown(state) : Value();
  if (!now.empty()) {
    Value isSame = emitIsSame(carried, now);
    isDone =
        isDone ? arith::OrIOp::create(builder, loc, isDone, isSame) : isSame;
  }
  scf::IfOp branch;
  if (isDone) {
    branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isDone,
                               /*withElseRegion=*/true);
    yield(getState(branch.getResults()), now);
    builder.setInsertionPointToStart(branch.thenBlock());
    yield(state);
    builder.setInsertionPointToStart(branch.elseBlock());
  }
  scf::ForOp keys = enter(get(range.getLows()[1]), get(range.getHighs()[1]),
                          {state.first, state.second});
  values.set(body.getArgument(1), {keys.getInductionVar()});
  if (failed(emitOps(OfKey)) || failed(emitOps(OfBoth)))
    return failure();
  yield(
      include(builder, loc, getState(keys.getRegionIterArgs()), getElement()));
  builder.setInsertionPointAfter(keys);
  yield(getState(keys.getResults()));
  return getState(rows.getResults());
}

/// Threads that share out the loop over keys read next to each other, and
/// compute once what belongs to their keys, of which each has several, so that
/// what belongs to a row is computed for fewer. Behind the last key that is
/// there, it is taken again.
FailureOr<MinMax> RangeOverLoops::emitSharedPairs(int64_t keysAtOnce) {
  findDependences();
  findRowValues();
  OpBuilder::InsertionGuard guard(builder);
  if (failed(emitOps(OfNeither)))
    return failure();
  ScalarBuilder outside(loc, builder);
  Value low = get(range.getLows()[1]), high = get(range.getHighs()[1]);
  Value part = outside.divU(outside.add(outside.sub(high, low), keysAtOnce - 1),
                            keysAtOnce);
  scf::ForOp keys =
      enter(low, outside.add(low, part), {ends.first, ends.second});
  // What belongs to each of the keys.
  SmallVector<Operation *> keyOps, pairOps;
  for (Operation &op : body.without_terminator()) {
    if (dependences.at(&op) == OfKey)
      keyOps.push_back(&op);
    if (dependences.at(&op) == OfBoth)
      pairOps.push_back(&op);
  }
  SmallVector<SmallVector<std::pair<Value, TileValue>>> ofKeys;
  for (int64_t number : llvm::seq(keysAtOnce)) {
    ScalarBuilder b(loc, builder);
    Value key = keys.getInductionVar();
    if (number > 0)
      key = b.minS(b.add(key, b.mul(part, number)), b.sub(high, 1));
    values.set(body.getArgument(1), {key});
    auto &known = ofKeys.emplace_back();
    known.push_back({body.getArgument(1), {key}});
    for (Operation *op : keyOps) {
      if (failed(values.emit(*op)))
        return failure();
      for (Value result : op->getResults())
        known.push_back({result, values.get(result)});
    }
  }
  scf::ForOp rows = enter(get(range.getLows()[0]), get(range.getHighs()[0]),
                          getInits(getState(keys.getRegionIterArgs())));
  values.set(body.getArgument(0), {rows.getInductionVar()});
  if (failed(emitOps(OfRow)))
    return failure();
  ValueRange carried = rows.getRegionIterArgs();
  SmallVector<Value> now = getRowValues();
  scf::IfOp branch;
  if (!now.empty()) {
    Value isSame = emitIsSame(carried, now);
    branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isSame,
                               /*withElseRegion=*/true);
    yield(
        include(builder, loc, getState(carried), getState(branch.getResults())),
        now);
    builder.setInsertionPointToStart(branch.thenBlock());
    yield(ends);
    builder.setInsertionPointToStart(branch.elseBlock());
  }
  MinMax found;
  for (auto &known : ofKeys) {
    for (auto &[value, of] : known)
      values.set(value, of);
    for (Operation *op : pairOps)
      if (failed(values.emit(*op)))
        return failure();
    MinMax element = getElement();
    found = found.first ? include(builder, loc, found, element) : element;
  }
  yield(branch ? found : include(builder, loc, getState(carried), found));
  builder.setInsertionPointAfter(rows);
  yield(getState(rows.getResults()));
  return getState(keys.getResults());
}

FailureOr<MinMax> mlir::attn::emitRangeOver(OpBuilder &builder,
                                            RangeOverOp range,
                                            RegionVectorizer &values,
                                            std::optional<int64_t> keysAtOnce) {
  RangeOverLoops loops(builder, range, values);
  if (range.getLows().size() == 1)
    return loops.emitOne();
  return keysAtOnce ? loops.emitSharedPairs(*keysAtOnce) : loops.emitPairs();
}
