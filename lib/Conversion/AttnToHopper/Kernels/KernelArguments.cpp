//===- KernelArguments.cpp - What a kernel is given -----------------------===//

#include "KernelArguments.h"

using namespace mlir;
using namespace mlir::attn;

Value KernelArguments::add(Type type, unsigned argument,
                           ArrayRef<NamedAttribute> attributes) {
  Builder builder(kernel.getContext());
  SmallVector<NamedAttribute> all(attributes);
  all.push_back(builder.getNamedAttr(hopper::kOperandAttrName,
                                     builder.getI64IntegerAttr(argument)));
  unsigned number = kernel.getNumArguments();
  // Cannot fail at the end.
  (void)kernel.insertArgument(number, type, builder.getDictionaryAttr(all),
                              function.getLoc());
  return kernel.getArgument(number);
}

Value KernelArguments::getMap(const TileAccess &access, int64_t rows) {
  // Rows of a list are for threads to copy, whatever copies the others.
  bool isListed = static_cast<bool>(access.list);
  auto type = hopper::MapType::get(kernel.getContext(), rows, access.columns,
                                   access.elementType, isStrided || isListed,
                                   /*aligned=*/isListed && !isStrided,
                                   /*packed=*/access.packing != nullptr);
  Value &value = values[{type, access.argument, -1}];
  Builder builder(kernel.getContext());
  if (!value)
    value =
        add(type, access.argument,
            builder.getNamedAttr(hopper::kDimsAttrName,
                                 builder.getDenseI64ArrayAttr(access.dims)));
  return value;
}

Value KernelArguments::getExtent(unsigned argument, int64_t dim) {
  Builder builder(kernel.getContext());
  Value &value = values[{builder.getIndexType(), argument, dim}];
  if (!value)
    value = add(builder.getIndexType(), argument,
                builder.getNamedAttr(hopper::kDimAttrName,
                                     builder.getI64IntegerAttr(dim)));
  return value;
}

Value KernelArguments::getScalar(unsigned argument) {
  Type type = function.getArgument(argument).getType();
  Value &value = values[{type, argument, -1}];
  if (!value)
    value = add(type, argument, {});
  return value;
}

/// What is not of an argument of the function.
Value KernelArguments::addOwn(Type type, StringRef attribute) {
  Builder builder(kernel.getContext());
  Value &value = values[{type, ~0u, -1}];
  if (value)
    return value;
  unsigned number = kernel.getNumArguments();
  (void)kernel.insertArgument(number, type,
                              builder.getDictionaryAttr(builder.getNamedAttr(
                                  attribute, builder.getUnitAttr())),
                              function.getLoc());
  return value = kernel.getArgument(number);
}

Value KernelArguments::getPackedCount() {
  return addOwn(IndexType::get(kernel.getContext()),
                hopper::kPackedCountAttrName);
}

Value KernelArguments::getCounter() {
  Type i32 = IntegerType::get(kernel.getContext(), 32);
  return addOwn(MemRefType::get({2}, i32), hopper::kCounterAttrName);
}

Value KernelArguments::getMemRef(unsigned operand, ShapedType tensor) {
  return getMemRef(operand, tensor, /*lastStride=*/1);
}

Value KernelArguments::getRows(unsigned operand, ShapedType tensor,
                               int64_t bytes) {
  bool areAligned = !isStrided || isa<MemRefType>(tensor);
  Value buffer =
      getMemRef(operand, tensor, areAligned ? 1 : ShapedType::kDynamic);
  if (areAligned)
    kernel.setArgAttr(cast<BlockArgument>(buffer).getArgNumber(),
                      hopper::kAlignmentAttrName,
                      Builder(kernel.getContext()).getI64IntegerAttr(bytes));
  return buffer;
}

Value KernelArguments::getMemRef(unsigned operand, ShapedType tensor,
                                 int64_t lastStride) {
  if (operand < function.getNumArguments() &&
      !isa_and_present<MemRefType>(tensor))
    tensor = cast<ShapedType>(function.getArgument(operand).getType());
  if (auto buffer = dyn_cast<MemRefType>(tensor)) {
    Value &value = values[{buffer, operand, -1}];
    if (!value)
      value = add(buffer, operand, {});
    return value;
  }
  SmallVector<int64_t> strides(tensor.getRank(), ShapedType::kDynamic);
  if (!strides.empty())
    strides.back() = lastStride;
  auto type = MemRefType::get(
      tensor.getShape(), tensor.getElementType(),
      StridedLayoutAttr::get(kernel.getContext(), /*offset=*/0, strides));
  Value &value = values[{type, operand, -1}];
  if (!value)
    value = add(type, operand, {});
  return value;
}
