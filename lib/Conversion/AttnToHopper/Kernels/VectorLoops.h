//===- VectorLoops.h - Loops over vectors -----------------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_VECTORLOOPS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_VECTORLOOPS_H

#include "TileProgram.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"

namespace mlir::attn {

/// Emits a kernel for each loop of a program in front of that of the workers or
/// behind it, whose iterations compute vectors of rank 1 and scalars, or rows
/// of a tile in the order of fragments. A warp has an iteration, and its
/// threads share out the elements of the vectors. `isStrided`: tensors of any
/// strides and alignment.
LogicalResult emitVectorKernels(OpBuilder &builder, TileProgram &program,
                                bool isStrided);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_VECTORLOOPS_H
