//===- GPU.h - The tensors of a run in the memory of a GPU ------*- C++ -*-===//

#ifndef ATTN_TUNE_GPU_H
#define ATTN_TUNE_GPU_H

#include "attn/JIT/Kernel.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Support/Tensor.h"
#include <optional>

namespace attn {

/// Copies of the inputs and results of a run on the current GPU.
class GPU {
public:
  /// Copies the inputs, but for scalars, and makes room for the results. The
  /// views are those of tensors of the host, whose shapes must stay.
  static llvm::Expected<GPU> create(const Kernel &kernel,
                                    llvm::ArrayRef<TensorView> inputs,
                                    llvm::ArrayRef<TensorView> results);

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
  llvm::StringRef getName() const { return device.getName(); }

private:
  explicit GPU(cuda::Device device) : device(device) {}

  llvm::Expected<TensorView> allocate(const TensorView &view,
                                      std::vector<cuda::DeviceBuffer> &buffers);

  cuda::Device device;
  std::vector<cuda::DeviceBuffer> inputs, results;
  std::vector<TensorView> inputViews, resultViews;
  /// More than any cache holds, once it is needed.
  std::optional<cuda::DeviceBuffer> flush;
};

} // namespace attn

#endif // ATTN_TUNE_GPU_H
