//===- CombineKernel.cpp - Results of parts of the keys -------------------===//

#include "CombineKernel.h"
#include "WarpLoops.h"
#include "attn/Dialect/ScalarBuilder.h"

using namespace mlir;
using namespace mlir::attn;

/// Batch, head and row.
static constexpr unsigned kNumRowDims = 3;

//===----------------------------------------------------------------------===//
// The results of the parts
//===----------------------------------------------------------------------===//

/// The operands that they are, after all tables.
static unsigned getFirstOperand(const CombinedResults &results) {
  return func::FuncOp(results.function).getNumArguments() + results.numTables;
}

SplitResults mlir::attn::getSplitResults(const CombinedResults &results,
                                         KernelArguments &arguments) {
  unsigned first = getFirstOperand(results);
  Type f32 = Float32Type::get(results.output.elementType.getContext());
  SmallVector<int64_t> shape(kNumRowDims + 1, ShapedType::kDynamic);
  SplitResults parts;
  parts.lses =
      arguments.getMemRef(first + 1, RankedTensorType::get(shape, f32));
  shape.push_back(results.output.columns);
  parts.rows = arguments.getMemRef(first, RankedTensorType::get(shape, f32));
  parts.numSplits = arguments.getExtent(first + 1, kNumRowDims);
  return parts;
}

void mlir::attn::declareSplitResults(gpu::GPUFuncOp kernel,
                                     const CombinedResults &results) {
  const TileAccess &output = results.output;
  Builder builder(kernel.getContext());
  SmallVector<Attribute> tables;
  if (auto others =
          kernel->getAttrOfType<DictionaryAttr>(hopper::kTablesAttrName))
    llvm::append_range(tables, others.getAs<ArrayAttr>("tables"));
  auto getNumber = [&](StringRef name, int64_t number) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
  };
  SmallVector<Attribute> extents;
  for (int64_t dim : ArrayRef(output.dims).take_front(kNumRowDims))
    extents.push_back(dim < 0
                          ? builder.getDictionaryAttr(getNumber("extent", 1))
                          : builder.getDictionaryAttr(
                                {getNumber("dim", dim), getNumber("divisor", 1),
                                 getNumber("operand", output.argument)}));
  extents.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr("num_splits", builder.getUnitAttr())));
  SmallVector<Attribute> withColumns = extents;
  withColumns.push_back(
      builder.getDictionaryAttr(getNumber("extent", output.columns)));
  for (ArrayRef<Attribute> all : {ArrayRef(withColumns), ArrayRef(extents)})
    tables.push_back(describeTable(builder, builder.getF32Type(), all));
  func::FuncOp function = results.function;
  kernel->setAttr(
      hopper::kTablesAttrName,
      builder.getDictionaryAttr(
          {getNumber("first", function.getNumArguments()),
           builder.getNamedAttr("tables", builder.getArrayAttr(tables))}));
}

InFlightDiagnostic mlir::attn::emitNotCombined(Operation *op) {
  return op->emitError(
      "expects the results of attn.finalize with split_kv, which can be "
      "combined; leave out split_kv");
}

Value mlir::attn::emitLse(OpBuilder &builder, Location loc, Value max,
                          Value sum) {
  auto type = cast<VectorType>(sum.getType());
  auto splat = [&](double value) {
    return hopper::createSplat(builder, loc, type, value);
  };
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        sum, splat(0));
  Value positive =
      arith::SelectOp::create(builder, loc, isEmpty, splat(1), sum);
  Value lse = arith::AddFOp::create(
      builder, loc, max, math::Log2Op::create(builder, loc, positive));
  return arith::SelectOp::create(builder, loc, isEmpty, splat(-INFINITY), lse);
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

void mlir::attn::emitCombineKernel(OpBuilder &builder, Location loc,
                                   const CombinedResults &results) {
  OpBuilder::InsertionGuard guard(builder);
  func::FuncOp function = results.function;
  const TileAccess &output = results.output;
  int64_t warpsPerRow =
      llvm::divideCeil(output.columns, hopper::kCombineColumns);
  gpu::GPUFuncOp kernel =
      createWarpKernel(builder, loc, function.getName() + "_combine");
  kernel->setAttr(hopper::kCombineAttrName,
                  builder.getI64IntegerAttr(warpsPerRow));
  KernelArguments arguments(function, kernel, /*isStrided=*/false);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  SplitResults parts = getSplitResults(results, arguments);

  // A warp for some columns of a row.
  ScalarBuilder ints(loc, builder);
  SmallVector<Value> extents;
  for (unsigned dim = 0; dim < kNumRowDims; ++dim)
    extents.push_back(
        ints.toI32(arguments.getExtent(getFirstOperand(results), dim)));
  Value warp = emitWarpNumber(builder, loc);
  Value row = ints.divU(warp, warpsPerRow);
  Value column =
      ints.mul(ints.remU(warp, warpsPerRow), hopper::kCombineColumns);
  {
    OpBuilder::InsertionGuard inBranch(builder);
    SmallVector<Value> position = emitIteration(builder, loc, row, extents);
    ArrayRef<int64_t> dims = output.dims;
    // In the order of the output, which may have fewer dimensions.
    SmallVector<Value> indices(1 + *llvm::max_element(dims)), lseIndices;
    for (unsigned dim = 0; dim < kNumRowDims; ++dim)
      if (dims[dim] >= 0)
        indices[dims[dim]] = position[dim];
    indices[dims.back()] = hopper::PositionOp::create(builder, loc, column);
    Value lse;
    if (results.lse) {
      lse = arguments.getMemRef(*results.lse);
      // Without the columns.
      lseIndices = indices;
      lseIndices.erase(lseIndices.begin() + dims.back());
    }
    hopper::CombineOp::create(builder, loc, parts.rows, parts.lses, position,
                              arguments.getMemRef(output.argument), indices,
                              dims.back(), lse, lseIndices);
  }
  gpu::ReturnOp::create(builder, loc);
}
