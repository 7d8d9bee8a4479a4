//===- LoadedKernel.h - Kernel packages, ready to run -----------*- C++ -*-===//
//
// Tensors are views on the caller's memory; a scalar is a view of rank 0. No
// call keeps a view, and nothing is written but the results. The tensors of a
// kernel for a GPU are in the memory of the current CUDA device, except for
// scalars (isOnHost), and the results are written when the stream has come to
// that, which run does not wait for. Errors are values with a text for users;
// their error code is
//
//   std::errc::invalid_argument     the tensors do not fit the kernel
//   std::errc::not_enough_memory    scratch memory could not be had
//   std::errc::result_out_of_range  a checked read left its tensor, or lists of
//                                   blocks or keys are none
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_LOADEDKERNEL_H
#define ATTN_RUNTIME_LOADEDKERNEL_H

#include "attn/Runtime/KernelPackage.h"
#include "attn/Runtime/TensorView.h"
#include <limits>
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

/// Which code a call runs.
struct CodeChoice {
  /// "exact" or "nearest" for what a tuning database has for extents like those
  /// of the call or for the nearest ones, "model" for what the compiler and its
  /// model of costs choose.
  std::string source = "model";
  /// The same in words.
  std::string text;
  /// What runs; it lives as long as the kernel.
  const KernelPackage *package = nullptr;
  /// Of a GPU that is there, the variant of each launch.
  std::vector<size_t> variants;
};

/// A package whose code is ready to run, from any number of threads at once.
class LoadedKernel {
public:
  virtual ~LoadedKernel();

  const KernelPackage &getPackage() const { return package; }
  const KernelMetadata &getMetadata() const { return package.metadata; }

  /// Whether the data of an input are in the memory of the host: all on a CPU,
  /// the scalars on a GPU. A tensor of rank 0 is no scalar.
  virtual bool isOnHost(size_t input) const = 0;

  /// The shapes of the results for these inputs, of which only types and
  /// extents are read.
  llvm::Expected<std::vector<Shape>>
  getResultShapes(llvm::ArrayRef<TensorView> inputs) const;

  /// Writes the results. A result may overlap neither an input nor another
  /// result.
  llvm::Error run(llvm::ArrayRef<TensorView> inputs,
                  llvm::ArrayRef<TensorView> results,
                  const RunOptions &options) const;

  /// Which code a call with these inputs runs, and why; only types and extents
  /// of the inputs are read.
  virtual llvm::Expected<CodeChoice>
  explain(llvm::ArrayRef<TensorView> inputs) const;

protected:
  explicit LoadedKernel(KernelPackage package) : package(std::move(package)) {}

  /// Runs with tensors that fit.
  virtual llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                              llvm::ArrayRef<TensorView> results,
                              const RunOptions &options) const = 0;

  /// The same of another kernel with the same inputs and results.
  static llvm::Error executeOf(const LoadedKernel &kernel,
                               llvm::ArrayRef<TensorView> inputs,
                               llvm::ArrayRef<TensorView> results,
                               const RunOptions &options) {
    return kernel.execute(inputs, results, options);
  }

  /// What a checked read leaves in its slots if all is well; no index is that.
  static constexpr int64_t kNoIndex = std::numeric_limits<int64_t>::min();

  /// An error for the reads that have left indices in `status`, which has two
  /// numbers for each of the package's sites.
  llvm::Error checkSites(llvm::ArrayRef<int64_t> status) const;

private:
  llvm::Error checkCall(llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<TensorView> results) const;

  const KernelPackage package;
};

/// Loads a package for a GPU, which needs no GPU yet; the first run loads the
/// code, which takes milliseconds, or seconds if the kernel was compiled where
/// there was no ptxas.
llvm::Expected<std::shared_ptr<const LoadedKernel>>
loadCudaKernel(KernelPackage package);

/// Whether kernels for a device can run here; if not, the error says why.
llvm::Error checkDevice(DeviceKind device);

} // namespace attn

#endif // ATTN_RUNTIME_LOADEDKERNEL_H
