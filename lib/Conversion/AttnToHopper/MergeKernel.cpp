//===- MergeKernel.cpp - Results of parts of the keys ---------------------===//

#include "MergeKernel.h"
#include "IntBuilder.h"
#include "WarpLoops.h"

using namespace mlir;
using namespace mlir::attn;

/// Batch, head and row.
static constexpr unsigned kNumRowDims = 3;

//===----------------------------------------------------------------------===//
// The results of the parts
//===----------------------------------------------------------------------===//

/// The operands that they are, after all tables.
static unsigned getFirstOperand(TileProgram &program) {
  return program.function.getNumArguments() + program.tables.size();
}

PartResults mlir::attn::getPartResults(TileProgram &program,
                                       KernelArguments &arguments) {
  unsigned first = getFirstOperand(program);
  Type f32 = Float32Type::get(program.function.getContext());
  SmallVector<int64_t> shape(kNumRowDims + 1, ShapedType::kDynamic);
  PartResults results;
  results.lses =
      arguments.getMemRef(first + 1, RankedTensorType::get(shape, f32));
  shape.push_back(program.value.columns);
  results.rows = arguments.getMemRef(first, RankedTensorType::get(shape, f32));
  results.numParts = arguments.getExtent(first + 1, kNumRowDims);
  return results;
}

void mlir::attn::describePartResults(TileProgram &program,
                                     SmallVectorImpl<Attribute> &tables) {
  Builder builder(program.function.getContext());
  auto getNumber = [&](StringRef name, int64_t number) {
    return builder.getNamedAttr(name, builder.getI64IntegerAttr(number));
  };
  const TileAccess &output = program.getOutput()->access;
  SmallVector<Attribute> extents;
  for (int64_t dim : ArrayRef(output.dims).take_front(kNumRowDims))
    extents.push_back(builder.getDictionaryAttr(
        {getNumber("dim", dim), getNumber("divisor", 1),
         getNumber("operand", output.argument)}));
  extents.push_back(builder.getDictionaryAttr(
      builder.getNamedAttr("parts", builder.getUnitAttr())));
  SmallVector<Attribute> withColumns = extents;
  withColumns.push_back(
      builder.getDictionaryAttr(getNumber("extent", output.columns)));
  for (ArrayRef<Attribute> all : {ArrayRef(withColumns), ArrayRef(extents)})
    tables.push_back(describeTable(builder, builder.getF32Type(), all));
}

FailureOr<Value> mlir::attn::getUnroundedOutput(TileProgram &program) {
  const TileResult *output = program.getOutput();
  Value value = output ? output->vector : Value();
  if (value)
    if (auto rounding = value.getDefiningOp<arith::TruncFOp>())
      value = rounding.getIn();
  TileLoopOp keys = program.keys;
  auto product = value ? value.getDefiningOp<arith::MulFOp>() : arith::MulFOp();
  auto numRows = llvm::count_if(program.results, [](const TileResult &result) {
    return !result.hasColumns();
  });
  if (product &&
      llvm::is_contained(product->getOperands(), keys.getResult(0)) &&
      numRows <= 1)
    return value;
  return program.grid.emitError(
      "expects the results of attn.finalize with split_keys, which can be "
      "merged; leave out split_keys");
}

//===----------------------------------------------------------------------===//
// The kernel
//===----------------------------------------------------------------------===//

LogicalResult mlir::attn::emitMergeKernel(OpBuilder &builder,
                                          TileProgram &program) {
  OpBuilder::InsertionGuard guard(builder);
  Location loc = program.grid.getLoc();
  const TileResult &output = *program.getOutput();
  int64_t warpsPerRow =
      llvm::divideCeil(output.access.columns, hopper::kMergeColumns);
  gpu::GPUFuncOp kernel =
      createWarpKernel(builder, loc, program.function.getName() + "_merge");
  kernel->setAttr(hopper::kMergeAttrName,
                  builder.getI64IntegerAttr(warpsPerRow));
  KernelArguments arguments(program.function, kernel, /*isStrided=*/false);
  builder.setInsertionPointToStart(&kernel.getBody().front());
  PartResults parts = getPartResults(program, arguments);

  // A warp for some columns of a row.
  IntBuilder ib{builder, loc};
  SmallVector<Value> extents;
  for (unsigned dim = 0; dim < kNumRowDims; ++dim)
    extents.push_back(
        ib.fromIndex(arguments.getExtent(getFirstOperand(program), dim)));
  Value warp = emitWarpNumber(builder, loc);
  Value row = ib.div(warp, ib.constant(warpsPerRow));
  Value column = ib.mul(ib.rem(warp, ib.constant(warpsPerRow)),
                        ib.constant(hopper::kMergeColumns));
  {
    OpBuilder::InsertionGuard inBranch(builder);
    SmallVector<Value> position = emitIteration(builder, loc, row, extents);
    ArrayRef<int64_t> dims = output.access.dims;
    SmallVector<Value> indices(dims.size()), lseIndices;
    for (unsigned dim = 0; dim < kNumRowDims; ++dim)
      indices[dims[dim]] = position[dim];
    indices[dims.back()] = ib.toPosition(column);
    Value lse;
    for (const TileResult &result : program.results)
      if (!result.hasColumns()) {
        lse = arguments.getMemRef(result.argument);
        // In the order of the output, without its columns.
        for (int64_t dim = 0; dim < static_cast<int64_t>(dims.size()); ++dim)
          if (dim != dims.back())
            lseIndices.push_back(indices[dim]);
      }
    hopper::MergeOp::create(builder, loc, parts.rows, parts.lses, position,
                            arguments.getMemRef(output.argument), indices,
                            dims.back(), lse, lseIndices);
  }
  gpu::ReturnOp::create(builder, loc);
  return success();
}
