//===- Executable.cpp - GPU kernels, ready to launch ----------------------===//

#include "ExecutableImpl.h"
#include "Preparation.h"
#include "Tables.h"
#include "attn/Support/DType.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::cuda;

Executable::Impl::~Impl() {
  LoadedProgram *loaded = firstLoaded.load();
  while (loaded) {
    const Driver &driver = loaded->device.getDriver();
    ContextScope scope(driver, loaded->device.getContext());
    // Whoever drops a kernel, as a garbage collector may at any time, need not
    // know that a stream is being captured. Waiting for the context would end
    // the capture; unloading waits for what runs by itself. If there is no
    // context any more, the code went with it.
    RelaxedCapture relaxed(driver);
    if (llvm::Error error = scope.takeError()) {
      llvm::consumeError(std::move(error));
    } else {
      for (LoadedVariant &variant : loaded->variants)
        if (variant.isReady)
          (void)driver.cuModuleUnload(variant.module);
      loaded->checker.unload(driver);
    }
    delete std::exchange(loaded, loaded->next);
  }
}

LoadedProgram *Executable::Impl::find(Device device) const {
  LoadedProgram *loaded = firstLoaded.load(std::memory_order_acquire);
  while (loaded && loaded->device != device)
    loaded = loaded->next;
  return loaded;
}

/// Code for "sm_90" runs on what is later in its generation, too, and code for
/// "sm_90a" on nothing else.
static bool runsOn(llvm::StringRef chip, std::pair<int, int> capability) {
  int number = 0;
  if (!chip.consume_front("sm_") || chip.consumeInteger(/*Radix=*/10, number))
    return false;
  auto [major, minor] = capability;
  return number / 10 == major &&
         (chip.empty() ? number % 10 <= minor : number % 10 == minor);
}

llvm::Expected<LoadedProgram *> Executable::Impl::getLoaded(Device device) {
  if (LoadedProgram *loaded = find(device))
    return loaded;
  std::lock_guard<std::mutex> lock(mutex);
  if (LoadedProgram *loaded = find(device))
    return loaded;
  auto [major, minor] = device.getComputeCapability();
  if (!runsOn(program.chip, {major, minor}))
    return makeArgumentError("expects code for compute capability " +
                             llvm::Twine(major) + "." + llvm::Twine(minor) +
                             ", but got code for " + program.chip);
  auto *loaded = new LoadedProgram(device, numVariants);
  loaded->next = firstLoaded.load(std::memory_order_relaxed);
  firstLoaded.store(loaded, std::memory_order_release);
  return loaded;
}

//===----------------------------------------------------------------------===//
// Loading
//===----------------------------------------------------------------------===//

/// Finds the kernels in their module, and how many blocks of the main one run
/// at once.
static llvm::Error resolve(const Variant &variant, Device device,
                           LoadedVariant &loaded) {
  const Driver &driver = device.getDriver();
  loaded.prologues.resize(variant.prologues.size());
  for (auto [prologue, function] :
       llvm::zip_equal(variant.prologues, loaded.prologues))
    if (llvm::Error error =
            findFunction(driver, prologue.entry, loaded.module, function))
      return error;
  loaded.loops.resize(variant.loops.size());
  for (auto [loop, function] : llvm::zip_equal(variant.loops, loaded.loops))
    if (llvm::Error error =
            findFunction(driver, loop.entry, loaded.module, function))
      return error;
  if (variant.combine)
    if (llvm::Error error = findFunction(driver, variant.combine->entry,
                                         loaded.module, loaded.combine))
      return error;
  if (!variant.hasTiles())
    return llvm::Error::success();
  if (llvm::Error error =
          findFunction(driver, variant.entry, loaded.module, loaded.function))
    return error;
  int staticBytes = 0;
  if (llvm::Error error =
          driver.check(driver.cuFuncGetAttribute(
                           &staticBytes, kFunctionSharedBytes, loaded.function),
                       "asking for the shared memory of @" + variant.entry))
    return error;
  int64_t sharedBytes = int64_t(staticBytes) + variant.dynamicSharedBytes;
  if (sharedBytes > device.getMaxSharedBytes())
    return makeArgumentError("expects @" + variant.entry + " to use at most " +
                             llvm::Twine(device.getMaxSharedBytes()) +
                             " bytes of shared memory, but got " +
                             llvm::Twine(sharedBytes));
  // Also below what is free for all, as that is less with static memory.
  if (variant.dynamicSharedBytes > 0)
    if (llvm::Error error =
            driver.check(driver.cuFuncSetAttribute(
                             loaded.function, kFunctionMaxDynamicSharedBytes,
                             variant.dynamicSharedBytes),
                         "reserving the shared memory of @" + variant.entry))
      return error;
  if (llvm::Error error =
          driver.check(driver.cuOccupancyMaxActiveBlocksPerMultiprocessor(
                           &loaded.occupancy, loaded.function, variant.threads,
                           variant.dynamicSharedBytes),
                       "asking for the occupancy of @" + variant.entry))
    return error;
  if (loaded.occupancy < 1)
    return makeArgumentError("expects a block of @" + variant.entry +
                             " to fit a multiprocessor, but its " +
                             llvm::Twine(variant.threads) + " threads and " +
                             llvm::Twine(sharedBytes) +
                             " bytes of shared memory do not");
  return llvm::Error::success();
}

llvm::Error Executable::Impl::load(const Variant &variant, Device device,
                                   LoadedVariant &loaded) {
  std::lock_guard<std::mutex> lock(mutex);
  if (loaded.isReady.load(std::memory_order_relaxed))
    return llvm::Error::success();
  const Driver &driver = device.getDriver();
  RelaxedCapture relaxed(driver);
  if (llvm::Error error = loadModule(driver, variant.getName(), variant.ptx,
                                     variant.cubin, loaded.module))
    return error;
  if (llvm::Error error = resolve(variant, device, loaded)) {
    (void)driver.cuModuleUnload(loaded.module);
    return error;
  }
  if (llvm::any_of(variant.params, [](const Param &param) {
        return param.kind == ParamKind::Counter;
      })) {
    llvm::Expected<Counters *> counters = Counters::get(device);
    if (!counters) {
      (void)driver.cuModuleUnload(loaded.module);
      return counters.takeError();
    }
    loaded.counters = *counters;
  }
  loaded.id =
      takeBindingIds(2 + variant.prologues.size() + variant.loops.size());
  loaded.isReady.store(true, std::memory_order_release);
  return llvm::Error::success();
}

/// A variant of a launch, loaded. The context must be current.
llvm::Expected<LoadedVariant *>
Executable::Impl::getVariant(LoadedProgram &loaded, size_t launch,
                             size_t variant) {
  LoadedVariant &result = loaded.variants[firstVariants[launch] + variant];
  if (LLVM_UNLIKELY(!result.isReady.load(std::memory_order_acquire)))
    if (llvm::Error error = load(program.launches[launch].variants[variant],
                                 loaded.device, result))
      return error;
  return &result;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static llvm::Error checkOperands(llvm::ArrayRef<TensorView> operands,
                                 size_t numOperands) {
  if (operands.size() < numOperands)
    return makeArgumentError("expects " + llvm::Twine(numOperands) +
                             " operands, but got " +
                             llvm::Twine(operands.size()));
  for (size_t i = 0; i < numOperands; ++i) {
    const TensorView &view = operands[i];
    if (!isDTypeCode(view.dtype))
      return makeArgumentError("expects operand " + llvm::Twine(i) +
                               " to have an element type, but got code " +
                               llvm::Twine(view.dtype));
    if (view.rank < 0 || (view.rank > 0 && (!view.shape || !view.strides)))
      return makeArgumentError("expects operand " + llvm::Twine(i) +
                               " to have a shape and strides, but got null");
  }
  return llvm::Error::success();
}

/// Checks that a stream is one of the device's context, which is current.
static llvm::Error checkStream(const Device &device, void *stream) {
  if (!stream)
    return llvm::Error::success();
  const Driver &driver = device.getDriver();
  ContextHandle context = nullptr;
  if (llvm::Error error = driver.check(
          driver.cuStreamGetCtx(static_cast<StreamHandle>(stream), &context),
          "asking for the context of a stream"))
    return error;
  if (LLVM_LIKELY(context == device.getContext()))
    return llvm::Error::success();
  return makeArgumentError("expects a stream of " + device.describe() +
                           ", but got one of another context; make its device "
                           "current");
}

llvm::Error Executable::Impl::onDevice(
    llvm::ArrayRef<TensorView> operands, const LaunchOptions &options,
    llvm::function_ref<llvm::Error(LoadedProgram &)> work) {
  if (llvm::Error error = checkOperands(operands, numOperands))
    return error;
  llvm::Expected<Device> device = options.device
                                      ? llvm::Expected<Device>(*options.device)
                                      : Device::current();
  if (!device)
    return device.takeError();
  ContextScope scope(device->getDriver(), device->getContext());
  if (llvm::Error error = scope.takeError())
    return error;
  if (llvm::Error error = checkStream(*device, options.stream))
    return error;
  llvm::Expected<LoadedProgram *> loaded = getLoaded(*device);
  return loaded ? work(**loaded) : loaded.takeError();
}

llvm::Error Executable::launch(llvm::ArrayRef<TensorView> operands,
                               const LaunchOptions &options) const {
  auto launchEach = [&](LoadedProgram &loaded,
                        llvm::ArrayRef<TensorView> all) -> llvm::Error {
    for (size_t i = 0; i < impl->program.launches.size(); ++i)
      if (llvm::Error error = impl->launch(loaded, i, all, options))
        return error;
    return llvm::Error::success();
  };
  auto launchAll = [&](LoadedProgram &loaded) -> llvm::Error {
    const CudaProgram &program = impl->program;
    if (options.preparation)
      if (llvm::Error error = OwnedPreparation::get(options).check(
              impl.get(), loaded.device, options.stream))
        return error;
    if (LLVM_LIKELY(program.scratch.empty()))
      return launchEach(loaded, operands);
    llvm::Expected<Tables> scratch =
        Tables::allocate(loaded.device, options.stream, program.firstScratch,
                         program.scratch, operands);
    if (!scratch)
      return scratch.takeError();
    if (llvm::Error error = launchEach(loaded, scratch->getOperands()))
      return error;
    return scratch->release();
  };
  return impl->onDevice(operands, options, launchAll);
}

llvm::Expected<std::unique_ptr<Preparation>>
Executable::prepareTables(llvm::ArrayRef<TensorView> operands,
                          const LaunchOptions &options) const {
  std::unique_ptr<Preparation> made;
  auto prepare = [&](LoadedProgram &loaded) -> llvm::Error {
    llvm::Expected<std::unique_ptr<Preparation>> preparation =
        impl->prepare(loaded, operands, options);
    if (!preparation)
      return preparation.takeError();
    made = std::move(*preparation);
    return llvm::Error::success();
  };
  if (llvm::Error error = impl->onDevice(operands, options, prepare))
    return std::move(error);
  return std::move(made);
}

llvm::Error Executable::checkLists(llvm::ArrayRef<TensorView> operands,
                                   llvm::MutableArrayRef<int64_t> numbers,
                                   const LaunchOptions &options) const {
  const ListChecks &checks = impl->program.checks;
  if (checks.kernels.empty())
    return llvm::Error::success();
  if (numbers.size() != 2 * static_cast<size_t>(checks.numSites))
    return makeArgumentError(
        "expects room for the two numbers of " + llvm::Twine(checks.numSites) +
        " sites, but got room for " + llvm::Twine(numbers.size()));
  return impl->onDevice(operands, options, [&](LoadedProgram &loaded) {
    return loaded.checker.run(checks, impl->program.dependentLaunch,
                              loaded.device, operands, numbers, options);
  });
}

//===----------------------------------------------------------------------===//
// The rest of the interface
//===----------------------------------------------------------------------===//

Executable::Executable(std::unique_ptr<Impl> impl) : impl(std::move(impl)) {}
Executable::Executable(Executable &&other) noexcept = default;
Executable &Executable::operator=(Executable &&other) noexcept = default;
Executable::~Executable() = default;

llvm::Expected<Executable> Executable::load(CudaProgram program) {
  if (llvm::Error error = program.validate())
    return error;
  auto impl = std::make_unique<Impl>();
  impl->program = std::move(program);
  impl->numOperands = impl->program.getNumOperands();
  for (const LaunchInfo &launch : impl->program.launches) {
    impl->firstVariants.push_back(impl->numVariants);
    impl->numVariants += launch.variants.size();
  }
  return Executable(std::move(impl));
}

const CudaProgram &Executable::getProgram() const { return impl->program; }
