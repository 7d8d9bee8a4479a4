//===- TuningSpace.cpp - The schedules that a program may have ------------===//

#include "attn/JIT/TuningSpace.h"
#include "Compilation.h"
#include "KernelCache.h"
#include "TuningCandidates.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToCPU.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "attn/Runtime/Cuda/Device.h"
#include "attn/Runtime/Cuda/Driver.h"
#include "attn/Runtime/ThreadCount.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace attn;
using mlir::attn::AttentionLikeOpInterface;

static constexpr llvm::StringLiteral kSourceHash =
#include "SourceHash.inc"
    ;

/// The text of a module, of which names and schedules are no part.
static std::string getHash(mlir::ModuleOp module,
                           const CompileOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
  unsigned numFunctions = 0;
  copy->walk([&](mlir::func::FuncOp function) {
    // Those of results have no use for what is computed.
    for (unsigned i = 0; i != function.getNumArguments(); ++i)
      function.removeArgAttr(i, mlir::attn::kNameAttrName);
    for (unsigned i = 0; i != function.getNumResults(); ++i)
      function.removeResultAttr(
          i, mlir::StringAttr::get(function.getContext(),
                                   mlir::attn::kNameAttrName));
    if (function.isPublic())
      function.setSymName("program" + std::to_string(numFunctions++));
  });
  copy->walk([](AttentionLikeOpInterface op) { op->removeAttr("schedule"); });
  // What a GPU is called is part of the device.
  copy.get()->removeAttr(mlir::attn::kTargetAttrName);
  std::string text;
  llvm::raw_string_ostream os(text);
  copy->print(os, mlir::OpPrintingFlags().useLocalScope());
  return llvm::toHex(KeyBuilder()
                         .add("attn program 2")
                         .add(options.sparsity)
                         .add(options.boundsCheck ? "checked" : "")
                         .add(std::to_string(options.optLevel))
                         .add(text)
                         .get(),
                     /*LowerCase=*/true);
}

llvm::Expected<TuningSpace>
Compilation::getTuningSpace(mlir::ModuleOp module,
                            DiagnosticCollector &diagnostics) {
  PassTracker tracker(module->getContext(), options);
  RemarkCollector remarks(module->getContext(), report.remarks);
  TuningSpace space;
  mlir::OwningOpRef<mlir::ModuleOp> original = module.clone();
  // The online level of a CPU names a program for each target.
  CompileOptions cpuOptions;
  cpuOptions.entry = options.entry;
  cpuOptions.sparsity = options.sparsity;
  cpuOptions.deterministic = options.deterministic;
  if (options.device == DeviceKind::CPU)
    cpuOptions.target = options.target;
  if (llvm::Error error = prepare(module, cpuOptions, diagnostics))
    return error;
  mlir::attn::AttnToCPUOptions pipeline;
  pipeline.vectorBits = target.vectorBits;
  pipeline.vectorRegisters = target.vectorRegisters;
  pipeline.l1Bytes = target.l1Bytes;
  pipeline.sparsity = options.sparsity;
  llvm::ArrayRef<mlir::attn::PipelineStage> cpuStages =
      mlir::attn::getAttnToCPUStages();
  if (llvm::Error error = runStages(cpuStages.take_front(1), pipeline, module,
                                    diagnostics, tracker))
    return error;
  // Other functions of the text are gone by now.
  if (module
          .walk([](AttentionLikeOpInterface op) {
            return op->hasAttr("schedule") ? mlir::WalkResult::interrupt()
                                           : mlir::WalkResult::advance();
          })
          .wasInterrupted())
    space.obstacle = "the program has a schedule";
  if (llvm::Error error = runStages(cpuStages.slice(1, 1), pipeline, module,
                                    diagnostics, tracker))
    return error;
  space.program = getHash(module, options);
  if (!space.obstacle.empty())
    return space;
  llvm::SmallVector<AttentionLikeOpInterface> attentions;
  module.walk([&](AttentionLikeOpInterface op) { attentions.push_back(op); });
  if (attentions.empty()) {
    space.obstacle = "the program has no attention";
    return space;
  }
  if (options.device == DeviceKind::CPU) {
    auto chosen =
        attentions[0]->getAttrOfType<mlir::attn::ScheduleAttr>("schedule");
    bool areTiles = llvm::all_of(attentions, [&](AttentionLikeOpInterface op) {
      auto schedule = op->getAttrOfType<mlir::attn::ScheduleAttr>("schedule");
      return schedule && chosen && schedule.getLanes() == chosen.getLanes();
    });
    if (!areTiles)
      space.obstacle = "queries with lists of keys, and attentions of several "
                       "types, have one schedule";
    else
      space.candidates = getCPUCandidates(attentions[0], chosen, target);
    return space;
  }

  if (llvm::Error error = prepare(*original, options, diagnostics))
    return error;
  auto stages = mlir::attn::getAttnToNVVMStages();
  mlir::attn::AttnToNVVMOptions gpu;
  if (llvm::Error error =
          runStages(stages.take_front(1), gpu, *original, diagnostics, tracker))
    return error;
  schedules = mlir::attn::ScheduleTable::getDefault();
  std::vector<CudaForm> forms =
      getCudaForms(*original, options, *schedules, /*launch=*/0);
  if (forms.size() != 1 || !forms[0].isChosen) {
    space.obstacle = "rows of queries, and several attentions, have one "
                     "schedule on a GPU";
    return space;
  }
  CudaForm &form = forms[0];
  form.module = original->clone();
  gpu.sparsity = form.sparsity;
  if (llvm::Error error = runStages(stages.slice(1, 1), gpu, *form.module,
                                    diagnostics, tracker))
    return error;
  mlir::FailureOr<std::vector<Candidate>> candidates =
      getCandidates(forms, *schedules);
  if (failed(candidates))
    return diagnostics.takeError("there is no schedule");
  space.candidates = getHopperCandidates(form, *candidates);
  if (space.candidates.empty())
    space.obstacle = "the program has one schedule";
  return space;
}

llvm::Expected<std::string>
attn::getProgramHash(llvm::StringRef program, const CompileOptions &options) {
  auto compute = [&]() -> llvm::Expected<std::string> {
    llvm::Expected<TuningSpace> space = getTuningSpace(program, options);
    if (!space)
      return space.takeError();
    return std::move(space->program);
  };
  DiskCache cache = DiskCache::getDefault();
  std::optional<KernelKey> key = getKernelKey(program, options);
  if (!key || !cache.isEnabled())
    return compute();
  key->parts.push_back({"kind", "program hash"});
  CacheKey hash = key->getHash();
  if (std::optional<std::string> found = cache.lookup(hash))
    return std::move(*found);
  llvm::Expected<std::string> found = compute();
  if (found)
    cache.store(hash, *found);
  return found;
}

llvm::Expected<TuningPlace>
attn::getTuningPlace(const CompileOptions &options) {
  TuningPlace place;
  place.version =
      (llvm::Twine("attn " ATTN_VERSION " (") + kSourceHash + ")").str();
  if (options.device == DeviceKind::CPU) {
    llvm::Expected<CPUTarget> target = getCPUTarget(options.target);
    if (!target)
      return target.takeError();
    place.device =
        llvm::formatv("cpu: {0}, vectors of {1} bits, {2} processors",
                      target->cpu, target->vectorBits, getDefaultNumThreads());
    return place;
  }
  llvm::Expected<cuda::Device> device = cuda::Device::current();
  if (!device)
    return device.takeError();
  place.device = llvm::formatv("cuda: {0}, {1} SMs", device->getName(),
                               device->getNumSMs());
  int version = device->getDriver().version;
  place.version = llvm::formatv("driver {0}.{1}, {2}", version / 1000,
                                version % 1000 / 10, place.version);
  return place;
}

llvm::SmallVector<int64_t, 16>
attn::getFreeExtents(llvm::ArrayRef<TensorInfo> inputs,
                     llvm::function_ref<int64_t(size_t, size_t)> getExtent) {
  llvm::SmallVector<int64_t, 16> extents;
  for (auto [input, info] : llvm::enumerate(inputs))
    for (auto [dim, extent] : llvm::enumerate(info.shape))
      if (extent == kDynamicExtent)
        extents.push_back(getExtent(input, dim));
  return extents;
}
