//===- CAPI.h - What is behind the C interface ------------------*- C++ -*-===//

#ifndef ATTN_LIB_CAPI_CAPI_H
#define ATTN_LIB_CAPI_CAPI_H

#include "attn-c/Runtime.h"
#include "attn/JIT/CompileReport.h"
#include "attn/Runtime/LoadedKernel.h"
#include "attn/Runtime/ThreadPool.h"
#include "llvm/ADT/Twine.h"
#include <atomic>
#include <cstring>
#include <string>

namespace attn {
struct CompileOptions;
} // namespace attn
struct attnCompileOptions;

struct attnError {
  attnStatus status;
  std::string message;
};

struct attnString {
  std::string bytes;
};

struct attnKernel {
  attnKernel(std::shared_ptr<const attn::LoadedKernel> kernel,
             attn::CompileReport report)
      : kernel(std::move(kernel)), report(std::move(report)) {}

  const attn::KernelMetadata &getMetadata() const {
    return kernel->getMetadata();
  }

  std::shared_ptr<const attn::LoadedKernel> kernel;
  attn::CompileReport report;
  std::atomic<size_t> references{1};
};

struct attnPrepared {
  std::shared_ptr<const attn::Prepared> prepared;
};

struct attnThreadPool {
  explicit attnThreadPool(int32_t numThreads) : pool(numThreads) {}

  attn::ThreadPool pool;
};

namespace attn::capi {

/// Makes an error object where the caller wants one, and returns its status.
attnStatus fail(attnError **error, attnStatus status,
                const llvm::Twine &message);

/// The same for an error of the library. `otherwise` is the status of errors
/// whose code does not tell one.
attnStatus fail(attnError **error, llvm::Error reason, attnStatus otherwise);

inline attnStatus succeed(attnError **error) {
  if (error)
    *error = nullptr;
  return ATTN_OK;
}

/// Loads a package that the library can run; libattn and libattn-runtime each
/// have a definition.
llvm::Expected<std::shared_ptr<const LoadedKernel>>
loadKernel(KernelPackage package);

/// Options of a compilation; those of libattn alone. NULL means none.
attnStatus readCompileOptions(const attnCompileOptions *from,
                              CompileOptions &options, attnError **error);

/// An error where the library can run kernels for no such device at all.
llvm::Error checkKind(DeviceKind device);

/// "expects WHAT, but got NULL".
inline attnStatus failNull(attnError **error, const char *what) {
  return fail(error, ATTN_INVALID_ARGUMENT,
              llvm::Twine("expects ") + what + ", but got NULL");
}

/// Hands out a string.
attnStatus succeed(attnString **out, std::string bytes, attnError **error);

/// The size of each struct in the first version of the header, which all later
/// ones have at least.
template <typename T> constexpr size_t kFirstSize = 0;
template <>
inline constexpr size_t kFirstSize<attnTensor> =
    offsetof(attnTensor, strides) + sizeof(attnTensor::strides);
template <>
inline constexpr size_t kFirstSize<attnTensorInfo> =
    offsetof(attnTensorInfo, shape) + sizeof(attnTensorInfo::shape);
template <>
inline constexpr size_t kFirstSize<attnRunOptions> =
    offsetof(attnRunOptions, pool) + sizeof(attnRunOptions::pool);

/// Whether a caller's struct_size can be one. `name` is the struct's type.
attnStatus checkStructSize(size_t size, size_t ourSize, size_t firstSize,
                           const char *name, attnError **error);

/// Copies a struct of the caller, which may be longer or shorter than ours.
attnStatus readStruct(const void *from, void *to, size_t ourSize,
                      size_t firstSize, const char *name, attnError **error);

template <typename T>
attnStatus readStruct(const T *from, T &to, const char *name,
                      attnError **error) {
  to = T();
  return readStruct(from, &to, sizeof(T), kFirstSize<T>, name, error);
}

/// Fills a struct of the caller but for its size.
template <typename T>
attnStatus writeStruct(T from, T *to, const char *name, attnError **error) {
  size_t size = to->struct_size;
  if (attnStatus status =
          checkStructSize(size, sizeof(T), kFirstSize<T>, name, error))
    return status;
  from.struct_size = size;
  std::memset(to, 0, size);
  std::memcpy(to, &from, std::min(size, sizeof(T)));
  return succeed(error);
}

/// Views of the tensors of a caller, with the strides that he left out.
class TensorViews {
public:
  /// `kind` is "input" or "result", for messages.
  attnStatus read(const attnTensor *tensors, size_t count, const char *kind,
                  attnError **error);

  llvm::ArrayRef<TensorView> get() const { return views; }

private:
  std::vector<TensorView> views;
  std::vector<std::unique_ptr<int64_t[]>> strides;
};

} // namespace attn::capi

#endif // ATTN_LIB_CAPI_CAPI_H
