//===- Preparation.cpp - Tables that launches share -----------------------===//

#include "Preparation.h"
#include "ExecutableImpl.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn;
using namespace attn::cuda;

Preparation::~Preparation() = default;

bool cuda::isCaptured(const Driver &driver, void *stream) {
  int status = kCaptureStatusNone;
  // The null stream is never captured.
  return stream &&
         driver.cuStreamIsCapturing(static_cast<StreamHandle>(stream),
                                    &status) == kSuccess &&
         status != kCaptureStatusNone;
}

llvm::Error PreparedLaunch::placeIn(Tables &all) const {
  for (const Table &table : tables) {
    if (all.getBytes(table.number) != table.bytes)
      return makeArgumentError("expects tensors with the extents that tables "
                               "were prepared for");
    all.place(table.number, table.address);
  }
  return llvm::Error::success();
}

OwnedPreparation::~OwnedPreparation() {
  // Not what a capture of the thread forbids.
  RelaxedCapture relaxed(memory.getDevice().getDriver());
  DeviceBuffer gone = std::move(memory);
}

llvm::Error OwnedPreparation::check(const void *executable,
                                    const Device &device, void *stream) const {
  if (executable != owner)
    return makeArgumentError(
        "expects tables that the same kernel has prepared, "
        "but got those of another one");
  if (device != memory.getDevice())
    return makeArgumentError("expects tables that were prepared on " +
                             device.describe() + ", but got some on " +
                             memory.getDevice().describe());
  if (isFilled.load(std::memory_order_acquire))
    return llvm::Error::success();
  const Driver &driver = device.getDriver();
  RelaxedCapture relaxed(driver);
  if (!filled.isReached()) {
    // A graph cannot wait for what is not part of it.
    if (!isCaptured(driver, stream))
      return filled.holdUp(stream);
    if (llvm::Error error = filled.synchronize())
      return error;
  }
  isFilled.store(true, std::memory_order_release);
  return llvm::Error::success();
}

//===----------------------------------------------------------------------===//
// Preparing
//===----------------------------------------------------------------------===//

llvm::Expected<std::unique_ptr<Preparation>>
Executable::Impl::prepare(LoadedProgram &loaded,
                          llvm::ArrayRef<TensorView> operands,
                          const LaunchOptions &options) {
  const Device &device = loaded.device;
  const Driver &driver = device.getDriver();
  if (isCaptured(driver, options.stream))
    return makeArgumentError("expects a stream that is not captured: prepare "
                             "before the graph");
  // Of memory that launches fill for each other, nothing but extents is read.
  std::optional<Tables> scratch;
  if (!program.scratch.empty()) {
    llvm::Expected<Tables> laidOut =
        Tables::layOut(device, options.stream, program.firstScratch,
                       program.scratch, operands);
    if (!laidOut)
      return laidOut.takeError();
    scratch.emplace(std::move(*laidOut));
    operands = scratch->getOperands();
  }
  struct Work {
    const Variant *variant;
    LoadedVariant *code;
    int32_t packedHeads;
    Tables tables;
  };
  std::vector<Work> work;
  std::vector<PreparedLaunch> launches;
  int64_t total = 0;
  for (auto [index, info] : llvm::enumerate(program.launches)) {
    llvm::Expected<LaunchChoice> choice =
        chooseVariant(info, device, operands, options);
    if (!choice)
      return choice.takeError();
    const Variant &variant = info.variants[choice->variant];
    PreparedLaunch &launch = launches.emplace_back();
    launch.variant = choice->variant;
    if (llvm::none_of(variant.tables,
                      [](const TableInfo &info) { return info.isPrepared; }))
      continue;
    llvm::Expected<LoadedVariant *> code =
        getVariant(loaded, index, choice->variant);
    if (!code)
      return code.takeError();
    llvm::Expected<Tables> tables = Tables::layOut(
        device, options.stream, variant.firstTable, variant.tables, operands);
    if (!tables)
      return tables.takeError();
    for (auto [number, table] : llvm::enumerate(variant.tables))
      if (table.isPrepared) {
        launch.tables.push_back(
            {number, tables->getBytes(number), DevicePtr(total)});
        total += tables->getRoom(number);
      }
    work.push_back({&variant, *code,
                    countPackedHeads(choice->extents, variant.mostPackedHeads),
                    std::move(*tables)});
  }
  RelaxedCapture relaxed(driver);
  llvm::Expected<DeviceBuffer> memory = DeviceBuffer::allocate(device, total);
  if (!memory)
    return memory.takeError();
  llvm::Expected<Event> filled = Event::create(device);
  if (!filled)
    return filled.takeError();
  for (PreparedLaunch &launch : launches)
    for (PreparedLaunch::Table &table : launch.tables)
      table.address += memory->getAddress();

  KernelSequence sequence(driver, options.stream, program.dependentLaunch);
  auto launch = launches.begin();
  for (Work &own : work) {
    while (launch->tables.empty())
      ++launch;
    if (llvm::Error error = launch->placeIn(own.tables))
      return std::move(error);
    BindingTarget target{device, own.code->id,
                         program.launches[launch - launches.begin()].grid,
                         own.tables.getOperands(), options.names};
    target.packedHeads = own.packedHeads;
    target.firstTable = own.variant->firstTable;
    if (!program.scratch.empty())
      target.firstTable = std::min(target.firstTable, program.firstScratch);
    ++launch;
    if (llvm::Error error =
            launchPrologues(*own.code, *own.variant, target, sequence,
                            /*withPreparation=*/true, /*withOthers=*/false))
      return std::move(error);
  }
  if (llvm::Error error = filled->record(options.stream))
    return std::move(error);
  auto made = std::make_unique<OwnedPreparation>(this, std::move(*memory),
                                                 std::move(*filled));
  made->launches = std::move(launches);
  return std::move(made);
}
