//===- RowLowering.cpp - Queries with lists of keys on a CPU --------------===//

#include "RowLowering.h"
#include "TileEvaluator.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Short forms
//===----------------------------------------------------------------------===//

Value RowLowering::allocate(int64_t size, Type element) {
  // A cache line, which is also the widest vector.
  Value buffer = memref::AllocOp::create(scratchBuilder, loc,
                                         MemRefType::get({size}, element),
                                         scratchBuilder.getI64IntegerAttr(64));
  scratch.push_back(buffer);
  return buffer;
}

Value RowLowering::load(Type type, Value buffer, ValueRange position) {
  if (auto vector = dyn_cast<VectorType>(type))
    return vector::LoadOp::create(builder, loc, vector, buffer, position);
  return memref::LoadOp::create(builder, loc, buffer, position);
}

void RowLowering::store(Value value, Value buffer, ValueRange position) {
  if (isa<VectorType>(value.getType()))
    vector::StoreOp::create(builder, loc, value, buffer, position);
  else
    memref::StoreOp::create(builder, loc, value, buffer, position);
}

Value RowLowering::broadcast(Value value, Type type) {
  if (value.getType() == type)
    return value;
  return vector::BroadcastOp::create(builder, loc, type, value);
}

Value RowLowering::splat(Type type, double value) {
  TypedAttr attribute =
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), value);
  if (auto vector = dyn_cast<VectorType>(type))
    attribute = DenseElementsAttr::get(vector, Attribute(attribute));
  return arith::ConstantOp::create(builder, loc, attribute);
}

Value RowLowering::fma(Value a, Value b, Value c) {
  if (isa<VectorType>(a.getType()))
    return vector::FMAOp::create(builder, loc, a, b, c);
  return math::FmaOp::create(builder, loc, a, b, c);
}

LogicalResult
RowLowering::emitColumnLoops(int64_t numColumns,
                             function_ref<LogicalResult(Value, int64_t)> body) {
  int64_t whole = numColumns - numColumns % lanes;
  auto emit = [&](int64_t first, int64_t end, int64_t width) {
    if (first == end)
      return success();
    Value begin = index(first), limit = index(end), step = index(width);
    auto columns = scf::ForOp::create(builder, loc, begin, limit, step);
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(columns.getBody());
    return body(columns.getInductionVar(), width);
  };
  if (failed(emit(0, whole, lanes)))
    return failure();
  return emit(whole, numColumns, 1);
}

//===----------------------------------------------------------------------===//
// Values with an element for each column
//===----------------------------------------------------------------------===//

FailureOr<Value> RowLowering::evaluateColumns(Value value, Value column,
                                              int64_t width) {
  Type type = getType(getElementTypeOrSelf(value.getType()), width);
  if (Value buffer = buffers.lookup(value))
    return load(type, buffer, column);
  Operation *op = value.getDefiningOp();
  Attribute constant;
  if (op && matchPattern(op, m_Constant(&constant))) {
    auto elements = dyn_cast<DenseElementsAttr>(constant);
    if (elements && elements.isSplat()) {
      auto attribute = elements.getSplatValue<TypedAttr>();
      if (auto vector = dyn_cast<VectorType>(type))
        attribute = DenseElementsAttr::get(vector, Attribute(attribute));
      return arith::ConstantOp::create(builder, loc, attribute).getResult();
    }
  }
  if (auto cast = dyn_cast_or_null<vector::ShapeCastOp>(op))
    return evaluateColumns(cast.getSource(), column, width);
  if (auto broadcast = dyn_cast_or_null<vector::BroadcastOp>(op))
    return this->broadcast(
        getScalar(mapping.lookupOrDefault(broadcast.getSource())), type);
  if (auto read = dyn_cast_or_null<vector::TransferReadOp>(op)) {
    SmallVector<Value> position;
    for (Value index : read.getIndices())
      position.push_back(mapping.lookupOrDefault(index));
    unsigned dim = read.getPermutationMap().getDimPosition(0);
    position[dim] = arith::AddIOp::create(builder, loc, position[dim], column);
    if (width == 1 || isContiguous(read.getBase(), dim))
      return load(type, read.getBase(), position);
    Value result = splat(type, 0.0);
    for (int64_t lane = 0; lane < width; ++lane) {
      Value element =
          load(getElementTypeOrSelf(type), read.getBase(), position);
      result = vector::InsertOp::create(builder, loc, element, result, lane);
      position[dim] =
          arith::AddIOp::create(builder, loc, position[dim], index(1));
    }
    return result;
  }
  if (op && OpTrait::hasElementwiseMappableTraits(op)) {
    IRMapping operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> part = evaluateColumns(operand, column, width);
      if (failed(part))
        return failure();
      operands.map(operand, *part);
    }
    Operation *clone = builder.clone(*op, operands);
    clone->getResult(0).setType(type);
    return clone->getResult(0);
  }
  return emitError(value.getLoc(), "a value of the columns of a query has no "
                                   "lowering to the CPU");
}

FailureOr<Value> RowLowering::materialize(Value value) {
  auto type = cast<VectorType>(value.getType());
  Value buffer = allocate(type.getDimSize(0), type.getElementType());
  auto emit = [&](Value column, int64_t width) -> LogicalResult {
    FailureOr<Value> part = evaluateColumns(value, column, width);
    if (failed(part))
      return failure();
    store(*part, buffer, column);
    return success();
  };
  if (failed(emitColumnLoops(type.getDimSize(0), emit)))
    return failure();
  return buffer;
}

LogicalResult RowLowering::lowerWrite(vector::TransferWriteOp op) {
  SmallVector<Value> position;
  for (Value index : op.getIndices())
    position.push_back(mapping.lookupOrDefault(index));
  Value base = mapping.lookupOrDefault(op.getBase());
  if (op.getVectorType().getRank() == 1) {
    // One query, which there is.
    store(getScalar(mapping.lookupOrDefault(op.getValueToStore())), base,
          position);
    return success();
  }
  unsigned dim = op.getPermutationMap().getDimPosition(0);
  return emitColumnLoops(
      op.getVectorType().getDimSize(0),
      [&](Value column, int64_t width) -> LogicalResult {
        FailureOr<Value> part =
            evaluateColumns(op.getValueToStore(), column, width);
        if (failed(part))
          return failure();
        SmallVector<Value> at(position);
        at[dim] = arith::AddIOp::create(builder, loc, at[dim], column);
        if (width == 1 || isContiguous(base, dim)) {
          store(*part, base, at);
          return success();
        }
        for (int64_t lane = 0; lane < width; ++lane) {
          store(vector::ExtractOp::create(builder, loc, *part, lane), base, at);
          at[dim] = arith::AddIOp::create(builder, loc, at[dim], index(1));
        }
        return success();
      });
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

LogicalResult RowLowering::lowerGather(GatherOp op) {
  SmallVector<Value> indices;
  for (auto [dim, index] : llvm::enumerate(op.getIndices())) {
    indices.push_back(mapping.lookupOrDefault(index));
    // Along a box, keys have positions that follow each other.
    if (op.getBox() && op.getBox()->isFunctionOfDim(dim))
      indices.back() = emitPositions(builder, loc, indices.back(), numKeys);
  }
  Value mask = mapping.lookupOrDefault(op.getMask()), result;
  auto type = dyn_cast<VectorType>(op.getType());
  // A part of a list lies in one piece.
  bool isPart = op.getBox() && indices.size() == 1 && !op.getSite() &&
                !type.getElementType().isInteger(1) &&
                isContiguous(op.getSource(), 0);
  if (isPart) {
    Value extent = memref::DimOp::create(builder, loc, op.getSource(), 0);
    Value inRange = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, indices[0],
        broadcast(extent, indices[0].getType()));
    Value active = arith::AndIOp::create(
        builder, loc, broadcast(mask, inRange.getType()), inRange);
    Value zeros = arith::ConstantOp::create(
        builder, loc, cast<TypedAttr>(builder.getZeroAttr(type)));
    result = vector::MaskedLoadOp::create(
        builder, loc, type, op.getSource(),
        mapping.lookupOrDefault(op.getIndices()[0]), active, zeros);
  } else {
    static const TileBuffers none;
    TileEvaluator evaluator(builder, loc, none, numKeys);
    result = evaluator.emitGather(op, mask, indices);
  }
  if (!result)
    return failure();
  mapping.map(op.getResult(), broadcast(result, op.getType()));
  return success();
}

/// A column with an element for each key of a step, as vector<N>. It is
/// computed when it is first asked for.
FailureOr<Value> RowLowering::getOfKeys(Value value) {
  if (Value known = mapping.lookupOrNull(value))
    return known;
  Type type = getType(getElementTypeOrSelf(value.getType()), numKeys);
  if (auto broadcast = value.getDefiningOp<vector::BroadcastOp>()) {
    Value source = mapping.lookupOrDefault(broadcast.getSource());
    return this->broadcast(source, type);
  }
  DenseElementsAttr constant;
  if (matchPattern(value, m_Constant(&constant)) && constant.isSplat())
    return arith::ConstantOp::create(
               builder, loc,
               DenseElementsAttr::get(cast<ShapedType>(type),
                                      constant.getSplatValue<Attribute>()))
        .getResult();
  Operation *op = value.getDefiningOp();
  if (op && OpTrait::hasElementwiseMappableTraits(op)) {
    IRMapping operands;
    for (Value operand : op->getOperands()) {
      FailureOr<Value> part = getOfKeys(operand);
      if (failed(part))
        return failure();
      operands.map(operand, *part);
    }
    Operation *clone = builder.clone(*op, operands);
    clone->getResult(0).setType(type);
    mapping.map(value, clone->getResult(0));
    return clone->getResult(0);
  }
  return emitError(value.getLoc(), "a value of the keys of a query has no "
                                   "lowering to the CPU");
}

LogicalResult RowLowering::lowerReduction(vector::MultiDimReductionOp op) {
  auto type = dyn_cast<VectorType>(op.getDestType());
  if (!type || op.getSourceVectorType().getRank() != 2 || op.isReducedDim(1))
    return op.emitError("expects a reduction over the keys of a query");
  FailureOr<Value> source = getOfKeys(op.getSource());
  if (failed(source))
    return failure();
  bool isMax = isMaxFromNumber(op);
  auto combine = [&](Value a, Value b) {
    return createCombined(builder, loc, op, a, b);
  };
  Value acc = mapping.lookupOrDefault(op.getAcc()), result;
  if (isMax) {
    Value numbers = broadcast(getScalar(acc), source->getType());
    result = reduceLanes(builder, loc, combine(*source, numbers), combine);
  } else {
    result = combine(reduceLanes(builder, loc, *source, combine), acc);
  }
  mapping.map(op.getResult(), result);
  return success();
}

/// A loop or a branch of numbers, which a mask or a score has for a query.
LogicalResult RowLowering::lowerOfNumbers(Operation &op) {
  SmallVector<GatherOp> gathers;
  builder.clone(op, mapping)->walk([&](GatherOp gather) {
    gathers.push_back(gather);
  });
  OpBuilder::InsertionGuard guard(builder);
  for (GatherOp gather : gathers) {
    builder.setInsertionPoint(gather);
    if (failed(lowerGather(gather)))
      return failure();
    gather.getResult().replaceAllUsesWith(mapping.lookup(gather.getResult()));
    gather.erase();
  }
  return success();
}

LogicalResult RowLowering::lowerOp(Operation &op) {
  loc = op.getLoc();
  if (op.getNumRegions() != 0 &&
      llvm::none_of(op.getResultTypes(), llvm::IsaPred<VectorType>))
    return lowerOfNumbers(op);
  if (auto keys = dyn_cast<scf::ForOp>(op))
    return lowerKeys(keys);
  if (auto needed = dyn_cast<scf::IfOp>(op))
    return lowerNeeded(needed);
  if (auto contract = dyn_cast<vector::ContractionOp>(op))
    return lowerContract(contract);
  if (auto reduction = dyn_cast<vector::MultiDimReductionOp>(op))
    return lowerReduction(reduction);
  if (auto write = dyn_cast<vector::TransferWriteOp>(op))
    return lowerWrite(write);
  auto type = op.getNumResults() == 1
                  ? dyn_cast<VectorType>(op.getResult(0).getType())
                  : VectorType();
  // A vector of keys as a column, or the other way round.
  if (auto cast = dyn_cast<vector::ShapeCastOp>(op)) {
    if (Value source = mapping.lookupOrNull(cast.getSource()))
      mapping.map(cast.getResult(), source);
    return success();
  }
  // What has an element for each column is computed where it is used.
  if (type && type.getRank() == 2)
    return success();
  if (auto gather = dyn_cast<GatherOp>(op))
    return lowerGather(gather);
  if (auto read = dyn_cast<vector::TransferReadOp>(op)) {
    // A statistic of the query, or the query.
    if (type.getDimSize(0) != 1)
      return success();
    SmallVector<Value> position;
    for (Value index : read.getIndices())
      position.push_back(mapping.lookupOrDefault(index));
    Value element = load(type.getElementType(), read.getBase(), position);
    mapping.map(read.getResult(), broadcast(element, type));
    return success();
  }
  // The query, converted.
  if (op.getNumOperands() == 1 && isa<VectorType>(op.getOperand(0).getType()) &&
      !mapping.contains(op.getOperand(0)) &&
      loop->isAncestor(op.getOperand(0).getParentRegion()->getParentOp()))
    return success();
  builder.clone(op, mapping);
  return success();
}

LogicalResult RowLowering::lowerBlock(Block &block) {
  for (Operation &op : block.without_terminator())
    if (failed(lowerOp(op)))
      return failure();
  return success();
}

/// A step that is passed over unless a key of it is needed. The accumulator
/// stays where it is.
LogicalResult RowLowering::lowerNeeded(scf::IfOp op) {
  auto get = [&](Value value) { return mapping.lookupOrDefault(value); };
  auto after = cast<scf::YieldOp>(op.thenYield()),
       before = cast<scf::YieldOp>(op.elseYield());
  Value acc = buffers.lookup(before.getOperand(0));
  SmallVector<Value> kept = {get(before.getOperand(1)),
                             get(before.getOperand(2))};
  auto branch = scf::IfOp::create(builder, loc, TypeRange(ValueRange(kept)),
                                  get(op.getCondition()),
                                  /*withElseRegion=*/true);
  buffers[op.getResult(0)] = acc;
  for (unsigned number : {0, 1})
    mapping.map(op.getResult(number + 1), branch.getResult(number));
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, kept);
  builder.setInsertionPointToStart(branch.thenBlock());
  if (failed(lowerBlock(*op.thenBlock())))
    return failure();
  if (!acc || buffers.lookup(after.getOperand(0)) != acc ||
      !op.elseBlock()->without_terminator().empty())
    return op.emitError("expects a choice to pass over a step as attn-tile "
                        "makes it");
  scf::YieldOp::create(
      builder, op.getLoc(),
      ValueRange{get(after.getOperand(1)), get(after.getOperand(2))});
  return success();
}

LogicalResult RowLowering::lowerKeys(scf::ForOp op) {
  auto invalid = [&] {
    return op.emitError("expects a loop over a list of keys as attn-tile makes "
                        "it");
  };
  if (op.getNumRegionIterArgs() != 3)
    return invalid();
  // The query is read once.
  SmallVector<Value> rows;
  op.walk([&](vector::ContractionOp contract) {
    if (op.isDefinedOutsideOfLoop(contract.getRhs()))
      rows.push_back(contract.getRhs());
  });
  for (Value row : rows) {
    FailureOr<Value> query = materialize(row);
    if (failed(query))
      return failure();
    buffers[row] = *query;
  }
  FailureOr<Value> acc = materialize(op.getInitArgs()[0]);
  if (failed(acc))
    return failure();
  buffers[op.getRegionIterArg(0)] = *acc;
  buffers[op.getResult(0)] = *acc;
  auto get = [&](Value value) { return mapping.lookupOrDefault(value); };
  SmallVector<Value> inits = {get(op.getInitArgs()[1]),
                              get(op.getInitArgs()[2])};
  auto keys =
      scf::ForOp::create(builder, loc, get(op.getLowerBound()),
                         get(op.getUpperBound()), get(op.getStep()), inits);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(keys.getBody());
  mapping.map(op.getInductionVar(), keys.getInductionVar());
  for (unsigned number : {0, 1}) {
    mapping.map(op.getRegionIterArg(number + 1), keys.getRegionIterArg(number));
    mapping.map(op.getResult(number + 1), keys.getResult(number));
  }
  if (failed(lowerBlock(*op.getBody())))
    return failure();
  auto yield = cast<scf::YieldOp>(op.getBody()->getTerminator());
  if (buffers.lookup(yield.getOperand(0)) != *acc)
    return invalid();
  scf::YieldOp::create(
      builder, op.getLoc(),
      ValueRange{get(yield.getOperand(1)), get(yield.getOperand(2))});
  return success();
}

LogicalResult RowLowering::run() {
  loc = loop.getLoc();
  if (schedule.getQueries() != 1)
    return loop.emitError("expects a schedule without queries on a CPU, but "
                          "got ")
           << schedule << "; leave it out, and the compiler chooses one";
  builder.setInsertionPoint(loop);
  // The queries of a task follow each other.
  SmallVector<OpFoldResult> steps = loop.getMixedStep();
  steps.back() = builder.getIndexAttr(schedule.getRows());
  Value end = getValueOrCreateConstantIndexOp(builder, loc,
                                              loop.getMixedUpperBound().back());
  Value numRows = index(schedule.getRows()), one = index(1);
  auto tasks = scf::ForallOp::create(
      builder, loc, loop.getMixedLowerBound(), loop.getMixedUpperBound(), steps,
      /*outputs=*/ValueRange(), loop.getMapping());
  builder.setInsertionPoint(tasks.getTerminator());
  SmallVector<Value> ids(tasks.getInductionVars());
  Value limit = arith::MinSIOp::create(
      builder, loc, arith::AddIOp::create(builder, loc, ids.back(), numRows),
      end);
  auto rows = scf::ForOp::create(builder, loc, ids.back(), limit, one);
  scratchBuilder.setInsertionPointToStart(tasks.getBody());
  ids.back() = rows.getInductionVar();
  mapping.map(loop.getInductionVars(), ids);
  builder.setInsertionPointToStart(rows.getBody());
  if (failed(lowerBlock(*loop.getBody())))
    return failure();
  builder.setInsertionPoint(tasks.getTerminator());
  for (Value buffer : llvm::reverse(scratch))
    memref::DeallocOp::create(builder, loop.getLoc(), buffer);
  loop.erase();
  return success();
}
