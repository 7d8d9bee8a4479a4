//===- ConsumerParts.cpp - What a part of the keys comes to ---------------===//

#include "Consumer.h"

using namespace mlir;
using namespace mlir::attn;

/// The result of a part, as if its keys were all: the row of the output before
/// it is rounded, which is written if there are keys, and its log-sum-exp.
LogicalResult Consumer::emitPartResults(const Work &work, Value hasKeys,
                                        Value acc, Value max, Value sum) {
  TileLoopOp keys = program.keys;
  cloner.map(keys.getResult(0), acc);
  cloner.map(keys.getResult(1), VectorKind::Query, max);
  cloner.map(keys.getResult(2), VectorKind::Query, sum);
  const TileResult &output = *program.getOutput();
  SmallVector<Value> position;
  for (OpFoldResult offset : ArrayRef(output.access.position).take_front(3)) {
    FailureOr<Value> value = cloner.getScalar(offset);
    if (failed(value))
      return failure();
    position.push_back(*value);
  }
  FailureOr<Value> numRows = cloner.getScalar(output.numRows);
  if (failed(numRows))
    return failure();
  constexpr int64_t rowDim = 2;
  Value end = add(position[rowDim], *numRows);
  position[rowDim] = add(position[rowDim],
                         arith::MulIOp::create(builder, loc, warpgroup,
                                               index(hopper::kWarpgroupRows)));
  position.push_back(hopper::PositionOp::create(builder, loc, work.part));
  auto store = [&](Value vector, Value buffer) {
    hopper::StoreRowsOp::create(builder, loc, vector, buffer, position,
                                builder.getI64IntegerAttr(rowDim), end,
                                /*packed=*/Value(), /*heads=*/IntegerAttr());
  };
  store(emitLse(builder, loc, max, sum), resources.parts->lses);
  auto branch = scf::IfOp::create(builder, loc, hasKeys,
                                  /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  FailureOr<Value> rows = cloner.getVector(
      getUnroundedOutput(output.vector, keys.getResult(0)), VectorKind::Query);
  if (failed(rows))
    return failure();
  store(*rows, resources.parts->rows);
  return success();
}
