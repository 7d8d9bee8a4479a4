//===- Loading.h - From code to functions in a context ----------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_LOADING_H
#define ATTN_LIB_RUNTIME_CUDA_LOADING_H

#include "Binding.h"

namespace attn::cuda {

/// Lets the thread load code while a stream of it is being captured.
class RelaxedCapture {
public:
  explicit RelaxedCapture(const Driver &driver) : driver(driver) {
    isRelaxed = driver.cuThreadExchangeStreamCaptureMode(&mode) == kSuccess;
  }
  ~RelaxedCapture() {
    if (isRelaxed)
      (void)driver.cuThreadExchangeStreamCaptureMode(&mode);
  }
  RelaxedCapture(const RelaxedCapture &) = delete;
  RelaxedCapture &operator=(const RelaxedCapture &) = delete;

private:
  const Driver &driver;
  int mode = kCaptureModeRelaxed;
  bool isRelaxed;
};

/// Loads code in the current context: a binary, or text that the driver
/// compiles, where there is none or the driver does not take it.
llvm::Error loadModule(const Driver &driver, const std::string &entry,
                       const std::string &ptx, const std::string &cubin,
                       ModuleHandle &module);

llvm::Error findFunction(const Driver &driver, const std::string &entry,
                         ModuleHandle module, FunctionHandle &function);

/// Numbers for BindingTarget, of so many kernels.
uint64_t takeBindingIds(size_t count);

/// A kernel whose warps do the same with different numbers.
struct WarpFunction {
  const std::string &entry;
  FunctionHandle handle;
  int32_t threads;
};

/// The kernels of a call, in the order in which they run. If they are dependent
/// (CudaProgram::dependentLaunch), blocks of all but the first may start when
/// those of the kernel before leave them room: they wait for its end
/// themselves, see waitForKernelBefore. Otherwise the driver waits for it.
class KernelSequence {
public:
  KernelSequence(const Driver &driver, void *stream, bool areDependent)
      : driver(driver), stream(static_cast<StreamHandle>(stream)),
        areDependent(areDependent) {}

  Result start(FunctionHandle function, unsigned blocks, unsigned threads,
               unsigned sharedBytes, ParamValues &values);

private:
  bool mayStartEarly() const;

  const Driver &driver;
  StreamHandle stream;
  bool areDependent;
  bool hasStarted = false;
};

/// Starts as many blocks as there are warps to have.
llvm::Error launchWarps(const BindingTarget &target,
                        const WarpFunction &function,
                        llvm::ArrayRef<Param> params, int64_t warps,
                        KernelSequence &sequence);

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_LOADING_H
