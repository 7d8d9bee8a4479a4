//===- RowKernelKeys.cpp - The loop over a list of keys -------------------===//

#include "RowKernel.h"
#include "ScalarMath.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/LLVMIR/NVVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/LoopInvariantCodeMotionUtils.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Bytes that a lane reads at a time.
static constexpr int64_t kChunkBytes = 16;

//===----------------------------------------------------------------------===//
// Columns of a lane
//===----------------------------------------------------------------------===//

static int64_t getNumElements(Type element) {
  return kChunkBytes * 8 / element.getIntOrFloatBitWidth();
}

int64_t RowKernel::getNumChunks(Type element, int64_t numColumns) const {
  return llvm::divideCeil(numColumns, lanes * getNumElements(element));
}

/// The first column of a chunk in this lane, as i32.
Value RowKernel::getColumnOffset(int64_t chunk, int64_t numElements) {
  Value first = b.mul(laneInGroup, numElements);
  if (chunk == 0)
    return first;
  return b.add(first, chunk * lanes * numElements);
}

/// Whether this lane has columns of a chunk, or null if all lanes do.
Value RowKernel::isInColumns(int64_t chunk, int64_t numElements,
                             int64_t numColumns) {
  if ((chunk + 1) * lanes * numElements <= numColumns)
    return {};
  return b.ult(getColumnOffset(chunk, numElements), numColumns);
}

/// Whether an element of a chunk is in the row, or null if that is known of the
/// chunk as a whole.
Value RowKernel::isInRow(int64_t chunk, int64_t numElements, int64_t number,
                         int64_t numColumns) {
  if (numColumns % numElements == 0)
    return {};
  Value column = b.add(getColumnOffset(chunk, numElements), number);
  return b.ult(column, numColumns);
}

Value RowKernel::isAligned(unsigned argument, unsigned columnDim) {
  auto type = cast<RankedTensorType>(function.getArgument(argument).getType());
  if (columnDim + 1 != type.getRank())
    return b.i1(false);
  Value bits =
      LLVM::PtrToIntOp::create(b, b.getI64Type(), getPointer(argument));
  int64_t bytes = type.getElementTypeBitWidth() / 8;
  // The last piece of a row has all its elements.
  if (type.getDimSize(columnDim) * bytes % kChunkBytes != 0)
    return b.i1(false);
  for (unsigned dim = 0; dim < columnDim; ++dim)
    bits = b.orI(bits, b.mul(getStride(argument, dim), bytes));
  bits = b.andI(bits, kChunkBytes - 1);
  return b.eq(bits, 0);
}

RowKernel::Columns RowKernel::loadChunk(Value pointer, Value condition,
                                        Type element) {
  SmallVector<Type> words(4, b.getI32Type());
  // Not read unless the predicate holds.
  Value loaded = emitPureAsm(
      b,
      "{ mov.b32 $0, 0; mov.b32 $1, 0; mov.b32 $2, 0; mov.b32 $3, 0; "
      "@$5 ld.global.nc.v4.b32 {$0, $1, $2, $3}, [$4]; }",
      "=&r,=&r,=&r,=&r,l,b", ValueRange{pointer, condition},
      LLVM::LLVMStructType::getLiteral(b.getContext(), words));
  Columns list;
  for (int64_t number = 0; number < 4; ++number) {
    Value word = LLVM::ExtractValueOp::create(b, loaded, number);
    if (element.isF32()) {
      list.push_back(LLVM::BitcastOp::create(b, element, word));
    } else if (element.isBF16()) {
      // The upper half of a float.
      for (Value bits : {b.shl(word, 16), b.andI(word, 0xFFFF0000)})
        list.push_back(LLVM::BitcastOp::create(b, b.getF32Type(), bits));
    } else {
      Value both =
          LLVM::BitcastOp::create(b, VectorType::get({2}, element), word);
      for (int64_t half : {0, 1})
        list.push_back(LLVM::FPExtOp::create(
            b, b.getF32Type(),
            LLVM::ExtractElementOp::create(b, both, b.i32(half))));
    }
  }
  return list;
}

RowKernel::Columns RowKernel::loadColumns(const GatheredRows &rows,
                                          Value pointer, Value condition) {
  Type element = rows.elementType;
  int64_t numElements = getNumElements(element);
  int64_t bytes = element.getIntOrFloatBitWidth() / 8;
  auto type =
      cast<RankedTensorType>(function.getArgument(rows.argument).getType());
  Columns list;
  int64_t numChunks = getNumChunks(element, rows.numColumns);
  for (int64_t chunk = 0; chunk < numChunks; ++chunk) {
    Value active = condition;
    if (Value inColumns = isInColumns(chunk, numElements, rows.numColumns))
      active = b.andI(active, inColumns);
    int64_t first = chunk * lanes * numElements;
    if (isWide) {
      Value at = offsetPointer(pointer, b.i64(first * bytes));
      llvm::append_range(list, loadChunk(at, active, element));
      continue;
    }
    for (int64_t e = 0; e < numElements; ++e) {
      Value offset = b.i64((first + e) * bytes);
      if (rows.columnDim + 1 != type.getRank())
        offset = b.mul(offset, getStride(rows.argument, rows.columnDim));
      Value exists = active;
      if (Value inRow = isInRow(chunk, numElements, e, rows.numColumns))
        exists = b.andI(active, inRow);
      Value value = emitLoad(offsetPointer(pointer, offset), exists, element);
      if (!element.isF32())
        value = arith::ExtFOp::create(b, b.getF32Type(), value);
      list.push_back(value);
    }
  }
  return list;
}

//===----------------------------------------------------------------------===//
// Rows of a step
//===----------------------------------------------------------------------===//

FailureOr<RowKernel::GatheredRows>
RowKernel::getRows(vector::ContractionOp op) {
  // Rows are converted to f32 where they are read.
  Value tile = op.getLhs();
  if (auto extend = tile.getDefiningOp<arith::ExtFOp>())
    tile = extend.getIn();
  auto gather = tile.getDefiningOp<GatherRowsOp>();
  if (!gather)
    return op.emitError("expects a product with rows of attn.gather_rows");
  FailureOr<unsigned> argument = getArgument(gather.getSource(), op);
  if (failed(argument))
    return failure();
  auto type = cast<VectorType>(gather.getType());
  GatheredRows rows;
  rows.argument = *argument;
  rows.elementType = type.getElementType();
  rows.numColumns = type.getDimSize(1);
  rows.rowDim = gather.getRowDim();
  rows.columnDim = gather.getColumnDim();
  rows.rows = gather.getRows();
  rows.mask = gather.getMask();
  if (!isa<BFloat16Type, Float16Type, Float32Type>(rows.elementType))
    return op.emitError("expects keys and values of bf16, f16 or f32 on a "
                        "GPU, but got ")
           << rows.elementType << "; convert them" << otherTarget;
  SmallVector<Value> position;
  for (Value index : gather.getPosition())
    position.push_back(index ? toI64(mapping.lookup(index)) : b.i64(0));
  position[rows.columnDim] =
      b.zext64(getColumnOffset(0, getNumElements(rows.elementType)));
  rows.pointer = getAddress(rows.argument, position);
  return rows;
}

/// The position of the key that this lane has, or -1.
Value RowKernel::getOwnKey(const GatheredRows &rows) {
  Value own = b.trunc32(toI64(mapping.lookup(rows.rows)));
  return b.select(mapping.lookup(rows.mask), own, b.i32(-1));
}

ArrayRef<Value> RowKernel::getKeys(const GatheredRows &rows) {
  SmallVector<Value> &keys = stepKeys[{rows.rows, rows.mask}];
  if (!keys.empty())
    return keys;
  Value own = getOwnKey(rows);
  Value first = b.sub(lane, laneInGroup);
  for (int64_t substep = 0; substep < lanes; ++substep)
    keys.push_back(shuffle(own, b.add(first, substep),
                           /*isXor=*/false));
  return keys;
}

RowKernel::Columns RowKernel::loadRow(const GatheredRows &rows, Value key) {
  Value exists = b.sge(key, 0);
  int64_t bytes = rows.elementType.getIntOrFloatBitWidth() / 8;
  auto type =
      cast<RankedTensorType>(function.getArgument(rows.argument).getType());
  Value rowBytes = b.i64(bytes);
  if (rows.rowDim + 1 != type.getRank())
    rowBytes = b.mul(getStride(rows.argument, rows.rowDim), rowBytes);
  Value pointer = offsetPointer(rows.pointer, b.mul(b.zext64(key), rowBytes));
  return loadColumns(rows, pointer, exists);
}

//===----------------------------------------------------------------------===//
// Products and softmax
//===----------------------------------------------------------------------===//

LogicalResult RowKernel::loadQuery(vector::ContractionOp op) {
  Value query = op.getRhs();
  if (auto cast = query.getDefiningOp<vector::ShapeCastOp>())
    query = cast.getSource();
  if (auto extend = query.getDefiningOp<arith::ExtFOp>())
    query = extend.getIn();
  auto read = query.getDefiningOp<vector::TransferReadOp>();
  if (!read)
    return op.emitError("expects a product with a query that is read as "
                        "attn-tile does");
  FailureOr<unsigned> argument = getArgument(read.getBase(), read);
  if (failed(argument))
    return failure();
  GatheredRows row;
  row.argument = *argument;
  row.elementType = read.getVectorType().getElementType();
  row.numColumns = read.getVectorType().getDimSize(0);
  row.columnDim = read.getPermutationMap().getDimPosition(0);
  SmallVector<Value> position;
  for (Value index : read.getIndices())
    position.push_back(toI64(mapping.lookup(index)));
  position[row.columnDim] =
      b.zext64(getColumnOffset(0, getNumElements(row.elementType)));
  Value exists = b.i1(true);
  if (Value mask = read.getMask())
    exists = mapping.lookup(mask);
  columns[op.getRhs()] =
      loadColumns(row, getAddress(row.argument, position), exists);
  return success();
}

/// A loop over the keys of a step, of each of which all lanes have a part.
SmallVector<Value> RowKernel::emitEachKey(
    ValueRange inits,
    function_ref<SmallVector<Value>(Value number, ValueRange carried)> body) {
  auto loop = scf::ForOp::create(b, b.i32(0), b.i32(lanes), b.i32(1), inits);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(loop.getBody());
  scf::YieldOp::create(b,
                       body(loop.getInductionVar(), loop.getRegionIterArgs()));
  return loop.getResults();
}

LogicalResult RowKernel::emitProducts(vector::ContractionOp op,
                                      const GatheredRows &rows) {
  const Columns query = columns.lookup(op.getRhs());
  auto multiply = [&](Value key) {
    Value sum;
    for (auto [q, k] : llvm::zip_equal(query, loadRow(rows, key)))
      sum = sum ? LLVM::FMAOp::create(b, b.getF32Type(), q, k, sum).getResult()
                : b.mul(q, k);
    return sum;
  };
  if (hasKeyLoops()) {
    Value own = getOwnKey(rows);
    auto body = [&](Value number, ValueRange carried) -> SmallVector<Value> {
      Value sum = multiply(shuffle(own, number, /*isXor=*/false));
      for (int64_t distance = lanes / 2; distance >= 1; distance /= 2)
        sum = b.add(sum, shuffleXor(sum, distance));
      return {b.select(b.eq(number, lane), sum, carried[0])};
    };
    mapping.map(op.getResult(), emitEachKey(b.f32(0), body)[0]);
    return success();
  }
  SmallVector<Value> sums;
  for (int64_t substep = 0; substep < lanes; ++substep)
    sums.push_back(multiply(getKeys(rows)[substep]));
  // In each round, lanes that differ in one bit each keep one half of the sums.
  for (int64_t distance = lanes / 2; distance >= 1; distance /= 2) {
    Value bit = b.andI(lane, distance);
    Value isUpper = b.ne(bit, 0);
    for (int64_t number = 0; number < distance; ++number) {
      Value low = sums[number], high = sums[number + distance];
      Value kept = b.select(isUpper, high, low);
      Value sent = b.select(isUpper, low, high);
      sums[number] = b.add(kept, shuffleXor(sent, distance));
    }
  }
  mapping.map(op.getResult(), sums[0]);
  return success();
}

LogicalResult RowKernel::emitValues(vector::ContractionOp op,
                                    const GatheredRows &rows) {
  Columns acc = columns.lookup(op.getAcc());
  Value probability = mapping.lookup(op.getRhs());
  auto add = [&](MutableArrayRef<Value> sums, Value number, Value key) {
    Value weight = shuffle(probability, number, /*isXor=*/false);
    for (auto [sum, v] : llvm::zip_equal(sums, loadRow(rows, key)))
      sum = LLVM::FMAOp::create(b, b.getF32Type(), weight, v, sum);
  };
  if (hasKeyLoops()) {
    Value own = getOwnKey(rows);
    auto body = [&](Value number, ValueRange carried) {
      SmallVector<Value> sums(carried);
      add(sums, number, shuffle(own, number, /*isXor=*/false));
      return sums;
    };
    acc = emitEachKey(acc, body);
  } else {
    Value first = b.sub(lane, laneInGroup);
    for (int64_t substep = 0; substep < lanes; ++substep)
      add(acc, b.add(first, substep), getKeys(rows)[substep]);
  }
  columns[op.getResult()] = acc;
  return success();
}

LogicalResult RowKernel::emitContract(vector::ContractionOp op) {
  FailureOr<GatheredRows> rows = getRows(op);
  if (failed(rows))
    return failure();
  // Values have as many rows as keys, which scores may not depend on.
  if (!keyArgument) {
    keyArgument = rows->argument;
    keyDim = rows->rowDim;
  }
  return columns.contains(op.getAcc()) ? emitValues(op, *rows)
                                       : emitProducts(op, *rows);
}

/// What this lane has of a column with an element for each key of a step. One
/// that is the same for all keys need not be a vector before.
FailureOr<Value> RowKernel::getOfKey(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>())
    return getOfKey(broadcast.getSource());
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(b, constant.getSplatValue<TypedAttr>())
        .getResult();
  return emitError(
      value.getLoc(),
      "a value of the keys of a query has no form in a GPU kernel");
}

/// The maximum is that of the warp; sums are those of this lane.
LogicalResult RowKernel::emitStep(OnlineStepOp op) {
  FailureOr<Value> known = getOfKey(op.getScores());
  if (failed(known))
    return failure();
  Value scores = *known;
  if (double factor = op.getFactor().convertToDouble(); factor != 1)
    scores = b.mul(scores, b.f32(factor));
  Value max = mapping.lookup(op.getMax()), sum = mapping.lookup(op.getSum());
  Value newMax = scores;
  for (int64_t distance = 1; distance < hopper::kWarpThreads; distance *= 2)
    newMax = arith::MaxNumFOp::create(b, newMax, shuffleXor(newMax, distance));
  newMax = arith::MaxNumFOp::create(b, newMax, max);
  Value isEmpty = b.cmp(arith::CmpFPredicate::OEQ, newMax, b.f32(-INFINITY));
  Value shift = b.select(isEmpty, b.f32(0), newMax);
  auto power = [&](Value x) -> Value {
    return LLVM::CallIntrinsicOp::create(
               b, b.getF32Type(),
               b.getStringAttr("llvm.nvvm.ex2.approx.ftz.f32"),
               ValueRange{b.sub(x, shift)})
        .getResult(0);
  };
  Value rescale = power(max), probability = power(scores);
  mapping.map(op.getProbabilities(), probability);
  mapping.map(op.getNewMax(), newMax);
  mapping.map(op.getNewSum(),
              LLVM::FMAOp::create(b, b.getF32Type(), sum, rescale, probability)
                  .getResult());
  Columns acc;
  for (Value element : columns.lookup(op.getAcc()))
    acc.push_back(b.mul(element, rescale));
  columns[op.getNewAcc()] = acc;
  return success();
}

//===----------------------------------------------------------------------===//
// Loop
//===----------------------------------------------------------------------===//

/// The loop over the list; gives max, sum and the accumulator, of which the
/// latter two are still to be added up.
FailureOr<SmallVector<Value>> RowKernel::emitKeyLoop(scf::ForOp op,
                                                     int64_t numOwn) {
  stepKeys.clear();
  for (auto contract : op.getOps<vector::ContractionOp>())
    if (contract.getRhs().getParentBlock() != op.getBody() &&
        failed(loadQuery(contract)))
      return failure();
  SmallVector<Value> inits = {b.f32(-INFINITY), b.f32(0)};
  inits.append(numOwn, b.f32(0));
  Value lower = mapping.lookup(op.getLowerBound());
  Value upper = mapping.lookup(op.getUpperBound());
  Value step = b.index(hopper::kWarpThreads);
  auto loop = scf::ForOp::create(b, lower, upper, step, inits);
  {
    OpBuilder::InsertionGuard guard(b);
    b.setInsertionPointToStart(loop.getBody());
    mapping.map(op.getInductionVar(), loop.getInductionVar());
    mapping.map(op.getRegionIterArg(1), loop.getRegionIterArg(0));
    mapping.map(op.getRegionIterArg(2), loop.getRegionIterArg(1));
    columns[op.getRegionIterArg(0)] =
        Columns(loop.getRegionIterArgs().drop_front(2));
    if (failed(emitBlock(*op.getBody())))
      return failure();
    auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
    SmallVector<Value> next = {mapping.lookup(yield.getOperand(1)),
                               mapping.lookup(yield.getOperand(2))};
    llvm::append_range(next, columns.lookup(yield.getOperand(0)));
    scf::YieldOp::create(b, next);
  }
  moveLoopInvariantCode(cast<LoopLikeOpInterface>(loop.getOperation()));
  return SmallVector<Value>(loop.getResults());
}

LogicalResult RowKernel::emitKeys(scf::ForOp op) {
  // Where the maximum may start as a number, it is that of the scores here.
  if (op.getNumRegionIterArgs() != 3 ||
      !op.getInitArgs()[0].getDefiningOp<OnlineStartOp>() ||
      op.getInitArgs() != op.getInitArgs()[0].getDefiningOp()->getResults())
    return op.emitError("expects a loop over a list of keys that starts from "
                        "the neutral state on a GPU")
           << otherTarget;
  Value aligned;
  auto require = [&](Value source, unsigned columnDim) -> LogicalResult {
    FailureOr<unsigned> argument = getArgument(source, op);
    if (failed(argument))
      return failure();
    Value own = isAligned(*argument, columnDim);
    aligned = aligned ? b.andI(aligned, own) : own;
    return success();
  };
  // Elements of the accumulator in this lane.
  int64_t numOwn = 0;
  for (auto contract : op.getOps<vector::ContractionOp>()) {
    FailureOr<GatheredRows> rows = getRows(contract);
    if (succeeded(rows) && contract.getRhs().getParentBlock() == op.getBody())
      numOwn = getNumChunks(rows->elementType, rows->numColumns) *
               getNumElements(rows->elementType);
    if (failed(rows) ||
        failed(require(function.getArgument(rows->argument), rows->columnDim)))
      return failure();
  }
  for (auto read : grid.getOps<vector::TransferReadOp>())
    if (failed(require(read.getBase(),
                       read.getPermutationMap().getDimPosition(0))))
      return failure();

  // The same twice: rows that are aligned to 16 bytes, as a rule, and others.
  SmallVector<Type> types(2 + numOwn, b.getF32Type());
  auto branch = scf::IfOp::create(b, types, aligned, /*withElseRegion=*/true);
  for (bool wide : {true, false}) {
    isWide = wide;
    b.setInsertionPointToStart(wide ? branch.thenBlock() : branch.elseBlock());
    FailureOr<SmallVector<Value>> state = emitKeyLoop(op, numOwn);
    if (failed(state))
      return failure();
    scf::YieldOp::create(b, *state);
  }
  SmallVector<Value> results(branch.getResults());
  b.setInsertionPointAfter(branch);
  for (int64_t distance = 1; distance < hopper::kWarpThreads; distance *= 2)
    results[1] = b.add(results[1], shuffleXor(results[1], distance));
  for (Value &element : llvm::drop_begin(results, 2))
    for (int64_t distance = lanes; distance < hopper::kWarpThreads;
         distance *= 2)
      element = b.add(element, shuffleXor(element, distance));
  mapping.map(op.getResult(1), results[0]);
  mapping.map(op.getResult(2), results[1]);
  columns[op.getResult(0)] = Columns(ArrayRef(results).drop_front(2));
  return success();
}
