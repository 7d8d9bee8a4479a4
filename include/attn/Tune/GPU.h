//===- GPU.h - The tensors of a run in the memory of a GPU ------*- C++ -*-===//

#ifndef ATTN_TUNE_GPU_H
#define ATTN_TUNE_GPU_H

#include "attn/JIT/Kernel.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Support/Tensor.h"
#include <memory>
#include <optional>

namespace attn {

/// Copies of the inputs and results of a run on the current GPU.
class GPU {
public:
  /// Copies the inputs, but for scalars, and makes room for the results. The
  /// views are those of tensors of the host, whose shapes must stay. With
  /// another one for the same inputs, and results of the same types and shapes,
  /// both have its memory, and run one after the other.
  static llvm::Expected<GPU> create(const Kernel &kernel,
                                    llvm::ArrayRef<TensorView> inputs,
                                    llvm::ArrayRef<TensorView> results,
                                    const GPU *other = nullptr);

  /// Copies the results to the GPU, runs the kernel, after a check of its lists
  /// if asked for, and copies them back.
  llvm::Error run(const Kernel &kernel, std::vector<Tensor> &results,
                  bool checkLists);

  /// Runs the kernel repeatedly; the time of each run in seconds, between
  /// events of the GPU. Runs are enqueued one behind the other, so that the
  /// time to launch one shows only if it takes longer than the one before. If
  /// `isCold`, the caches are flushed between them, which is not timed.
  llvm::Expected<std::vector<double>> measure(const Kernel &kernel,
                                              size_t count, bool isCold);

  /// "NVIDIA H200"
  llvm::StringRef getName() const { return memory->device.getName(); }

private:
  struct Memory {
    cuda::Device device;
    /// Of those that some kernel has in the memory of the GPU.
    std::vector<std::optional<cuda::DeviceBuffer>> inputs;
    std::vector<cuda::DeviceBuffer> results;
    /// More than any cache holds, once it is needed.
    std::optional<cuda::DeviceBuffer> flush;
  };

  explicit GPU(std::shared_ptr<Memory> memory) : memory(std::move(memory)) {}

  std::shared_ptr<Memory> memory;
  std::vector<TensorView> inputViews, resultViews;
};

} // namespace attn

#endif // ATTN_TUNE_GPU_H
