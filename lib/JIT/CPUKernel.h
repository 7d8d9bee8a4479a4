//===- CPUKernel.h - Kernel packages on a CPU -------------------*- C++ -*-===//

#ifndef ATTN_LIB_JIT_CPUKERNEL_H
#define ATTN_LIB_JIT_CPUKERNEL_H

#include "attn/Runtime/LoadedKernel.h"

namespace attn {

/// Links the object of a package into this process; an error if it needs
/// instructions that this processor lacks.
llvm::Expected<std::shared_ptr<const LoadedKernel>>
loadCPUKernel(KernelPackage package);

} // namespace attn

#endif // ATTN_LIB_JIT_CPUKERNEL_H
