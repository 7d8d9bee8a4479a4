//===- Checker.cpp - Looks for errors in lists on a GPU -------------------===//

#include "Checker.h"
#include "Loading.h"
#include "Tables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Sequence.h"

using namespace attn;
using namespace attn::cuda;

/// The place of no error.
static constexpr uint64_t kNoPlace = UINT64_MAX;

llvm::Error Checker::load(const ListChecks &checks, const Driver &driver) {
  std::lock_guard<std::mutex> lock(mutex);
  if (module)
    return llvm::Error::success();
  ModuleHandle loaded = nullptr;
  if (llvm::Error error = loadModule(driver, checks.kernels.front().entry,
                                     checks.ptx, /*cubin=*/"", loaded))
    return error;
  functions.resize(checks.kernels.size());
  for (auto [kernel, function] : llvm::zip_equal(checks.kernels, functions))
    if (llvm::Error error =
            findFunction(driver, kernel.entry, loaded, function)) {
      (void)driver.cuModuleUnload(loaded);
      return error;
    }
  id = takeBindingIds(checks.kernels.size());
  module = loaded;
  return llvm::Error::success();
}

void Checker::unload(const Driver &driver) {
  if (module)
    (void)driver.cuModuleUnload(module);
  module = nullptr;
}

/// Whether the host could not wait for what is found.
static llvm::Error checkCapture(const Driver &driver, void *stream) {
  int status = kCaptureStatusNone;
  if (stream)
    if (llvm::Error error =
            driver.check(driver.cuStreamIsCapturing(
                             static_cast<StreamHandle>(stream), &status),
                         "asking whether a stream is captured"))
      return error;
  if (status == kCaptureStatusNone)
    return llvm::Error::success();
  return makeArgumentError(
      "expects a stream that is not being captured to check lists, as the host "
      "waits for what is found; check them in a call before the capture");
}

llvm::Error Checker::run(const ListChecks &checks, bool areDependent,
                         const Device &device,
                         llvm::ArrayRef<TensorView> operands,
                         llvm::MutableArrayRef<int64_t> numbers,
                         const LaunchOptions &options) {
  const Driver &driver = device.getDriver();
  auto *stream = static_cast<StreamHandle>(options.stream);
  if (llvm::Error error = checkCapture(driver, stream))
    return error;
  if (llvm::Error error = load(checks, driver))
    return error;
  TableInfo info;
  info.elementBytes = sizeof(uint64_t);
  info.extents.resize(1);
  info.extents[0].size = kWordsOfSite * checks.numSites;
  llvm::Expected<Tables> words =
      Tables::allocate(device, stream, checks.words, info, operands);
  if (!words)
    return words.takeError();

  auto memory =
      reinterpret_cast<DevicePtr>(words->getOperands()[checks.words].data);
  std::vector<uint64_t> found(info.extents[0].size);
  size_t bytes = found.size() * sizeof(uint64_t);
  GridInfo noGrid;
  auto look = [&]() -> llvm::Error {
    BindingTarget target{device, id, noGrid, words->getOperands(),
                         options.names};
    target.firstTable = checks.words;
    KernelSequence sequence(driver, stream, areDependent);
    for (auto [kernel, function] : llvm::zip_equal(checks.kernels, functions)) {
      llvm::Expected<int64_t> lists =
          Tables::getProduct(kernel.extents, operands);
      if (!lists)
        return lists.takeError();
      if (*lists != 0)
        if (llvm::Error error =
                launchWarps(target, {kernel.entry, function, kernel.threads},
                            kernel.params, *lists, sequence))
          return error;
      target.id += kMaxParams;
    }
    if (llvm::Error error = driver.check(
            driver.cuMemcpyDtoHAsync(found.data(), memory, bytes, stream),
            "reading what checks of lists have found"))
      return error;
    return driver.check(driver.cuStreamSynchronize(stream),
                        "checking lists on the GPU");
  };
  if (llvm::Error error =
          driver.check(driver.cuMemsetD8Async(memory, 0xff, bytes, stream),
                       "preparing checks of lists"))
    return error;
  if (llvm::Error error = look())
    return error;
  auto hasError = [&](int64_t site) {
    return found[kWordsOfSite * site] != kNoPlace;
  };
  auto sites = llvm::seq<int64_t>(0, checks.numSites);
  // Which is the first is known now, and once more its numbers are written.
  if (llvm::any_of(sites, hasError))
    if (llvm::Error error = look())
      return error;
  for (int64_t site : sites)
    if (hasError(site))
      for (int64_t i = 0; i < 2; ++i)
        numbers[2 * site + i] =
            static_cast<int64_t>(found[kWordsOfSite * site + 1 + i]);
  return words->release();
}
