//===- HopperOutlineResults.cpp - What becomes of a work tile -------------===//
//
// Tiles are staged in shared memory and stored by the tensor engine; a number
// for each row is stored by the threads that have it.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"
#include "attn/Dialect/Attn/IR/OtherTarget.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult Outliner::matchResult(tensor::ParallelInsertSliceOp insert) {
  auto write = insert.getSource().getDefiningOp<vector::TransferWriteOp>();
  auto destination = dyn_cast<BlockArgument>(insert.getDest());
  std::optional<unsigned> argument;
  if (write && destination)
    argument = values->getArgument(grid.getTiedOpOperand(destination)->get());
  if (!argument)
    return insert.emitError("expects a tile that is written to an argument of "
                            "the function on a GPU")
           << otherTarget;
  OutlinedResult result;
  result.vector = write.getValueToStore();
  result.argument = *argument;
  result.destination = insert.getDest();
  result.packing = values->getPacking(insert.getDest());
  result.offsets = insert.getMixedOffsets();
  AffineMap map = write.getPermutationMap();
  result.rowDim = cast<AffineDimExpr>(map.getResults().back()).getPosition();
  OpFoldResult rows = insert.getMixedSizes()[result.rowDim];
  values->setRows(result.offsets[result.rowDim], rows);
  auto type = cast<VectorType>(result.vector.getType());
  if (type.getRank() == 2) {
    // What a launch counts work tiles by.
    if (insert.getDestType().getRank() != 4)
      return insert.emitError("expects a result with batch, head, row and "
                              "column, but got ")
             << insert.getDestType();
    int64_t column =
        cast<AffineDimExpr>(map.getResults().front()).getPosition();
    result.access = getAccess(insert.getDest(), type.getElementType(),
                              result.rowDim, column, result.offsets);
  }
  results.push_back(std::move(result));
  return success();
}

/// The rows of the work tile's own warpgroup in dimension `rowDim`, at
/// `offsets` in others. Of `count` packed heads, or null, each row goes where
/// it is of its own head in dimension `headDim`.
FailureOr<RowsPlace> Outliner::emitRowsPlace(ArrayRef<OpFoldResult> offsets,
                                             int64_t rowDim, Value count,
                                             int64_t headDim) {
  RowsPlace place;
  place.rowDim = rowDim;
  for (auto [dim, offset] : llvm::enumerate(offsets)) {
    FailureOr<Value> value = static_cast<int64_t>(dim) == rowDim
                                 ? FailureOr<Value>(first)
                                 : values->getScalar(offset);
    if (failed(value))
      return failure();
    place.position.push_back(*value);
  }
  if (!count)
    return place;
  FailureOr<Value> packed = values->getScalar(count);
  if (failed(packed))
    return failure();
  place.packed = *packed;
  place.heads = builder.getI64IntegerAttr(headDim);
  return place;
}

void Outliner::storeRows(const RowsPlace &place, Value vector, Value buffer) {
  hopper::StoreRowsOp::create(builder, loc, vector, buffer, place.position,
                              builder.getI64IntegerAttr(place.rowDim), end,
                              place.packed, place.heads);
}

LogicalResult Outliner::emitResult(const OutlinedResult &result,
                                   StagingTiles &staging) {
  FailureOr<Value> vector = values->getVector(result.vector, VectorKind::Query);
  if (failed(vector))
    return failure();
  if (!result.access) {
    PackGQAOp packing = result.packing;
    FailureOr<RowsPlace> place = emitRowsPlace(
        result.offsets, result.rowDim, packing ? packing.getCount() : Value(),
        packing ? packing.getHeads() : 0);
    if (failed(place))
      return failure();
    storeRows(*place, *vector, arguments->getMemRef(result.argument));
    return success();
  }
  FailureOr<SmallVector<Value>> position = emitPosition(*result.access, first);
  if (failed(position))
    return failure();
  Value tile = takeStaging(*result.access, staging);
  // A persistent kernel may have stored a work tile from there.
  bool isFresh =
      !schedule.getPersistent() && !llvm::is_contained(staging.used, tile);
  staging.used.push_back(tile);
  hopper::StoreOp::create(
      builder, loc, *vector, emitOwnRows(tile),
      arguments->getMap(*result.access, hopper::kWarpgroupRows), (*position)[0],
      (*position)[1], (*position)[2], /*column=*/Value(), isFresh);
  return success();
}

/// How many columns of a result are staged at a time, in memory of their own; 0
/// for all, where there is not enough for that.
int64_t Outliner::getStagedColumns(const TileAccess &result) {
  if (isAttention())
    return getStagingColumns(getTarget(function), schedule,
                             getSharedUse(result.columns, getCaptureTypes()));
  return schedule.getStrided()
             ? result.columns
             : std::min(result.columns, hopper::kChunkColumns);
}

/// A tile of the work tile that is free behind the loop, as no other partition
/// reads it, and each of its rows the warpgroup alone that has the row, and
/// that no result has been staged in; or null.
Value Outliner::findReadTile(const TileAccess &result,
                             const StagingTiles &staging) {
  if (isAttention() || schedule.getPersistent())
    return {};
  auto isRead = [&](Operation *user) {
    auto step = user->getParentOfType<StepOp>();
    return step && getPartition(step.getStepName()) == staging.partition;
  };
  auto fits = [&](Value value, Value tile) {
    auto type = cast<hopper::TileType>(tile.getType());
    OperandUses uses = getOperandUses(value);
    return type.getColumns() == result.columns &&
           type.getElementType() == result.elementType &&
           !llvm::is_contained(staging.used, tile) && !uses.isOwn &&
           !uses.across && llvm::all_of(value.getUsers(), isRead);
  };
  if (fits(queries, queryTile))
    return queryTile;
  for (auto &[value, access] : residents)
    if (Value tile = tiles.lookup(value); fits(value, tile))
      return tile;
  return {};
}

/// The tile that a result is staged in: one that has been read; or memory of
/// its own, for some columns at a time where there is not enough for all, or
/// that of the queries of an attention.
Value Outliner::takeStaging(const TileAccess &result, StagingTiles &staging) {
  if (Value tile = findReadTile(result, staging))
    return tile;
  int64_t columns = getStagedColumns(result);
  auto ofQueries = cast<hopper::TileType>(queryTile.getType());
  if (columns == 0 && ofQueries.getColumns() == result.columns &&
      ofQueries.getElementType() == result.elementType &&
      getQueryPartition() == getResultPartition())
    return queryTile;
  auto type = hopper::TileType::get(builder.getContext(), schedule.getTileM(),
                                    columns ? columns : result.columns,
                                    result.elementType, schedule.getTileM());
  if (!staging.own || staging.own.getType() != type)
    staging.own = createAtStart<hopper::CreateTileOp>(type);
  return staging.own;
}

/// What becomes of a work tile is written.
LogicalResult Outliner::emitResults() {
  OpBuilder::InsertionGuard guard(builder);
  createStep("store", getResultPartition(), {});
  // The state of the softmax as the program names it.
  if (softmax) {
    Value max = loop.getResult(TileLoopOp::Max),
          sum = loop.getResult(TileLoopOp::Sum);
    values->map(max, VectorKind::Query,
                arith::NegFOp::create(builder, loc, values->getState(max)));
    values->map(sum, VectorKind::Query,
                hopper::ReduceOp::create(builder, loc, getVectorType(1), "add",
                                         values->getState(sum)));
  }
  if (parts) {
    if (failed(emitSplitResults()))
      return failure();
    hopper::EndOp::create(builder, loc);
    return success();
  }
  // One result is stored after the other; partitions have staging of their own.
  StagingTiles staging;
  staging.partition = getResultPartition();
  for (const OutlinedResult &result : results) {
    if (StringRef partition = getResultPartition(result);
        partition != staging.partition) {
      hopper::EndOp::create(builder, loc);
      builder.setInsertionPointAfter(
          builder.getInsertionBlock()->getParentOp());
      createStep(("store." + partition).str(), partition, {});
      staging = {};
      staging.partition = partition;
    }
    if (failed(emitResult(result, staging)))
      return failure();
  }
  hopper::EndOp::create(builder, loc);
  return success();
}
