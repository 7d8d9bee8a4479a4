//===- DependentLaunch.h - Kernels that start early -------------*- C++ -*-===//
//
// Kernels of a call run one after the other, and the start of each takes some
// microseconds. So the runtime lets all but the first start while the one
// before still runs (programmatic dependent launch, CUDA C++ Programming
// Guide). Each waits for the end of the one before, which has waited likewise,
// before it reads or writes memory. That does nothing in the first kernel of a
// call.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_DEPENDENTLAUNCH_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_DEPENDENTLAUNCH_H

#include "mlir/IR/Builders.h"

namespace mlir::attn {

/// Nothing on targets without `dependent_launch`. The CTAs of a short kernel
/// leave room for those of the next one, which may start at once.
void waitForKernelBefore(OpBuilder &builder, Location loc, bool isShort);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_DEPENDENTLAUNCH_H
