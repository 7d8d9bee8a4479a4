//===- HopperOutline.cpp - Programs of tiles become kernels of steps ------===//

#include "HopperOutliner.h"
#include "Kernels/PackedHeads.h"
#include "Kernels/PrologueKernels.h"
#include "Kernels/VectorLoops.h"
#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/IR/Matchers.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPEROUTLINEPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// The program of a worker
//===----------------------------------------------------------------------===//

/// The read that gives a tile, which says its box, behind a conversion.
template <typename Op> static Op getRead(Value value) {
  if (auto extend = value.getDefiningOp<arith::ExtFOp>())
    value = extend.getIn();
  return value.getDefiningOp<Op>();
}

/// Rows of a tensor of up to four dimensions, of which a view has two, the head
/// last, before the row and the column.
TileAccess Outliner::getAccess(Value tensor, Type element, int64_t row,
                               int64_t column,
                               ArrayRef<OpFoldResult> position) {
  auto type = cast<RankedTensorType>(tensor.getType());
  TileAccess access;
  access.argument = *values->getArgument(tensor);
  access.elementType = element;
  access.columns = type.getDimSize(column);
  for (int64_t dim = 0, rank = type.getRank(); dim < rank; ++dim)
    if (dim != row && dim != column)
      access.dims.push_back(dim);
  if (PackGQAOp packing = values->getPacking(tensor)) {
    access.packing = packing.getCount().getDefiningOp<PackedCountOp>();
    if (access.dims[0] == static_cast<int64_t>(packing.getHeads()))
      std::swap(access.dims.front(), access.dims.back());
  }
  while (access.dims.size() < 2)
    access.dims.insert(access.dims.begin(), -1);
  access.dims.push_back(row);
  access.dims.push_back(column);
  for (int64_t dim : access.dims)
    access.position.push_back(dim < 0 ? builder.getIndexAttr(0)
                                      : position[dim]);
  return access;
}

/// A tile whose dimension `columnResult` is the column.
FailureOr<TileAccess> Outliner::matchRead(vector::TransferReadOp read,
                                          unsigned columnResult) {
  Type element = getElementTypeOrSelf(read.getBase().getType());
  std::optional<unsigned> argument = values->getArgument(read.getBase());
  AffineMap map = read.getPermutationMap();
  if (!argument || map.getNumResults() != 2 ||
      !isa<BFloat16Type, Float16Type>(element))
    return read.emitError("expects a tile of bf16 or f16 of an argument of the "
                          "function on a GPU, but got one of ")
           << element << otherTarget;
  auto getDim = [&](unsigned number) -> int64_t {
    return cast<AffineDimExpr>(map.getResult(number)).getPosition();
  };
  constexpr unsigned mostDims = 4;
  if (map.getNumDims() > mostDims)
    return read.emitError("expects a tensor of at most ")
           << mostDims << " dimensions, but got " << map.getNumDims();
  SmallVector<OpFoldResult> position = getAsOpFoldResult(read.getIndices());
  return getAccess(read.getBase(), element, getDim(1 - columnResult),
                   getDim(columnResult), position);
}

/// The state of a softmax starts as that of no keys.
LogicalResult Outliner::takeSoftmax() {
  softmax = loop.getOnlineStep();
  if (!softmax)
    return success();
  OnlineStartOp start = loop.getOnlineStart();
  if (!start)
    return softmax.emitError("expects a state that starts as that of no keys "
                             "on a GPU")
           << otherTarget;
  // Of no keys, minus the maximum is the largest number.
  double largest = std::numeric_limits<float>::max();
  firstNegMax = std::min(-start.getFirstMax(), largest);
  return success();
}

/// What a step loads for products: rows from one on, or those that a list
/// names.
LogicalResult Outliner::matchBlock(Value output) {
  FailureOr<TileAccess> access;
  Value yielded = StepOp::getSource(output);
  // All floats are there, so that they can be copied at once.
  if (auto read = yielded.getDefiningOp<vector::TransferReadOp>();
      read && read.getVectorType().getRank() == 1 &&
      read.getVectorType().getElementType().isF32() &&
      !read.hasOutOfBoundsDim() && !read.getMask() &&
      read.getPermutationMap().isMinorIdentity() &&
      values->getOperand(read.getBase())) {
    floats[output] = read;
    return success();
  }
  if (auto read = getRead<vector::TransferReadOp>(yielded))
    access = matchRead(read, /*columnResult=*/1);
  else if (auto gather = getRead<GatherRowsOp>(yielded))
    access = getGatherAccess(function, gather);
  else
    return success();
  if (failed(access))
    return failure();
  if (access->list && schedule.getPersistent())
    return loop.emitError("expects a schedule that is not persistent for "
                          "gathered keys, which a warpgroup copies, but got ")
           << schedule << "; leave it out";
  blocks[output] = *access;
  return success();
}

/// Numbers of rows or positions are computed where they are used, unless the
/// order names the step that gives them.
void Outliner::inlinePositions() {
  auto isNamed = [&](StepOp step) {
    ArrayAttr order = schedule.getOrder();
    return order && llvm::any_of(order.getAsRange<hopper::PlaceAttr>(),
                                 [&](hopper::PlaceAttr place) {
                                   return place.getName() == step.getStepName();
                                 });
  };
  IRRewriter rewriter(function.getContext());
  for (StepOp step :
       llvm::make_early_inc_range(loop.getBody().getOps<StepOp>()))
    if (!isNamed(step) && llvm::all_of(step.getResultTypes(), [](Type type) {
          auto vector = dyn_cast<VectorType>(type);
          return !vector || vector.getRank() == 1;
        }))
      step.inlineBody(rewriter);
}

/// What products read of a work tile.
LogicalResult Outliner::matchResidents() {
  WalkResult walk = loop.getBody().walk([&](vector::ContractionOp product) {
    for (Value operand : {product.getRhs(), product.getLhs()}) {
      auto negated = operand.getDefiningOp<NegateQueriesOp>();
      auto read = getRead<vector::TransferReadOp>(negated ? negated.getQueries()
                                                          : operand);
      if (!read || read->getBlock() != grid.getBody() || operand == queries ||
          residents.contains(operand))
        continue;
      FailureOr<TileAccess> access = matchRead(read, /*columnResult=*/0);
      if (failed(access))
        return WalkResult::interrupt();
      if (queries) {
        residents[operand] = *access;
        continue;
      }
      queries = operand;
      query = *access;
      negate = negated;
    }
    return WalkResult::advance();
  });
  if (walk.wasInterrupted() || !queries)
    return loop.emitError("expects products with a tile of the work tile on a "
                          "GPU")
           << otherTarget;
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
  if (schedule.getShortFirst() && (loop.hasNeeded() || !program.tables.empty()))
    return loop.emitError("expects a schedule without short_first where the "
                          "blocks of a work tile are found from data, but got ")
           << schedule << "; leave it out";
  if (failed(matchResidents()) || failed(takeSoftmax()))
    return failure();
  takeBias();
  findReadsOfKeys();
  matchVectors();
  expandBoxes();
  // Others have taken their place.
  findReadsOfKeys();
  inlinePositions();
  expandNormalize();
  for (auto step : loop.getBody().getOps<StepOp>())
    for (Value output : step.getOutputs())
      if (failed(matchBlock(output)))
        return failure();
  if (failed(matchSplits()) || failed(matchPartitions()))
    return failure();
  matchCaptures();
  return success();
}

//===----------------------------------------------------------------------===//
// Work tiles
//===----------------------------------------------------------------------===//

LogicalResult Outliner::emitBounds() {
  FailureOr<Value> first = values->getScalar(loop.getLowerBound()),
                   end = values->getScalar(loop.getUpperBound());
  if (failed(first) || failed(end))
    return failure();
  lower = *first;
  upper = *end;
  if (parts)
    takePart(lower, upper);
  return success();
}

LogicalResult Outliner::emitLoop() {
  if (!lower && failed(emitBounds()))
    return failure();
  auto isPart = [&](size_t number, TileLoopOp::StatePart part) {
    return softmax && number == part;
  };
  auto isState = [&](size_t number) {
    return isPart(number, TileLoopOp::Max) || isPart(number, TileLoopOp::Sum);
  };
  SmallVector<Value> inits;
  for (auto [number, init] : llvm::enumerate(loop.getInitArgs())) {
    if (isPart(number, TileLoopOp::Max)) {
      inits.push_back(splat(getVectorType(1), firstNegMax));
    } else if (isPart(number, TileLoopOp::Sum)) {
      inits.push_back(splat(getVectorType(kSumParts), 0));
    } else {
      FailureOr<Value> value = values->getVector(init, VectorKind::Query);
      if (failed(value))
        return failure();
      inits.push_back(*value);
    }
  }
  auto result = hopper::PipelinedForOp::create(
      builder, loc, ValueRange(inits).getTypes(), lower, upper,
      /*outerLower=*/Value(), /*outerUpper=*/Value(), loop.getStep(),
      loop.getOnlyLastPartial() && !loop.hasNeeded(), /*told=*/false, inits,
      placeCaptures(), getExclusive());
  if (loop.hasNeeded() && failed(emitClasses(result.getClasses())))
    return failure();
  Block *body = builder.createBlock(&result.getBody());
  values->setLoop(loop);
  values->setAnchor(result);
  body->addArgument(builder.getIndexType(), loc);
  if (loop.hasNeeded())
    isFull = body->addArgument(builder.getI1Type(), loc);
  values->setKey(loop.getInductionVar(), body->getArgument(0));
  for (auto [number, init] : llvm::enumerate(inits)) {
    Value argument = body->addArgument(init.getType(), loc),
          source = loop.getRegionIterArg(number);
    if (isState(number))
      values->setState(source, argument);
    else
      values->map(source, argument);
  }
  if (failed(emitCaptureLoads()) || failed(emitKeyTerms()))
    return failure();
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
  values->setAnchor(nullptr);
  for (auto [number, value] : llvm::enumerate(result.getResults())) {
    Value source = loop.getResult(number);
    if (isState(number))
      values->setState(source, value);
    else
      values->map(source, value);
  }
  return success();
}

/// Batch, head and row of a box of the work tile, which starts at `row`, or of
/// the access's own row if that is null.
FailureOr<SmallVector<Value>> Outliner::emitPosition(const TileAccess &access,
                                                     Value row) {
  SmallVector<Value> position;
  for (OpFoldResult index : ArrayRef(access.position).take_front(3)) {
    if (row && position.size() == 2) {
      position.push_back(row);
      continue;
    }
    FailureOr<Value> value = emitCoordinate(index);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  if (!access.packing)
    return position;
  FailureOr<Value> count =
      values->getScalar(PackedCountOp(access.packing).getCount());
  if (failed(count))
    return failure();
  std::tie(position[1], position[2]) =
      emitUnpackedPosition(builder, *count, position[1], position[2], loc);
  return position;
}

/// How many heads take turns in the order of work tiles, or null for one: fewer
/// than the schedule's, if their work tiles read many rows together, or more,
/// if they read few. `extents` are those of the grid.
Value Outliner::emitHeadSwizzle(ValueRange extents) {
  int64_t most = schedule.getHeadSwizzleKeys(),
          least = schedule.getHeadSwizzleLeastKeys();
  if (schedule.getHeadSwizzle() == 1 && least == 0)
    return {};
  auto index = [&](int64_t value) -> Value {
    return arith::ConstantIndexOp::create(builder, loc, value);
  };
  Value group = index(schedule.getHeadSwizzle());
  if (most == 0 && least == 0)
    return group;
  const TileAccess &keys = blocks.begin()->second;
  Value one = index(1);
  Value count = arith::MaxUIOp::create(
      builder, loc, values->getExtent(keys.argument, keys.dims[2]), one);
  // Keys meet the queries of all heads, and batches, that share them.
  bool areOfMany = llvm::any_of(
      ArrayRef(keys.position).take_front(2), [&](OpFoldResult index) {
        auto value = dyn_cast<Value>(index);
        return value && loop->isAncestor(value.getParentBlock()->getParentOp());
      });
  if (areOfMany) {
    auto multiply = [&](Value a, Value b) -> Value {
      return arith::MulIOp::create(builder, loc, a, b);
    };
    Value met = multiply(values->getExtent(keys.argument, keys.dims[0]),
                         values->getExtent(keys.argument, keys.dims[1]));
    Value own = arith::MaxUIOp::create(builder, loc,
                                       multiply(extents[0], extents[1]), one);
    Value each = arith::DivUIOp::create(builder, loc, met, own);
    count = multiply(count, arith::MaxUIOp::create(builder, loc, each, one));
  }
  auto getHeads = [&](int64_t keys) -> Value {
    return arith::DivUIOp::create(builder, loc, index(keys), count);
  };
  if (most)
    group = arith::MinUIOp::create(
        builder, loc, group,
        arith::MaxUIOp::create(builder, loc, getHeads(most), one));
  if (least)
    group = arith::MaxUIOp::create(builder, loc, group, getHeads(least));
  return group;
}

LogicalResult Outliner::emitWork(Block *body) {
  builder.setInsertionPointToStart(body);
  FailureOr<SmallVector<Value>> scalars =
      values->getScalars(grid.getMixedUpperBound());
  if (failed(scalars))
    return failure();
  SmallVector<Value> extents = std::move(*scalars);
  // How many rows there are: the extent of a result, or of what is read.
  FailureOr<Value> count =
      results.empty()
          ? FailureOr<Value>(values->getExtent(query.argument, query.dims[2]))
          : values->getExtent(results.front().destination,
                              results.front().rowDim);
  if (failed(count))
    return failure();
  auto work = hopper::WorkLoopOp::create(
      builder, loc, TypeRange(), extents[0], extents[1], extents[2],
      parts ? parts->numSplits : Value(),
      schedule.getPersistent() ? arguments->getCounter() : Value(),
      emitHeadSwizzle(ArrayRef(extents).take_front(2)), ValueRange());
  Block *block = builder.createBlock(&work.getBody());
  Type index = builder.getIndexType(), i32 = builder.getI32Type();
  for (unsigned id = 0; id < work.getNumIds(); ++id)
    block->addArgument(index, loc);
  block->addArgument(i32, loc);
  if (parts)
    part = work.getIds().back();
  for (auto [from, to] : llvm::zip_equal(grid.getInductionVars(),
                                         block->getArguments().take_front(3)))
    values->map(from, to);
  auto rows =
      hopper::WorkRowsOp::create(builder, loc, block->getArgument(2), *count,
                                 schedule.getTileM(), schedule.getShortFirst(),
                                 /*own=*/false);
  first = rows.getFirst();
  end = rows.getEnd();
  values->mapRows(first, end, block->getArgument(2), schedule.getTileM());
  if (failed(emitLoopInputs()) || failed(emitQueries()) ||
      failed(emitFactors()) || failed(emitSlopes()) || failed(emitLoop()) ||
      failed(emitCarriedSums()) || failed(emitResults()))
    return failure();
  builder.setInsertionPointToEnd(block);
  hopper::EndOp::create(builder, loc);
  return success();
}

/// Where a launch finds the number of tiles and of keys.
DictionaryAttr Outliner::describeGrid() {
  const TileAccess *rows = &query;
  for (const OutlinedResult &result : results)
    if (result.access)
      rows = &*result.access;
  ArrayRef<int64_t> dims = ArrayRef<int64_t>(rows->dims).take_front(3);
  const TileAccess &keys = blocks.begin()->second;
  auto number = [&](int64_t value) { return builder.getI64IntegerAttr(value); };
  SmallVector<NamedAttribute> members = {
      builder.getNamedAttr("operand", number(rows->argument)),
      builder.getNamedAttr("dims", builder.getDenseI64ArrayAttr(dims)),
      builder.getNamedAttr("key_operand", number(keys.argument)),
      builder.getNamedAttr("key_dim", number(keys.dims[2]))};
  if (PackedCountOp packing = query.packing)
    members.push_back(builder.getNamedAttr(
        "key_head_dim", number(static_cast<int64_t>(packing.getKeyHeads()))));
  return builder.getDictionaryAttr(members);
}

LogicalResult Outliner::run() {
  if (failed(requireNothingAround(function)))
    return failure();
  auto module = gpu::GPUModuleOp::create(builder, loc,
                                         (function.getName() + ".cuda").str());
  builder.setInsertionPointToStart(module.getBody());
  DenseSet<int64_t> prepared;
  if (failed(emitPrologueKernels(builder, program, prepared)) ||
      failed(emitVectorKernels(builder, program, schedule.getStrided())))
    return failure();
  FailureOr<DictionaryAttr> tables = describeTables(program, prepared);
  if (failed(tables))
    return failure();
  kernel =
      gpu::GPUFuncOp::create(builder, loc, function.getName(),
                             FunctionType::get(builder.getContext(), {}, {}));
  kernel->setAttr(gpu::GPUDialect::getKernelFuncAttrName(),
                  builder.getUnitAttr());
  kernel->setAttr(hopper::kScheduleAttrName, schedule);
  if (Attribute scratch = function->getAttr(hopper::kScratchAttrName))
    kernel->setAttr(hopper::kScratchAttrName, scratch);
  arguments = std::make_unique<KernelArguments>(function, kernel,
                                                schedule.getStrided());
  values = std::make_unique<KernelValues>(builder, function, grid, *arguments,
                                          program.tables);
  if (failed(match()))
    return failure();
  kernel->setAttr(hopper::kGridAttrName, describeGrid());
  if (*tables)
    kernel->setAttr(hopper::kTablesAttrName, *tables);
  declareSplits();
  if (failed(emitWork(&kernel.getBody().front())))
    return failure();
  builder.setInsertionPointToEnd(&kernel.getBody().front());
  gpu::ReturnOp::create(builder, loc);
  if (loop.hasNeeded())
    simplifyClasses();
  function.erase();
  return success();
}

/// The loop of the workers of a function, with its schedule, and what there is
/// besides.
static FailureOr<TileProgram> matchProgram(func::FuncOp function) {
  TileProgram program;
  program.function = function;
  if (failed(matchGrids(program)))
    return failure();
  if (!program.grid)
    return program;
  Attribute schedule = program.grid->getAttr(mlir::attn::kScheduleAttrName);
  program.schedule = dyn_cast_if_present<hopper::ScheduleAttr>(schedule);
  if (!program.schedule && schedule)
    return program.grid.emitError("expects a #hopper.schedule for a GPU, but "
                                  "got ")
           << schedule << "; leave it out, and the compiler chooses one";
  if (!program.schedule)
    return program.grid.emitError("expects a schedule for a GPU: run "
                                  "attn-hopper-assign-schedule");
  return program;
}

/// Kernels of loops over elements, without an attention, or with one that has
/// no query: then the tables that its gradients are summed up in are there.
static LogicalResult outlineLoops(TileProgram &program) {
  func::FuncOp function = program.function;
  if (failed(requireNothingAround(function)))
    return failure();
  OpBuilder builder(function);
  auto module = gpu::GPUModuleOp::create(builder, function.getLoc(),
                                         (function.getName() + ".cuda").str());
  builder.setInsertionPointToStart(module.getBody());
  if (failed(emitVectorKernels(builder, program, /*isStrided=*/false)))
    return failure();
  FailureOr<DictionaryAttr> tables = describeTables(program, /*prepared=*/{});
  if (failed(tables))
    return failure();
  Attribute scratch = function->getAttr(hopper::kScratchAttrName);
  for (auto kernel : module.getOps<gpu::GPUFuncOp>()) {
    if (scratch)
      kernel->setAttr(hopper::kScratchAttrName, scratch);
    if (*tables)
      kernel->setAttr(hopper::kTablesAttrName, *tables);
  }
  function.erase();
  return success();
}

namespace {
struct AttnHopperOutline
    : public mlir::attn::impl::AttnHopperOutlinePassBase<AttnHopperOutline> {
  void runOnOperation() override {
    SmallVector<func::FuncOp> functions;
    for (auto function : getOperation().getOps<func::FuncOp>())
      if (function.isPublic() && !function.isExternal() &&
          !function->hasAttr(kConstraintsAttrName))
        functions.push_back(function);
    for (func::FuncOp function : functions) {
      FailureOr<TileProgram> program = matchProgram(function);
      if (failed(program) || failed(program->grid ? Outliner(*program).run()
                                                  : outlineLoops(*program)))
        return signalPassFailure();
    }
  }
};
} // namespace
