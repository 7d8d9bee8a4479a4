//===- WorkerLoop.cpp - Loops that workers share --------------------------===//

#include "WorkerLoop.h"
#include "attn/Dialect/Attn/IR/Preparation.h"
#include "mlir/Dialect/Bufferization/IR/Bufferization.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

using namespace mlir;
using namespace mlir::attn;

scf::ForallOp mlir::attn::createWorkerLoop(OpBuilder &builder, Location loc,
                                           ArrayRef<OpFoldResult> extents,
                                           ValueRange outs,
                                           ScheduleAttrInterface schedule) {
  SmallVector<Attribute> workers;
  for (size_t dim = 0; dim < extents.size(); ++dim)
    workers.push_back(WorkerAttr::get(builder.getContext(), dim));
  auto loop = scf::ForallOp::create(builder, loc, extents, outs,
                                    builder.getArrayAttr(workers));
  if (schedule)
    loop->setDiscardableAttr(kScheduleAttrName, schedule);
  return loop;
}

void mlir::attn::writeElements(OpBuilder &builder, scf::ForallOp loop,
                               ValueRange place, ValueRange elements) {
  Location loc = loop.getLoc();
  Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
  SmallVector<Value> zeros(place.size(), zero);
  SmallVector<OpFoldResult> offsets(place.begin(), place.end()),
      ones(place.size(), builder.getIndexAttr(1));
  for (auto [out, element] :
       llvm::zip_equal(loop.getRegionIterArgs(), elements)) {
    Value slice =
        tensor::ExtractSliceOp::create(builder, loc, out, offsets, ones, ones);
    Value written =
        tensor::InsertOp::create(builder, loc, element, slice, zeros);
    OpBuilder::InsertionGuard inParallel(builder);
    builder.setInsertionPointToEnd(loop.getTerminator().getBody());
    tensor::ParallelInsertSliceOp::create(builder, loc, written, out, offsets,
                                          ones, ones);
  }
}

/// What a value is a cast of.
static Value getSource(Value value) {
  while (auto cast = value.getDefiningOp<tensor::CastOp>())
    value = cast.getSource();
  return value;
}

void mlir::attn::markPreparation(scf::ForallOp loop,
                                 AttentionLikeOpInterface op) {
  SmallPtrSet<Value, 8> read;
  SmallPtrSet<OpOperand *, 8> captured;
  for (MutableOperandRange range :
       {op.getCapturesMutable(), op.getSparsityOperandsMutable()})
    for (OpOperand &operand : range) {
      read.insert(getSource(operand.get()));
      captured.insert(&operand);
    }
  auto isWritten = [&](Value value) {
    auto function = op->getParentOfType<FunctionOpInterface>();
    auto argument = dyn_cast<BlockArgument>(value);
    if (!function || !argument ||
        argument.getOwner()->getParentOp() != function)
      return false;
    auto isWritable = function.getArgAttrOfType<BoolAttr>(
        argument.getArgNumber(),
        bufferization::BufferizationDialect::kWritableAttrName);
    return isWritable && isWritable.getValue();
  };
  if (llvm::none_of(op->getOpOperands(),
                    [&](OpOperand &operand) {
                      return !captured.contains(&operand) &&
                             read.contains(getSource(operand.get()));
                    }) &&
      llvm::none_of(read, isWritten))
    loop->setDiscardableAttr(kPreparationAttrName,
                             UnitAttr::get(loop.getContext()));
}
