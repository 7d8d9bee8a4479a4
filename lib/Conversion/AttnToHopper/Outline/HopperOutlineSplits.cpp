//===- HopperOutlineSplits.cpp - Work tiles whose keys are shared out -----===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// The results are the accumulator of a softmax, normalised, and at most its
/// log-sum-exp.
LogicalResult Outliner::matchSplits() {
  if (!schedule.getSplitKV())
    return success();
  combined.function = function;
  bool isCombined = softmax != nullptr;
  for (const OutlinedResult &result : results) {
    if (!result.access) {
      isCombined &= !combined.lse;
      combined.lse = result.argument;
      continue;
    }
    auto acc = softmax ? dyn_cast<BlockArgument>(softmax.getAcc()) : nullptr;
    isCombined &= !unrounded && acc && acc.getArgNumber() > 0 &&
                  acc.getOwner() == &loop.getBody().front();
    if (!isCombined)
      break;
    unrounded = getUnroundedOutput(result.vector,
                                   loop.getResult(acc.getArgNumber() - 1));
    combined.output = *result.access;
    isCombined &= unrounded != nullptr;
  }
  if (!isCombined || !unrounded)
    return emitNotCombined(grid);
  return success();
}

/// Their results are tables after all others.
void Outliner::declareSplits(gpu::GPUFuncOp kernel) {
  if (!schedule.getSplitKV())
    return;
  if (auto tables =
          kernel->getAttrOfType<DictionaryAttr>(hopper::kTablesAttrName))
    combined.numTables = tables.getAs<ArrayAttr>("tables").size();
  declareSplitResults(kernel, combined);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(kernel);
  emitCombineKernel(builder, loc, combined);
  parts = getSplitResults(combined, *arguments);
}

/// Of a loop's range, the blocks of the work tile's part.
void Outliner::takePart(Value &lower, Value &upper) {
  auto range = hopper::SplitOfRangeOp::create(
      builder, loc, part, parts->numSplits, lower, upper, loop.getStep(),
      hopper::kMinSplitBlocks);
  lower = range.getFirst();
  upper = range.getEnd();
  hasKeys = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::slt,
                                  lower, upper);
}

/// The result of a part, as if its keys were all: the row of the output before
/// it is rounded, which is written if there are keys, and its log-sum-exp.
LogicalResult Outliner::emitSplitResults() {
  constexpr unsigned headDim = 1, rowDim = 2;
  SmallVector<Value> position;
  for (OpFoldResult offset : ArrayRef(combined.output.position).take_front(3)) {
    FailureOr<Value> value = position.size() == rowDim
                                 ? FailureOr<Value>(first)
                                 : values->getScalar(offset);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  position.push_back(part);
  // Of packed heads, each row goes where it is of its own head: what is
  // combined knows of no packing.
  Value packed;
  IntegerAttr heads;
  if (PackedCountOp packing = combined.output.packing) {
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
