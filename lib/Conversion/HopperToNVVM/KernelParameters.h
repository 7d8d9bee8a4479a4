//===- KernelParameters.h - The function of a kernel ------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_HOPPERTONVVM_KERNELPARAMETERS_H
#define ATTN_LIB_CONVERSION_HOPPERTONVVM_KERNELPARAMETERS_H

#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"

namespace mlir::attn {

/// Makes a function of a kernel, before it, which takes its body. Arguments of
/// the kernel are casts of the function's parameters in front of it. Fails with
/// a diagnostic where an argument says too little, and leaves the kernel then.
FailureOr<LLVM::LLVMFuncOp> createFunction(gpu::GPUFuncOp kernel);

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_HOPPERTONVVM_KERNELPARAMETERS_H
