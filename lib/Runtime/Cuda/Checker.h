//===- Checker.h - Looks for errors in lists on a GPU -----------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_CHECKER_H
#define ATTN_LIB_RUNTIME_CUDA_CHECKER_H

#include "attn/Runtime/Cuda/Executable.h"
#include <mutex>

namespace attn::cuda {

/// The kernels of ListChecks in a context, loaded when they first run. Any
/// number of threads may use one.
class Checker {
public:
  /// Runs the checks as work of the stream and waits for it. `numbers` has two
  /// for each site; those of a site with an error are written. The context is
  /// current. `areDependent` is CudaProgram::dependentLaunch.
  llvm::Error run(const ListChecks &checks, bool areDependent,
                  const Device &device, llvm::ArrayRef<TensorView> operands,
                  llvm::MutableArrayRef<int64_t> numbers,
                  const LaunchOptions &options);

  /// Gives the code back. Nothing of it may run any more, and the context is
  /// current.
  void unload(const Driver &driver);

private:
  llvm::Error load(const ListChecks &checks, const Driver &driver);

  std::mutex mutex;
  ModuleHandle module = nullptr;
  std::vector<FunctionHandle> functions;
  /// See BindingTarget.
  uint64_t id = 0;
};

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_CHECKER_H
