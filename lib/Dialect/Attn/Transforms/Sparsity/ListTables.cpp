//===- ListTables.cpp - Lists of blocks or keys ---------------------------===//

#include "ListTables.h"
#include "WorkerLoop.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

Value mlir::attn::readList(OpBuilder &builder, Location loc, Value list,
                           ValueRange indices) {
  Value element = tensor::ExtractOp::create(builder, loc, list, indices);
  return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                    element);
}

std::pair<Value, Value> mlir::attn::readListEnds(OpBuilder &builder,
                                                 Location loc, Value rows,
                                                 ValueRange ids) {
  SmallVector<Value> position(
      ids.take_back(cast<RankedTensorType>(rows.getType()).getRank()));
  Value begin = readList(builder, loc, rows, position);
  position.back() =
      arith::AddIOp::create(builder, loc, position.back(),
                            arith::ConstantIndexOp::create(builder, loc, 1));
  return {begin, readList(builder, loc, rows, position)};
}

SmallVector<OpFoldResult> mlir::attn::getListGrid(OpBuilder &builder,
                                                  Location loc, Value rows) {
  int64_t numLeading = cast<RankedTensorType>(rows.getType()).getRank() - 1;
  SmallVector<OpFoldResult> grid(2 - numLeading, builder.getIndexAttr(1));
  for (int64_t dim = 0; dim < numLeading; ++dim)
    grid.push_back(tensor::getMixedSize(builder, loc, rows, dim));
  return grid;
}

Value mlir::attn::emitTable(
    RewriterBase &builder, AttentionLikeOpInterface op, Location loc,
    ArrayRef<OpFoldResult> grid, ArrayRef<OpFoldResult> rowSizes, Type element,
    function_ref<Value(Value slice, ValueRange ids)> fill) {
  SmallVector<OpFoldResult> sizes(grid);
  llvm::append_range(sizes, rowSizes);
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, element);
  scf::ForallOp forall = createWorkerLoop(builder, loc, grid, empty);
  markPreparation(forall, op);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(forall.getTerminator());
  SmallVector<Value> ids(forall.getInductionVars());
  OpFoldResult zero = builder.getIndexAttr(0), one = builder.getIndexAttr(1);
  SmallVector<OpFoldResult> offsets(ids.begin(), ids.end()),
      sliceSizes(grid.size(), one), strides(sizes.size(), one);
  offsets.append(rowSizes.size(), zero);
  llvm::append_range(sliceSizes, rowSizes);
  Value table = forall.getRegionIterArgs()[0];
  Value slice = tensor::ExtractSliceOp::create(builder, loc, table, offsets,
                                               sliceSizes, strides);
  Value filled = fill(slice, ids);
  builder.setInsertionPointToEnd(forall.getTerminator().getBody());
  tensor::ParallelInsertSliceOp::create(builder, loc, filled, table, offsets,
                                        sliceSizes, strides);
  return forall.getResult(0);
}
