//===- RangeOverLoops.cpp - Loops over what is computed for positions -----===//
//
// Of pairs of a tile, what they share is computed once. On a CPU a core looks
// at rows in turn, and no further once nothing else matters. On a GPU the
// threads of a warp share out the keys: a tile costs the time that its reads
// take, so that many of them wait together.
//
//===----------------------------------------------------------------------===//

#include "RangeLoops.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

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
  FailureOr<MinMax> emitSharedPairs(int64_t keysAtOnce, int64_t mostRows);

private:
  /// Rows and keys.
  struct Box {
    Value rowLow, rowHigh, keyLow, keyHigh;
  };
  /// What is known of a key.
  using KnownValues = SmallVector<std::pair<Value, TileValue>>;
  /// Rows that a word has bits for, as many as a warp has threads.
  static constexpr int64_t kWordRows = 32;

  /// What operations depend on, by number: those on the row alone, the key
  /// alone, both, or neither.
  enum Dependence { OfNeither, OfRow, OfKey, OfBoth };

  void findDependences();
  void findRowValues();
  LogicalResult emitOps(Dependence which);
  Value getLimit(Operation &op);
  void clampLimits();
  Value get(Value value) { return values.get(value).value; }
  MinMax getElement() {
    Value element = get(body.getTerminator()->getOperand(0));
    return {element, element};
  }
  MinMax getState(ValueRange carried) { return {carried[0], carried[1]}; }
  scf::ForOp enter(Value low, Value high, ValueRange inits, int64_t step = 1) {
    Value by = arith::ConstantIndexOp::create(builder, loc, step);
    auto loop = scf::ForOp::create(builder, loc, low, high, by, inits);
    builder.setInsertionPointToStart(loop.getBody());
    return loop;
  }
  void yield(MinMax state, ValueRange others = {}) {
    SmallVector<Value> yielded = {state.first, state.second};
    llvm::append_range(yielded, others);
    scf::YieldOp::create(builder, loc, yielded);
  }
  Value toIndex(Value count) {
    return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                      count);
  }
  SmallVector<Value> getInits(MinMax state);
  SmallVector<Value> getRowValues();
  Value getBits(Value value);
  Value emitIsSame(ValueRange carried, ValueRange now);
  Value emitIsKnown(MinMax state);
  FailureOr<SmallVector<KnownValues>> emitKeys(ValueRange keys);
  FailureOr<MinMax> emitBox(ValueRange rows, ArrayRef<KnownValues> keys,
                            MinMax state);
  int64_t getRowsAtOnce(int64_t keysAtOnce);
  FailureOr<MinMax> emitBoxes(const Box &box, int64_t rowsAtOnce,
                              int64_t keysAtOnce);
  FailureOr<Value> emitNewRows(const Box &box, int64_t first);
  FailureOr<MinMax> emitNewRowPairs(const Box &box, int64_t keysAtOnce,
                                    int64_t mostRows);

  OpBuilder &builder;
  Location loc;
  RangeOverOp range;
  Block &body;
  RegionVectorizer &values;
  Type type;
  /// Of no element: the largest number, and the least one.
  MinMax ends;
  llvm::DenseMap<Operation *, Dependence> dependences;
  /// What rows and keys are compared with, clamped.
  llvm::DenseMap<Value, Value> limits;
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
  for (Operation &op : body.without_terminator()) {
    if (dependences.at(&op) != which)
      continue;
    // To a comparison the limit is the clamped one.
    Value limit = getLimit(op), clamped = limits.lookup(limit);
    TileValue whole = clamped ? values.get(limit) : TileValue();
    if (clamped)
      values.set(limit, {clamped});
    if (failed(values.emit(op)))
      return failure();
    if (clamped)
      values.set(limit, whole);
  }
  return success();
}

/// What a row or a key is compared with, if that is the same for all; or null.
Value RangeOverLoops::getLimit(Operation &op) {
  auto comparison = dyn_cast<arith::CmpIOp>(op);
  // Those behind are without a sign.
  if (!comparison || !comparison.getLhs().getType().isIndex() ||
      comparison.getPredicate() > arith::CmpIPredicate::sge)
    return {};
  auto isPosition = [&](Value value) {
    return llvm::is_contained(body.getArguments(), value);
  };
  auto isSame = [&](Value value) {
    Operation *of = value.getDefiningOp();
    auto known = of ? dependences.find(of) : dependences.end();
    return !isPosition(value) &&
           (known == dependences.end() || known->second == OfNeither);
  };
  Value lhs = comparison.getLhs(), rhs = comparison.getRhs();
  return isPosition(lhs) && isSame(rhs)   ? rhs
         : isPosition(rhs) && isSame(lhs) ? lhs
                                          : Value();
}

/// Positions are not negative, and below the largest number of 32 bits: so a
/// GPU compares them in 32 bits with any number, of which no more than that
/// matters.
void RangeOverLoops::clampLimits() {
  ScalarBuilder b(loc, builder);
  for (Operation &op : body)
    if (Value limit = getLimit(op);
        limit && !matchPattern(limit, m_Constant()) && !limits.contains(limit))
      limits[limit] = b.maxS(b.minS(get(limit), INT32_MAX), -1);
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

/// Emits what belongs to each of some keys. Each list holds the values of one.
FailureOr<SmallVector<RangeOverLoops::KnownValues>>
RangeOverLoops::emitKeys(ValueRange keys) {
  SmallVector<KnownValues> list;
  for (Value key : keys) {
    values.set(body.getArgument(1), {key});
    if (failed(emitOps(OfKey)))
      return failure();
    KnownValues &known = list.emplace_back();
    known.push_back({body.getArgument(1), {key}});
    for (Operation &op : body.without_terminator())
      if (dependences.at(&op) == OfKey)
        for (Value result : op.getResults())
          known.push_back({result, values.get(result)});
  }
  return list;
}

/// The range over some rows and keys, where `state` is that of others.
FailureOr<MinMax> RangeOverLoops::emitBox(ValueRange rows,
                                          ArrayRef<KnownValues> keys,
                                          MinMax state) {
  MinMax found;
  for (Value row : rows) {
    values.set(body.getArgument(0), {row});
    if (failed(emitOps(OfRow)))
      return failure();
    for (const KnownValues &known : keys) {
      for (auto &[value, of] : known)
        values.set(value, of);
      if (failed(emitOps(OfBoth)))
        return failure();
      MinMax element = getElement();
      found = found.first ? include(builder, loc, found, element) : element;
    }
  }
  return include(builder, loc, state, found);
}

/// How many rows are worth to be taken at a time, whose reads wait together:
/// those of pairs that are a few operations. Others do not wait for long,
/// beside what they compute.
int64_t RangeOverLoops::getRowsAtOnce(int64_t keysAtOnce) {
  constexpr int64_t mostRows = 4, mostOps = 64;
  int64_t numReads = 0, numOps = 0;
  for (Operation &op : body.without_terminator())
    if (dependences.at(&op) == OfBoth)
      op.walk([&](Operation *inner) {
        numReads += isa<tensor::ExtractOp>(inner);
        ++numOps;
      });
  if (numReads == 0)
    return 1;
  return std::clamp<int64_t>(mostOps / (numOps * keysAtOnce), 1, mostRows);
}

/// Each thread has some keys that follow each other, and takes some rows at a
/// time, so that reads of a captured tensor wait together. Behind the last key
/// or row, those in front of it are taken again: there are as many at least.
FailureOr<MinMax> RangeOverLoops::emitBoxes(const Box &box, int64_t rowsAtOnce,
                                            int64_t keysAtOnce) {
  OpBuilder::InsertionGuard guard(builder);
  auto getPositions = [&](Value first, Value end, int64_t count) {
    ScalarBuilder b(loc, builder);
    if (count > 1)
      first = b.minS(first, b.sub(end, count));
    SmallVector<Value> positions = {first};
    for (int64_t number = 1; number < count; ++number)
      positions.push_back(b.add(first, number));
    return positions;
  };
  scf::ForOp keys =
      enter(box.keyLow, box.keyHigh, {ends.first, ends.second}, keysAtOnce);
  FailureOr<SmallVector<KnownValues>> ofKeys =
      emitKeys(getPositions(keys.getInductionVar(), box.keyHigh, keysAtOnce));
  if (failed(ofKeys))
    return failure();
  scf::ForOp rows =
      enter(box.rowLow, box.rowHigh, keys.getRegionIterArgs(), rowsAtOnce);
  FailureOr<MinMax> found =
      emitBox(getPositions(rows.getInductionVar(), box.rowHigh, rowsAtOnce),
              *ofKeys, getState(rows.getRegionIterArgs()));
  if (failed(found))
    return failure();
  yield(*found);
  builder.setInsertionPointAfter(rows);
  yield(getState(rows.getResults()));
  return getState(keys.getResults());
}

/// Of 32 rows, which have other values than the row in front of them, as bits:
/// of each row, a thread finds that out.
FailureOr<Value> RangeOverLoops::emitNewRows(const Box &box, int64_t first) {
  OpBuilder::InsertionGuard guard(builder);
  ScalarBuilder outside(loc, builder);
  Value begin = first == 0 ? box.rowLow : outside.add(box.rowLow, first);
  Value end = outside.minS(outside.add(begin, kWordRows), box.rowHigh);
  scf::ForOp rows = enter(begin, end, outside.i32(0));
  Value row = rows.getInductionVar();
  auto getValuesOf = [&](Value row) -> FailureOr<SmallVector<Value>> {
    values.set(body.getArgument(0), {row});
    if (failed(emitOps(OfRow)))
      return failure();
    return llvm::map_to_vector(
        rowValues, [&](Value value) { return getBits(get(value)); });
  };
  ScalarBuilder b(loc, builder);
  FailureOr<SmallVector<Value>> now = getValuesOf(row),
                                before = getValuesOf(
                                    b.maxS(b.sub(row, 1), box.rowLow));
  if (failed(now) || failed(before))
    return failure();
  Value isNew = b.eq(row, box.rowLow);
  for (auto [own, other] : llvm::zip_equal(*now, *before))
    isNew = b.orI(isNew, b.ne(own, other));
  Value bit = b.shl(b.i32(1), b.toI32(b.sub(row, begin)));
  bit = b.select(isNew, bit, b.i32(0));
  scf::YieldOp::create(
      b, ValueRange{b.orI(rows.getRegionIterArgs().front(), bit)});
  return rows.getResult(0);
}

/// Rows that have the same values as the one in front of them have the same
/// elements. The others are known in front of the loop over keys, so that only
/// these are visited.
FailureOr<MinMax> RangeOverLoops::emitNewRowPairs(const Box &box,
                                                  int64_t keysAtOnce,
                                                  int64_t mostRows) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Value> words;
  for (int64_t first = 0; first < mostRows; first += kWordRows) {
    FailureOr<Value> word = emitNewRows(box, first);
    if (failed(word))
      return failure();
    words.push_back(*word);
  }
  scf::ForOp keys =
      enter(box.keyLow, box.keyHigh, {ends.first, ends.second}, keysAtOnce);
  ScalarBuilder b(loc, builder);
  // Behind the last key that is there, it is taken again.
  SmallVector<Value> positions = {keys.getInductionVar()};
  for (int64_t number = 1; number < keysAtOnce; ++number)
    positions.push_back(
        b.minS(b.add(positions.front(), number), b.sub(box.keyHigh, 1)));
  FailureOr<SmallVector<KnownValues>> ofKeys = emitKeys(positions);
  if (failed(ofKeys))
    return failure();
  scf::ForOp all =
      enter(b.index(0), b.index(words.size()), keys.getRegionIterArgs());
  ScalarBuilder ofWord(loc, builder);
  Value number = all.getInductionVar(), word = words.front();
  for (auto [which, other] : llvm::drop_begin(llvm::enumerate(words)))
    word = ofWord.select(ofWord.eq(number, which), other, word);
  Value begin = ofWord.add(box.rowLow, ofWord.mul(number, kWordRows));
  SmallVector<Value> inits(all.getRegionIterArgs());
  inits.push_back(word);
  scf::ForOp rows = enter(ofWord.index(0),
                          toIndex(math::CtPopOp::create(ofWord, word)), inits);
  ScalarBuilder ofRow(loc, builder);
  Value left = rows.getRegionIterArgs().back();
  Value place = toIndex(math::CountTrailingZerosOp::create(ofRow, left));
  Value row = ofRow.add(begin, ofRow.andI(place, kWordRows - 1));
  left = ofRow.andI(left, ofRow.sub(left, 1));
  FailureOr<MinMax> found =
      emitBox(row, *ofKeys, getState(rows.getRegionIterArgs()));
  if (failed(found))
    return failure();
  yield(*found, left);
  builder.setInsertionPointAfter(rows);
  yield(getState(rows.getResults()));
  builder.setInsertionPointAfter(all);
  yield(getState(all.getResults()));
  return getState(keys.getResults());
}

/// Threads share out the loop over keys, and compute once what belongs to
/// their keys, of which each has several, so that what belongs to a row is
/// computed for fewer.
FailureOr<MinMax> RangeOverLoops::emitSharedPairs(int64_t keysAtOnce,
                                                  int64_t mostRows) {
  findDependences();
  findRowValues();
  if (failed(emitOps(OfNeither)))
    return failure();
  clampLimits();
  // All is within the tile. What a loop counts up to is known to be a
  // position, so that 32 bits hold it.
  ScalarBuilder b(loc, builder);
  Region &tiles = *range->getParentRegion();
  Box box;
  box.rowHigh = b.minS(get(range.getHighs()[0]), get(tiles.getArgument(3)));
  box.keyHigh = b.minS(get(range.getHighs()[1]), get(tiles.getArgument(5)));
  box.rowLow = b.minS(get(range.getLows()[0]), box.rowHigh);
  box.keyLow = b.minS(get(range.getLows()[1]), box.keyHigh);
  if (!rowValues.empty())
    return emitNewRowPairs(box, keysAtOnce, mostRows);
  int64_t rowsAtOnce = getRowsAtOnce(keysAtOnce);
  if (rowsAtOnce == 1 && keysAtOnce == 1)
    return emitBoxes(box, rowsAtOnce, keysAtOnce);
  Value isLarge = b.andI(b.sge(b.sub(box.rowHigh, box.rowLow), rowsAtOnce),
                         b.sge(b.sub(box.keyHigh, box.keyLow), keysAtOnce));
  auto branch = scf::IfOp::create(builder, loc, TypeRange{type, type}, isLarge,
                                  /*withElseRegion=*/true);
  for (bool isMany : {true, false}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isMany ? branch.thenBlock()
                                            : branch.elseBlock());
    FailureOr<MinMax> found =
        emitBoxes(box, isMany ? rowsAtOnce : 1, isMany ? keysAtOnce : 1);
    if (failed(found))
      return failure();
    yield(*found);
  }
  return getState(branch.getResults());
}

FailureOr<MinMax> mlir::attn::emitRangeOver(OpBuilder &builder,
                                            RangeOverOp range,
                                            RegionVectorizer &values,
                                            std::optional<SharedTile> shared) {
  RangeOverLoops loops(builder, range, values);
  if (range.getLows().size() == 1)
    return loops.emitOne();
  // The rows of a tile are numbered from its first one on.
  Region &tiles = *range->getParentRegion();
  bool isOfTile = range.getLows()[0] == tiles.getArgument(2);
  return shared && isOfTile
             ? loops.emitSharedPairs(shared->keysAtOnce, shared->mostRows)
             : loops.emitPairs();
}
