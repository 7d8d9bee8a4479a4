//===- RowProducts.cpp - Products of a query and gathered rows ------------===//

#include "RowLowering.h"
#include "TileEvaluator.h"
#include "Transpose.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace mlir;
using namespace mlir::attn;

/// Vectors of the accumulator that are in registers while keys go by.
static constexpr int64_t kMaxAccumulators = 4;
/// Vectors of a row that are written out rather than looped over.
static constexpr int64_t kMaxUnrolled = 8;

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

FailureOr<RowLowering::GatheredRows>
RowLowering::getRows(vector::ContractionOp op) {
  // Rows are converted to the type of products where they are read.
  Value tile = op.getLhs();
  if (auto extend = tile.getDefiningOp<arith::ExtFOp>())
    tile = extend.getIn();
  auto gather = tile.getDefiningOp<GatherRowsOp>();
  if (!gather)
    return op.emitError("expects a product with rows of attn.gather_rows");
  GatheredRows rows;
  rows.source = mapping.lookupOrDefault(gather.getSource());
  for (Value index : gather.getPosition())
    rows.position.push_back(index ? mapping.lookupOrDefault(index) : Value());
  rows.rowDim = gather.getRowDim();
  rows.columnDim = gather.getColumnDim();
  rows.numColumns = cast<VectorType>(gather.getType()).getDimSize(1);
  rows.rows = gather.getRows();
  rows.mask = gather.getMask();
  return rows;
}

RowLowering::StepRows RowLowering::getStepRows(const GatheredRows &rows) {
  StepRows &step = stepRows[{rows.rows, rows.mask}];
  if (step.buffer)
    return step;
  Value mask = mapping.lookupOrDefault(rows.mask);
  // Of a key that there is not, in the midst of others, the first row is read:
  // if there is one key there is a first.
  Value positions = mapping.lookupOrDefault(rows.rows);
  Value zeros = broadcast(index(0), positions.getType());
  Value safe = arith::SelectOp::create(builder, loc, mask, positions, zeros);
  step.buffer = allocate(numKeys, builder.getIndexType());
  store(safe, step.buffer, index(0));
  Type bitsType = builder.getIntegerType(numKeys);
  Value bits = vector::ExtractOp::create(
      builder, loc,
      vector::BitCastOp::create(builder, loc, VectorType::get({1}, bitsType),
                                mask),
      ArrayRef<int64_t>{0});
  Value zerosAhead = arith::IndexCastUIOp::create(
      builder, loc, builder.getIndexType(),
      math::CountLeadingZerosOp::create(builder, loc, bits));
  step.count = arith::SubIOp::create(builder, loc, index(numKeys), zerosAhead);
  return step;
}

int64_t RowLowering::getWidth(const GatheredRows &rows) {
  return isContiguous(rows.source, rows.columnDim) ? lanes : 1;
}

Value RowLowering::loadRow(const GatheredRows &rows, Value row, Value column,
                           int64_t width) {
  SmallVector<Value> position(rows.position);
  position[rows.rowDim] = row;
  position[rows.columnDim] = column;
  Type element = getElementTypeOrSelf(rows.source.getType());
  Value value = load(getType(element, width), rows.source, position);
  Type accType = getAccumulatorType(element);
  if (element == accType)
    return value;
  return arith::ExtFOp::create(builder, loc, getType(accType, width), value);
}

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

LogicalResult RowLowering::lowerProducts(vector::ContractionOp op,
                                         const GatheredRows &rows) {
  StepRows step = getStepRows(rows);
  Value query = buffers.lookup(op.getRhs());
  auto accType = cast<FloatType>(getElementTypeOrSelf(op.getType()));
  int64_t width = getWidth(rows);
  int64_t whole = rows.numColumns - rows.numColumns % width;
  Value products = allocate(numKeys, accType);

  Value zero = index(0);
  auto blocks =
      scf::ForOp::create(builder, loc, zero, step.count, index(lanes));
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(blocks.getBody());
    SmallVector<Value> numbers, positions;
    for (int64_t key = 0; key < lanes; ++key) {
      numbers.push_back(arith::AddIOp::create(
          builder, loc, blocks.getInductionVar(), index(key)));
      positions.push_back(
          load(builder.getIndexType(), step.buffer, numbers.back()));
    }
    /// Adds the products of some columns to the sums.
    auto addColumns = [&](Value column, int64_t width,
                          SmallVectorImpl<Value> &sums) {
      Value part = load(getType(accType, width), query, column);
      for (auto [sum, position] : llvm::zip_equal(sums, positions))
        sum = fma(loadRow(rows, position, column, width), part, sum);
    };
    auto addLoop = [&](int64_t first, int64_t end, int64_t width,
                       SmallVectorImpl<Value> &sums) {
      if ((end - first) / width <= kMaxUnrolled) {
        for (int64_t column = first; column < end; column += width)
          addColumns(index(column), width, sums);
        return;
      }
      Value begin = index(first), limit = index(end), by = index(width);
      auto columns = scf::ForOp::create(builder, loc, begin, limit, by, sums);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(columns.getBody());
      SmallVector<Value> inner(columns.getRegionIterArgs());
      addColumns(columns.getInductionVar(), width, inner);
      scf::YieldOp::create(builder, loc, inner);
      llvm::copy(columns.getResults(), sums.begin());
    };

    // Those that do not fill a vector are added one by one.
    SmallVector<Value> scalars(lanes, splat(accType, 0.0));
    if (whole != rows.numColumns || width == 1)
      addLoop(width == 1 ? 0 : whole, rows.numColumns, 1, scalars);
    if (width == 1) {
      for (auto [number, sum] : llvm::zip_equal(numbers, scalars))
        store(sum, products, number);
    } else {
      SmallVector<Value> sums(lanes, splat(getType(accType, width), 0.0));
      addLoop(0, whole, width, sums);
      Value total = emitSums(builder, loc, sums);
      if (whole != rows.numColumns)
        for (auto [lane, scalar] : llvm::enumerate(scalars)) {
          Value element = vector::ExtractOp::create(builder, loc, total, lane);
          element = arith::AddFOp::create(builder, loc, element, scalar);
          total = vector::InsertOp::create(builder, loc, element, total, lane);
        }
      store(total, products, blocks.getInductionVar());
    }
  }
  Type type = getType(accType, numKeys);
  if (!isa<VectorType>(type))
    type = VectorType::get({1}, accType);
  // Rows that there are not are 0.
  Value loaded = load(type, products, zero);
  mapping.map(op.getResult(),
              arith::SelectOp::create(builder, loc,
                                      mapping.lookupOrDefault(rows.mask),
                                      loaded, splat(type, 0.0))
                  .getResult());
  return success();
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

/// The accumulator in memory that a value with an element for each column is
/// computed of, element by element, and that it takes the place of.
FailureOr<Value> RowLowering::getUpdated(Value value) {
  SmallVector<Value> worklist = {value};
  while (!worklist.empty()) {
    Value current = worklist.pop_back_val();
    if (Value buffer = buffers.lookup(current))
      return buffer;
    Operation *op = current.getDefiningOp();
    if (op && OpTrait::hasElementwiseMappableTraits(op))
      llvm::append_range(worklist, op->getOperands());
  }
  return emitError(value.getLoc(), "expects a sum over keys to continue one");
}

LogicalResult RowLowering::lowerValues(vector::ContractionOp op,
                                       const GatheredRows &rows) {
  FailureOr<Value> acc = getUpdated(op.getAcc());
  FailureOr<Value> weights = getOfKeys(op.getRhs());
  if (failed(acc) || failed(weights))
    return failure();
  StepRows step = getStepRows(rows);
  auto accType = cast<FloatType>(getElementTypeOrSelf(op.getType()));
  Value probabilities = allocate(numKeys, accType);
  Value zero = index(0);
  store(*weights, probabilities, zero);
  Value evenCount = arith::AndIOp::create(builder, loc, step.count, index(-2));

  auto emit = [&](int64_t first, int64_t end, int64_t width,
                  int64_t numVectors) -> LogicalResult {
    if (first == end)
      return success();
    Value begin = index(first), limit = index(end);
    Value by = index(width * numVectors);
    Type type = getType(accType, width);
    auto columns = scf::ForOp::create(builder, loc, begin, limit, by);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(columns.getBody());
    SmallVector<Value> at, sums(numVectors);
    for (int64_t number = 0; number < numVectors; ++number)
      at.push_back(arith::AddIOp::create(
          builder, loc, columns.getInductionVar(), index(number * width)));
    // Two sums for each, as an addition takes longer than a key may; and those
    // of a step are added to acc as one number, as those of MicroKernel.cpp.
    SmallVector<Value> both(2 * numVectors, splat(type, 0.0));
    auto addKey = [&](Value key, SmallVectorImpl<Value> &sums, int64_t from) {
      Value weight = broadcast(load(accType, probabilities, key), type);
      Value row = load(builder.getIndexType(), step.buffer, key);
      for (auto [number, column] : llvm::enumerate(at)) {
        Value &sum = sums[from + number];
        sum = fma(weight, loadRow(rows, row, column, width), sum);
      }
    };
    auto emitKeys = [&](Value first, Value end, int64_t by,
                        SmallVectorImpl<Value> &sums) {
      auto keys = scf::ForOp::create(builder, loc, first, end, index(by), sums);
      OpBuilder::InsertionGuard guard(builder);
      builder.setInsertionPointToStart(keys.getBody());
      SmallVector<Value> next(keys.getRegionIterArgs());
      for (int64_t number = 0; number < by; ++number)
        addKey(arith::AddIOp::create(builder, loc, keys.getInductionVar(),
                                     index(number)),
               next, number * numVectors);
      scf::YieldOp::create(builder, loc, next);
      llvm::copy(keys.getResults(), sums.begin());
    };
    emitKeys(zero, evenCount, 2, both);
    for (int64_t number = 0; number < numVectors; ++number)
      sums[number] = arith::AddFOp::create(builder, loc, both[number],
                                           both[numVectors + number]);
    emitKeys(evenCount, step.count, 1, sums);
    for (auto [sum, column] : llvm::zip_equal(sums, at)) {
      FailureOr<Value> old = evaluateColumns(op.getAcc(), column, width);
      if (failed(old))
        return failure();
      store(arith::AddFOp::create(builder, loc, *old, sum), *acc, column);
    }
    return success();
  };
  int64_t width = getWidth(rows), numColumns = rows.numColumns;
  int64_t block = width * kMaxAccumulators;
  int64_t blocks = numColumns - numColumns % block;
  int64_t whole = numColumns - numColumns % width;
  if (failed(emit(0, blocks, width, kMaxAccumulators)) ||
      failed(emit(blocks, whole, width, 1)) ||
      failed(emit(whole, numColumns, 1, 1)))
    return failure();
  buffers[op.getResult()] = *acc;
  return success();
}

LogicalResult RowLowering::lowerContract(vector::ContractionOp op) {
  FailureOr<GatheredRows> rows = getRows(op);
  if (failed(rows))
    return failure();
  // The rows of the left-hand side are those of keys.
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  bool isOverKeys = maps[0].getResult(0) == maps[1].getResult(0);
  return isOverKeys ? lowerValues(op, *rows) : lowerProducts(op, *rows);
}
