//===- HopperOutlineSplits.cpp - Work tiles whose keys are shared out -----===//

#include "HopperOutliner.h"

using namespace mlir;
using namespace mlir::attn;

/// Writes what the state stands for as arithmetic, which results and the parts
/// of results have in common. From here on, no operation without use is erased:
/// parts store what results may not ask for.
void Outliner::expandNormalize() {
  IRRewriter rewriter(function.getContext());
  for (NormalizeOp op :
       llvm::make_early_inc_range(grid.getOps<NormalizeOp>())) {
    normalized.max = op.getMax();
    normalized.sum = op.getSum();
    Value o = op.getO(), lse = op.getLse();
    normalized.tile = attn::expandNormalize(rewriter, op);
    for (OutlinedResult &result : results)
      if (result.vector == o)
        result.vector = normalized.tile.o;
      else if (result.vector == lse)
        result.vector = normalized.tile.lse;
  }
}

/// The results are what the state of all keys stands for.
LogicalResult Outliner::matchSplits() {
  if (!schedule.getSplitKV())
    return success();
  combined.function = function;
  bool hasOutput = false, isCombined = softmax != nullptr;
  for (const OutlinedResult &result : results) {
    if (result.access && result.vector == normalized.tile.o && !hasOutput) {
      combined.output = *result.access;
      hasOutput = true;
    } else if (result.vector == normalized.tile.lse && !combined.lse) {
      combined.lse = result.argument;
    } else {
      isCombined = false;
    }
  }
  if (!isCombined || !hasOutput)
    return emitNotCombined(grid);
  return success();
}

/// Their results are tables after all others.
void Outliner::declareSplits() {
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
  // What is combined knows of no packing.
  PackedCountOp packing = combined.output.packing;
  FailureOr<RowsPlace> place =
      emitRowsPlace(ArrayRef(combined.output.position).take_front(3), rowDim,
                    packing ? packing.getCount() : Value(), headDim);
  if (failed(place))
    return failure();
  place->position.push_back(part);
  FailureOr<Value> max = values->getVector(normalized.max, VectorKind::Query),
                   sum = values->getVector(normalized.sum, VectorKind::Query);
  if (failed(max) || failed(sum))
    return failure();
  storeRows(*place, emitLse(builder, loc, *max, *sum), parts->lses);
  auto branch = scf::IfOp::create(builder, loc, hasKeys,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  FailureOr<Value> rows =
      values->getVector(normalized.tile.unrounded, VectorKind::Query);
  if (failed(rows))
    return failure();
  storeRows(*place, *rows, parts->rows);
  return success();
}
