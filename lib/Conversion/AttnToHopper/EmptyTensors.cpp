//===- EmptyTensors.cpp - Tensors without elements ------------------------===//

#include "EmptyTensors.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

bool mlir::attn::isEmpty(Value tensor) {
  return llvm::is_contained(cast<RankedTensorType>(tensor.getType()).getShape(),
                            0);
}

Value mlir::attn::createZeros(OpBuilder &builder, Location loc,
                              ArrayRef<OpFoldResult> sizes, Type element) {
  SmallVector<int64_t> shape;
  SmallVector<Value> extents;
  dispatchIndexOpFoldResults(sizes, extents, shape);
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getZeroAttr(element));
  return tensor::SplatOp::create(
      builder, loc, zero, RankedTensorType::get(shape, element), extents);
}
