//===- HopperOutlineSteps.cpp - Steps of a program of tiles ---------------===//

#include "HopperOutliner.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

hopper::StepOp Outliner::createStep(StringRef name, StringRef partition,
                                    TypeRange types) {
  auto step = hopper::StepOp::create(builder, loc, types, name, partition);
  builder.createBlock(&step.getBody());
  return step;
}

hopper::TileType Outliner::getTileType(const TileAccess &access, int64_t rows) {
  int64_t chunk = access.ownColumns
                      ? access.ownColumns
                      : hopper::getChunkColumns(access.elementType);
  return hopper::TileType::get(builder.getContext(), rows, access.columns,
                               access.elementType, rows, chunk);
}

FailureOr<Value> Outliner::emitLoad(const TileAccess &access, int64_t rows,
                                    int64_t stages) {
  FailureOr<SmallVector<Value>> position = emitPosition(access);
  if (failed(position))
    return failure();
  Value column, list;
  SmallVector<Value> inList;
  if (!isConstantIntValue(access.position[3], 0)) {
    FailureOr<Value> value = emitCoordinate(access.position[3]);
    if (failed(value))
      return failure();
    column = *value;
  }
  if (GatherOp numbers = access.list) {
    std::optional<unsigned> operand = values->getOperand(numbers.getSource());
    if (!operand)
      return numbers.emitError("expects a list of keys that is a table");
    list = arguments->getMemRef(
        *operand, cast<RankedTensorType>(numbers.getSource().getType()));
    FailureOr<SmallVector<Value>> indices =
        values->getScalars(numbers.getIndices().drop_back());
    if (failed(indices))
      return failure();
    inList = std::move(*indices);
  }
  hopper::TileType type = getTileType(access, rows);
  return hopper::LoadOp::create(builder, loc, type,
                                arguments->getMap(access, rows), (*position)[0],
                                (*position)[1], (*position)[2], column, list,
                                inList, stages)
      .getResult();
}

/// Elements of a block, some of which may not be there with `zeroFill`, and
/// which come under a condition that is not null.
FailureOr<Value> Outliner::emitVector(Value source, ValueRange indices,
                                      VectorType type, int64_t stages,
                                      bool zeroFill, Value condition) {
  FailureOr<SmallVector<Value>> position = values->getScalars(indices);
  if (failed(position))
    return failure();
  int64_t length = type.getDimSize(0);
  return hopper::LoadVectorOp::create(
             builder, loc,
             hopper::TileType::get(builder.getContext(), length, /*columns=*/0,
                                   type.getElementType(), length),
             arguments->getMemRef(*values->getOperand(source),
                                  cast<ShapedType>(source.getType())),
             *position, zeroFill, condition, stages)
      .getResult();
}

/// A step that loads a tile, which it gives.
FailureOr<Value> Outliner::emitLoadStep(StringRef name,
                                        const TileAccess &access, int64_t rows,
                                        int64_t stages) {
  hopper::StepOp step =
      createStep(name, kLoadPartition, getTileType(access, rows));
  FailureOr<Value> tile = emitLoad(access, rows, stages);
  if (failed(tile))
    return failure();
  hopper::EndOp::create(builder, loc, *tile);
  builder.setInsertionPointAfter(step);
  return step.getResult(0);
}

/// The rows of a tile of a work tile that belong to a warpgroup.
Value Outliner::emitOwnRows(Value tile) {
  auto type = cast<hopper::TileType>(tile.getType());
  return hopper::OwnRowsOp::create(
      builder, loc,
      hopper::TileType::get(builder.getContext(), hopper::kWarpgroupRows,
                            type.getColumns(), type.getElementType(),
                            type.getRows(), type.getChunkColumns()),
      tile);
}

/// The columns of the first result, or those of the queries where that has
/// none.
int64_t Outliner::getResultColumns() const {
  return !results.empty() && results.front().access
             ? results.front().access->columns
             : query.columns;
}

/// The queries of a work tile, which products read from shared memory or from
/// registers.
LogicalResult Outliner::emitQueries() {
  int64_t stages =
      isAttention()
          ? getQueryStages(getTarget(function), schedule,
                           getSharedUse(getResultColumns(), getCaptureTypes()))
          : 1;
  OperandUses uses = getOperandUses(queries);
  if (uses.across)
    query.ownColumns =
        getSharedOutColumns(cast<VectorType>(uses.across.getResultType()));
  FailureOr<Value> tile =
      emitLoadStep("load_q", query, schedule.getTileM(), stages);
  if (failed(tile))
    return failure();
  queryTile = *tile;
  for (auto &[value, access] : residents) {
    FailureOr<Value> other =
        emitLoadStep(("load_arg" + Twine(access.argument)).str(), access,
                     schedule.getTileM(), /*stages=*/1);
    if (failed(other))
      return failure();
    tiles[value] = *other;
  }
  auto negateRows = [&]() -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> where =
        values->getVector(negate.getWhere(), VectorKind::Query);
    if (failed(where))
      return failure();
    hopper::NegateRowsOp::create(builder, loc, emitOwnRows(queryTile), *where);
    return SmallVector<Value>();
  };
  if (negate && failed(emitRowsStep("negate_q", {}, negateRows)))
    return failure();
  if (!schedule.getQInRegisters() || uses.isOwn || uses.across)
    tiles[queries] = queryTile;
  if (!schedule.getQInRegisters())
    return success();
  auto vector = VectorType::get({query.columns, hopper::kWarpgroupRows},
                                query.elementType);
  hopper::StepOp hold = createStep("hold_q", getQueryPartition(), vector);
  hopper::EndOp::create(builder, loc,
                        hopper::LoadFragmentOp::create(builder, loc, vector,
                                                       emitOwnRows(queryTile))
                            .getResult());
  builder.setInsertionPointAfter(hold);
  operands[queries] = hold.getResult(0);
  return success();
}

FailureOr<ValueRange>
Outliner::emitRowsStep(StringRef name, TypeRange types,
                       function_ref<FailureOr<SmallVector<Value>>()> body) {
  hopper::StepOp step = createStep(name, getQueryPartition(), types);
  KernelValues::State saved = values->save();
  FailureOr<SmallVector<Value>> own = body();
  values->restore(std::move(saved));
  if (failed(own))
    return failure();
  hopper::EndOp::create(builder, loc, *own);
  builder.setInsertionPointAfter(step);
  return ValueRange(step.getResults());
}

/// What the scores of each row are multiplied by, with the constant, so that it
/// takes no register of its own in the loop.
LogicalResult Outliner::emitFactors() {
  if (!softmax || !softmax.getFactors())
    return success();
  auto multiply = [&]() -> FailureOr<SmallVector<Value>> {
    FailureOr<Value> own =
        values->getVector(softmax.getFactors(), VectorKind::Query);
    if (failed(own))
      return failure();
    double factor = softmax.getFactor().convertToDouble();
    Value all = arith::MulFOp::create(builder, loc, *own,
                                      splat(own->getType(), factor));
    return SmallVector<Value>{all};
  };
  FailureOr<ValueRange> all =
      emitRowsStep("hold_factors", getVectorType(1), multiply);
  if (failed(all))
    return failure();
  factors = all->front();
  return success();
}

/// A step that loads tiles of a block, and floats.
LogicalResult Outliner::emitLoadStep(StepOp step) {
  SmallVector<Value> ends;
  hopper::StepOp draft = createStep(step.getStepName(), kLoadPartition, {});
  for (Value output : step.getOutputs()) {
    FailureOr<Value> tile = Value();
    if (auto *block = blocks.find(output); block != blocks.end())
      tile = emitLoad(block->second, loop.getStep(), schedule.getStages());
    else if (auto *read = floats.find(output); read != floats.end())
      tile = emitVector(read->second.getBase(), read->second.getIndices(),
                        read->second.getVectorType(), schedule.getStages(),
                        /*zeroFill=*/false, /*condition=*/Value());
    else
      return step.emitError("expects nothing but tiles of a step that loads");
    if (failed(tile))
      return failure();
    ends.push_back(*tile);
  }
  hopper::EndOp::create(builder, loc, ends);
  builder.setInsertionPoint(draft);
  auto result =
      hopper::StepOp::create(builder, loc, ValueRange(ends).getTypes(),
                             step.getStepName(), kLoadPartition);
  result.getBody().takeBody(draft.getBody());
  draft.erase();
  builder.setInsertionPointAfter(result);
  for (auto [output, tile] :
       llvm::zip_equal(step.getOutputs(), result.getResults())) {
    if (floats.contains(output))
      values->setTile(output, tile);
    else
      tiles[output] = tile;
  }
  return success();
}

/// The predicate of a block, which is left out where the block is full.
FailureOr<Value> Outliner::emitMask(MaskTileOp mask, Value scores) {
  FailureOr<Value> full = Value();
  if (loop.hasFull() && isFull) {
    full = isFull;
  } else if (loop.hasFull()) {
    values->map(loop.getFull().getArgument(0), values->getKey());
    full = values->getScalar(loop.getClass(loop.getFull()));
    if (failed(full))
      return failure();
  } else {
    full = arith::ConstantOp::create(builder, loc, builder.getBoolAttr(false))
               .getResult();
  }
  FailureOr<Value> result = emitMask(scores, *full, [&] {
    return values->getVector(mask.getPredicate(), VectorKind::Both);
  });
  if (failed(result) || !mask.getEnd())
    return result;
  // Only the last block has keys that there are not.
  FailureOr<Value> last = values->getScalar(mask.getEnd()),
                   first = values->getScalar(mask.getFirst());
  if (failed(last) || failed(first))
    return failure();
  Value next = arith::AddIOp::create(
      builder, loc, *first,
      arith::ConstantIndexOp::create(builder, loc, loop.getStep()));
  Value isBefore = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sle, next, *last);
  Value isFull = arith::OrIOp::create(builder, loc, *full, isBefore);
  OpBuilder inProgram(mask);
  Value exist = mask.emitExist(inProgram);
  return emitMask(*result, isFull,
                  [&] { return values->getVector(exist, VectorKind::Both); });
}

FailureOr<Value>
Outliner::emitMask(Value scores, Value full,
                   function_ref<FailureOr<Value>()> emitPredicate) {
  auto result = hopper::MaskOp::create(builder, loc, scores.getType(), scores,
                                       full, "by_block");
  OpBuilder::InsertionGuard guard(builder);
  builder.createBlock(&result.getPredicate());
  KernelValues::State saved = values->save();
  bool wasRarelyRun = values->setRarelyRun(loop.hasFull());
  FailureOr<Value> allowed = emitPredicate();
  values->setRarelyRun(wasRarelyRun);
  values->restore(std::move(saved));
  if (failed(allowed))
    return failure();
  hopper::EndOp::create(builder, loc, *allowed);
  return result.getResult();
}

LogicalResult Outliner::emitOnlineStep(OnlineStepOp step) {
  auto mask = step.getScores().getDefiningOp<MaskTileOp>();
  Value scores = mask ? mask.getScores() : step.getScores();
  double factor = factors ? 1 : step.getFactor().convertToDouble();
  FailureOr<Value> value, offset = Value();
  if (affine && affine.getResult() == scores) {
    factor *= affine.getFactor().convertToDouble();
    if (failed(takeSlopes()))
      return failure();
    FailureOr<std::pair<Value, Value>> ofBlock = emitBiasOfBlock();
    if (failed(ofBlock))
      return failure();
    offset = ofBlock->first;
    value = emitBias(ofBlock->second);
  } else {
    value = values->getVector(scores, VectorKind::Both);
  }
  if (succeeded(value) && mask)
    value = emitMask(mask, *value);
  FailureOr<Value> acc = values->getVector(step.getAcc(), VectorKind::Both);
  if (failed(value) || failed(offset) || failed(acc))
    return failure();
  auto next = hopper::SoftmaxStepOp::create(
      builder, loc, *value, *acc, values->getState(step.getMax()),
      values->getState(step.getSum()), factors, *offset,
      builder.getF64FloatAttr(factor),
      builder.getStringAttr(stringifyRescale(step.getRescale())));
  values->map(step.getProbabilities(), next.getProbabilities());
  values->map(step.getNewAcc(), next.getNewAcc());
  values->setState(step.getNewMax(), next.getNewNegMax());
  values->setState(step.getNewSum(), next.getNewSum());
  return success();
}

/// Whether a value is computed of what a step gives, or what the loop carries.
static bool dependsOnSteps(Value value, TileLoopOp loop) {
  Operation *op = value.getDefiningOp();
  if (!op)
    return llvm::is_contained(loop.getRegionIterArgs(), value);
  return isa<StepOp>(op) || llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOnSteps(operand, loop);
         });
}

/// Whether a vector has an element for each diagonal of a tile.
bool Outliner::isOfDiagonals(VectorType type) {
  return type.getRank() == 1 &&
         type.getDimSize(0) ==
             schedule.getTileM() + static_cast<int64_t>(loop.getStep());
}

/// Starts a step with what it reads by key, but for what predicates read, so
/// that it is under way while a product is computed.
LogicalResult Outliner::emitReads(StepOp step) {
  for (auto gather : step.getBody().getOps<GatherOp>()) {
    auto type = dyn_cast<VectorType>(gather.getType());
    if (type && !isOfDiagonals(type) && !isLoaded(gather) &&
        !readsOfKeys.contains(gather) &&
        !values->isInvariant(gather.getResult()) &&
        !dependsOnSteps(gather.getResult(), loop) &&
        failed(values->getVector(gather.getResult(), VectorKind::Key)))
      return failure();
  }
  return success();
}

/// Emits what a step, or a loop in it, does, but for what is computed where it
/// is used.
LogicalResult Outliner::emitStepOps(Block &block) {
  for (Operation &op : block.without_terminator()) {
    LogicalResult result = success();
    FailureOr<Value> value = Value();
    if (auto product = dyn_cast<vector::ContractionOp>(op)) {
      value = emitProduct(product);
    } else if (auto online = dyn_cast<OnlineStepOp>(op)) {
      result = emitOnlineStep(online);
    } else if (auto accumulate = dyn_cast<AccumulateOp>(op)) {
      result = emitAccumulate(accumulate);
    } else if (auto diagonals = dyn_cast<SumDiagonalsOp>(op)) {
      result = emitSumDiagonals(diagonals);
    } else if (auto diagonals = dyn_cast<SpreadDiagonalsOp>(op)) {
      result = emitSpreadDiagonals(diagonals);
    } else if (auto add = dyn_cast<AddRowsOp>(op)) {
      value = emitAddRows(add);
    } else if (auto scatter = dyn_cast<ScatterOp>(op)) {
      result = emitScatter(scatter);
    } else if (auto inner = dyn_cast<scf::ForOp>(op);
               inner &&
               inner.getBody()
                   ->walk([](ScatterOp) { return WalkResult::interrupt(); })
                   .wasInterrupted()) {
      result = values->emitLoop(inner, VectorKind::Both,
                                [&] { return emitStepOps(*inner.getBody()); });
    } else if (auto mask = dyn_cast<MaskTileOp>(op);
               mask &&
               llvm::none_of(mask->getUsers(), llvm::IsaPred<OnlineStepOp>)) {
      value = values->getVector(mask.getScores(), VectorKind::Both);
      if (succeeded(value))
        value = emitMask(mask, *value);
    }
    if (failed(result) || failed(value))
      return failure();
    if (*value)
      values->map(op.getResult(0), *value);
  }
  return success();
}

/// What a step ends with. Operands of products are rounded, as an eager program
/// does; they are tiles for other partitions, and for products over all rows.
LogicalResult Outliner::emitOutputs(StepOp step, StringRef partition,
                                    SmallVectorImpl<Value> &ends) {
  outputs.clear();
  auto add = [&](Output::Kind kind, Value source, Value value) {
    outputs.push_back({kind, source});
    ends.push_back(value);
  };
  Type element = blocks.begin()->second.elementType;
  for (auto [output, yielded] :
       llvm::zip_equal(step.getOutputs(), step.getYielded())) {
    if (Value state = values->findState(yielded)) {
      add(Output::State, output, state);
      continue;
    }
    FailureOr<Value> value = isa<VectorType>(yielded.getType())
                                 ? values->getVector(yielded, VectorKind::Query)
                                 : values->getScalar(yielded);
    if (failed(value))
      return failure();
    if (affine && output == affine.getProduct())
      value = addBias(*value);
    OperandUses uses = getOperandUses(output);
    bool isOperand = !uses.products.empty() || uses.isOwn || uses.across;
    // Rounded numbers go to other partitions as they are.
    auto type = dyn_cast<VectorType>(value->getType());
    bool isElsewhere = type && isUsedElsewhere(output, partition) &&
                       (isOperand || type.getElementType() == element);
    if (uses.isValue || !isOperand)
      add(Output::Value, output, *value);
    if (!isOperand && !isElsewhere)
      continue;
    Value rounded = *value;
    int64_t stages = getPublishedStages(output, partition);
    if (type.getElementType() != element)
      rounded =
          arith::TruncFOp::create(builder, loc, type.clone(element), rounded);
    if (!uses.products.empty())
      add(Output::Operand, output, rounded);
    if (uses.isOwn || isElsewhere)
      add(Output::Tile, output,
          publish(rounded, /*isTransposed=*/false, stages));
    if (uses.across)
      add(Output::Across, output,
          publish(rounded, /*isTransposed=*/true, stages));
  }
  return success();
}

LogicalResult Outliner::emitStep(StepOp step) {
  if (step.getNumResults() && (blocks.contains(step.getResult(0)) ||
                               floats.contains(step.getResult(0))))
    return emitLoadStep(step);
  // The types are known when the step has been computed.
  StringRef partition = getPartition(step.getStepName());
  hopper::StepOp draft = createStep(step.getStepName(), partition, {});
  KernelValues::State saved = values->save();
  emitCaptures(step);
  takeFromOthers(step, partition);
  SmallVector<Value> ends;
  // In front of a product, whose operand may not be written while it runs.
  if (affine && llvm::is_contained(step.getResults(), affine.getProduct()) &&
      failed(takeSlopes()))
    return failure();
  if (failed(emitReads(step)) || failed(emitStepOps(step.getBody().front())) ||
      failed(emitOutputs(step, partition, ends)))
    return failure();
  hopper::EndOp::create(builder, loc, ends);
  builder.setInsertionPoint(draft);
  auto result = hopper::StepOp::create(
      builder, loc, ValueRange(ends).getTypes(), step.getStepName(), partition);
  result.getBody().takeBody(draft.getBody());
  draft.erase();
  values->restore(std::move(saved));
  for (auto [output, value] : llvm::zip_equal(outputs, result.getResults())) {
    switch (output.kind) {
    case Output::State:
      values->setState(output.source, value);
      break;
    case Output::Value:
      values->map(output.source, value);
      break;
    case Output::Operand:
      operands[output.source] = value;
      break;
    case Output::Tile:
      tiles[output.source] = value;
      break;
    case Output::Across:
      acrossTiles[output.source] = value;
      break;
    }
  }
  builder.setInsertionPointAfter(result);
  return success();
}
