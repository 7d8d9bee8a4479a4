//===- Driver.h - The CUDA driver, opened at run time -----------*- C++ -*-===//
//
// The functions of libcuda.so.1 that the runtime calls. The library is looked
// for when the first kernel is loaded, so that one build of attn serves
// machines with and without a GPU; and its few types are declared here, so that
// the build needs no header of CUDA. Names and numbers are those of cuda.h,
// where they are part of a stable binary interface.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_RUNTIME_CUDA_DRIVER_H
#define ATTN_RUNTIME_CUDA_DRIVER_H

#include "llvm/ADT/StringRef.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/Error.h"
#include <cstddef>
#include <cstdint>

namespace attn::cuda {

// CUresult. Any other number is an error too.
using Result = int;
constexpr Result kSuccess = 0;
constexpr Result kErrorInvalidValue = 1;
constexpr Result kErrorOutOfMemory = 2;
constexpr Result kErrorNoDevice = 100;
constexpr Result kErrorInvalidImage = 200;
constexpr Result kErrorNoBinaryForGpu = 209;

// CUdevice, CUdeviceptr and the handles.
using DeviceHandle = int;
using DevicePtr = unsigned long long;
using ContextHandle = struct CUctx_st *;
using ModuleHandle = struct CUmod_st *;
using FunctionHandle = struct CUfunc_st *;
using StreamHandle = struct CUstream_st *;
using EventHandle = struct CUevent_st *;
using MemPoolHandle = struct CUmemPoolHandle_st *;

/// CUtensorMap: what a kernel gives to the hardware that copies tiles.
struct alignas(64) TensorMap {
  uint64_t opaque[16];
};
static_assert(sizeof(TensorMap) == 128);

// CUdevice_attribute
constexpr int kDeviceMultiprocessorCount = 16;
constexpr int kDeviceComputeCapabilityMajor = 75;
constexpr int kDeviceComputeCapabilityMinor = 76;
constexpr int kDeviceMaxSharedBytesPerBlockOptin = 97;

// CUfunction_attribute
constexpr int kFunctionSharedBytes = 1;
constexpr int kFunctionMaxDynamicSharedBytes = 8;

// CUpointer_attribute and CUmemorytype
constexpr int kPointerMemoryType = 2;
constexpr int kPointerDeviceOrdinal = 9;
constexpr unsigned kMemoryDevice = 2;

// CUjit_option
constexpr int kJitErrorLogBuffer = 5;
constexpr int kJitErrorLogBufferBytes = 6;

// CUstreamCaptureMode and CUstreamCaptureStatus
constexpr int kCaptureModeRelaxed = 2;
constexpr int kCaptureStatusNone = 0;

// CUmemAllocationType, CUmemLocationType and CUmemPool_attribute
constexpr int kAllocationPinned = 1;
constexpr int kLocationDevice = 1;
constexpr int kPoolReleaseThreshold = 4;

/// CUmemPoolProps.
struct MemPoolProps {
  int allocationType = kAllocationPinned;
  int handleTypes = 0;
  int locationType = kLocationDevice;
  int locationId = 0;
  void *securityAttributes = nullptr;
  size_t maxBytes = 0;
  unsigned short usage = 0;
  unsigned char reserved[54] = {};
};

// CUstream_flags and CUevent_flags
constexpr unsigned kStreamNonBlocking = 1;
constexpr unsigned kEventDefault = 0;

// CUlaunchAttributeID
constexpr int kLaunchProgrammaticSerialization = 6;

/// CUlaunchAttribute.
struct LaunchAttribute {
  int id = 0;
  unsigned char padding[4] = {};
  /// The member of a union of 64 bytes.
  int value = 0;
  unsigned char reserved[60] = {};
};

/// CUlaunchConfig.
struct LaunchConfig {
  unsigned gridX = 1, gridY = 1, gridZ = 1;
  unsigned blockX = 1, blockY = 1, blockZ = 1;
  unsigned sharedBytes = 0;
  StreamHandle stream = nullptr;
  LaunchAttribute *attributes = nullptr;
  unsigned numAttributes = 0;
};

// X(member, exported name, parameters). Headers of CUDA map the first to the
// second; the suffixes are versions of the binary interface.
#define ATTN_CUDA_FUNCTIONS(X)                                                 \
  X(cuInit, "cuInit", (unsigned flags))                                        \
  X(cuDriverGetVersion, "cuDriverGetVersion", (int *version))                  \
  X(cuGetErrorName, "cuGetErrorName", (Result error, const char **text))       \
  X(cuGetErrorString, "cuGetErrorString", (Result error, const char **text))   \
  X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                        \
  X(cuDeviceGet, "cuDeviceGet", (DeviceHandle * device, int ordinal))          \
  X(cuDeviceGetName, "cuDeviceGetName",                                        \
    (char *name, int size, DeviceHandle device))                               \
  X(cuDeviceGetAttribute, "cuDeviceGetAttribute",                              \
    (int *value, int attribute, DeviceHandle device))                          \
  X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain",                      \
    (ContextHandle * context, DeviceHandle device))                            \
  X(cuCtxGetCurrent, "cuCtxGetCurrent", (ContextHandle * context))             \
  X(cuCtxSetCurrent, "cuCtxSetCurrent", (ContextHandle context))               \
  X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (ContextHandle context))          \
  X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (ContextHandle * context))          \
  X(cuCtxGetDevice, "cuCtxGetDevice", (DeviceHandle * device))                 \
  X(cuCtxSynchronize, "cuCtxSynchronize", ())                                  \
  X(cuModuleLoadData, "cuModuleLoadData",                                      \
    (ModuleHandle * module, const void *image))                                \
  X(cuModuleLoadDataEx, "cuModuleLoadDataEx",                                  \
    (ModuleHandle * module, const void *image, unsigned numOptions,            \
     int *options, void **values))                                             \
  X(cuModuleUnload, "cuModuleUnload", (ModuleHandle module))                   \
  X(cuModuleGetFunction, "cuModuleGetFunction",                                \
    (FunctionHandle * function, ModuleHandle module, const char *name))        \
  X(cuFuncSetAttribute, "cuFuncSetAttribute",                                  \
    (FunctionHandle function, int attribute, int value))                       \
  X(cuFuncGetAttribute, "cuFuncGetAttribute",                                  \
    (int *value, int attribute, FunctionHandle function))                      \
  X(cuOccupancyMaxActiveBlocksPerMultiprocessor,                               \
    "cuOccupancyMaxActiveBlocksPerMultiprocessor",                             \
    (int *numBlocks, FunctionHandle function, int numThreads,                  \
     size_t sharedBytes))                                                      \
  X(cuLaunchKernelEx, "cuLaunchKernelEx",                                      \
    (const LaunchConfig *config, FunctionHandle function, void **params,       \
     void **extra))                                                            \
  X(cuTensorMapEncodeTiled, "cuTensorMapEncodeTiled",                          \
    (TensorMap * map, int dataType, uint32_t rank, void *address,              \
     const uint64_t *extents, const uint64_t *strides, const uint32_t *box,    \
     const uint32_t *elementStrides, int interleave, int swizzle,              \
     int l2Promotion, int oobFill))                                            \
  X(cuMemGetInfo, "cuMemGetInfo_v2", (size_t *free, size_t *total))            \
  X(cuMemAlloc, "cuMemAlloc_v2", (DevicePtr * pointer, size_t bytes))          \
  X(cuMemFree, "cuMemFree_v2", (DevicePtr pointer))                            \
  X(cuMemPoolCreate, "cuMemPoolCreate",                                        \
    (MemPoolHandle * pool, const MemPoolProps *properties))                    \
  X(cuMemPoolSetAttribute, "cuMemPoolSetAttribute",                            \
    (MemPoolHandle pool, int attribute, void *value))                          \
  X(cuMemAllocFromPoolAsync, "cuMemAllocFromPoolAsync",                        \
    (DevicePtr * pointer, size_t bytes, MemPoolHandle pool,                    \
     StreamHandle stream))                                                     \
  X(cuMemFreeAsync, "cuMemFreeAsync",                                          \
    (DevicePtr pointer, StreamHandle stream))                                  \
  X(cuMemcpyHtoD, "cuMemcpyHtoD_v2",                                           \
    (DevicePtr to, const void *from, size_t bytes))                            \
  X(cuMemcpyDtoH, "cuMemcpyDtoH_v2", (void *to, DevicePtr from, size_t bytes)) \
  X(cuMemcpyDtoHAsync, "cuMemcpyDtoHAsync_v2",                                 \
    (void *to, DevicePtr from, size_t bytes, StreamHandle stream))             \
  X(cuMemsetD8Async, "cuMemsetD8Async",                                        \
    (DevicePtr to, unsigned char value, size_t count, StreamHandle stream))    \
  X(cuPointerGetAttribute, "cuPointerGetAttribute",                            \
    (void *value, int attribute, DevicePtr pointer))                           \
  X(cuStreamCreate, "cuStreamCreate", (StreamHandle * stream, unsigned flags)) \
  X(cuStreamDestroy, "cuStreamDestroy_v2", (StreamHandle stream))              \
  X(cuStreamSynchronize, "cuStreamSynchronize", (StreamHandle stream))         \
  X(cuStreamGetCtx, "cuStreamGetCtx",                                          \
    (StreamHandle stream, ContextHandle * context))                            \
  X(cuStreamIsCapturing, "cuStreamIsCapturing",                                \
    (StreamHandle stream, int *status))                                        \
  X(cuThreadExchangeStreamCaptureMode, "cuThreadExchangeStreamCaptureMode",    \
    (int *mode))                                                               \
  X(cuEventCreate, "cuEventCreate", (EventHandle * event, unsigned flags))     \
  X(cuEventRecord, "cuEventRecord", (EventHandle event, StreamHandle stream))  \
  X(cuEventQuery, "cuEventQuery", (EventHandle event))                         \
  X(cuStreamWaitEvent, "cuStreamWaitEvent",                                    \
    (StreamHandle stream, EventHandle event, unsigned flags))                  \
  X(cuEventSynchronize, "cuEventSynchronize", (EventHandle event))             \
  X(cuEventElapsedTime, "cuEventElapsedTime",                                  \
    (float *milliseconds, EventHandle from, EventHandle to))                   \
  X(cuEventDestroy, "cuEventDestroy_v2", (EventHandle event))

/// The driver's functions. A Driver is never closed: handles that others hold
/// may outlive whoever opened it.
struct Driver {
#define ATTN_CUDA_MEMBER(member, symbol, parameters)                           \
  Result(*member) parameters = nullptr;
  ATTN_CUDA_FUNCTIONS(ATTN_CUDA_MEMBER)
#undef ATTN_CUDA_MEMBER

  /// The CUDA version that the driver implements: 12040 is 12.4.
  int version = 0;

  /// The driver of the process, initialised. It is the library that the
  /// environment variable ATTN_LIBCUDA names, otherwise libcuda.so.1. A
  /// failure is not remembered: the next call tries again.
  static llvm::Expected<const Driver *> get();

  /// Opens a library, resolves the functions and initialises the driver.
  static llvm::Expected<Driver> open(const char *library);

  /// Success, or an error that tells the driver's name and description of the
  /// code. `what` is what was tried, as a noun phrase: "the launch of @f". The
  /// code of lack of memory on the device is std::errc::not_enough_memory.
  llvm::Error check(Result result, const llvm::Twine &what) const {
    if (LLVM_LIKELY(result == kSuccess))
      return llvm::Error::success();
    return makeError(result, what);
  }

  /// "CUDA_ERROR_INVALID_VALUE: invalid argument".
  std::string describe(Result result) const;

private:
  llvm::Error makeError(Result result, const llvm::Twine &what) const;
};

/// Whether `error` holds an error for lack of memory. The error stays as it is.
bool isOutOfMemory(const llvm::Error &error);

/// An error with the code for arguments that do not fit.
llvm::Error makeArgumentError(const llvm::Twine &text);

/// Makes a context current while it lives, unless it is already.
class ContextScope {
public:
  ContextScope(const Driver &driver, ContextHandle context);
  ContextScope(const ContextScope &) = delete;
  ContextScope &operator=(const ContextScope &) = delete;
  ~ContextScope();

  /// What to ask before work in the scope.
  llvm::Error takeError() {
    return driver.check(result, "making the CUDA context current");
  }

private:
  const Driver &driver;
  Result result = kSuccess;
  bool isPushed = false;
};

} // namespace attn::cuda

#endif // ATTN_RUNTIME_CUDA_DRIVER_H
