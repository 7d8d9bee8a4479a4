//===- KernelParameters.cpp - The function of a kernel --------------------===//

#include "KernelParameters.h"
#include "Threads/ThreadBuilder.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// The parameters that are made of a kernel's arguments, in order.
struct Parameters {
  explicit Parameters(gpu::GPUFuncOp kernel)
      : kernel(kernel), b(kernel.getContext()) {}

  LogicalResult add(BlockArgument argument);

  SmallVector<Type> types;
  SmallVector<DictionaryAttr> attributes;
  /// What each is made from, for whoever makes a launch.
  SmallVector<Attribute> descriptions;

private:
  void addOther(StringRef kind, Type type);
  void add(StringRef kind, int64_t operand, Type type, int64_t dim = -1,
           ArrayRef<NamedAttribute> more = {});
  LogicalResult addMap(BlockArgument argument, hopper::MapType map,
                       int64_t operand);
  LogicalResult addBuffer(BlockArgument argument, MemRefType memref,
                          int64_t operand);

  gpu::GPUFuncOp kernel;
  Builder b;
  Type pointer = LLVM::LLVMPointerType::get(b.getContext());
  Type globalPointer = LLVM::LLVMPointerType::get(b.getContext(), 1);
};
} // namespace

/// What is no operand.
void Parameters::addOther(StringRef kind, Type type) {
  descriptions.push_back(
      b.getDictionaryAttr(b.getNamedAttr("kind", b.getStringAttr(kind))));
  types.push_back(type);
  attributes.push_back(b.getDictionaryAttr({}));
}

void Parameters::add(StringRef kind, int64_t operand, Type type, int64_t dim,
                     ArrayRef<NamedAttribute> more) {
  SmallVector<NamedAttribute> param(more);
  param.push_back(b.getNamedAttr("kind", b.getStringAttr(kind)));
  param.push_back(b.getNamedAttr("operand", b.getI64IntegerAttr(operand)));
  if (dim >= 0)
    param.push_back(b.getNamedAttr("dim", b.getI64IntegerAttr(dim)));
  descriptions.push_back(b.getDictionaryAttr(param));
  types.push_back(type);
  if (kind != "map") {
    attributes.push_back(b.getDictionaryAttr({}));
    return;
  }
  attributes.push_back(b.getDictionaryAttr(
      {b.getNamedAttr("llvm.byval", TypeAttr::get(LLVM::LLVMArrayType::get(
                                        b.getI8Type(), 128))),
       b.getNamedAttr("nvvm.grid_constant", b.getUnitAttr()),
       b.getNamedAttr("llvm.align", b.getI64IntegerAttr(64))}));
}

LogicalResult Parameters::addMap(BlockArgument argument, hopper::MapType map,
                                 int64_t operand) {
  auto dims = kernel.getArgAttrOfType<DenseI64ArrayAttr>(
      argument.getArgNumber(), hopper::kDimsAttrName);
  if (!dims || dims.size() != 4)
    return kernel.emitError("expects a map to have four '")
           << hopper::kDimsAttrName << "'";
  if (map.getStrided()) {
    SmallVector<NamedAttribute> alignment;
    if (map.getAligned())
      alignment.push_back(
          b.getNamedAttr("alignment", b.getI64IntegerAttr(kSegmentBytes)));
    add("pointer", operand, globalPointer, -1, alignment);
    for (int64_t dim : ArrayRef(dims.asArrayRef()).take_front(3))
      add("stride", operand, b.getI64Type(), dim, alignment);
    add("extent", operand, b.getI32Type(), dims[2]);
    return success();
  }
  // The box of the hardware is one chunk of columns.
  SmallVector<NamedAttribute> members = {
      b.getNamedAttr("columns", b.getI64IntegerAttr(hopper::getChunkColumns(
                                    map.getElementType()))),
      b.getNamedAttr("dims", dims),
      b.getNamedAttr("rows", b.getI64IntegerAttr(map.getRows()))};
  if (map.getPacked())
    members.push_back(b.getNamedAttr("packed", b.getUnitAttr()));
  add("map", operand, pointer, -1, members);
  return success();
}

LogicalResult Parameters::addBuffer(BlockArgument argument, MemRefType memref,
                                    int64_t operand) {
  SmallVector<int64_t> strides;
  int64_t offset;
  if (failed(memref.getStridesAndOffset(strides, offset)))
    return kernel.emitError("expects buffers with strides, but got ") << memref;
  SmallVector<NamedAttribute> alignment;
  if (Attribute bytes = kernel.getArgAttr(argument.getArgNumber(),
                                          hopper::kAlignmentAttrName))
    alignment.push_back(b.getNamedAttr("alignment", bytes));
  add("pointer", operand, globalPointer, -1, alignment);
  for (int64_t dim = 0; dim < memref.getRank(); ++dim) {
    if (memref.isDynamicDim(dim))
      add("extent", operand, b.getI32Type(), dim);
    if (ShapedType::isDynamic(strides[dim]))
      add("stride", operand, b.getI64Type(), dim, alignment);
  }
  return success();
}

LogicalResult Parameters::add(BlockArgument argument) {
  unsigned number = argument.getArgNumber();
  if (kernel.getArgAttr(number, hopper::kCounterAttrName)) {
    addOther("counter", globalPointer);
    return success();
  }
  if (kernel.getArgAttr(number, hopper::kPackedCountAttrName)) {
    addOther("packed_count", b.getI32Type());
    return success();
  }
  auto operandAttr =
      kernel.getArgAttrOfType<IntegerAttr>(number, hopper::kOperandAttrName);
  if (!operandAttr)
    return kernel.emitError("expects argument ")
           << number << " of a kernel to have '" << hopper::kOperandAttrName
           << "'";
  int64_t operand = operandAttr.getInt();
  Type type = argument.getType();
  if (auto map = dyn_cast<hopper::MapType>(type))
    return addMap(argument, map, operand);
  if (auto memref = dyn_cast<MemRefType>(type))
    return addBuffer(argument, memref, operand);
  if (auto dim =
          kernel.getArgAttrOfType<IntegerAttr>(number, hopper::kDimAttrName)) {
    add("extent", operand, b.getI32Type(), dim.getInt());
    return success();
  }
  if (isa<IndexType>(type)) {
    add("scalar", operand, b.getI64Type());
    return success();
  }
  if (!type.isIntOrFloat())
    return kernel.emitError("expects arguments of a kernel to be maps, "
                            "buffers or scalars, but got ")
           << type;
  add("scalar", operand, type);
  return success();
}

/// An argument, of the parameters that stand for it.
static Value castArgument(ScalarBuilder &b, gpu::GPUFuncOp kernel,
                          BlockArgument argument, ValueRange parameters) {
  Type type = argument.getType();
  if (!isa<IndexType>(type))
    return parameters.size() == 1 && parameters[0].getType() == type
               ? parameters[0]
               : UnrealizedConversionCastOp::create(b, type, parameters)
                     .getResult(0);
  if (!parameters[0].getType().isInteger(32))
    return arith::IndexCastOp::create(b, type, parameters[0]);
  // No more heads are packed than a warpgroup has rows.
  bool isCount = kernel.getArgAttr(argument.getArgNumber(),
                                   hopper::kPackedCountAttrName) != nullptr;
  return hopper::PositionOp::create(
      b, type, parameters[0],
      isCount ? hopper::kMaxPosition / hopper::kWarpgroupRows : 1);
}

FailureOr<LLVM::LLVMFuncOp> mlir::attn::createFunction(gpu::GPUFuncOp kernel) {
  Parameters parameters(kernel);
  SmallVector<unsigned> starts;
  for (BlockArgument argument : kernel.getArguments()) {
    starts.push_back(parameters.types.size());
    if (failed(parameters.add(argument)))
      return failure();
  }
  starts.push_back(parameters.types.size());

  ScalarBuilder b(kernel.getLoc(), kernel);
  auto function = LLVM::LLVMFuncOp::create(
      b, kernel.getName(),
      LLVM::LLVMFunctionType::get(LLVM::LLVMVoidType::get(b.getContext()),
                                  parameters.types));
  for (auto [number, attribute] : llvm::enumerate(parameters.attributes))
    function.setArgAttrs(number, attribute);
  function->setAttr(hopper::kParamsAttrName,
                    b.getArrayAttr(parameters.descriptions));
  Block *entry = function.addEntryBlock(b);
  b.setInsertionPointToStart(entry);
  ValueRange values = function.getArguments();
  for (BlockArgument argument : kernel.getArguments()) {
    unsigned first = starts[argument.getArgNumber()],
             end = starts[argument.getArgNumber() + 1];
    argument.replaceAllUsesWith(
        castArgument(b, kernel, argument, values.slice(first, end - first)));
  }
  Block &body = kernel.getBody().front();
  body.getTerminator()->erase();
  entry->getOperations().splice(entry->end(), body.getOperations());
  b.setInsertionPointToEnd(entry);
  LLVM::ReturnOp::create(b, ValueRange());
  for (StringRef name : hopper::kLaunchAttrNames)
    if (Attribute attribute = kernel->getAttr(name))
      function->setAttr(name, attribute);
  return function;
}
