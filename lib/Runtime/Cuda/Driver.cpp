//===- Driver.cpp - The CUDA driver, opened at run time -------------------===//

#include "attn/Runtime/Cuda/Driver.h"
#include <atomic>
#include <cstdlib>
#include <dlfcn.h>
#include <mutex>

using namespace attn;
using namespace attn::cuda;

/// Tensor maps came with this version.
static constexpr int kLeastVersion = 12000;

static std::string formatVersion(int version) {
  return (llvm::Twine(version / 1000) + "." + llvm::Twine(version % 1000 / 10))
      .str();
}

static llvm::Error makeDriverError(const llvm::Twine &text,
                                   const char *wayOut = "") {
  return llvm::createStringError(
      std::make_error_code(std::errc::no_such_device),
      text + "; " + wayOut + "the target cpu can run it");
}

llvm::Expected<Driver> Driver::open(const char *library) {
  void *handle = ::dlopen(library, RTLD_NOW | RTLD_LOCAL);
  if (!handle) {
    const char *reason = ::dlerror();
    return makeDriverError(llvm::Twine("no CUDA driver: cannot open ") +
                           library + " (" + (reason ? reason : "unknown") +
                           ")");
  }
  Driver driver;
  const char *missing = nullptr;
#define ATTN_CUDA_RESOLVE(member, symbol, parameters)                          \
  if (!missing) {                                                              \
    driver.member =                                                            \
        reinterpret_cast<Result(*) parameters>(::dlsym(handle, symbol));       \
    if (!driver.member)                                                        \
      missing = symbol;                                                        \
  }
  ATTN_CUDA_FUNCTIONS(ATTN_CUDA_RESOLVE)
#undef ATTN_CUDA_RESOLVE
  if (missing) {
    // Nothing of it has run yet.
    ::dlclose(handle);
    return makeDriverError(llvm::Twine("expects the CUDA driver ") + library +
                               " to have " + missing + " (CUDA " +
                               formatVersion(kLeastVersion) +
                               " or later), but it has not",
                           "update the driver, or ");
  }
  if (Result result = driver.cuInit(0)) {
    if (result == kErrorNoDevice)
      return makeDriverError("expects a GPU, but the CUDA driver finds none");
    return makeDriverError(llvm::Twine("the CUDA driver ") + library +
                           " does not start: " + driver.describe(result));
  }
  if (llvm::Error error =
          driver.check(driver.cuDriverGetVersion(&driver.version),
                       "asking for the CUDA driver's version"))
    return error;
  if (driver.version < kLeastVersion)
    return makeDriverError(
        "expects a driver for CUDA " + formatVersion(kLeastVersion) +
            " or later, but got one for " + formatVersion(driver.version),
        "update the driver, or ");
  return driver;
}

llvm::Expected<const Driver *> Driver::get() {
  static std::atomic<const Driver *> instance{nullptr};
  if (const Driver *driver = instance.load(std::memory_order_acquire))
    return driver;
  static std::mutex mutex;
  std::lock_guard<std::mutex> lock(mutex);
  if (const Driver *driver = instance.load(std::memory_order_relaxed))
    return driver;
  const char *library = std::getenv("ATTN_LIBCUDA");
  llvm::Expected<Driver> opened =
      open(library && *library ? library : "libcuda.so.1");
  if (!opened)
    return opened.takeError();
  // Lives on: destructors of other static objects may still free memory.
  static Driver storage;
  storage = *opened;
  instance.store(&storage, std::memory_order_release);
  return &storage;
}

std::string Driver::describe(Result result) const {
  const char *name = nullptr, *text = nullptr;
  if (cuGetErrorName(result, &name) != kSuccess || !name)
    return ("unknown CUDA error " + llvm::Twine(result)).str();
  if (cuGetErrorString(result, &text) != kSuccess || !text)
    return name;
  return (llvm::Twine(name) + ": " + text).str();
}

llvm::Error Driver::makeError(Result result, const llvm::Twine &what) const {
  std::errc code = std::errc::io_error;
  if (result == kErrorOutOfMemory)
    code = std::errc::not_enough_memory;
  else if (result == kErrorInvalidValue)
    code = std::errc::invalid_argument;
  return llvm::createStringError(std::make_error_code(code),
                                 what + " failed: " + describe(result));
}

bool cuda::isOutOfMemory(const llvm::Error &error) {
  bool result = false;
  llvm::visitErrors(error, [&](const llvm::ErrorInfoBase &info) {
    result |= info.convertToErrorCode() ==
              std::make_error_code(std::errc::not_enough_memory);
  });
  return result;
}

llvm::Error cuda::makeArgumentError(const llvm::Twine &text) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument), text);
}

ContextScope::ContextScope(const Driver &driver, ContextHandle context)
    : driver(driver) {
  ContextHandle current = nullptr;
  result = driver.cuCtxGetCurrent(&current);
  if (result != kSuccess || current == context)
    return;
  result = driver.cuCtxPushCurrent(context);
  isPushed = result == kSuccess;
}

ContextScope::~ContextScope() {
  ContextHandle popped = nullptr;
  // There is nobody to tell, and the next use of the context fails too.
  if (isPushed)
    (void)driver.cuCtxPopCurrent(&popped);
}
