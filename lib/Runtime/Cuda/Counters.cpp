//===- Counters.cpp - What CTAs fetch work with ---------------------------===//

#include "Counters.h"
#include "llvm/ADT/DenseMap.h"
#include <memory>
#include <mutex>
#include <vector>

using namespace attn;
using namespace attn::cuda;

/// Of launches, and of what graphs capture.
static constexpr uint32_t kNumPairs = 1 << 15;
static constexpr size_t kPairBytes = 8;

llvm::Expected<Counters *> Counters::get(const Device &device) {
  // Never destroyed: kernels may run until the process ends.
  static auto &all =
      *new llvm::DenseMap<ContextHandle, std::unique_ptr<Counters>>();
  static auto &mutex = *new std::mutex();
  std::lock_guard<std::mutex> lock(mutex);
  std::unique_ptr<Counters> &counters = all[device.getContext()];
  if (!counters) {
    std::vector<char> zeros(2 * kNumPairs * kPairBytes);
    llvm::Expected<DeviceBuffer> memory =
        DeviceBuffer::allocate(device, zeros.size());
    if (!memory)
      return memory.takeError();
    if (llvm::Error error = memory->copyFrom(zeros.data(), zeros.size()))
      return std::move(error);
    counters.reset(new Counters(std::move(*memory)));
  }
  return counters.get();
}

llvm::Expected<DevicePtr> Counters::take(void *stream) {
  const Driver &driver = memory.getDevice().getDriver();
  int status = 0;
  if (stream)
    if (llvm::Error error =
            driver.check(driver.cuStreamIsCapturing(
                             static_cast<StreamHandle>(stream), &status),
                         "asking whether a stream is captured"))
      return std::move(error);
  uint32_t pair =
      status == 0
          ? next.fetch_add(1, std::memory_order_relaxed) % kNumPairs
          : kNumPairs + nextCaptured.fetch_add(1, std::memory_order_relaxed) %
                            kNumPairs;
  return memory.getAddress() + pair * kPairBytes;
}
