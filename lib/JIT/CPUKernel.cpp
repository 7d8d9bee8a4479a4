//===- CPUKernel.cpp - Kernel packages on a CPU ---------------------------===//

#include "CPUKernel.h"
#include "Loader.h"
#include "attn/Runtime/ThreadCount.h"
#include "attn/Runtime/ThreadPool.h"

using namespace attn;

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a call of compiled code.
class Descriptors {
public:
  /// Reserves memory for buffers whose ranks add up to `ranks`.
  Descriptors(size_t count, size_t ranks) {
    words.reserve(3 * count + 2 * ranks);
    pointers.reserve(count);
  }

  void add(const void *data, llvm::ArrayRef<int64_t> shape,
           llvm::ArrayRef<int64_t> strides) {
    pointers.push_back(words.end());
    auto address = reinterpret_cast<int64_t>(data);
    words.append({address, address, 0});
    words.append(shape.begin(), shape.end());
    words.append(strides.begin(), strides.end());
  }
  void add(const TensorView &view) {
    size_t rank = view.rank;
    add(view.data, {view.shape, rank}, {view.strides, rank});
  }
  /// A buffer of rank 1.
  void add(llvm::MutableArrayRef<int64_t> buffer) {
    add(buffer.data(), {static_cast<int64_t>(buffer.size())}, {1});
  }

  void *const *data() const { return pointers.data(); }

private:
  // Never grows, as `pointers` point into it.
  llvm::SmallVector<int64_t, 128> words;
  llvm::SmallVector<void *, 16> pointers;
};
} // namespace

static size_t countRanks(llvm::ArrayRef<TensorInfo> infos) {
  size_t count = 0;
  for (const TensorInfo &info : infos)
    count += info.shape.size();
  return count;
}

//===----------------------------------------------------------------------===//
// Kernel
//===----------------------------------------------------------------------===//

namespace {
class CPUKernel : public LoadedKernel {
public:
  CPUKernel(KernelPackage package, std::unique_ptr<LoadedCode> code)
      : LoadedKernel(std::move(package)), code(std::move(code)) {}

  bool isOnHost(size_t) const override { return true; }

protected:
  llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                      llvm::ArrayRef<TensorView> results,
                      const RunOptions &options) const override;

private:
  std::unique_ptr<LoadedCode> code;
};
} // namespace

llvm::Error CPUKernel::execute(llvm::ArrayRef<TensorView> inputs,
                               llvm::ArrayRef<TensorView> results,
                               const RunOptions &options) const {
  const KernelMetadata &metadata = getMetadata();
  llvm::SmallVector<int64_t, 0> status(2 * metadata.sites.size(), kNoIndex);
  Descriptors descriptors(inputs.size() + results.size() + 1,
                          countRanks(metadata.inputs) +
                              countRanks(metadata.results) + 1);
  for (const TensorView &view : inputs)
    descriptors.add(view);
  for (const TensorView &view : results)
    descriptors.add(view);
  // Of use only to code that checks reads, which loads it even if no read has
  // an index.
  descriptors.add(status);

  Executor executor;
  if (options.executor)
    executor = *options.executor;
  if (options.threads != 0) {
    int32_t limit = std::min<unsigned>(options.threads, kMaxThreads);
    executor.maxThreads =
        executor.maxThreads ? std::min(executor.maxThreads, limit) : limit;
  }
  if (code->getRun()(descriptors.data(), &executor) != 0)
    return llvm::createStringError(
        std::make_error_code(std::errc::not_enough_memory),
        "kernel '" + metadata.entry +
            "' expects more memory for intermediate results than there is");
  return checkSites(status);
}

llvm::Expected<std::shared_ptr<const LoadedKernel>>
attn::loadCPUKernel(KernelPackage package) {
  llvm::Expected<std::unique_ptr<LoadedCode>> code = LoadedCode::load(package);
  if (!code)
    return code.takeError();
  return std::make_shared<CPUKernel>(std::move(package), std::move(*code));
}
