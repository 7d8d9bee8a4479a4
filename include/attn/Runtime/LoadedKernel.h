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
class LoadedKernel;

/// What a kernel has found from the inputs that masks and sparsities read, for
/// calls with inputs of the same extents, of which these hold the same: see
/// LoadedKernel::prepare. It keeps the kernel.
class Prepared {
public:
  virtual ~Prepared();
  /// The memory that its tables take, on the kernel's device.
  virtual size_t getBytes() const = 0;

private:
  friend class LoadedKernel;

  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<Shape> shapes;
  /// Of inputs that were read, by their number: scalars, and where changes are
  /// looked for a hash of the elements.
  std::vector<std::pair<size_t, std::string>> scalars;
  std::vector<std::pair<size_t, uint64_t>> hashes;
};

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
  /// What LoadedKernel::prepare of the same kernel has made, or null. It lives
  /// as long as the call runs.
  const Prepared *prepared = nullptr;
};

/// Which code a call runs.
struct CodeChoice {
  /// "exact" or "nearest" for what a tuning database has for extents like those
  /// of the call or for the nearest ones, "other-version" for such extents but
  /// another driver or compiler, "model" for what the compiler and its
  /// model of costs choose.
  std::string source = "model";
  /// The same in words.
  std::string text;
  /// What runs; it lives as long as the kernel.
  const KernelPackage *package = nullptr;
  /// How long it took where it was tuned for such extents, in seconds.
  std::optional<double> measured;
  /// Of a launch of a GPU that is there, the variant that it takes; and for
  /// each of them the time by the model of costs and the least time that the
  /// GPU allows, in seconds, 0 where that is not known.
  struct Launch {
    size_t taken = 0;
    std::vector<double> predicted, least;
  };
  std::vector<Launch> launches;
  /// What a tuning database has for this program on this device: a schedule, ""
  /// for the compiler's choice, threads, 0 for all, and the medians in seconds.
  struct Tuned {
    std::string schedule;
    int64_t threads = 0;
    std::string extents, version;
    double seconds = 0, untunedSeconds = 0;
    /// Whether the call takes it.
    bool isTaken = false;

    /// All of it, with names in snake case.
    llvm::json::Object toJSON() const;
  };
  std::vector<Tuned> tuned;
};

/// What is known of a variant of a kernel for a GPU, for all who print it.
struct VariantReport {
  const cuda::Variant *variant = nullptr;
  /// Of a call: whether it takes this one, and the times of CodeChoice.
  std::optional<bool> isTaken;
  std::optional<double> predicted, measured, least;

  /// The bytes of shared memory of a block, as far as known.
  int64_t getSharedBytes() const;
  /// What part of the time is the least one that the GPU allows, of the time
  /// that was measured if it is known and otherwise of the predicted one.
  std::optional<double> getRooflineShare() const;
  /// All of it, with names in snake case. What is not known is left out.
  llvm::json::Object toJSON() const;
};

/// The variants of all launches of a program in their order, and of a call that
/// has made a choice.
std::vector<VariantReport> describeVariants(const cuda::CudaProgram &program,
                                            const CodeChoice *choice = nullptr);

/// A package whose code is ready to run, from any number of threads at once.
class LoadedKernel : public std::enable_shared_from_this<LoadedKernel> {
public:
  virtual ~LoadedKernel();

  const KernelPackage &getPackage() const { return *package; }
  const KernelMetadata &getMetadata() const { return package->metadata; }

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

  /// Computes what depends on nothing but extents and the inputs of
  /// getPreparedInputs: which tiles a mask needs, bits of lists. The calls that
  /// are given the result leave that out, and their results have the same bits.
  ///
  /// Whoever calls with it says that these inputs hold what they held: other
  /// contents are results of no program. With ATTN_CHECK_PREPARED=1 in the
  /// environment when it was prepared, calls compare a hash of the contents;
  /// they wait for the stream then, which may not be captured. Extents are
  /// always compared, and scalars where it is not empty. What differs is
  /// std::errc::invalid_argument.
  ///
  /// On a GPU this is work of the stream, and calls on other streams wait for
  /// it. Of a kernel that computes nothing ahead it is empty.
  llvm::Expected<std::shared_ptr<const Prepared>>
  prepare(llvm::ArrayRef<TensorView> inputs, const RunOptions &options) const;

  /// The inputs whose contents prepare reads, in their order.
  virtual std::vector<size_t> getPreparedInputs() const { return {}; }

  /// Which code a call with these inputs runs, and why; only types and extents
  /// of the inputs are read.
  virtual llvm::Expected<CodeChoice>
  explain(llvm::ArrayRef<TensorView> inputs) const;

protected:
  explicit LoadedKernel(KernelPackage package)
      : package(std::make_shared<const KernelPackage>(std::move(package))) {}
  /// For calls that another kernel runs, or may run, with the same inputs and
  /// results, whose package it has.
  LoadedKernel(const LoadedKernel &other) = default;

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

  /// What prepare computes, from inputs that fit; by default nothing.
  virtual llvm::Expected<std::shared_ptr<Prepared>>
  computePrepared(llvm::ArrayRef<TensorView> inputs,
                  const RunOptions &options) const;

  /// Whether something was prepared by this kernel for such inputs.
  virtual bool owns(const Prepared &prepared,
                    llvm::ArrayRef<TensorView> inputs) const {
    return &getKernelOf(prepared) == this;
  }
  static const LoadedKernel &getKernelOf(const Prepared &prepared) {
    return *prepared.kernel;
  }

  /// The bytes of an input's elements in their order; those of memory that is
  /// not the host's when the stream has come to that.
  virtual llvm::Expected<std::string>
  readElements(const TensorView &input, const RunOptions &options) const;

  /// What a checked read leaves in its slots if all is well; no index is that.
  static constexpr int64_t kNoIndex = std::numeric_limits<int64_t>::min();

  /// An error for the reads that have left indices in `status`, which has two
  /// numbers for each of the package's sites.
  llvm::Error checkSites(llvm::ArrayRef<int64_t> status) const;

private:
  llvm::Error checkPrepared(llvm::ArrayRef<TensorView> inputs,
                            const RunOptions &options) const;
  llvm::Error checkCall(llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<TensorView> results) const;

  const std::shared_ptr<const KernelPackage> package;
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
