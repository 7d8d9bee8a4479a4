//===- Filled.cpp - Tensors of one number ---------------------------------===//

#include "Filled.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;

Value mlir::attn::createFilled(OpBuilder &builder, Location loc,
                               ArrayRef<OpFoldResult> sizes, Type element,
                               double number) {
  Value empty = tensor::EmptyOp::create(builder, loc, sizes, element);
  Value scalar = arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(element, number));
  return linalg::FillOp::create(builder, loc, scalar, empty).getResult(0);
}
