//===- Counters.h - What CTAs fetch work with -------------------*- C++ -*-===//

#ifndef ATTN_LIB_RUNTIME_CUDA_COUNTERS_H
#define ATTN_LIB_RUNTIME_CUDA_COUNTERS_H

#include "attn/Runtime/Cuda/Device.h"
#include <atomic>

namespace attn::cuda {

/// Pairs of 32-bit numbers in device memory. They are 0 whenever no kernel
/// uses them: a kernel that is done leaves them so. Each launch has its own, so
/// launches may run at the same time.
///
/// Launches take turns; there are more pairs than launches that the driver
/// queues. What a graph captures keeps its pair, and those are others, taken
/// once each until there are no more.
class Counters {
public:
  /// Those of the device, which are made by the first call and never freed. Its
  /// context must be current.
  static llvm::Expected<Counters *> get(const Device &device);

  /// The address of a pair for a launch on a stream.
  llvm::Expected<DevicePtr> take(void *stream);

private:
  explicit Counters(DeviceBuffer memory) : memory(std::move(memory)) {}

  DeviceBuffer memory;
  std::atomic<uint32_t> next{0}, nextCaptured{0};
};

} // namespace attn::cuda

#endif // ATTN_LIB_RUNTIME_CUDA_COUNTERS_H
