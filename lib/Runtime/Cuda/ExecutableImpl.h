//===- ExecutableImpl.h - What is loaded of a program -----------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_EXECUTABLEIMPL_H
#define ATTN_LIB_RUNTIME_CUDA_EXECUTABLEIMPL_H

#include "Binding.h"
#include "Checker.h"
#include "Counters.h"
#include "Loading.h"
#include "attn/Runtime/Cuda/Executable.h"
#include <atomic>
#include <mutex>

namespace attn::cuda {

/// A variant in a context. `isReady` guards the rest.
struct LoadedVariant {
  std::atomic<bool> isReady{false};
  ModuleHandle module = nullptr;
  FunctionHandle function = nullptr;
  std::vector<FunctionHandle> prologues, loops;
  FunctionHandle combine = nullptr;
  /// Blocks that a multiprocessor runs at the same time.
  int occupancy = 0;
  /// See BindingTarget.
  uint64_t id = 0;
  /// If the kernel has a counter.
  Counters *counters = nullptr;
};

/// The variants of all launches in a context. The list of them only grows.
struct LoadedProgram {
  LoadedProgram(Device device, size_t numVariants)
      : device(device), variants(numVariants) {}

  Device device;
  std::vector<LoadedVariant> variants;
  Checker checker;
  LoadedProgram *next = nullptr;
};
struct Executable::Impl {
  CudaProgram program;
  size_t numOperands = 0;
  /// The index of each launch's first variant in LoadedProgram.
  std::vector<size_t> firstVariants;
  size_t numVariants = 0;

  std::atomic<LoadedProgram *> firstLoaded{nullptr};
  /// Held while something is loaded.
  std::mutex mutex;

  ~Impl();
  LoadedProgram *find(Device device) const;
  /// Fails where the device does not run the program's code.
  llvm::Expected<LoadedProgram *> getLoaded(Device device);
  llvm::Error load(const Variant &variant, Device device,
                   LoadedVariant &loaded);
  llvm::Expected<LoadedVariant *> getVariant(LoadedProgram &loaded,
                                             size_t launch, size_t variant);
  /// Checks what all launches want of operands and stream, and does some work
  /// with the context current.
  llvm::Error onDevice(llvm::ArrayRef<TensorView> operands,
                       const LaunchOptions &options,
                       llvm::function_ref<llvm::Error(LoadedProgram &)> work);
  /// The extents of a launch, and the variant that options or these say.
  struct LaunchChoice {
    LaunchExtents extents;
    size_t variant = 0;
  };
  static llvm::Expected<LaunchChoice>
  chooseVariant(const LaunchInfo &info, const Device &device,
                llvm::ArrayRef<TensorView> operands,
                const LaunchOptions &options);
  llvm::Error launch(LoadedProgram &loaded, size_t index,
                     llvm::ArrayRef<TensorView> operands,
                     const LaunchOptions &options);
  /// Of the kernels that fill tables, those that are preparation and the
  /// others, or one of both.
  llvm::Error launchPrologues(const LoadedVariant &code, const Variant &variant,
                              BindingTarget target, KernelSequence &sequence,
                              bool withPreparation, bool withOthers = true);
  /// Runs what is preparation of all launches.
  llvm::Expected<std::unique_ptr<Preparation>>
  prepare(LoadedProgram &loaded, llvm::ArrayRef<TensorView> operands,
          const LaunchOptions &options);
  llvm::Error launchLoops(const LoadedVariant &code, const Variant &variant,
                          BindingTarget target, bool isBehind,
                          KernelSequence &sequence);
  llvm::Error launchVariant(const LoadedVariant &code, const Variant &variant,
                            BindingTarget target, int64_t tiles,
                            KernelSequence &sequence);
  llvm::Error launchCombine(const LoadedVariant &code, const Variant &variant,
                            BindingTarget target, const LaunchExtents &extents,
                            KernelSequence &sequence);
};

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_EXECUTABLEIMPL_H
