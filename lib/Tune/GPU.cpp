//===- GPU.cpp - The tensors of a run in the memory of a GPU --------------===//

#include "attn/Tune/GPU.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using llvm::Error;
using llvm::Expected;

/// Room for a dense tensor of the host.
static Expected<cuda::DeviceBuffer> allocate(cuda::Device device,
                                             const TensorView &view) {
  int64_t bytes = getSize(DType(view.dtype));
  for (int64_t dim = 0; dim < view.rank; ++dim)
    bytes *= view.shape[dim];
  return cuda::DeviceBuffer::allocate(device, bytes);
}

/// The tensor in that room, as a view with its shape and strides.
static TensorView makeView(const TensorView &view,
                           const cuda::DeviceBuffer &buffer) {
  TensorView copy = view;
  copy.data = buffer.getData();
  return copy;
}

Expected<GPU> GPU::create(const Kernel &kernel,
                          llvm::ArrayRef<TensorView> inputs,
                          llvm::ArrayRef<TensorView> results,
                          const GPU *other) {
  std::shared_ptr<Memory> memory;
  if (other) {
    memory = other->memory;
  } else {
    Expected<cuda::Device> device = cuda::Device::current();
    if (!device)
      return device.takeError();
    memory = std::make_shared<Memory>(Memory{*device, {}, {}, {}});
    memory->inputs.resize(inputs.size());
  }
  GPU gpu(memory);
  for (auto [number, view] : llvm::enumerate(inputs)) {
    if (kernel.isOnHost(number)) {
      gpu.inputViews.push_back(view);
      continue;
    }
    std::optional<cuda::DeviceBuffer> &input = memory->inputs[number];
    if (!input) {
      Expected<cuda::DeviceBuffer> buffer = allocate(memory->device, view);
      if (!buffer)
        return buffer.takeError();
      if (Error error = buffer->copyFrom(view.data, buffer->getSize()))
        return std::move(error);
      input.emplace(std::move(*buffer));
    }
    gpu.inputViews.push_back(makeView(view, *input));
  }
  for (auto [number, view] : llvm::enumerate(results)) {
    if (number == memory->results.size()) {
      Expected<cuda::DeviceBuffer> buffer = allocate(memory->device, view);
      if (!buffer)
        return buffer.takeError();
      memory->results.push_back(std::move(*buffer));
    }
    gpu.resultViews.push_back(makeView(view, memory->results[number]));
  }
  return std::move(gpu);
}

Error GPU::run(const Kernel &kernel, std::vector<Tensor> &tensors,
               bool checkLists) {
  for (auto [buffer, tensor] : llvm::zip_equal(memory->results, tensors))
    if (Error error = buffer.copyFrom(tensor.getData(), buffer.getSize()))
      return error;
  RunOptions options;
  options.checkLists = checkLists;
  if (Error error = kernel.run(inputViews, resultViews, options))
    return error;
  if (Error error = memory->device.synchronize())
    return error;
  for (auto [buffer, tensor] : llvm::zip_equal(memory->results, tensors))
    if (Error error = buffer.copyTo(tensor.getData(), buffer.getSize()))
      return error;
  return Error::success();
}

static Expected<std::vector<cuda::Event>> createEvents(cuda::Device device,
                                                       size_t count) {
  std::vector<cuda::Event> events;
  for (size_t i = 0; i < count; ++i) {
    Expected<cuda::Event> event = cuda::Event::create(device);
    if (!event)
      return event.takeError();
    events.push_back(std::move(*event));
  }
  return std::move(events);
}

Expected<std::vector<double>> GPU::measure(const Kernel &kernel, size_t count,
                                           bool isCold) {
  constexpr size_t flushBytes = size_t(256) << 20;
  cuda::Device device = memory->device;
  std::optional<cuda::DeviceBuffer> &flush = memory->flush;
  if (isCold && !flush) {
    Expected<cuda::DeviceBuffer> buffer =
        cuda::DeviceBuffer::allocate(device, flushBytes);
    if (!buffer)
      return buffer.takeError();
    flush.emplace(std::move(*buffer));
  }
  // A run begins where the one before ends, unless caches are flushed between.
  Expected<std::vector<cuda::Event>> ends = createEvents(device, count + 1);
  if (!ends)
    return ends.takeError();
  Expected<std::vector<cuda::Event>> starts =
      createEvents(device, isCold ? count : 0);
  if (!starts)
    return starts.takeError();
  if (Error error = ends->front().record(/*stream=*/nullptr))
    return std::move(error);
  for (size_t i = 0; i < count; ++i) {
    if (isCold) {
      if (Error error = flush->fill(0))
        return std::move(error);
      if (Error error = (*starts)[i].record(/*stream=*/nullptr))
        return std::move(error);
    }
    if (Error error = kernel.run(inputViews, resultViews))
      return std::move(error);
    if (Error error = (*ends)[i + 1].record(/*stream=*/nullptr))
      return std::move(error);
  }
  if (Error error = ends->back().synchronize())
    return std::move(error);
  std::vector<double> seconds;
  for (size_t i = 0; i < count; ++i) {
    cuda::Event &start = isCold ? (*starts)[i] : (*ends)[i];
    Expected<double> time = (*ends)[i + 1].getMillisecondsSince(start);
    if (!time)
      return time.takeError();
    seconds.push_back(*time / 1e3);
  }
  return std::move(seconds);
}
