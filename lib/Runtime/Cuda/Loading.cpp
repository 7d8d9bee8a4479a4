//===- Loading.cpp - From code to functions in a context ------------------===//

#include "Loading.h"
#include "Binding.h"
#include <atomic>

using namespace attn;
using namespace attn::cuda;

/// Lets the driver compile PTX.
static llvm::Error loadPtx(const Driver &driver, const std::string &entry,
                           const std::string &ptx, ModuleHandle &module) {
  // The driver wants a text that ends with a null, which strings have.
  std::string log(8192, '\0');
  int options[] = {kJitErrorLogBuffer, kJitErrorLogBufferBytes};
  void *values[] = {log.data(), reinterpret_cast<void *>(log.size())};
  Result result =
      driver.cuModuleLoadDataEx(&module, ptx.c_str(), 2, options, values);
  if (result == kSuccess)
    return llvm::Error::success();
  llvm::StringRef text = llvm::StringRef(log.c_str()).trim();
  std::string what = "compiling @" + entry + " in the CUDA driver";
  if (!text.empty())
    what += (" (" + text + ")").str();
  return driver.check(result, what);
}

llvm::Error cuda::loadModule(const Driver &driver, const std::string &entry,
                             const std::string &ptx, const std::string &cubin,
                             ModuleHandle &module) {
  if (cubin.empty())
    return loadPtx(driver, entry, ptx, module);
  Result result = driver.cuModuleLoadData(&module, cubin.data());
  // A cubin may be of a newer toolkit than the driver; PTX may be not.
  if ((result == kErrorInvalidImage || result == kErrorNoBinaryForGpu) &&
      !ptx.empty())
    return loadPtx(driver, entry, ptx, module);
  return driver.check(result, "loading the code of @" + entry);
}

llvm::Error cuda::findFunction(const Driver &driver, const std::string &entry,
                               ModuleHandle module, FunctionHandle &function) {
  return driver.check(
      driver.cuModuleGetFunction(&function, module, entry.c_str()),
      "looking for @" + entry + " in its code");
}

uint64_t cuda::takeBindingIds(size_t count) {
  // 0 means none.
  static std::atomic<uint64_t> next{kMaxParams};
  return next.fetch_add(kMaxParams * count);
}

/// Graphs have edges of that kind since this version.
static constexpr int kEarlyInGraphsVersion = 12030;

bool KernelSequence::mayStartEarly() const {
  if (!areDependent || !hasStarted)
    return false;
  // The null stream is never captured.
  if (driver.version >= kEarlyInGraphsVersion || !stream)
    return true;
  int status = kCaptureStatusNone;
  return driver.cuStreamIsCapturing(stream, &status) == kSuccess &&
         status == kCaptureStatusNone;
}

Result KernelSequence::start(FunctionHandle function, unsigned blocks,
                             unsigned threads, unsigned sharedBytes,
                             ParamValues &values) {
  LaunchAttribute attribute;
  attribute.id = kLaunchProgrammaticSerialization;
  attribute.value = 1;
  LaunchConfig config;
  config.gridX = blocks;
  config.blockX = threads;
  config.sharedBytes = sharedBytes;
  config.stream = stream;
  config.attributes = &attribute;
  config.numAttributes = mayStartEarly();
  hasStarted = true;
  return driver.cuLaunchKernelEx(&config, function, values.pointers,
                                 /*extra=*/nullptr);
}

llvm::Error cuda::launchWarps(const BindingTarget &target,
                              const WarpFunction &function,
                              llvm::ArrayRef<Param> params, int64_t warps,
                              KernelSequence &sequence) {
  int64_t perBlock = function.threads / kWarpThreads;
  int64_t blocks = llvm::divideCeil(warps, perBlock);
  if (blocks > INT32_MAX)
    return makeArgumentError(
        "expects @" + function.entry + " to need at most " +
        llvm::Twine(int64_t(INT32_MAX) * perBlock) + " warps, but got " +
        llvm::Twine(warps) + "; run a part of the batch at a time");
  ParamValues values;
  if (llvm::Error error = bindParams(target, params, values))
    return error;
  const Driver &driver = target.device.getDriver();
  return driver.check(
      sequence.start(function.handle, static_cast<unsigned>(blocks),
                     function.threads, /*sharedBytes=*/0, values),
      "launching @" + function.entry);
}
