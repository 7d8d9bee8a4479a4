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
/// A kernel with room for its results.
struct Run {
  Kernel kernel;
  std::vector<Tensor> results;
  std::deque<Shape> shapes;
  std::vector<TensorView> views;
  std::optional<GPU> gpu;
  bool hasRun = false;
};

class Worker {
public:
  Expected<std::string> handle(llvm::StringRef command);

private:
  TensorView makeView(Tensor &tensor, std::deque<Shape> &shapes);
  Error addInput(llvm::StringRef file, llvm::StringRef type);
  Error load(llvm::StringRef file);
  Expected<Run *> find(llvm::StringRef number);
  Error run(Run &run, unsigned threads);
  Expected<std::string> compare(Run &a, Run &b);
  Error save(Run &run, llvm::StringRef prefix);
  Expected<std::string> measure(Run &run, unsigned threads, size_t count);

  std::deque<Tensor> inputs;
  std::deque<Shape> shapes;
  std::vector<TensorView> views;
  std::vector<std::unique_ptr<Run>> runs;
};
} // namespace

TensorView Worker::makeView(Tensor &tensor, std::deque<Shape> &shapes) {
  Shape &shape = shapes.emplace_back(tensor.getShape());
  Shape &strides = shapes.emplace_back(tensor.getStrides());
  return {tensor.getData(), int32_t(tensor.getDType()), tensor.getRank(),
          shape.data(), strides.data()};
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
  inputs.push_back(std::move(*tensor));
  views.push_back(makeView(inputs.back(), shapes));
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
  auto made = std::make_unique<Run>(Run{std::move(*kernel)});
  Expected<std::vector<Shape>> extents = made->kernel.resultShapes(views);
  if (!extents)
    return extents.takeError();
  for (auto [info, shape] : llvm::zip(made->kernel.results(), *extents)) {
    Expected<Tensor> tensor = Tensor::create(info.dtype, shape);
    if (!tensor)
      return tensor.takeError();
    made->results.push_back(std::move(*tensor));
  }
  for (Tensor &tensor : made->results)
    made->views.push_back(makeView(tensor, made->shapes));
  if (made->kernel.device() == DeviceKind::Cuda) {
    Expected<GPU> gpu = GPU::create(made->kernel, views, made->views);
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
  // All ones are a NaN of each type, so that what a run leaves out stands out.
  for (Tensor &tensor : run.results)
    std::memset(tensor.getData(), 0xff, tensor.getSizeInBytes());
  run.hasRun = true;
  if (run.gpu)
    return run.gpu->run(run.kernel, run.results, /*checkLists=*/false);
  RunOptions options;
  options.threads = threads;
  return run.kernel.run(views, run.views, options);
}

Expected<std::string> Worker::compare(Run &a, Run &b) {
  if (!a.hasRun || !b.hasRun)
    return llvm::createStringError("expects kernels that have run");
  bool isSame = true;
  std::string answer = "differ";
  for (size_t i = 0; i < a.results.size(); ++i) {
    const Tensor &x = a.results[i], &y = b.results[i];
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
  for (auto [i, result] : llvm::enumerate(run.results))
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
      if (Error error = run.kernel.run(views, run.views, options))
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
