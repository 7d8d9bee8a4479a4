//===- CudaKernel.cpp - Kernel packages on a GPU --------------------------===//

#include "Views.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/Executable.h"
#include "attn/Runtime/LoadedKernel.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;

namespace {
/// Results as a caller would allocate them, without memory.
class FutureResults {
public:
  FutureResults(const KernelMetadata &metadata, std::vector<Shape> sizes)
      : shapes(std::move(sizes)) {
    strides.reserve(shapes.size());
    for (auto [info, shape] : llvm::zip_equal(metadata.results, shapes)) {
      Shape &own = strides.emplace_back(shape.size(), 1);
      for (size_t dim = shape.size(); dim-- > 1;)
        own[dim - 1] = own[dim] * std::max<int64_t>(shape[dim], 1);
      views.push_back({nullptr, int32_t(info.dtype), int64_t(shape.size()),
                       shape.data(), own.data()});
    }
  }

  llvm::ArrayRef<TensorView> getViews() const { return views; }

private:
  std::vector<Shape> shapes, strides;
  llvm::SmallVector<TensorView, 4> views;
};

/// What launches of a program fill for each other, without memory.
class FutureScratch {
public:
  FutureScratch(const cuda::CudaProgram &program,
                llvm::SmallVectorImpl<TensorView> &operands) {
    shapes.reserve(program.scratch.size());
    for (const cuda::TableInfo &info : program.scratch) {
      Shape &shape = shapes.emplace_back();
      for (const cuda::TableExtent &extent : info.extents)
        shape.push_back(
            extent.operand < 0
                ? extent.size
                : llvm::divideCeil(operands[extent.operand].shape[extent.dim],
                                   extent.divisor));
      operands.push_back(
          {nullptr, 0, int64_t(shape.size()), shape.data(), shape.data()});
    }
  }

private:
  std::vector<Shape> shapes;
};

class CudaPrepared final : public Prepared {
public:
  explicit CudaPrepared(std::unique_ptr<cuda::Preparation> tables)
      : tables(std::move(tables)) {}

  size_t getBytes() const override { return tables->getBytes(); }

  std::unique_ptr<cuda::Preparation> tables;
};

class CudaKernel : public LoadedKernel {
public:
  CudaKernel(KernelPackage package, cuda::Executable executable);

  bool isOnHost(size_t input) const override { return isScalar[input]; }

  llvm::Expected<CodeChoice>
  explain(llvm::ArrayRef<TensorView> inputs) const override;

  std::vector<size_t> getPreparedInputs() const override;

protected:
  llvm::Error execute(llvm::ArrayRef<TensorView> inputs,
                      llvm::ArrayRef<TensorView> results,
                      const RunOptions &options) const override;
  llvm::Expected<std::shared_ptr<Prepared>>
  computePrepared(llvm::ArrayRef<TensorView> inputs,
                  const RunOptions &options) const override;
  llvm::Expected<std::string>
  readElements(const TensorView &input,
               const RunOptions &options) const override;

private:
  void addScalars(llvm::ArrayRef<cuda::Param> params);

  cuda::Executable executable;
  /// Names of operands for messages.
  std::vector<std::string> names;
  /// Whether an input is taken by value.
  std::vector<bool> isScalar;
};
} // namespace

CudaKernel::CudaKernel(KernelPackage package, cuda::Executable executable)
    : LoadedKernel(std::move(package)), executable(std::move(executable)) {
  const KernelMetadata &metadata = getMetadata();
  for (const TensorInfo &info : metadata.inputs)
    names.push_back(info.name);
  for (const TensorInfo &info : metadata.results)
    names.push_back(info.name);
  isScalar.resize(metadata.inputs.size(), false);
  for (const cuda::LaunchInfo &launch : this->executable.getProgram().launches)
    for (const cuda::Variant &variant : launch.variants) {
      addScalars(variant.params);
      for (const cuda::LoopKernel &loop : variant.loops)
        addScalars(loop.params);
    }
}

void CudaKernel::addScalars(llvm::ArrayRef<cuda::Param> params) {
  for (const cuda::Param &param : params)
    if (param.kind == cuda::ParamKind::Scalar &&
        static_cast<size_t>(param.operand) < isScalar.size())
      isScalar[param.operand] = true;
}

llvm::Expected<CodeChoice>
CudaKernel::explain(llvm::ArrayRef<TensorView> inputs) const {
  llvm::Expected<CodeChoice> choice = LoadedKernel::explain(inputs);
  if (!choice)
    return choice;
  llvm::Expected<std::vector<Shape>> shapes = getResultShapes(inputs);
  if (!shapes)
    return shapes.takeError();
  llvm::Expected<cuda::Device> device = cuda::Device::current();
  if (!device) {
    llvm::consumeError(device.takeError());
    return choice;
  }
  FutureResults results(getMetadata(), std::move(*shapes));
  llvm::SmallVector<TensorView, 16> operands(inputs);
  llvm::append_range(operands, results.getViews());
  FutureScratch scratch(*getPackage().program, operands);
  for (const cuda::LaunchInfo &launch : getPackage().program->launches) {
    llvm::Expected<cuda::LaunchExtents> extents =
        cuda::getLaunchExtents(launch.grid, operands);
    if (!extents)
      return extents.takeError();
    CodeChoice::Launch &told = choice->launches.emplace_back();
    int32_t numSMs = device->getNumSMs();
    told.taken = cuda::pickVariant(launch, *extents, numSMs, operands);
    constexpr double microsecond = 1e-6;
    for (const cuda::Variant &variant : launch.variants) {
      bool isKnown = variant.tileCost < cuda::Costs::kLastTileCost;
      std::optional<double> cost =
          cuda::getCost(launch, variant, *extents, numSMs, operands);
      told.predicted.push_back(isKnown ? microsecond * cost.value_or(0) : 0);
      told.least.push_back(cuda::getLeastTime(*getPackage().program, launch,
                                              variant, *extents, operands));
    }
  }
  choice->text = "the variant that costs least by the model, of those that "
                 "can copy such tensors";
  return choice;
}

llvm::Error CudaKernel::execute(llvm::ArrayRef<TensorView> inputs,
                                llvm::ArrayRef<TensorView> results,
                                const RunOptions &options) const {
  llvm::SmallVector<TensorView, 16> operands(inputs);
  operands.append(results.begin(), results.end());
  cuda::LaunchOptions launch;
  launch.stream = options.stream;
  launch.names = names;
  if (options.prepared)
    launch.preparation =
        static_cast<const CudaPrepared *>(options.prepared)->tables.get();
  if (options.checkLists) {
    llvm::SmallVector<int64_t, 0> status(2 * getMetadata().sites.size(),
                                         kNoIndex);
    if (llvm::Error error = executable.checkLists(operands, status, launch))
      return error;
    if (llvm::Error error = checkSites(status))
      return error;
  }
  return executable.launch(operands, launch);
}

std::vector<size_t> CudaKernel::getPreparedInputs() const {
  std::vector<int32_t> operands = executable.getProgram().getPreparedOperands();
  return {operands.begin(), operands.end()};
}

llvm::Expected<std::shared_ptr<Prepared>>
CudaKernel::computePrepared(llvm::ArrayRef<TensorView> inputs,
                            const RunOptions &options) const {
  llvm::Expected<std::vector<Shape>> shapes = getResultShapes(inputs);
  if (!shapes)
    return shapes.takeError();
  FutureResults results(getMetadata(), std::move(*shapes));
  llvm::SmallVector<TensorView, 16> operands(inputs);
  llvm::append_range(operands, results.getViews());
  cuda::LaunchOptions launch;
  launch.stream = options.stream;
  launch.names = names;
  llvm::Expected<std::unique_ptr<cuda::Preparation>> tables =
      executable.prepareTables(operands, launch);
  if (!tables)
    return tables.takeError();
  return std::make_shared<CudaPrepared>(std::move(*tables));
}

llvm::Expected<std::string>
CudaKernel::readElements(const TensorView &input,
                         const RunOptions &options) const {
  std::optional<Span> span = getSpan(input);
  // Known from the check of the call.
  if (!span || span->last == span->first)
    return std::string();
  llvm::Expected<cuda::Device> device = cuda::Device::current();
  if (!device)
    return device.takeError();
  const cuda::Driver &driver = device->getDriver();
  cuda::ContextScope scope(driver, device->getContext());
  if (llvm::Error error = scope.takeError())
    return std::move(error);
  auto *stream = static_cast<cuda::StreamHandle>(options.stream);
  std::string bytes(span->last - span->first, '\0');
  if (llvm::Error error =
          driver.check(driver.cuMemcpyDtoHAsync(bytes.data(), span->first,
                                                bytes.size(), stream),
                       "reading an input to see whether it has changed"))
    return std::move(error);
  if (llvm::Error error = driver.check(driver.cuStreamSynchronize(stream),
                                       "waiting for a stream"))
    return std::move(error);
  TensorView copy = input;
  copy.data =
      bytes.data() + (reinterpret_cast<uintptr_t>(input.data) - span->first);
  return LoadedKernel::readElements(copy, options);
}

llvm::Expected<std::shared_ptr<const LoadedKernel>>
attn::loadCudaKernel(KernelPackage package) {
  if (!package.program)
    return llvm::createStringError(
        "expects a package for a GPU; CPU packages need libattn");
  const KernelMetadata &metadata = package.metadata;
  auto numTensors =
      static_cast<int64_t>(metadata.inputs.size() + metadata.results.size());
  if (package.program->getNumOperands() > numTensors)
    return llvm::createStringError(
        "expects a GPU program of at most " + llvm::Twine(numTensors) +
        " inputs and results, but got one of " +
        llvm::Twine(package.program->getNumOperands()));
  auto numInputs = static_cast<int64_t>(metadata.inputs.size());
  for (int32_t operand : package.program->getPreparedOperands())
    if (operand >= numInputs)
      return llvm::createStringError(
          "expects preparation to read inputs, but got operand " +
          llvm::Twine(operand) + " of " + llvm::Twine(numInputs) + " inputs");
  llvm::Expected<cuda::Executable> executable =
      cuda::Executable::load(*package.program);
  if (!executable)
    return executable.takeError();
  return std::make_shared<CudaKernel>(std::move(package),
                                      std::move(*executable));
}

llvm::Error attn::checkDevice(DeviceKind device) {
  if (device == DeviceKind::CPU)
    return llvm::Error::success();
  return cuda::Device::current().takeError();
}
