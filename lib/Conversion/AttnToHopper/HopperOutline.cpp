//===- HopperOutline.cpp - Programs of tiles become kernels of steps ------===//

#include "KernelValues.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Matchers.h"
#include "llvm/ADT/MapVector.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPEROUTLINEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The partitions of a kernel.
static constexpr StringLiteral kLoad = "load", kCompute = "compute";

namespace {
/// What a tile is written to.
struct Result {
  Value vector;
  unsigned argument = 0;
  /// Of the tensor, in its order; which of them is the row.
  SmallVector<OpFoldResult> offsets;
  int64_t rowDim = 0;
  /// For vector<Dv x M>, with the position.
  std::optional<TileAccess> access;
};

/// Writes the program of one worker again as the program of a CTA.
class Outliner {
public:
  Outliner(func::FuncOp function, scf::ForallOp grid)
      : function(function), grid(grid),
        schedule(grid->getAttrOfType<hopper::ScheduleAttr>(
            attn::kScheduleAttrName)),
        loc(grid.getLoc()), builder(function) {}

  LogicalResult run();

private:
  LogicalResult match();
  LogicalResult matchResult(tensor::ParallelInsertSliceOp insert);
  LogicalResult matchSoftmax();
  FailureOr<TileAccess> matchRead(vector::TransferReadOp read);
  LogicalResult emitWork(Block *body);
  Value emitHeadGroup();
  LogicalResult emitQueries();
  LogicalResult emitLoop();
  LogicalResult emitStep(StepOp step);
  LogicalResult emitLoadStep(StepOp step);
  FailureOr<Value> emitProduct(vector::ContractionOp product);
  LogicalResult emitOnlineStep(OnlineStepOp step);
  FailureOr<Value> emitMask(MaskTileOp mask, Value scores);
  LogicalResult emitResults();
  LogicalResult emitResult(const Result &result, Value staging);
  FailureOr<Value> emitLoad(const TileAccess &access, int64_t rows,
                            int64_t stages);
  hopper::StepOp createStep(StringRef name, StringRef partition,
                            TypeRange types);
  DictionaryAttr describeGrid();
  bool isOperand(Value value);

  Value splat(Type type, double value) {
    return arith::ConstantOp::create(
        builder, loc,
        DenseElementsAttr::get(
            cast<ShapedType>(type),
            builder.getFloatAttr(getElementTypeOrSelf(type), value)));
  }
  VectorType getVectorType(int64_t rows) {
    return VectorType::get({rows, hopper::kWarpgroupRows},
                           builder.getF32Type());
  }

  func::FuncOp function;
  scf::ForallOp grid;
  hopper::ScheduleAttr schedule;
  Location loc;
  OpBuilder builder;
  std::unique_ptr<KernelArguments> arguments;
  std::unique_ptr<KernelValues> values;

  TileLoopOp loop;
  OnlineStepOp softmax;
  /// The tiles that steps load, by what they are in the worker's program: that
  /// of the loop, and that of a work tile.
  llvm::MapVector<Value, TileAccess> blocks;
  Value queries;
  TileAccess query;
  SmallVector<Result> results;
  /// Tiles, and vectors that are operands of products.
  DenseMap<Value, Value> tiles, operands;
  Value first, end;
};
} // namespace

//===----------------------------------------------------------------------===//
// The program of a worker
//===----------------------------------------------------------------------===//

static vector::TransferReadOp getRead(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return value.getDefiningOp<vector::TransferReadOp>();
}

/// What a value of a step is outside of it.
static Value getYielded(Value value) {
  if (auto step = value.getDefiningOp<StepOp>())
    return step.getYielded()[cast<OpResult>(value).getResultNumber()];
  return value;
}

FailureOr<TileAccess> Outliner::matchRead(vector::TransferReadOp read) {
  Type element = getElementTypeOrSelf(read.getBase().getType());
  std::optional<unsigned> argument = values->getArgument(read.getBase());
  AffineMap map = read.getPermutationMap();
  if (!argument || map.getNumResults() != 2 ||
      !isa<BFloat16Type, Float16Type>(element))
    return read.emitError("expects a tile of bf16 or f16 of an argument for a "
                          "schedule with an order; leave out the order");
  TileAccess access;
  access.argument = *argument;
  access.elementType = element;
  // The dimension of M, if it has one, or that of the first result is the row.
  auto getDim = [&](unsigned number) -> int64_t {
    return cast<AffineDimExpr>(map.getResult(number)).getPosition();
  };
  // The column is in bounds in any case.
  unsigned columnResult = read.isDimInBounds(0) ? 0 : 1;
  if (read.isDimInBounds(0) && read.isDimInBounds(1))
    columnResult = getDim(0) > getDim(1) ? 0 : 1;
  int64_t column = getDim(columnResult), row = getDim(1 - columnResult);
  for (int64_t dim = 0, rank = map.getNumDims(); dim < rank; ++dim)
    if (dim != row && dim != column)
      access.dims.push_back(dim);
  if (access.dims.size() != 2)
    return read.emitError("expects a tensor of rank 4");
  access.dims.push_back(row);
  access.dims.push_back(column);
  for (int64_t dim : access.dims)
    access.position.push_back(read.getIndices()[dim]);
  access.columns =
      cast<ShapedType>(read.getBase().getType()).getDimSize(column);
  return access;
}

LogicalResult Outliner::matchResult(tensor::ParallelInsertSliceOp insert) {
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  auto destination = dyn_cast<BlockArgument>(insert.getDest());
  std::optional<unsigned> argument;
  if (write && destination)
    argument =
        values->getArgument(grid.getTiedOpOperand(destination)->get());
  if (!argument)
    return insert.emitError("expects a tile that is written to an argument for "
                            "a schedule with an order");
  Result result;
  result.vector = write.getValueToStore();
  result.argument = *argument;
  result.offsets = insert.getMixedOffsets();
  AffineMap map = write.getPermutationMap();
  result.rowDim = cast<AffineDimExpr>(map.getResults().back()).getPosition();
  OpFoldResult rows = insert.getMixedSizes()[result.rowDim];
  values->setRows(result.offsets[result.rowDim], rows);
  auto type = cast<VectorType>(result.vector.getType());
  if (type.getRank() == 2) {
    int64_t column =
        cast<AffineDimExpr>(map.getResults().front()).getPosition();
    TileAccess access;
    access.argument = *argument;
    access.elementType = type.getElementType();
    access.columns = type.getDimSize(0);
    for (int64_t dim = 0; dim < 4; ++dim)
      if (dim != result.rowDim && dim != column)
        access.dims.push_back(dim);
    access.dims.push_back(result.rowDim);
    access.dims.push_back(column);
    for (int64_t dim : access.dims)
      access.position.push_back(result.offsets[dim]);
    result.access = access;
  }
  results.push_back(std::move(result));
  return success();
}

/// The state of a softmax is carried, and starts as that of no keys.
LogicalResult Outliner::matchSoftmax() {
  loop.getBody().walk([&](OnlineStepOp step) { softmax = step; });
  if (!softmax)
    return success();
  auto isSplat = [](Value value, double expected) {
    DenseFPElementsAttr elements;
    return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
           elements.getSplatValue<APFloat>().convertToDouble() == expected;
  };
  for (auto [state, start] : {std::pair{softmax.getMax(), -INFINITY},
                              {softmax.getSum(), 0.0F}}) {
    auto argument = dyn_cast<BlockArgument>(state);
    if (!argument || argument.getOwner() != &loop.getBody().front() ||
        argument.getArgNumber() == 0 ||
        !isSplat(loop.getInitArgs()[argument.getArgNumber() - 1], start))
      return softmax.emitError("expects a state that starts as that of no keys "
                               "for a schedule with an order");
  }
  return success();
}

LogicalResult Outliner::match() {
  for (Operation &op : grid.getTerminator().getYieldingOps())
    if (failed(matchResult(cast<tensor::ParallelInsertSliceOp>(op))))
      return failure();
  SmallVector<TileLoopOp> loops(grid.getOps<TileLoopOp>());
  if (loops.size() != 1)
    return grid.emitError("expects one loop over tiles for a schedule with an "
                          "order, but got ")
           << loops.size();
  loop = loops.front();
  if (loop.hasNeeded())
    return loop.emitError("expects all tiles within the loop's bounds to be "
                          "needed for a schedule with an order; leave out the "
                          "order");
  for (auto step : loop.getBody().getOps<StepOp>())
    for (Value output : step.getOutputs())
      if (vector::TransferReadOp read = getRead(getYielded(output))) {
        FailureOr<TileAccess> access = matchRead(read);
        if (failed(access))
          return failure();
        blocks[output] = *access;
      }
  // What is read once for a work tile.
  WalkResult walk = loop.getBody().walk([&](vector::ContractionOp product) {
    vector::TransferReadOp read = getRead(product.getRhs());
    if (!read || read->getBlock() != grid.getBody())
      return WalkResult::advance();
    FailureOr<TileAccess> access = matchRead(read);
    if (failed(access) || (queries && queries != product.getRhs()))
      return WalkResult::interrupt();
    queries = product.getRhs();
    query = *access;
    return WalkResult::advance();
  });
  if (walk.wasInterrupted() || !queries)
    return loop.emitError("expects products with one tile of the work tile for "
                          "a schedule with an order");
  return matchSoftmax();
}

//===----------------------------------------------------------------------===//
// Steps
//===----------------------------------------------------------------------===//

hopper::StepOp Outliner::createStep(StringRef name, StringRef partition,
                                    TypeRange types) {
  auto step =
      hopper::StepOp::create(builder, loc, types, name, partition);
  builder.createBlock(&step.getBody());
  return step;
}

FailureOr<Value> Outliner::emitLoad(const TileAccess &access, int64_t rows,
                                    int64_t stages) {
  SmallVector<Value> position;
  for (OpFoldResult index : ArrayRef(access.position).take_front(3)) {
    FailureOr<Value> value = values->getScalar(index);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  auto type = hopper::TileType::get(builder.getContext(), rows, access.columns,
                                    access.elementType, rows);
  return hopper::LoadOp::create(builder, loc, type,
                                arguments->getMap(access, rows), position[0],
                                position[1], position[2], stages)
      .getResult();
}

/// The queries of a work tile, which products read from shared memory or from
/// registers.
LogicalResult Outliner::emitQueries() {
  int64_t tileM = schedule.getTileM();
  auto type = hopper::TileType::get(builder.getContext(), tileM, query.columns,
                                    query.elementType, tileM);
  hopper::StepOp load = createStep("load_q", kLoad, type);
  SmallVector<Type> captures;
  FailureOr<Value> tile =
      emitLoad(query, tileM,
               getQueryStages(schedule, query.columns,
                              results.front().access
                                  ? results.front().access->columns
                                  : query.columns,
                              captures));
  if (failed(tile))
    return failure();
  hopper::EndOp::create(builder, loc, *tile);
  builder.setInsertionPointAfter(load);
  auto rows = hopper::TileType::get(builder.getContext(),
                                    hopper::kWarpgroupRows, query.columns,
                                    query.elementType, tileM);
  if (!schedule.getQInRegisters()) {
    tiles[queries] = load.getResult(0);
    return success();
  }
  auto vector = VectorType::get({query.columns, hopper::kWarpgroupRows},
                                query.elementType);
  hopper::StepOp hold = createStep("hold_q", kCompute, vector);
  Value own =
      hopper::OwnRowsOp::create(builder, loc, rows, load.getResult(0));
  hopper::EndOp::create(
      builder, loc,
      hopper::LoadFragmentOp::create(builder, loc, vector, own).getResult());
  builder.setInsertionPointAfter(hold);
  operands[queries] = hold.getResult(0);
  return success();
}

LogicalResult Outliner::emitLoadStep(StepOp step) {
  if (step.getNumResults() != 1)
    return step.emitError("expects one tile of a step that loads");
  const TileAccess &access = blocks.find(step.getResult(0))->second;
  int64_t tileN = loop.getStep();
  auto type = hopper::TileType::get(builder.getContext(), tileN, access.columns,
                                    access.elementType, tileN);
  hopper::StepOp load = createStep(step.getStepName(), kLoad, type);
  FailureOr<Value> tile = emitLoad(access, tileN, schedule.getStages());
  if (failed(tile))
    return failure();
  hopper::EndOp::create(builder, loc, *tile);
  builder.setInsertionPointAfter(load);
  tiles[step.getResult(0)] = load.getResult(0);
  return success();
}

/// The product of a tile and either rows of the work tile or a vector that was
/// computed.
FailureOr<Value> Outliner::emitProduct(vector::ContractionOp product) {
  AffineExpr m, n, k;
  bindDims(builder.getContext(), n, m, k);
  SmallVector<AffineMap> maps = product.getIndexingMapsArray();
  auto map = [&](AffineExpr a, AffineExpr b) {
    return AffineMap::get(3, 0, {a, b}, builder.getContext());
  };
  bool isTransposed = maps[0] == map(k, n);
  Value tile = tiles.lookup(product.getLhs());
  if (!tile || maps[1] != map(k, m) || maps[2] != map(n, m) ||
      (!isTransposed && maps[0] != map(n, k)))
    return product.emitError("expects the product of a loaded tile and rows of "
                             "the work tile for a schedule with an order");
  Value lhs = operands.lookup(product.getRhs());
  if (Value rows = tiles.lookup(product.getRhs())) {
    auto type = cast<hopper::TileType>(rows.getType());
    lhs = hopper::OwnRowsOp::create(
        builder, loc,
        hopper::TileType::get(builder.getContext(), hopper::kWarpgroupRows,
                              type.getColumns(), type.getElementType(),
                              type.getRows()),
        rows);
  }
  Value acc;
  if (!matchPattern(product.getAcc(), m_AnyZeroFloat())) {
    FailureOr<Value> value =
        values->getVector(product.getAcc(), VectorKind::Both);
    if (failed(value))
      return failure();
    acc = *value;
  }
  if (!lhs)
    return product.emitError("expects an operand that a step gives");
  auto type = cast<VectorType>(product.getResultType());
  return hopper::DotOp::create(builder, loc,
                               getVectorType(type.getDimSize(0)), lhs, tile,
                               acc, isTransposed)
      .getResult();
}

/// A positive factor that scores have in common, and what it multiplies.
static std::pair<Value, double> splitFactor(Value scores) {
  auto multiply = scores.getDefiningOp<arith::MulFOp>();
  if (!multiply)
    return {scores, 1};
  for (auto [value, factor] :
       {std::pair{multiply.getLhs(), multiply.getRhs()},
        {multiply.getRhs(), multiply.getLhs()}}) {
    DenseFPElementsAttr elements;
    if (!matchPattern(factor, m_Constant(&elements)) || !elements.isSplat())
      continue;
    double constant = elements.getSplatValue<APFloat>().convertToDouble();
    if (constant > 0 && std::isfinite(constant))
      return {value, constant};
  }
  return {scores, 1};
}

/// The predicate of a block, which is left out where the block is full.
FailureOr<Value> Outliner::emitMask(MaskTileOp mask, Value scores) {
  FailureOr<Value> full = Value();
  if (loop.hasFull()) {
    values->map(loop.getFull().getArgument(0), values->getKey());
    full = values->getScalar(loop.getClass(loop.getFull()));
    if (failed(full))
      return failure();
  } else {
    full = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false))
               .getResult();
  }
  auto result = hopper::MaskOp::create(builder, loc, scores.getType(), scores,
                                       *full, "by_block");
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&result.getPredicate());
  KernelValues::State saved = values->save();
  FailureOr<Value> allowed =
      values->getVector(mask.getPredicate(), VectorKind::Both);
  values->restore(std::move(saved));
  if (failed(allowed))
    return failure();
  hopper::EndOp::create(builder, loc, *allowed);
  return result.getResult();
}

LogicalResult Outliner::emitOnlineStep(OnlineStepOp step) {
  auto mask = step.getScores().getDefiningOp<MaskTileOp>();
  auto [scores, factor] = splitFactor(mask ? mask.getScores()
                                           : step.getScores());
  FailureOr<Value> value = values->getVector(scores, VectorKind::Both);
  if (succeeded(value) && mask)
    value = emitMask(mask, *value);
  FailureOr<Value> acc = values->getVector(step.getAcc(), VectorKind::Both);
  if (failed(value) || failed(acc))
    return failure();
  auto next = hopper::SoftmaxStepOp::create(
      builder, loc, *value, *acc, values->getState(step.getMax()),
      values->getState(step.getSum()), builder.getF64FloatAttr(factor),
      builder.getStringAttr("lazy"));
  values->map(step.getProbabilities(), next.getProbabilities());
  values->map(step.getNewAcc(), next.getNewAcc());
  values->setState(step.getNewMax(), next.getNewShift());
  values->setState(step.getNewSum(), next.getNewSum());
  return success();
}

/// Whether products alone use what a step gives.
bool Outliner::isOperand(Value value) {
  return !value.use_empty() &&
         llvm::all_of(value.getUses(), [](OpOperand &use) {
           auto product = dyn_cast<vector::ContractionOp>(use.getOwner());
           return product && &use == &product.getRhsMutable();
         });
}

LogicalResult Outliner::emitStep(StepOp step) {
  if (step.getNumResults() && blocks.contains(step.getResult(0)))
    return emitLoadStep(step);
  // The types are known when the step has been computed.
  hopper::StepOp draft = createStep(step.getStepName(), kCompute, {});
  KernelValues::State saved = values->save();
  SmallVector<Value> ends;
  for (Operation &op : step.getBody().front().without_terminator()) {
    LogicalResult result = success();
    if (auto product = dyn_cast<vector::ContractionOp>(op)) {
      FailureOr<Value> value = emitProduct(product);
      result = failure(failed(value));
      if (succeeded(value))
        values->map(product.getResult(), *value);
    } else if (auto online = dyn_cast<OnlineStepOp>(op)) {
      result = emitOnlineStep(online);
    }
    if (failed(result))
      return failure();
  }
  Type element = blocks.begin()->second.elementType;
  for (auto [output, yielded] :
       llvm::zip_equal(step.getOutputs(), step.getYielded())) {
    if (Value state = values->findState(yielded)) {
      ends.push_back(state);
      continue;
    }
    FailureOr<Value> value =
        isa<VectorType>(yielded.getType())
            ? values->getVector(yielded, VectorKind::Query)
            : values->getScalar(yielded);
    if (failed(value))
      return failure();
    // Operands of products are rounded, as an eager program does.
    if (isOperand(output))
      value = arith::TruncFOp::create(
                  builder, loc,
                  cast<VectorType>(value->getType()).clone(element), *value)
                  .getResult();
    ends.push_back(*value);
  }
  hopper::EndOp::create(builder, loc, ends);
  builder.setInsertionPoint(draft);
  auto result = hopper::StepOp::create(builder, loc,
                                       ValueRange(ends).getTypes(),
                                       step.getStepName(), kCompute);
  result.getBody().takeBody(draft.getBody());
  draft.erase();
  SmallVector<Value> states;
  for (Value yielded : step.getYielded())
    states.push_back(values->findState(yielded));
  values->restore(std::move(saved));
  for (auto [output, yielded, state, value] :
       llvm::zip_equal(step.getOutputs(), step.getYielded(), states,
                       result.getResults())) {
    if (state)
      values->setState(output, value);
    else if (isOperand(output))
      operands[output] = value;
    else
      values->map(output, value);
  }
  builder.setInsertionPointAfter(result);
  return success();
}

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

LogicalResult Outliner::emitLoop() {
  FailureOr<Value> lower = values->getScalar(loop.getLowerBound()),
                   upper = values->getScalar(loop.getUpperBound());
  if (failed(lower) || failed(upper))
    return failure();
  Value max = softmax ? Value(softmax.getMax()) : Value(),
        sum = softmax ? Value(softmax.getSum()) : Value();
  SmallVector<Value> inits;
  for (auto [number, init] : llvm::enumerate(loop.getInitArgs())) {
    Value argument = loop.getRegionIterArg(number);
    if (argument == max) {
      inits.push_back(
          splat(getVectorType(1), std::numeric_limits<float>::max()));
    } else if (argument == sum) {
      inits.push_back(splat(getVectorType(4), 0));
    } else {
      FailureOr<Value> value = values->getVector(init, VectorKind::Query);
      if (failed(value))
        return failure();
      inits.push_back(*value);
    }
  }
  ArrayAttr exclusive = schedule.getExclusive();
  auto result = hopper::PipelinedForOp::create(
      builder, loc, ValueRange(inits).getTypes(), *lower, *upper,
      /*outerLower=*/Value(), /*outerUpper=*/Value(), loop.getStep(),
      loop.getOnlyLastPartial(), inits, schedule.getOrder(),
      exclusive ? exclusive : builder.getArrayAttr({}));
  Block *body = builder.createBlock(&result.getBody());
  body->addArgument(builder.getIndexType(), loc);
  values->setKey(loop.getInductionVar(), body->getArgument(0));
  for (auto [number, init] : llvm::enumerate(inits)) {
    Value argument = body->addArgument(init.getType(), loc),
          source = loop.getRegionIterArg(number);
    if (source == max || source == sum)
      values->setState(source, argument);
    else
      values->map(source, argument);
  }
  for (Operation &op : loop.getBody().front().without_terminator()) {
    auto step = dyn_cast<StepOp>(op);
    // Scalars between steps are computed where they are used.
    if (step && failed(emitStep(step)))
      return failure();
  }
  SmallVector<Value> ends;
  for (Value yielded : loop.getYielded()) {
    if (Value state = values->findState(yielded)) {
      ends.push_back(state);
      continue;
    }
    FailureOr<Value> value = values->getVector(yielded, VectorKind::Query);
    if (failed(value))
      return failure();
    ends.push_back(*value);
  }
  hopper::EndOp::create(builder, loc, ends);
  builder.setInsertionPointAfter(result);
  for (auto [number, value] : llvm::enumerate(result.getResults())) {
    Value source = loop.getResult(number),
          argument = loop.getRegionIterArg(number);
    if (argument == max || argument == sum)
      values->setState(source, value);
    else
      values->map(source, value);
  }
  return success();
}

LogicalResult Outliner::emitResult(const Result &result, Value staging) {
  FailureOr<Value> vector =
      values->getVector(result.vector, VectorKind::Query);
  if (failed(vector))
    return failure();
  SmallVector<Value> position;
  ArrayRef<OpFoldResult> offsets =
      result.access ? ArrayRef(result.access->position).take_front(3)
                    : ArrayRef(result.offsets);
  int64_t rowDim = result.access ? 2 : result.rowDim;
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    FailureOr<Value> value = static_cast<int64_t>(dim) == rowDim
                                 ? FailureOr<Value>(first)
                                 : values->getScalar(offset);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  if (!result.access) {
    hopper::StoreRowsOp::create(
        builder, loc, *vector, arguments->getMemRef(result.argument), position,
        builder.getI64IntegerAttr(rowDim), end, /*packed=*/Value(),
        /*heads=*/IntegerAttr());
    return success();
  }
  auto type = cast<hopper::TileType>(staging.getType());
  Value own = hopper::OwnRowsOp::create(
      builder, loc,
      hopper::TileType::get(builder.getContext(), hopper::kWarpgroupRows,
                            type.getColumns(), type.getElementType(),
                            type.getRows()),
      staging);
  hopper::StoreOp::create(
      builder, loc, *vector, own,
      arguments->getMap(*result.access, hopper::kWarpgroupRows), position[0],
      position[1], position[2]);
  return success();
}

/// What becomes of a work tile is written.
LogicalResult Outliner::emitResults() {
  OpBuilder::InsertionGuard guard(builder);
  hopper::StepOp step = createStep("store", kCompute, {});
  // The state of the softmax as the program names it.
  if (softmax) {
    auto getResult = [&](Value argument) {
      return loop.getResult(cast<BlockArgument>(argument).getArgNumber() - 1);
    };
    Value max = getResult(softmax.getMax()), sum = getResult(softmax.getSum());
    values->map(max, VectorKind::Query,
                arith::NegFOp::create(builder, loc, values->getState(max)));
    values->map(sum, VectorKind::Query,
                hopper::ReduceOp::create(builder, loc, getVectorType(1), "add",
                                         values->getState(sum)));
  }
  for (const Result &result : results) {
    Value staging;
    if (result.access) {
      OpBuilder::InsertionGuard atStart(builder);
      builder.setInsertionPointToStart(
          &step->getParentOfType<gpu::GPUFuncOp>().getBody().front());
      int64_t columns =
          getStagingColumns(schedule, query.columns, result.access->columns,
                            {});
      staging = hopper::CreateTileOp::create(
          builder, loc,
          hopper::TileType::get(builder.getContext(), schedule.getTileM(),
                                columns ? columns : result.access->columns,
                                result.access->elementType,
                                schedule.getTileM()));
    }
    if (failed(emitResult(result, staging)))
      return failure();
  }
  hopper::EndOp::create(builder, loc);
  return success();
}

/// How many heads take turns in the order of work tiles, or null for one: more
/// than the schedule's, if they have together few keys.
Value Outliner::emitHeadGroup() {
  if (schedule.getHeadGroup() == 1 && schedule.getHeadGroupKeys() == 0)
    return {};
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value group = index(schedule.getHeadGroup());
  if (schedule.getHeadGroupKeys() == 0)
    return group;
  // Beyond some number of heads it makes no difference in the end, but costs.
  constexpr int64_t mostHeads = 32;
  const TileAccess &keys = blocks.begin()->second;
  Value count = arith::MaxUIOp::create(
      builder, loc, values->getExtent(keys.argument, keys.dims[2]), index(1));
  Value heads = arith::MinUIOp::create(
      builder, loc,
      arith::DivUIOp::create(builder, loc,
                             index(schedule.getHeadGroupKeys()), count),
      index(mostHeads));
  return arith::MaxUIOp::create(builder, loc, group, heads);
}

LogicalResult Outliner::emitWork(Block *body) {
  builder.setInsertionPointToStart(body);
  SmallVector<Value> extents;
  for (OpFoldResult extent : grid.getMixedUpperBound()) {
    FailureOr<Value> value = values->getScalar(extent);
    if (failed(value))
      return failure();
    extents.push_back(*value);
  }
  // How many rows there are: the extent of a result.
  const Result &result = results.front();
  Value count = values->getExtent(result.argument, result.rowDim);
  auto work = hopper::WorkLoopOp::create(
      builder, loc, TypeRange(), extents[0], extents[1], extents[2],
      schedule.getPersistent() ? arguments->getCounter() : Value(),
      emitHeadGroup(), ValueRange());
  Block *block = builder.createBlock(&work.getBody());
  Type index = builder.getIndexType(), i32 = builder.getI32Type();
  for (Type type : {index, index, index, i32})
    block->addArgument(type, loc);
  for (auto [from, to] : llvm::zip_equal(grid.getInductionVars(),
                                         block->getArguments().take_front(3)))
    values->map(from, to);
  auto rows = hopper::WorkRowsOp::create(builder, loc, block->getArgument(2),
                                         count, schedule.getTileM(),
                                         /*own=*/false);
  first = rows.getFirst();
  end = rows.getEnd();
  values->mapRows(first, end);
  if (failed(emitQueries()) || failed(emitLoop()) || failed(emitResults()))
    return failure();
  builder.setInsertionPointToEnd(block);
  hopper::EndOp::create(builder, loc);
  return success();
}

/// Where a launch finds the number of tiles and of keys.
DictionaryAttr Outliner::describeGrid() {
  const Result *rows = &results.front();
  for (const Result &result : results)
    if (result.access)
      rows = &result;
  SmallVector<int64_t> dims;
  if (rows->access)
    dims.assign(rows->access->dims.begin(), rows->access->dims.begin() + 3);
  const TileAccess &keys = blocks.begin()->second;
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  return builder.getDictionaryAttr(
      {builder.getNamedAttr("operand", number(rows->argument)),
       builder.getNamedAttr("dims", builder.getDenseI64ArrayAttr(dims)),
       builder.getNamedAttr("key_operand", number(keys.argument)),
       builder.getNamedAttr("key_dim", number(keys.dims[2]))});
}

LogicalResult Outliner::run() {
  if (schedule.getStrided() || schedule.getSplitKeys() ||
      schedule.getPackHeads() || schedule.getOverlapTiles() ||
      schedule.getBiasInProduct() || schedule.getCaptureStages())
    return grid.emitError("expects a schedule with an order to be without "
                          "strided, split_keys, pack_heads, overlap_tiles, "
                          "bias_in_product and capture_stages");
  auto module = gpu::GPUModuleOp::create(builder, loc,
                                         (function.getName() + ".cuda").str());
  builder.setInsertionPointToStart(module.getBody());
  auto kernel =
      gpu::GPUFuncOp::create(builder, loc, function.getName(),
                             FunctionType::get(builder.getContext(), {}, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(hopper::kScheduleAttrName, schedule);
  arguments = std::make_unique<KernelArguments>(function, kernel,
                                                /*isStrided=*/false);
  values = std::make_unique<KernelValues>(builder, function, grid, *arguments);
  if (failed(match()))
    return failure();
  kernel->setAttr(hopper::kGridAttrName, describeGrid());
  if (failed(emitWork(&kernel.getBody().front())))
    return failure();
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  function.erase();
  return success();
}

namespace {
struct AttnHopperOutline
    : public mlir::attn::impl::AttnHopperOutlinePassBase<AttnHopperOutline> {
  void runOnOperation() override {
    SmallVector<std::pair<func::FuncOp, scf::ForallOp>> programs;
    for (auto function : getOperation().getOps<func::FuncOp>())
      for (auto grid : function.getOps<scf::ForallOp>()) {
        auto schedule = grid->getAttrOfType<hopper::ScheduleAttr>(
            attn::kScheduleAttrName);
        if (schedule && schedule.getOrder())
          programs.push_back({function, grid});
      }
    for (auto [function, grid] : programs)
      if (failed(Outliner(function, grid).run()))
        return signalPassFailure();
  }
};
} // namespace
