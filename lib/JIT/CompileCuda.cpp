//===- CompileCuda.cpp - From a program to kernels for a GPU --------------===//

#include "CompileLaunch.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SaveAndRestore.h"

using namespace attn;

llvm::Error Compilation::runCudaPipeline(mlir::ModuleOp module,
                                         llvm::StringRef sparsity,
                                         DiagnosticCollector &diagnostics,
                                         PassTracker &tracker) {
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.sparsity = sparsity.str();
  pipeline.table = schedules;
  pipeline.schedules = options.schedules;
  return runStages(mlir::attn::getAttnToNVVMStages(), pipeline, module,
                   diagnostics, tracker);
}

/// Compiles the module of a candidate, which this changes.
llvm::Expected<CudaKernel>
Compilation::compileKernel(const Candidate &candidate, mlir::ModuleOp module,
                           DiagnosticCollector &diagnostics,
                           PassTracker &tracker) {
  // A schedule from elsewhere may be any, and its first error should be told.
  // For the others that took a sixth of the time of a compilation.
  llvm::SaveAndRestore verifies(verifiesPasses, !candidate.schedule);
  auto stages = mlir::attn::getAttnToNVVMStages().drop_front(kNumSharedStages);
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.table = schedules;
  if (llvm::Error error =
          runStages(stages, pipeline, module, diagnostics, tracker))
    return error;
  auto modules = module.getOps<mlir::gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(modules))
    return makeCompileError("error: expects an attention for a GPU, but got "
                            "none; the target cpu can run it",
                            /*isForOtherTarget=*/true);
  auto stage = [&](llvm::StringRef name,
                   llvm::function_ref<llvm::Error()> work) {
    return runStage(name, work);
  };
  return translateKernel(*modules.begin(), options, stage);
}

/// The kernels that check the lists of a program behind the stage "program",
/// which this changes, and the texts of what they may find.
llvm::Expected<cuda::ListChecks> Compilation::compileChecks(
    mlir::ModuleOp module, DiagnosticCollector &diagnostics,
    PassTracker &tracker, std::vector<std::string> &texts) {
  auto stages = mlir::attn::getGPUCheckStages().drop_front();
  if (llvm::Error error = runStages(stages, mlir::attn::AttnToNVVMOptions(),
                                    module, diagnostics, tracker))
    return error;
  auto modules = module.getOps<mlir::gpu::GPUModuleOp>();
  // The lists may be those of an attention that the program does not need.
  if (modules.empty())
    return cuda::ListChecks();
  if (!llvm::hasSingleElement(modules))
    return makeCompileError("error: expects one function with lists");
  texts = getTexts(module, mlir::attn::kSitesAttrName);
  auto stage = [&](llvm::StringRef name,
                   llvm::function_ref<llvm::Error()> work) {
    return runStage(name, work);
  };
  return generateChecks(*modules.begin(), options, stage);
}

llvm::Expected<KernelPackage>
Compilation::compileForCuda(mlir::ModuleOp module,
                            DiagnosticCollector &diagnostics,
                            PassTracker &tracker) {
  if (options.schedules.empty()) {
    schedules = mlir::attn::ScheduleTable::getDefault();
  } else {
    auto table =
        mlir::attn::ScheduleTable::load(options.schedules, module.getContext());
    if (!table)
      return makeOptionError("error: " + llvm::toString(table.takeError()));
    schedules = std::move(*table);
  }
  // What all launches share, once.
  if (options.dumpPart)
    options.dumpPart("program");
  if (llvm::Error error = prepare(module, options, diagnostics))
    return error;
  cuda::ListsInfo lists = describeLists(module);
  if (llvm::Error error = runStages(
          mlir::attn::getAttnToNVVMStages().take_front(kNumProgramStages),
          mlir::attn::AttnToNVVMOptions(), module, diagnostics, tracker))
    return error;
  // All are started before any is waited for.
  std::deque<LaunchCompilation> launches;
  unsigned numLaunches = std::max(1u, getNumLaunches(module));
  for (unsigned number = 0; number < numLaunches; ++number) {
    launches.emplace_back(*this, number, module.clone(), lists, diagnostics,
                          tracker);
    if (llvm::Error error = launches.back().start())
      return error;
  }
  llvm::Expected<KernelPackage> package = launches.front().finish();
  for (LaunchCompilation &launch : llvm::drop_begin(launches)) {
    if (!package)
      break;
    llvm::Expected<KernelPackage> next = launch.finish();
    if (!next)
      return next.takeError();
    package->program->launches.push_back(
        std::move(next->program->launches.front()));
  }
  return package;
}
