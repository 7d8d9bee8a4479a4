//===- TunedKernel.h - Kernels with schedules that were tuned ---*- C++ -*-===//

#ifndef ATTN_LIB_JIT_TUNEDKERNEL_H
#define ATTN_LIB_JIT_TUNEDKERNEL_H

#include "attn/JIT/Compiler.h"
#include "attn/Runtime/LoadedKernel.h"
#include <memory>

namespace attn {

/// The kernel of a program with what tuning databases know of it: calls take
/// the schedule that was measured for extents like theirs, whose kernel is
/// compiled when it is first needed, and otherwise `kernel`, what the compiler
/// has chosen. Without anything known it is `kernel` itself. `note` tells of a
/// database that cannot be read.
std::shared_ptr<const LoadedKernel>
applyTuning(llvm::StringRef program, const CompileOptions &options,
            std::shared_ptr<const LoadedKernel> kernel, std::string &note);

/// Loads a package for a CPU or a GPU.
llvm::Expected<std::shared_ptr<const LoadedKernel>>
loadPackage(KernelPackage package);

} // namespace attn

#endif // ATTN_LIB_JIT_TUNEDKERNEL_H
