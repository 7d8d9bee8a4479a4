//===- KernelArguments.h - What a kernel is given ---------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELARGUMENTS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELARGUMENTS_H

#include "TileProgram.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

/// Adds arguments to a kernel as they are needed, each with attributes that say
/// which part of the function's arguments it is.
class KernelArguments {
public:
  KernelArguments(func::FuncOp function, gpu::GPUFuncOp kernel, bool isStrided)
      : function(function), kernel(kernel), isStrided(isStrided) {}

  /// A tensor that is copied in boxes of `rows` rows.
  Value getMap(const TileAccess &access, int64_t rows);
  /// An extent of a tensor that is not static.
  Value getExtent(unsigned argument, int64_t dim);
  /// A scalar.
  Value getScalar(unsigned argument);
  /// How many heads are packed.
  Value getPackedCount();
  /// What CTAs fetch work with.
  Value getCounter();
  /// A tensor that is read or written element by element: an argument, or a
  /// table that a kernel before this one fills, whose numbers are after those
  /// of the arguments and whose type is needed: that of a buffer is its own.
  Value getMemRef(unsigned operand, ShapedType type = {});
  /// The same, of which threads read or write `bytes` of a row at a time, or
  /// single elements where tensors have any strides.
  Value getRows(unsigned operand, ShapedType type, int64_t bytes);

private:
  Value add(Type type, unsigned argument, ArrayRef<NamedAttribute> attributes);
  Value getMemRef(unsigned operand, ShapedType tensor, int64_t lastStride);
  Value addOwn(Type type, StringRef attribute);

  func::FuncOp function;
  gpu::GPUFuncOp kernel;
  /// Whether maps and rows are for any strides.
  bool isStrided;
  /// By type, argument, and dimension.
  DenseMap<std::tuple<Type, unsigned, int64_t>, Value> values;
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_KERNELARGUMENTS_H
