//===- Scatter.cpp - Sums into gradients of captures ----------------------===//

#include "TileLowering.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult TileLowering::lowerScatter(ScatterOp op) {
  auto type = cast<VectorType>(op.getValues().getType());
  if (type.getRank() != 2)
    return op.emitError("expects a tile of two dimensions, but got ") << type;
  dead.push_back(op);
  // Computed for all elements at once, on vectors; the sums are one by one.
  FailureOr<Value> values = materialize(op.getValues());
  FailureOr<Value> mask = materialize(op.getMask());
  if (failed(values) || failed(mask))
    return failure();
  return emitLoop(
      index(type.getDimSize(0)), 1, [&](Value row) -> LogicalResult {
        return emitLoop(
            index(type.getDimSize(1)), 1, [&](Value column) -> LogicalResult {
              SmallVector<TileCoord> at = {{row}, {column}};
              TileEvaluator elements = evaluator();
              Value active = elements.evaluate(op.getMask(), at);
              if (!active)
                return failure();
              auto ifActive = scf::IfOp::create(builder, loc, active);
              OpBuilder::InsertionGuard guard(builder);
              builder.setInsertionPointToStart(ifActive.thenBlock());
              TileEvaluator inside = evaluator();
              SmallVector<Value> indices;
              Value isInside;
              for (auto [dim, operand] : llvm::enumerate(op.getIndices())) {
                Value position =
                    inside.evaluate(operand, isa<VectorType>(operand.getType())
                                                 ? ArrayRef<TileCoord>(at)
                                                 : ArrayRef<TileCoord>());
                if (!position)
                  return failure();
                // One unsigned comparison covers both ends.
                Value isBelow = arith::CmpIOp::create(
                    builder, loc, arith::CmpIPredicate::ult, position,
                    memref::DimOp::create(builder, loc, op.getInto(), dim));
                isInside = isInside ? Value(arith::AndIOp::create(
                                          builder, loc, isInside, isBelow))
                                    : isBelow;
                indices.push_back(position);
              }
              Value value = inside.evaluate(op.getValues(), at);
              if (!value)
                return failure();
              if (isInside) {
                auto ifInside = scf::IfOp::create(builder, loc, isInside);
                builder.setInsertionPointToStart(ifInside.thenBlock());
              }
              Value sum =
                  memref::LoadOp::create(builder, loc, op.getInto(), indices);
              sum = arith::AddFOp::create(builder, loc, sum, value);
              memref::StoreOp::create(builder, loc, sum, op.getInto(), indices);
              return success();
            });
      });
}
