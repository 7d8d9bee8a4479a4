//===- Kernel.h - Compile and run attention programs ------------*- C++ -*-===//
//
//   auto kernel = attn::Kernel::compile(text);
//   if (!kernel) ...
//   auto shapes = kernel->resultShapes(inputs);   // of tensors to allocate
//   if (llvm::Error error = kernel->run(inputs, results)) ...
//
// Tensors are views on the caller's memory; a scalar is a view of rank 0. No
// call keeps a view, and nothing is written but the results. The tensors of a
// kernel for a GPU are in the memory of the current CUDA device, except for
// scalars (isOnHost), and the results are written when the stream has come to
// that, which run does not wait for. Errors are values
// with a text for users; their error code is
//
//   std::errc::invalid_argument     the tensors do not fit the kernel
//   std::errc::not_enough_memory    scratch memory could not be had
//   std::errc::result_out_of_range  a checked read left its tensor, or lists of
//                                   blocks or keys are none
//
// or llvm::inconvertibleErrorCode() for a program that does not compile.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_JIT_KERNEL_H
#define ATTN_JIT_KERNEL_H

#include "attn/JIT/Compiler.h"
#include "attn/Runtime/TensorView.h"
#include "llvm/ADT/ArrayRef.h"
#include <memory>

namespace attn {

struct Executor;

struct RunOptions {
  /// The threads to run on; if null, the process's shared ones.
  Executor *executor = nullptr;
  /// At most so many threads at once, the caller's among them; 0 for all.
  unsigned threads = 0;
  /// For a kernel on a GPU, the CUstream that it becomes work of; null is the
  /// default stream. The options above mean nothing there.
  void *stream = nullptr;
  /// Whether the lists of a sparsity are checked on a GPU, too, before anything
  /// else runs. The call then waits for what the stream has so far and for the
  /// checks, and the stream may not be captured. On a CPU lists are always
  /// checked.
  bool checkLists = false;
};

/// Compiled code. Copies share it and are cheap. One kernel may run in several
/// threads at once.
class Kernel {
public:
  /// Compiles MLIR text or bytecode.
  static llvm::Expected<Kernel> compile(llvm::StringRef program,
                                        const CompileOptions &options = {});
  /// Compiles a copy of a module; no other thread may use its context
  /// meanwhile.
  static llvm::Expected<Kernel> compile(mlir::ModuleOp module,
                                        const CompileOptions &options = {});
  /// Makes the code of a package ready to run; an error if it needs
  /// instructions that this processor lacks.
  static llvm::Expected<Kernel> load(KernelPackage package);

  /// Names, element types, and extents (negative where free).
  llvm::ArrayRef<TensorInfo> inputs() const;
  llvm::ArrayRef<TensorInfo> results() const;

  /// What the kernel runs on.
  DeviceKind device() const;
  /// Whether the data of an input are in the memory of the host: all on a CPU,
  /// the scalars on a GPU. A tensor of rank 0 is no scalar.
  bool isOnHost(unsigned input) const;

  /// The shapes of the results for these inputs, of which only types and
  /// extents are read.
  llvm::Expected<std::vector<Shape>>
  resultShapes(llvm::ArrayRef<TensorView> inputs) const;

  /// Writes the results. A result may overlap neither an input nor another
  /// result. The first run on a GPU loads the code, which takes milliseconds,
  /// or seconds if the kernel was compiled where there was no ptxas.
  llvm::Error run(llvm::ArrayRef<TensorView> inputs,
                  llvm::ArrayRef<TensorView> results,
                  const RunOptions &options = {}) const;

  /// Empty but for the size of the object and the stage "load", for a kernel
  /// that was loaded.
  const CompileReport &report() const;
  const KernelPackage &package() const;

private:
  class Impl;
  explicit Kernel(std::shared_ptr<const Impl> impl) : impl(std::move(impl)) {}
  static llvm::Expected<Kernel> load(KernelPackage package,
                                     CompileReport report);

  std::shared_ptr<const Impl> impl;
};

/// Whether kernels for a device can run here; if not, the error says why.
llvm::Error checkDevice(DeviceKind device);

} // namespace attn

#endif // ATTN_JIT_KERNEL_H
