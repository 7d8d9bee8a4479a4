//===- HopperOutlineParts.cpp - Work tiles whose keys are shared out ------===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// The results are the accumulator of a softmax, normalised, and at most its
/// log-sum-exp.
LogicalResult Outliner::matchParts() {
  if (!schedule.getSplitKeys())
    return success();
  merged.function = function;
  bool isMerged = softmax != nullptr;
  for (const OutlinedResult &result : results) {
    if (!result.access) {
      isMerged &= !merged.lse;
      merged.lse = result.argument;
      continue;
    }
    auto acc = softmax ? dyn_cast<BlockArgument>(softmax.getAcc()) : nullptr;
    isMerged &= !unrounded && acc && acc.getArgNumber() > 0 &&
                acc.getOwner() == &loop.getBody().front();
    if (!isMerged)
      break;
    unrounded = getUnroundedOutput(result.vector,
                                   loop.getResult(acc.getArgNumber() - 1));
    merged.output = *result.access;
    isMerged &= unrounded != nullptr;
  }
  if (!isMerged || !unrounded)
    return emitNotMerged(grid);
  return success();
}

/// Their results are tables after all others.
void Outliner::declareParts(gpu::GPUFuncOp kernel) {
  if (!schedule.getSplitKeys())
    return;
  if (auto tables =
          kernel->getAttrOfType<DictionaryAttr>(hopper::kTablesAttrName))
    merged.numTables = tables.getAs<ArrayAttr>("tables").size();
  declarePartResults(kernel, merged);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  emitMergeKernel(builder, loc, merged);
  parts = getPartResults(merged, *arguments);
}

/// Of a loop's range, the blocks of the work tile's part.
void Outliner::takePart(Value &lower, Value &upper) {
  auto range = hopper::PartOfRangeOp::create(
      builder, loc, part, parts->numParts, lower, upper, loop.getStep(),
      hopper::kLeastPartTiles);
  lower = range.getFirst();
  upper = range.getEnd();
  hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                  lower, upper);
}

/// The result of a part, as if its keys were all: the row of the output before
/// it is rounded, which is written if there are keys, and its log-sum-exp.
LogicalResult Outliner::emitPartResults() {
  constexpr unsigned headDim = 1, rowDim = 2;
  SmallVector<Value> position;
  for (OpFoldResult offset : ArrayRef(merged.output.position).take_front(3)) {
    FailureOr<Value> value = position.size() == rowDim
                                 ? FailureOr<Value>(first)
                                 : values->getScalar(offset);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  position.push_back(part);
  // Of packed heads, each row goes where it is of its own head: what is merged
  // knows of no packing.
  Value packed;
  IntegerAttr heads;
  if (PackedCountOp packing = merged.output.packing) {
    FailureOr<Value> count = values->getScalar(packing.getCount());
    if (failed(count))
      return failure();
    packed = *count;
    heads = builder.getI64IntegerAttr(headDim);
  }
  auto store = [&](Value vector, Value buffer) {
    hopper::StoreRowsOp::create(builder, loc, vector, buffer, position,
                                builder.getI64IntegerAttr(rowDim), end, packed,
                                heads);
  };
  auto getState = [&](Value argument) {
    return values->getVector(
        loop.getResult(cast<BlockArgument>(argument).getArgNumber() - 1),
        VectorKind::Query);
  };
  FailureOr<Value> max = getState(softmax.getMax()),
                   sum = getState(softmax.getSum());
  if (failed(max) || failed(sum))
    return failure();
  store(emitLse(builder, loc, *max, *sum), parts->lses);
  auto branch = scf::IfOp::create(builder, loc, hasKeys,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  FailureOr<Value> rows = values->getVector(unrounded, VectorKind::Query);
  if (failed(rows))
    return failure();
  store(*rows, parts->rows);
  return success();
}
