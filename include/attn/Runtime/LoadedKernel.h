//===- LoadedKernel.h - Kernel packages, ready to run -----------*- C++ -*-===//
//
// Tensors are views on the caller's memory; a scalar is a view of rank 0. No
// call keeps a view, and only the results are written. Strides are free but for
// the innermost one, which is 1 unless its extent is 0 or 1.
//
// The tensors of a kernel for a GPU are in the memory of the current CUDA
// device, except for scalars, which are in host memory (isOnHost). run launches
// the kernel on the stream and does not wait for its results.
//
// Errors are values with a text for users; their error code is
//
//   std::errc::invalid_argument     the tensors do not fit the kernel
//   std::errc::not_enough_memory    scratch memory could not be allocated
//   std::errc::result_out_of_range  a checked read was outside of its tensor,
//                                   or lists of blocks or keys are wrong
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

/// Tables that a kernel has computed from the inputs that masks and sparsities
/// read. They are for calls with inputs of the same extents, in which these
/// inputs hold the same values: see LoadedKernel::prepare. Keeps the kernel
/// alive.
class Prepared {
public:
  virtual ~Prepared();
  /// The memory that its tables take, on the kernel's device.
  virtual size_t getBytes() const = 0;

private:
  friend class LoadedKernel;

  std::shared_ptr<const LoadedKernel> kernel;
  std::vector<Shape> shapes;
  /// Of inputs that were read, by their number: the values of scalars, and if
  /// calls look for changes, hashes of the elements of tensors.
  std::vector<std::pair<size_t, std::string>> scalars;
  std::vector<std::pair<size_t, uint64_t>> hashes;
};

struct RunOptions {
  /// The threads to run on; if null, the process's shared ones.
  Executor *executor = nullptr;
  /// At most so many threads at once, including the caller's; 0 for all.
  unsigned threads = 0;
  /// For a kernel on a GPU, the CUstream on which it is launched; null is the
  /// default stream. A GPU ignores the options above.
  void *stream = nullptr;
  /// Whether the lists of a sparsity are checked on a GPU before anything else
  /// runs. The call then waits for the earlier work of the stream and for the
  /// checks, and the stream may not be captured. A CPU always checks lists.
  bool checkLists = false;
  /// The result of LoadedKernel::prepare of the same kernel, or null. It must
  /// live until the call has run.
  const Prepared *prepared = nullptr;
};

/// Which code a call runs.
struct CodeChoice {
  /// "exact" or "nearest" if a tuning database has an entry for these or for
  /// similar extents, "other-version" if that entry is of another driver or
  /// compiler, "model" if the compiler and its cost model choose.
  std::string source = "model";
  /// The same in words.
  std::string text;
  /// The package that runs; it lives as long as the kernel.
  const KernelPackage *package = nullptr;
  /// The measured time in seconds, if the package was tuned for such extents.
  std::optional<double> measured;
  /// For each launch, if there is a GPU: the variant that it takes; and for
  /// each variant the time by the cost model and the least time that the GPU
  /// allows, in seconds, 0 if unknown.
  struct Launch {
    size_t taken = 0;
    std::vector<double> predicted, least;
  };
  std::vector<Launch> launches;
  /// An entry of a tuning database for this program on this device: a schedule
  /// ("" is the compiler's choice), the number of threads (0 for all), and
  /// medians in seconds.
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

/// The properties of a variant of a kernel for a GPU, for printing.
struct VariantReport {
  const cuda::Variant *variant = nullptr;
  /// For a call: whether it takes this variant, and the times of CodeChoice.
  std::optional<bool> isTaken;
  std::optional<double> predicted, measured, least;

  /// The bytes of shared memory of a block, as far as known.
  int64_t getSharedBytes() const;
  /// The least time that the GPU allows, over the measured time, or over the
  /// predicted time if none was measured.
  std::optional<double> getRooflineShare() const;
  /// All of it, with names in snake case. What is not known is left out.
  llvm::json::Object toJSON() const;
};

/// The variants of all launches of a program in their order, with the choice of
/// a call if it is given.
std::vector<VariantReport> describeVariants(const cuda::CudaProgram &program,
                                            const CodeChoice *choice = nullptr);

/// A package whose code is ready to run, from any number of threads at once.
class LoadedKernel : public std::enable_shared_from_this<LoadedKernel> {
public:
  virtual ~LoadedKernel();

  const KernelPackage &getPackage() const { return *package; }
  const KernelMetadata &getMetadata() const { return package->metadata; }

  /// Whether the data of an input are in host memory: all inputs on a CPU, only
  /// scalars on a GPU. A tensor type of rank 0 is no scalar.
  virtual bool isOnHost(size_t input) const = 0;

  /// The shapes of the results for these inputs. Only the types and extents of
  /// the inputs are read.
  llvm::Expected<std::vector<Shape>>
  getResultShapes(llvm::ArrayRef<TensorView> inputs) const;

  /// Writes the results. A result may overlap neither an input nor another
  /// result.
  llvm::Error run(llvm::ArrayRef<TensorView> inputs,
                  llvm::ArrayRef<TensorView> results,
                  const RunOptions &options) const;

  /// Computes the tables that depend only on extents and on the inputs of
  /// getPreparedInputs, such as which tiles a mask needs, or bits of lists.
  /// Calls that are given the result do not compute these tables, and their
  /// results have the same bits. For a kernel without such tables the result is
  /// empty.
  ///
  /// In these calls, the inputs of getPreparedInputs must hold the same values;
  /// otherwise results are undefined. Extents are always compared, and scalars
  /// if the result is not empty. If ATTN_CHECK_PREPARED=1 was in the
  /// environment during prepare, calls also compare a hash of the contents, and
  /// wait for the stream, which may not be captured. A difference is
  /// std::errc::invalid_argument.
  ///
  /// On a GPU the tables are computed on the stream, and calls on other streams
  /// wait for them.
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
  /// For a kernel that passes its calls on to other kernels with the same
  /// inputs and results, and shares the package of `other`.
  LoadedKernel(const LoadedKernel &other) = default;

  /// Runs with tensors that fit.
  virtual llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                              llvm::ArrayRef<TensorView> results,
                              const RunOptions &options) const = 0;

  /// Runs another kernel with the same inputs and results.
  static llvm::Error executeOf(const LoadedKernel &kernel,
                               llvm::ArrayRef<TensorView> inputs,
                               llvm::ArrayRef<TensorView> results,
                               const RunOptions &options) {
    return kernel.execute(inputs, results, options);
  }

  /// Computes the tables of prepare from inputs that fit; by default none.
  virtual llvm::Expected<std::shared_ptr<Prepared>>
  computePrepared(llvm::ArrayRef<TensorView> inputs,
                  const RunOptions &options) const;

  /// Whether `prepared` was made by this kernel for such inputs.
  virtual bool owns(const Prepared &prepared,
                    llvm::ArrayRef<TensorView> /*inputs*/) const {
    return &getKernelOf(prepared) == this;
  }
  static const LoadedKernel &getKernelOf(const Prepared &prepared) {
    return *prepared.kernel;
  }

  /// The bytes of an input's elements in their order. For device memory, waits
  /// for the stream.
  virtual llvm::Expected<std::string>
  readElements(const TensorView &input, const RunOptions &options) const;

  /// The value in the slots of a checked read that was in range. It is no valid
  /// index.
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

/// Makes a kernel from a package for a GPU. This needs no GPU. The first run
/// loads the code, which takes milliseconds, or seconds if the kernel was
/// compiled without ptxas.
llvm::Expected<std::shared_ptr<const LoadedKernel>>
loadCudaKernel(KernelPackage package);

/// Whether kernels for a device can run here; if not, the error says why.
llvm::Error checkDevice(DeviceKind device);

} // namespace attn

#endif // ATTN_RUNTIME_LOADEDKERNEL_H
