//===- ElementLoops.h - Loops over elements of a result ---------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_ELEMENTLOOPS_H
#define ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_ELEMENTLOOPS_H

#include "KernelValues.h"

namespace mlir::attn {

/// Whether iterations of a loop compute a scalar each, an element of a result:
/// a thread has an iteration then, and a warp as many as it has threads.
bool isElementLoop(scf::ForallOp loop);

/// Whether such a loop has others in it, as sums have: a warp has an iteration
/// then, and its threads share out what is summed.
bool hasSums(scf::ForallOp loop);

/// Emits what a thread, or a warp, does, where the builder stands.
LogicalResult emitElementIteration(OpBuilder &builder, scf::ForallOp loop,
                                   KernelArguments &arguments,
                                   KernelValues &values);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_ATTNTOHOPPER_KERNELS_ELEMENTLOOPS_H
