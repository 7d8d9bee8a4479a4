//===- Kernel.cpp - Compile and run attention programs --------------------===//

#include "attn/JIT/Kernel.h"
#include "Loader.h"
#include "Views.h"
#include "attn/Runtime/Cuda/Executable.h"
#include "attn/Runtime/ThreadCount.h"
#include "attn/Runtime/ThreadPool.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"
#include <chrono>

using namespace attn;

class Kernel::Impl {
public:
  Impl(KernelPackage package, CompileReport report,
       std::unique_ptr<LoadedCode> code,
       std::optional<cuda::Executable> executable);

  llvm::Expected<std::vector<Shape>>
  computeShapes(llvm::ArrayRef<TensorView> inputs) const;
  llvm::Error run(llvm::ArrayRef<TensorView> inputs,
                  llvm::ArrayRef<TensorView> results,
                  const RunOptions &options) const;

  const KernelMetadata &getMetadata() const { return package.metadata; }

  const KernelPackage package;
  const CompileReport report;

  /// Whether the kernel of a GPU takes an input by value.
  std::vector<bool> isScalar;

private:
  llvm::Error checkSites(llvm::ArrayRef<int64_t> status) const;
  llvm::Error checkCall(llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<TensorView> results) const;
  llvm::Error launch(llvm::ArrayRef<TensorView> inputs,
                     llvm::ArrayRef<TensorView> results,
                     const RunOptions &options) const;

  std::unique_ptr<LoadedCode> code;
  /// For a GPU, with the names of its operands for messages.
  std::optional<cuda::Executable> executable;
  std::vector<std::string> operandNames;
};

Kernel::Impl::Impl(KernelPackage package, CompileReport report,
                   std::unique_ptr<LoadedCode> code,
                   std::optional<cuda::Executable> executable)
    : package(std::move(package)), report(std::move(report)),
      code(std::move(code)), executable(std::move(executable)) {
  const KernelMetadata &metadata = getMetadata();
  for (const TensorInfo &info : metadata.inputs)
    operandNames.push_back(info.name);
  for (const TensorInfo &info : metadata.results)
    operandNames.push_back(info.name);
  isScalar.resize(metadata.inputs.size(), false);
  if (!this->executable)
    return;
  for (const cuda::LaunchInfo &launch : this->executable->getProgram().launches)
    for (const cuda::Variant &variant : launch.variants)
      for (const cuda::Param &param : variant.params)
        if (param.kind == cuda::ParamKind::Scalar &&
            static_cast<size_t>(param.operand) < isScalar.size())
          isScalar[param.operand] = true;
}

//===----------------------------------------------------------------------===//
// Descriptors
//===----------------------------------------------------------------------===//

namespace {
/// The arguments of a call of compiled code.
class Descriptors {
public:
  /// Reserves memory for buffers whose ranks add up to `ranks`.
  Descriptors(size_t count, size_t ranks) {
    words.reserve(3 * count + 2 * ranks);
    pointers.reserve(count);
  }

  void add(const void *data, llvm::ArrayRef<int64_t> shape,
           llvm::ArrayRef<int64_t> strides) {
    pointers.push_back(words.end());
    auto address = reinterpret_cast<int64_t>(data);
    words.append({address, address, 0});
    words.append(shape.begin(), shape.end());
    words.append(strides.begin(), strides.end());
  }
  void add(const TensorView &view) {
    size_t rank = view.rank;
    add(view.data, {view.shape, rank}, {view.strides, rank});
  }
  /// A buffer of rank 1.
  void add(llvm::MutableArrayRef<int64_t> buffer) {
    add(buffer.data(), {static_cast<int64_t>(buffer.size())}, {1});
  }

  void *const *data() const { return pointers.data(); }

private:
  // Never grows, as `pointers` point into it.
  llvm::SmallVector<int64_t, 128> words;
  llvm::SmallVector<void *, 16> pointers;
};
} // namespace

static size_t countRanks(llvm::ArrayRef<TensorInfo> infos) {
  size_t count = 0;
  for (const TensorInfo &info : infos)
    count += info.shape.size();
  return count;
}

//===----------------------------------------------------------------------===//
// Shapes
//===----------------------------------------------------------------------===//

/// `text` with %0 and %1 replaced.
static std::string fillIn(llvm::StringRef text,
                          llvm::ArrayRef<int64_t> numbers) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t number = i + 1 < text.size() ? text[i + 1] - '0' : numbers.size();
    if (text[i] == '%' && number < numbers.size()) {
      result += std::to_string(numbers[number]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

llvm::Expected<std::vector<Shape>>
Kernel::Impl::computeShapes(llvm::ArrayRef<TensorView> inputs) const {
  const KernelMetadata &metadata = getMetadata();
  size_t numExtents = countRanks(metadata.results);
  llvm::SmallVector<int64_t, 16> extents(std::max<size_t>(numExtents, 2));
  Descriptors descriptors(inputs.size() + 1, countRanks(metadata.inputs) + 1);
  // The plan reads scalars, if only to pass them on; extents do not depend on
  // them.
  static const double zero = 0;
  for (const TensorView &input : inputs) {
    size_t rank = input.rank;
    llvm::SmallVector<int64_t> noStrides(rank, 0);
    descriptors.add(&zero, {input.shape, rank}, noStrides);
  }
  descriptors.add(extents);
  int64_t status = code->getPlan()(descriptors.data(), nullptr);
  if (status < 0 || status > int64_t(metadata.constraints.size()))
    return llvm::createStringError("the plan of kernel '" + metadata.entry +
                                   "' failed");
  if (status != 0)
    return makeArgumentError(fillIn(metadata.constraints[status - 1], extents));
  std::vector<Shape> shapes;
  llvm::ArrayRef<int64_t> rest = extents;
  for (const TensorInfo &result : metadata.results) {
    llvm::ArrayRef<int64_t> shape = rest.take_front(result.shape.size());
    shapes.emplace_back(shape.begin(), shape.end());
    rest = rest.drop_front(shape.size());
  }
  return shapes;
}

//===----------------------------------------------------------------------===//
// Run
//===----------------------------------------------------------------------===//

/// What a checked read leaves in its slot if all is well; no index is that.
static constexpr int64_t kNoIndex = std::numeric_limits<int64_t>::min();

llvm::Error Kernel::Impl::checkSites(llvm::ArrayRef<int64_t> status) const {
  // One read may be compiled to several.
  std::vector<std::string> texts;
  for (auto [number, site] : llvm::enumerate(getMetadata().sites)) {
    llvm::ArrayRef<int64_t> numbers = status.slice(2 * number, 2);
    std::string text = fillIn(site, numbers);
    if (numbers[0] != kNoIndex && !llvm::is_contained(texts, text))
      texts.push_back(text);
  }
  if (texts.empty())
    return llvm::Error::success();
  return llvm::createStringError(
      std::make_error_code(std::errc::result_out_of_range),
      llvm::join(texts, "\n"));
}

llvm::Error Kernel::Impl::checkCall(llvm::ArrayRef<TensorView> inputs,
                                    llvm::ArrayRef<TensorView> results) const {
  const KernelMetadata &metadata = getMetadata();
  if (llvm::Error error = checkTypes("input", metadata.inputs, inputs))
    return error;
  if (llvm::Error error = checkTypes("result", metadata.results, results))
    return error;
  if (llvm::Error error = checkMemory("input", metadata.inputs, inputs))
    return error;
  if (llvm::Error error = checkMemory("result", metadata.results, results))
    return error;
  llvm::Expected<std::vector<Shape>> shapes = computeShapes(inputs);
  if (!shapes)
    return shapes.takeError();
  for (auto [info, shape, view] :
       llvm::zip_equal(metadata.results, *shapes, results)) {
    llvm::ArrayRef<int64_t> got(view.shape, static_cast<size_t>(view.rank));
    if (got != llvm::ArrayRef<int64_t>(shape))
      return makeArgumentError("expects result '" + info.name +
                               "' to have shape " + formatShape(shape) +
                               " for these inputs, but got " +
                               formatShape(got));
  }
  return checkOverlap(metadata.inputs, inputs, metadata.results, results);
}

/// Runs the kernel on a GPU.
llvm::Error Kernel::Impl::launch(llvm::ArrayRef<TensorView> inputs,
                                 llvm::ArrayRef<TensorView> results,
                                 const RunOptions &options) const {
  llvm::SmallVector<TensorView, 16> operands(inputs);
  operands.append(results.begin(), results.end());
  cuda::LaunchOptions launch;
  launch.stream = options.stream;
  launch.names = operandNames;
  if (options.checkLists) {
    llvm::SmallVector<int64_t, 0> status(2 * getMetadata().sites.size(),
                                         kNoIndex);
    if (llvm::Error error = executable->checkLists(operands, status, launch))
      return error;
    if (llvm::Error error = checkSites(status))
      return error;
  }
  return executable->launch(operands, launch);
}

llvm::Error Kernel::Impl::run(llvm::ArrayRef<TensorView> inputs,
                              llvm::ArrayRef<TensorView> results,
                              const RunOptions &options) const {
  if (llvm::Error error = checkCall(inputs, results))
    return error;
  if (executable)
    return launch(inputs, results, options);
  const KernelMetadata &metadata = getMetadata();
  llvm::SmallVector<int64_t, 0> status(2 * metadata.sites.size(), kNoIndex);
  Descriptors descriptors(inputs.size() + results.size() + 1,
                          countRanks(metadata.inputs) +
                              countRanks(metadata.results) + 1);
  for (const TensorView &view : inputs)
    descriptors.add(view);
  for (const TensorView &view : results)
    descriptors.add(view);
  // Of use only to code that checks reads, which loads it even if no read has
  // an index.
  descriptors.add(status);

  Executor executor;
  if (options.executor)
    executor = *options.executor;
  if (options.threads != 0) {
    int32_t limit = std::min<unsigned>(options.threads, kMaxThreads);
    executor.maxThreads =
        executor.maxThreads ? std::min(executor.maxThreads, limit) : limit;
  }
  if (code->getRun()(descriptors.data(), &executor) != 0)
    return llvm::createStringError(
        std::make_error_code(std::errc::not_enough_memory),
        "kernel '" + metadata.entry +
            "' expects more memory for intermediate results than there is");
  return checkSites(status);
}

//===----------------------------------------------------------------------===//
// Interface
//===----------------------------------------------------------------------===//

llvm::Expected<Kernel> Kernel::load(KernelPackage package,
                                    CompileReport report) {
  auto start = std::chrono::steady_clock::now();
  llvm::Expected<std::unique_ptr<LoadedCode>> code = LoadedCode::load(package);
  if (!code)
    return code.takeError();
  std::optional<cuda::Executable> executable;
  if (package.program) {
    llvm::Expected<cuda::Executable> loaded =
        cuda::Executable::load(*package.program);
    if (!loaded)
      return loaded.takeError();
    executable = std::move(*loaded);
  }
  std::chrono::duration<double, std::milli> time =
      std::chrono::steady_clock::now() - start;
  report.stages.push_back({"load", time.count()});
  report.objectSize = package.object.size();
  if (package.program)
    report.objectSize += package.program->toBytes().size();
  return Kernel(std::make_shared<Impl>(std::move(package), std::move(report),
                                       std::move(*code),
                                       std::move(executable)));
}

llvm::Expected<Kernel> Kernel::load(KernelPackage package) {
  return load(std::move(package), CompileReport());
}

llvm::Expected<Kernel> Kernel::compile(llvm::StringRef program,
                                       const CompileOptions &options) {
  CompileReport report;
  llvm::Expected<KernelPackage> package =
      compileToPackage(program, options, &report);
  if (!package)
    return package.takeError();
  return load(std::move(*package), std::move(report));
}

llvm::Expected<Kernel> Kernel::compile(mlir::ModuleOp module,
                                       const CompileOptions &options) {
  CompileReport report;
  llvm::Expected<KernelPackage> package =
      compileToPackage(module, options, &report);
  if (!package)
    return package.takeError();
  return load(std::move(*package), std::move(report));
}

llvm::ArrayRef<TensorInfo> Kernel::inputs() const {
  return impl->getMetadata().inputs;
}

llvm::ArrayRef<TensorInfo> Kernel::results() const {
  return impl->getMetadata().results;
}

DeviceKind Kernel::device() const {
  return impl->package.program ? DeviceKind::Cuda : DeviceKind::CPU;
}

bool Kernel::isOnHost(unsigned input) const {
  return !impl->package.program || impl->isScalar[input];
}

llvm::Expected<std::vector<Shape>>
Kernel::resultShapes(llvm::ArrayRef<TensorView> inputs) const {
  if (llvm::Error error =
          checkTypes("input", impl->getMetadata().inputs, inputs))
    return error;
  return impl->computeShapes(inputs);
}

llvm::Error Kernel::run(llvm::ArrayRef<TensorView> inputs,
                        llvm::ArrayRef<TensorView> results,
                        const RunOptions &options) const {
  return impl->run(inputs, results, options);
}

const CompileReport &Kernel::report() const { return impl->report; }

const KernelPackage &Kernel::package() const { return impl->package; }

llvm::Error attn::checkDevice(DeviceKind device) {
  if (device == DeviceKind::CPU)
    return llvm::Error::success();
  return cuda::Device::current().takeError();
}
