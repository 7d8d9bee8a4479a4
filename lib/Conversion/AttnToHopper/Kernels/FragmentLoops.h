//===- FragmentLoops.h - Loops over rows of fragments -----------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_FRAGMENTLOOPS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_FRAGMENTLOOPS_H

#include "KernelValues.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

namespace mlir::attn {

/// The read of some rows of a tile that an iteration of a loop does, or null.
vector::TransferReadOp findTileRead(scf::ForallOp loop);

/// Emits an iteration of a loop that reads `read` of a buffer in the order of
/// fragments, computes with it element by element, and writes it to rows of a
/// result. The threads of a warp share out pieces of the tile.
LogicalResult emitFragmentIteration(OpBuilder &builder, scf::ForallOp loop,
                                    vector::TransferReadOp read,
                                    KernelArguments &arguments,
                                    KernelValues &values);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_FRAGMENTLOOPS_H
