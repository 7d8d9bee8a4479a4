//===- Worker.cpp - Kernels that run in a child process -------------------===//

#include "attn/Tune/Worker.h"
#include "attn/JIT/Kernel.h"
#include "attn/Support/Npy.h"
#include "attn/Tune/GPU.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/MemoryBuffer.h"
#include <cmath>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <deque>
#include <poll.h>
#ifdef __linux__
#include <sys/prctl.h>
#endif
#include <unistd.h>

using namespace attn;
using namespace attn::tune;
using llvm::Error;
using llvm::Expected;

namespace {
/// Tensors, and views that point to their shapes.
struct Tensors {
  void add(Tensor tensor);

  std::vector<Tensor> tensors;
  std::deque<Shape> shapes;
  std::vector<TensorView> views;
};

struct Run {
  Kernel kernel;
  std::optional<GPU> gpu;
  /// Those of the last run that was to be compared, until they are freed.
  std::optional<Tensors> results;
};

class Worker {
public:
  Expected<std::string> handle(llvm::StringRef command);

private:
  Expected<Tensors> makeResults() const;
  Error addInput(llvm::StringRef file, llvm::StringRef type);
  Error load(llvm::StringRef file);
  Expected<Run *> find(llvm::StringRef number);
  Error run(Run &run, unsigned threads);
  Expected<std::string> compare(Run &a, Run &b);
  Error save(Run &run, llvm::StringRef prefix);
  Expected<std::string> measure(Run &run, unsigned threads, size_t count);

  /// Of all kernels: there may be tens of them, of long sequences.
  Tensors inputs;
  /// What is measured writes here, whose results nobody reads.
  std::optional<Tensors> scratch;
  std::vector<DType> resultTypes;
  std::vector<Shape> resultShapes;
  std::vector<std::unique_ptr<Run>> runs;
};
} // namespace

void Tensors::add(Tensor tensor) {
  Tensor &kept = tensors.emplace_back(std::move(tensor));
  Shape &shape = shapes.emplace_back(kept.getShape());
  Shape &strides = shapes.emplace_back(kept.getStrides());
  views.push_back({kept.getData(), int32_t(kept.getDType()), kept.getRank(),
                   shape.data(), strides.data()});
}

Expected<Tensors> Worker::makeResults() const {
  Tensors results;
  for (auto [type, shape] : llvm::zip_equal(resultTypes, resultShapes)) {
    Expected<Tensor> tensor = Tensor::create(type, shape);
    if (!tensor)
      return tensor.takeError();
    results.add(std::move(*tensor));
  }
  return std::move(results);
}

Error Worker::addInput(llvm::StringRef file, llvm::StringRef type) {
  int32_t code;
  if (type.getAsInteger(10, code) || code < 0 || code >= kNumDTypes)
    return llvm::createStringError("expects the number of a type, but got '" +
                                   type + "'");
  NpyExpectation expected;
  expected.dtype = static_cast<DType>(code);
  Expected<Tensor> tensor = readNpy(file, expected);
  if (!tensor)
    return tensor.takeError();
  inputs.add(std::move(*tensor));
  return Error::success();
}

Error Worker::load(llvm::StringRef file) {
  // The number is taken whatever comes of it.
  runs.push_back(nullptr);
  auto buffer = llvm::MemoryBuffer::getFile(file, /*IsText=*/false,
                                            /*RequiresNullTerminator=*/false);
  if (!buffer)
    return llvm::createStringError("cannot read '" + file +
                                   "': " + buffer.getError().message());
  Expected<KernelPackage> package =
      KernelPackage::fromBytes((*buffer)->getBuffer());
  if (!package)
    return package.takeError();
  Expected<Kernel> kernel = Kernel::load(std::move(*package));
  if (!kernel)
    return kernel.takeError();
  auto made = std::make_unique<Run>(Run{std::move(*kernel), {}, {}});
  Expected<std::vector<Shape>> shapes = made->kernel.resultShapes(inputs.views);
  if (!shapes)
    return shapes.takeError();
  std::vector<DType> types;
  for (const TensorInfo &info : made->kernel.results())
    types.push_back(info.dtype);
  if (!scratch) {
    resultTypes = std::move(types);
    resultShapes = std::move(*shapes);
    Expected<Tensors> results = makeResults();
    if (!results)
      return results.takeError();
    scratch = std::move(*results);
  } else if (types != resultTypes || *shapes != resultShapes) {
    return llvm::createStringError(
        "expects a kernel with the results of the first one");
  }
  if (made->kernel.device() == DeviceKind::Cuda) {
    const GPU *other = nullptr;
    for (const std::unique_ptr<Run> &run : runs)
      if (run && run->gpu)
        other = &*run->gpu;
    Expected<GPU> gpu =
        GPU::create(made->kernel, inputs.views, scratch->views, other);
    if (!gpu)
      return gpu.takeError();
    made->gpu.emplace(std::move(*gpu));
  }
  runs.back() = std::move(made);
  return Error::success();
}

Expected<Run *> Worker::find(llvm::StringRef text) {
  size_t number;
  if (text.getAsInteger(10, number) || number >= runs.size() || !runs[number])
    return llvm::createStringError("expects the number of a kernel, but got '" +
                                   text + "'");
  return runs[number].get();
}

Error Worker::run(Run &run, unsigned threads) {
  if (!run.results) {
    Expected<Tensors> results = makeResults();
    if (!results)
      return results.takeError();
    run.results = std::move(*results);
  }
  // All ones are a NaN of each type, so that what a run leaves out stands out.
  for (Tensor &tensor : run.results->tensors)
    std::memset(tensor.getData(), 0xff, tensor.getSizeInBytes());
  if (run.gpu)
    return run.gpu->run(run.kernel, run.results->tensors,
                        /*checkLists=*/false);
  RunOptions options;
  options.threads = threads;
  return run.kernel.run(inputs.views, run.results->views, options);
}

Expected<std::string> Worker::compare(Run &a, Run &b) {
  if (!a.results || !b.results)
    return llvm::createStringError("expects kernels that have run");
  bool isSame = true;
  std::string answer = "differ";
  for (auto [i, pair] : llvm::enumerate(
           llvm::zip_equal(a.results->tensors, b.results->tensors))) {
    const auto &[x, y] = pair;
    double largest = 0, difference = 0;
    if (std::memcmp(x.getData(), y.getData(), x.getSizeInBytes()) != 0) {
      isSame = false;
      for (int64_t n = 0; n < x.getNumElements(); ++n) {
        double u = x.getAsDouble(n), v = y.getAsDouble(n);
        if (std::isfinite(v))
          largest = std::max(largest, std::abs(v));
        if (u == v || (std::isnan(u) && std::isnan(v)))
          continue;
        if (!std::isfinite(u) || !std::isfinite(v))
          return llvm::createStringError(
              llvm::formatv("result {0} is {1} at element {2}, and not {3}", i,
                            u, n, v)
                  .str());
        difference = std::max(difference, std::abs(u - v));
      }
    }
    answer += llvm::formatv(" {0:e9} {1:e9}", difference, largest);
  }
  return isSame ? "same" : answer;
}

Error Worker::save(Run &run, llvm::StringRef prefix) {
  if (!run.results)
    return llvm::createStringError("expects a kernel that has run");
  for (auto [i, result] : llvm::enumerate(run.results->tensors))
    if (Error error =
            writeNpy((prefix + llvm::Twine(i) + ".npy").str(), result))
      return error;
  return Error::success();
}

Expected<std::string> Worker::measure(Run &run, unsigned threads,
                                      size_t count) {
  std::vector<double> seconds;
  if (run.gpu) {
    Expected<std::vector<double>> times =
        run.gpu->measure(run.kernel, count, /*isCold=*/false);
    if (!times)
      return times.takeError();
    seconds = std::move(*times);
  } else {
    RunOptions options;
    options.threads = threads;
    for (size_t i = 0; i < count; ++i) {
      auto start = std::chrono::steady_clock::now();
      if (Error error = run.kernel.run(inputs.views, scratch->views, options))
        return std::move(error);
      std::chrono::duration<double> time =
          std::chrono::steady_clock::now() - start;
      seconds.push_back(time.count());
    }
  }
  return llvm::join(
      llvm::map_range(
          seconds,
          [](double time) { return llvm::formatv("{0:e9}", time).str(); }),
      " ");
}

Expected<std::string> Worker::handle(llvm::StringRef command) {
  auto answer = [](Error error) -> Expected<std::string> {
    if (error)
      return std::move(error);
    return std::string();
  };
  auto [name, rest] = command.split(' ');
  if (name == "input") {
    // The name of a file may have spaces.
    auto [file, type] = rest.rsplit(' ');
    return answer(addInput(file, type));
  }
  if (name == "load")
    return answer(load(rest));
  llvm::SmallVector<llvm::StringRef> arguments;
  rest.split(arguments, ' ', -1, /*KeepEmpty=*/false);
  if (arguments.empty())
    return llvm::createStringError("expects a command, but got '" + command +
                                   "'");
  Expected<Run *> first = find(arguments[0]);
  if (!first)
    return first.takeError();
  if (name == "drop") {
    for (std::unique_ptr<Run> &run : runs)
      if (run.get() == *first)
        run.reset();
    return answer(Error::success());
  }
  if (name == "free") {
    (*first)->results.reset();
    return answer(Error::success());
  }
  if (name == "save") {
    // The name of a file may have spaces.
    return answer(save(**first, rest.split(' ').second));
  }
  if (name == "compare" && arguments.size() == 2) {
    Expected<Run *> second = find(arguments[1]);
    return second ? compare(**first, **second) : second.takeError();
  }
  unsigned threads;
  size_t count;
  if (name == "run" && arguments.size() == 2 &&
      !arguments[1].getAsInteger(10, threads))
    return answer(run(**first, threads));
  if (name == "measure" && arguments.size() == 3 &&
      !arguments[1].getAsInteger(10, threads) &&
      !arguments[2].getAsInteger(10, count))
    return measure(**first, threads, count);
  return llvm::createStringError("expects a command, but got '" + command +
                                 "'");
}

void tune::runWorker(int in, int out) {
  // A run that hangs does not outlive who asked for it.
#ifdef __linux__
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
#endif
  // Nor one whose answers nobody reads any more: who asked died before that.
  pollfd reader = {out, 0, 0};
  if (::poll(&reader, 1, 0) > 0 && (reader.revents & (POLLERR | POLLHUP)))
    return;
  // What a driver or a library prints is no answer.
  if (out == STDOUT_FILENO) {
    out = ::dup(STDOUT_FILENO);
    ::dup2(STDERR_FILENO, STDOUT_FILENO);
  }
  std::FILE *commands = ::fdopen(in, "r");
  char *line = nullptr;
  size_t capacity = 0;
  Worker worker;
  for (ssize_t size;
       commands && (size = ::getline(&line, &capacity, commands)) > 0;) {
    Expected<std::string> answer =
        worker.handle(llvm::StringRef(line, size).rtrim('\n'));
    std::string text = answer ? "ok " + *answer
                              : "error " + llvm::toString(answer.takeError());
    std::replace(text.begin(), text.end(), '\n', ' ');
    text += '\n';
    llvm::StringRef left = text;
    while (!left.empty()) {
      ssize_t count = ::write(out, left.data(), left.size());
      if (count <= 0)
        break;
      left = left.drop_front(count);
    }
  }
  std::free(line);
}
