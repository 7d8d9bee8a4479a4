//===- HopperOutlineSteps.cpp - Steps of a program of tiles ---------------===//

#include "HopperOutliner.h"
#include "KeyLimits.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

hopper::StepOp Outliner::createStep(StringRef name, StringRef partition,
                                    TypeRange types) {
  auto step = hopper::StepOp::create(builder, loc, types, name, partition);
  builder.createBlock(&step.getBody());
  return step;
}

FailureOr<Value> Outliner::emitLoad(const TileAccess &access, int64_t rows,
                                    int64_t stages) {
  FailureOr<SmallVector<Value>> position = emitPosition(access);
  if (failed(position))
    return failure();
  Value column, list;
  SmallVector<Value> inList;
  if (!isConstantIntValue(access.position[3], 0)) {
    FailureOr<Value> value = values->getScalar(access.position[3]);
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
    for (Value index : numbers.getIndices().drop_back()) {
      FailureOr<Value> value = values->getScalar(index);
      if (failed(value))
        return failure();
      inList.push_back(*value);
    }
  }
  auto type = hopper::TileType::get(builder.getContext(), rows, access.columns,
                                    access.elementType, rows);
  return hopper::LoadOp::create(builder, loc, type,
                                arguments->getMap(access, rows), (*position)[0],
                                (*position)[1], (*position)[2], column, list,
                                inList, stages)
      .getResult();
}

/// A step that loads a tile, which it gives.
FailureOr<Value> Outliner::emitLoadStep(StringRef name,
                                        const TileAccess &access, int64_t rows,
                                        int64_t stages) {
  auto type = hopper::TileType::get(builder.getContext(), rows, access.columns,
                                    access.elementType, rows);
  hopper::StepOp step = createStep(name, kLoadPartition, type);
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
                            type.getRows()),
      tile);
}

/// The queries of a work tile, which products read from shared memory or from
/// registers.
LogicalResult Outliner::emitQueries() {
  FailureOr<Value> tile = emitLoadStep(
      "load_q", query, schedule.getTileM(),
      getQueryStages(schedule, query.columns,
                     results.front().access ? results.front().access->columns
                                            : query.columns,
                     getCaptureTypes()));
  if (failed(tile))
    return failure();
  queryTile = *tile;
  if (!schedule.getQInRegisters()) {
    tiles[queries] = queryTile;
    return success();
  }
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

LogicalResult Outliner::emitLoadStep(StepOp step) {
  if (step.getNumResults() != 1)
    return step.emitError("expects one tile of a step that loads");
  FailureOr<Value> tile =
      emitLoadStep(step.getStepName(), blocks.find(step.getResult(0))->second,
                   loop.getStep(), schedule.getStages());
  if (failed(tile))
    return failure();
  tiles[step.getResult(0)] = *tile;
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
                             "the work tile on a GPU");
  Value lhs = operands.lookup(product.getRhs());
  if (Value rows = tiles.lookup(product.getRhs()); rows && !isInReach(lhs))
    lhs = emitOwnRows(rows);
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
  Value result =
      hopper::DotOp::create(builder, loc, getVectorType(type.getDimSize(0)),
                            lhs, tile, acc, isTransposed);
  return product == biased ? addBias(result) : result;
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
  bool areKeysGathered =
      llvm::any_of(blocks, [](const auto &block) { return block.second.list; });
  PredicateParts predicate =
      splitPredicate(mask.getPredicate(), areKeysGathered);
  FailureOr<Value> result = emitMask(scores, *full, [&] {
    return computeCondition(builder, *values, predicate);
  });
  if (failed(result) || !predicate.length)
    return result;
  // Only the last block has keys that there are not.
  FailureOr<Value> last = values->getScalar(predicate.end);
  if (failed(last))
    return failure();
  Value next = arith::AddIOp::create(
      builder, loc, values->getKey(),
      arith::ConstantIndexOp::create(builder, loc, loop.getStep()));
  Value isBefore = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sle, next, *last);
  Value isFull = arith::OrIOp::create(builder, loc, *full, isBefore);
  return emitMask(*result, isFull, [&] {
    return values->getVector(predicate.length, VectorKind::Both);
  });
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
  Value all = mask ? mask.getScores() : step.getScores();
  FactoredScores scores = splitScoreFactor(all);
  FailureOr<Value> value, offset = Value();
  if (bias) {
    scores.factor = bias->factor;
    offset = getBias().emitOffset(held.isPlain);
    value = emitBias(all);
  } else {
    value = values->getVector(scores.value, VectorKind::Both);
  }
  if (succeeded(value) && mask)
    value = emitMask(mask, *value);
  FailureOr<Value> acc = values->getVector(step.getAcc(), VectorKind::Both);
  if (failed(value) || failed(offset) || failed(acc))
    return failure();
  auto next = hopper::SoftmaxStepOp::create(
      builder, loc, *value, *acc, values->getState(step.getMax()),
      values->getState(step.getSum()), *offset,
      builder.getF64FloatAttr(scores.factor),
      builder.getStringAttr(stringifyRescale(step.getRescale())));
  values->map(step.getProbabilities(), next.getProbabilities());
  values->map(step.getNewAcc(), next.getNewAcc());
  values->setState(step.getNewMax(), next.getNewShift());
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

/// Starts a step with what it reads by key, but for what predicates read, so
/// that it is under way while a product is computed.
LogicalResult Outliner::emitReads(StepOp step) {
  for (auto gather : step.getBody().getOps<GatherOp>()) {
    auto isRead = [&](const OutlinedCapture &capture) {
      return llvm::is_contained(capture.reads, gather);
    };
    if (isa<VectorType>(gather.getType()) && llvm::none_of(captures, isRead) &&
        !values->isInvariant(gather.getResult()) &&
        !dependsOnSteps(gather.getResult(), loop) &&
        failed(values->getVector(gather.getResult(), VectorKind::Key)))
      return failure();
  }
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
  StringRef partition = getPartition(step.getStepName());
  hopper::StepOp draft = createStep(step.getStepName(), partition, {});
  KernelValues::State saved = values->save();
  emitCaptures(step);
  if (failed(emitReads(step)))
    return failure();
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
    FailureOr<Value> value = isa<VectorType>(yielded.getType())
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
  SmallVector<Value> published;
  for (auto [output, value] :
       llvm::zip_equal(step.getOutputs(), ArrayRef(ends)))
    if (Value tile = publish(partition, output, value)) {
      published.push_back(output);
      tiles[output] = tile;
    }
  for (Value output : published)
    ends.push_back(tiles[output]);
  hopper::EndOp::create(builder, loc, ends);
  builder.setInsertionPoint(draft);
  auto result = hopper::StepOp::create(
      builder, loc, ValueRange(ends).getTypes(), step.getStepName(), partition);
  result.getBody().takeBody(draft.getBody());
  draft.erase();
  SmallVector<Value> states;
  for (Value yielded : step.getYielded())
    states.push_back(values->findState(yielded));
  values->restore(std::move(saved));
  for (auto [output, yielded, state, value] :
       llvm::zip_equal(step.getOutputs(), step.getYielded(), states,
                       result.getResults().drop_back(published.size()))) {
    if (state)
      values->setState(output, value);
    else if (isOperand(output))
      operands[output] = value;
    else
      values->map(output, value);
  }
  for (auto [output, tile] : llvm::zip_equal(
           published, result.getResults().take_back(published.size())))
    tiles[output] = tile;
  builder.setInsertionPointAfter(result);
  return success();
}
