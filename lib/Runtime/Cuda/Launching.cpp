//===- Launching.cpp - The kernels of one call ----------------------------===//

#include "ExecutableImpl.h"
#include "Preparation.h"
#include "Tables.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>

using namespace attn;
using namespace attn::cuda;

/// The blocks of a grid.
static unsigned getNumBlocks(const Variant &variant, int64_t tiles, int numSMs,
                             int occupancy) {
  int64_t most = variant.persistent ? int64_t(numSMs) * occupancy : tiles;
  return static_cast<unsigned>(std::min(tiles, most));
}

llvm::Expected<Executable::Impl::LaunchChoice>
Executable::Impl::chooseVariant(const LaunchInfo &info, const Device &device,
                                llvm::ArrayRef<TensorView> operands,
                                const LaunchOptions &options) {
  llvm::Expected<LaunchExtents> extents = getLaunchExtents(info.grid, operands);
  if (!extents)
    return extents.takeError();
  // There is one way to go through elements.
  bool isGiven = options.variant >= 0 && info.variants.front().hasTiles();
  size_t which =
      isGiven ? options.variant
              : pickVariant(info, *extents, device.getNumSMs(), operands);
  if (which < info.variants.size())
    return LaunchChoice{*extents, which};
  return makeArgumentError("expects a variant from 0 to " +
                           llvm::Twine(info.variants.size() - 1) +
                           ", but got " + llvm::Twine(which));
}

llvm::Error Executable::Impl::launch(LoadedProgram &loaded, size_t index,
                                     llvm::ArrayRef<TensorView> operands,
                                     const LaunchOptions &options) {
  const LaunchInfo &info = program.launches[index];
  Device device = loaded.device;
  llvm::Expected<LaunchChoice> choice =
      chooseVariant(info, device, operands, options);
  if (!choice)
    return choice.takeError();
  const LaunchExtents &extents = choice->extents;
  const Variant &variant = info.variants[choice->variant];
  const PreparedLaunch *prepared =
      options.preparation ? &OwnedPreparation::get(options).launches[index]
                          : nullptr;
  if (prepared && prepared->variant != choice->variant)
    return makeArgumentError(
        "expects tensors that are laid out like those that tables were "
        "prepared for: a kernel with other tiles runs with these strides and "
        "addresses");
  llvm::Expected<int64_t> tiles =
      variant.hasTiles() ? getNumTiles(extents, variant) : 0;
  if (!tiles)
    return tiles.takeError();
  if (*tiles == 0 && variant.loops.empty())
    return llvm::Error::success();

  llvm::Expected<LoadedVariant *> code =
      getVariant(loaded, index, choice->variant);
  if (!code)
    return code.takeError();
  BindingTarget target{device, (*code)->id, info.grid, operands, options.names};
  target.packedHeads = countPackedHeads(extents, variant.mostPackedHeads);
  if (!program.scratch.empty())
    target.firstTable = program.firstScratch;
  if (Counters *counters = (*code)->counters) {
    llvm::Expected<DevicePtr> counter = counters->take(options.stream);
    if (!counter)
      return counter.takeError();
    target.counter = *counter;
  }
  KernelSequence sequence(device.getDriver(), options.stream,
                          program.dependentLaunch);
  if (LLVM_LIKELY(variant.tables.empty() && variant.loops.empty()))
    return launchVariant(**code, variant, target, *tiles, sequence);
  int64_t parts = getNumSplits(variant, extents, device.getNumSMs(), operands);
  llvm::Expected<Tables> tables =
      Tables::layOut(device, options.stream, variant.firstTable, variant.tables,
                     operands, parts);
  if (!tables)
    return tables.takeError();
  if (prepared)
    if (llvm::Error error = prepared->placeIn(*tables))
      return error;
  if (llvm::Error error = tables->takeMemory(device))
    return error;
  if (llvm::Error error = tables->clear(variant.tables))
    return error;
  target.operands = tables->getOperands();
  if (!variant.tables.empty())
    target.firstTable = std::min(target.firstTable, variant.firstTable);
  if (llvm::Error error = launchPrologues(**code, variant, target, sequence,
                                          /*withPreparation=*/!prepared))
    return error;
  if (llvm::Error error = launchLoops(**code, variant, target,
                                      /*isBehind=*/false, sequence))
    return error;
  if (*tiles != 0)
    if (llvm::Error error =
            launchVariant(**code, variant, target, *tiles * parts, sequence))
      return error;
  if (llvm::Error error = launchLoops(**code, variant, target,
                                      /*isBehind=*/true, sequence))
    return error;
  if (variant.combine)
    if (llvm::Error error =
            launchCombine(**code, variant, target, extents, sequence))
      return error;
  return tables->release();
}

/// Starts the kernels that fill tables, a warp or a block for each element, for
/// some, or for each row.
llvm::Error Executable::Impl::launchPrologues(
    const LoadedVariant &code, const Variant &variant, BindingTarget target,
    KernelSequence &sequence, bool withPreparation, bool withOthers) {
  for (auto [prologue, function] :
       llvm::zip_equal(variant.prologues, code.prologues)) {
    target.id += kMaxParams;
    if (variant.isPreparation(prologue) ? !withPreparation : !withOthers)
      continue;
    const TensorView &table = target.operands[prologue.elements];
    int64_t warps = Tables::getNumElements(table);
    if (warps == 0)
      continue;
    if (prologue.byRow)
      warps /= table.shape[table.rank - 1];
    if (prologue.warpElements > 1) {
      int64_t last = table.shape[table.rank - 1];
      warps = warps / last * llvm::divideCeil(last, prologue.warpElements);
    }
    if (prologue.byBlock)
      warps *= prologue.threads / kWarpThreads;
    if (llvm::Error error =
            launchWarps(target, {prologue.entry, function, prologue.threads},
                        prologue.params, warps, sequence))
      return error;
  }
  return llvm::Error::success();
}

/// Starts the kernels of loops before the variant's or behind it.
llvm::Error Executable::Impl::launchLoops(const LoadedVariant &code,
                                          const Variant &variant,
                                          BindingTarget target, bool isBehind,
                                          KernelSequence &sequence) {
  target.id += kMaxParams * (1 + variant.prologues.size());
  for (auto [loop, function] : llvm::zip_equal(variant.loops, code.loops)) {
    target.id += kMaxParams;
    if (loop.isBehind != isBehind)
      continue;
    llvm::Expected<int64_t> warps =
        Tables::getProduct(loop.extents, target.operands);
    if (!warps)
      return warps.takeError();
    if (*warps == 0)
      continue;
    // Threads compute the numbers of warps in 32 bits.
    if (*warps > INT32_MAX)
      return makeArgumentError("expects @" + loop.entry + " to need at most " +
                               llvm::Twine(INT32_MAX) + " warps, but got " +
                               llvm::Twine(*warps) +
                               "; run a part of the batch at a time");
    if (llvm::Error error =
            launchWarps(target, {loop.entry, function, loop.threads},
                        loop.params, *warps, sequence))
      return error;
  }
  return llvm::Error::success();
}

/// Starts the kernel that combines the results of parts.
llvm::Error Executable::Impl::launchCombine(const LoadedVariant &code,
                                            const Variant &variant,
                                            BindingTarget target,
                                            const LaunchExtents &extents,
                                            KernelSequence &sequence) {
  target.id += kMaxParams * (1 + variant.prologues.size());
  int64_t warps = 0;
  if (llvm::MulOverflow(extents.batch * extents.heads,
                        extents.rows * variant.combine->warpsPerRow, warps))
    warps = std::numeric_limits<int64_t>::max();
  // Threads compute the numbers of warps in 32 bits.
  if (warps > INT32_MAX)
    return makeArgumentError("expects @" + variant.combine->entry +
                             " to need at most " + llvm::Twine(INT32_MAX) +
                             " warps, but got " + llvm::Twine(warps) +
                             "; run a part of the batch at a time");
  return launchWarps(
      target, {variant.combine->entry, code.combine, variant.combine->threads},
      variant.combine->params, warps, sequence);
}

llvm::Error Executable::Impl::launchVariant(const LoadedVariant &code,
                                            const Variant &variant,
                                            BindingTarget target, int64_t tiles,
                                            KernelSequence &sequence) {
  ParamValues values;
  if (llvm::Error error = bindParams(target, variant.params, values))
    return error;
  const Driver &driver = target.device.getDriver();
  unsigned blocks =
      getNumBlocks(variant, tiles, target.device.getNumSMs(), code.occupancy);
  Result result = sequence.start(code.function, blocks, variant.threads,
                                 variant.dynamicSharedBytes, values);
  if (LLVM_LIKELY(result == kSuccess))
    return llvm::Error::success();
  return driver.check(result, "launching @" + variant.entry);
}
