//===- Execution.cpp - Running a kernel on tensors ------------------------===//

#include "Execution.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MathExtras.h"
#include <chrono>
#include <cstring>
#include <limits>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

TensorView Execution::makeView(Tensor &tensor) {
  Shape &shape = extents.emplace_back(tensor.getShape());
  Shape &strides = extents.emplace_back(tensor.getStrides());
  return {tensor.getData(), int32_t(tensor.getDType()), tensor.getRank(),
          shape.data(), strides.data()};
}

/// Which sizes were chosen for the user, since some do not fit.
static std::string describeChosenSizes(llvm::ArrayRef<Argument> arguments) {
  std::string text;
  for (const Argument &argument : arguments)
    if (argument.hasChosenSize)
      text +=
          llvm::formatv("\nsizes of '{0}' were left open and became {1}; "
                        "--arg={0}={2}:{1} would tell them",
                        argument.name, formatShape(argument.tensor.getShape()),
                        argument.source);
  return text;
}

/// Checks that the results, and what is computed to check them, fit into
/// memory.
static Error checkMemory(const Execution &execution,
                         llvm::ArrayRef<TensorInfo> infos,
                         llvm::ArrayRef<Shape> shapes, bool isChecked) {
  uint64_t sum = execution.getTotalBytes();
  for (auto [info, shape] : llvm::zip(infos, shapes)) {
    Expected<int64_t> bytes = getDenseSize(shape, info.dtype);
    if (!bytes)
      return llvm::createStringError("result '" + info.name +
                                     "': " + llvm::toString(bytes.takeError()));
    sum = llvm::SaturatingAdd(sum, uint64_t(*bytes));
    // The first result is kept for comparison with the second, and there are
    // two evaluations in f64.
    if (isChecked)
      sum = llvm::SaturatingAdd(
          sum, llvm::SaturatingMultiply(uint64_t(*bytes / getSize(info.dtype)),
                                        getSize(info.dtype) +
                                            2 * uint64_t(sizeof(double))));
  }
  uint64_t limit = getMemoryLimit();
  if (sum <= limit)
    return Error::success();
  return llvm::createStringError(llvm::formatv(
      "expects arguments and results that fit into {0} of memory{1}, but got "
      "{2}",
      formatByteCount(limit), isChecked ? " together with a check" : "",
      formatByteCount(sum)));
}

Expected<Execution> Execution::create(const Kernel &kernel,
                                      std::vector<Argument> arguments,
                                      const Options &options) {
  return create(kernel,
                std::make_shared<std::vector<Argument>>(std::move(arguments)),
                options);
}

Expected<Execution> Execution::create(const Kernel &kernel,
                                      const Execution &other,
                                      const Options &options) {
  return create(kernel, other.arguments, options);
}

Expected<Execution> Execution::create(const Kernel &kernel, Arguments arguments,
                                      const Options &options) {
  Execution execution(kernel);
  execution.threads = options.threads;
  execution.isCold = options.cold;
  execution.checkLists = options.checkLists;
  execution.arguments = std::move(arguments);
  execution.resultNames = getNames(kernel.results());
  for (Argument &argument : *execution.arguments)
    execution.inputViews.push_back(execution.makeView(argument.tensor));
  Expected<std::vector<Shape>> shapes =
      kernel.resultShapes(execution.inputViews);
  if (!shapes)
    return llvm::createStringError(llvm::toString(shapes.takeError()) +
                                   describeChosenSizes(*execution.arguments));
  if (Error error =
          checkMemory(execution, kernel.results(), *shapes, options.check))
    return std::move(error);
  for (auto [info, shape] : llvm::zip(kernel.results(), *shapes)) {
    Expected<Tensor> tensor = Tensor::create(info.dtype, shape);
    if (!tensor)
      return tensor.takeError();
    execution.results.push_back(std::move(*tensor));
    execution.resultViews.push_back(
        execution.makeView(execution.results.back()));
  }
  if (kernel.device() == DeviceKind::Cuda) {
    Expected<GPU> gpu =
        GPU::create(kernel, execution.inputViews, execution.resultViews);
    if (!gpu)
      return gpu.takeError();
    execution.gpu.emplace(std::move(*gpu));
  }
  return std::move(execution);
}

Error Execution::run(Poison poison) {
  for (Tensor &tensor : results) {
    // All ones are a NaN of each type; the other one has no sign.
    if (poison == Poison::First)
      std::memset(tensor.getData(), 0xff, tensor.getSizeInBytes());
    else if (isFloat(tensor.getDType()))
      tensor.fill(std::numeric_limits<double>::quiet_NaN());
    else
      std::memset(tensor.getData(), 0x55, tensor.getSizeInBytes());
  }
  return gpu ? gpu->run(kernel, results, checkLists) : runOnCPU();
}

Expected<std::vector<double>> Execution::measure(size_t count) {
  // So many that the time to wait for the last one does not count.
  constexpr size_t maxCount = 20;
  if (gpu)
    return gpu->measure(kernel, std::min(count, maxCount), isCold);
  using Clock = std::chrono::steady_clock;
  Clock::time_point start = Clock::now();
  if (Error error = runOnCPU())
    return std::move(error);
  std::chrono::duration<double> time = Clock::now() - start;
  return std::vector<double>{time.count()};
}

Error Execution::runOnCPU() {
  RunOptions options;
  options.threads = threads;
  return kernel.run(inputViews, resultViews, options);
}

std::vector<llvm::StringRef> Execution::getResultBytes() const {
  std::vector<llvm::StringRef> bytes;
  bytes.reserve(results.size());
  for (const Tensor &tensor : results)
    bytes.emplace_back(static_cast<const char *>(tensor.getData()),
                       tensor.getSizeInBytes());
  return bytes;
}

uint64_t Execution::getTotalBytes() const {
  uint64_t sum = 0;
  for (const Argument &argument : *arguments)
    sum += argument.tensor.getSizeInBytes();
  for (const Tensor &tensor : results)
    sum += tensor.getSizeInBytes();
  return sum;
}
