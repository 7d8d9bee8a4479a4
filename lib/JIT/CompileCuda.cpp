//===- CompileCuda.cpp - From a program to kernels for a GPU --------------===//

#include "Compilation.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToCPU.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/IR/Remarks.h"

using namespace attn;

llvm::Error Compilation::runCudaPipeline(mlir::ModuleOp module,
                                         DiagnosticCollector &diagnostics,
                                         PassTracker &tracker) {
  mlir::attn::AttnToNVVMOptions pipeline;
  for (const mlir::attn::GPUPipelineStage &stage :
       mlir::attn::getAttnToNVVMStages()) {
    auto build = [&](mlir::OpPassManager &passes) {
      stage.build(passes, pipeline);
    };
    if (tracker.isDone())
      break;
    if (llvm::Error error = runPasses(stage.name, build, module, diagnostics))
      return error;
  }
  return llvm::Error::success();
}

/// The object file of the plan, which is what is left of a module without its
/// kernels.
llvm::Expected<std::string>
Compilation::compilePlan(mlir::ModuleOp module,
                         DiagnosticCollector &diagnostics) {
  for (auto kernels :
       llvm::make_early_inc_range(module.getOps<mlir::gpu::GPUModuleOp>()))
    kernels.erase();
  std::string object;
  auto work = [&]() -> llvm::Error {
    mlir::attn::AttnToCPUOptions pipeline;
    mlir::PassManager passes(module->getContext(),
                             mlir::ModuleOp::getOperationName());
    // It has no attention and no results that are tensors.
    mlir::attn::buildBufferStage(passes, pipeline);
    mlir::attn::buildLLVMStage(passes, pipeline);
    if (mlir::failed(passes.run(module)))
      return diagnostics.takeError("the plan cannot be lowered");
    readEntryPoints(module);
    // Texts are those of the kernel.
    CompileOptions quiet = options;
    quiet.dumpLLVM = nullptr;
    auto run = [](llvm::StringRef, llvm::function_ref<llvm::Error()> stage) {
      return stage();
    };
    llvm::Expected<std::string> code =
        generateObject(module, entryPoints, target, quiet, run);
    if (!code)
      return code.takeError();
    object = std::move(*code);
    return llvm::Error::success();
  };
  if (llvm::Error error = runStage("plan", work))
    return error;
  return object;
}

/// Compiles a module, which it changes, with a schedule; "" is the one that the
/// compiler chooses.
llvm::Expected<CudaKernel>
Compilation::compileSchedule(mlir::ModuleOp module, const std::string &schedule,
                             DiagnosticCollector &diagnostics,
                             PassTracker &tracker) {
  CompileOptions candidate = options;
  candidate.schedule = schedule;
  if (llvm::Error error = prepare(module, candidate, diagnostics))
    return error;
  if (llvm::Error error = runCudaPipeline(module, diagnostics, tracker))
    return error;
  auto modules = module.getOps<mlir::gpu::GPUModuleOp>();
  if (!llvm::hasSingleElement(modules))
    return makeCompileError("error: expects an attention for a GPU, but got "
                            "none; compile for the CPU");
  auto stage = [&](llvm::StringRef name,
                   llvm::function_ref<llvm::Error()> work) {
    return runStage(name, work);
  };
  return generateKernel(*modules.begin(), candidate, stage);
}

/// A remark on the program as a whole.
static void emitRemark(mlir::Location loc, llvm::StringRef name,
                       llvm::StringRef entry, llvm::StringRef text) {
  mlir::remark::missed(loc, mlir::remark::RemarkOpts::name(name)
                                .category(mlir::attn::kRemarkCategory)
                                .function(entry))
      << mlir::remark::add("{0}", text.str());
}

namespace {
/// A schedule as text, "" for the one that a pass chooses; see HopperSchedule.
struct Candidate {
  std::string schedule;
  double tileCost = 0, keyCost = 0;
  bool isLastResort = false;
};
} // namespace

/// The schedules to try for a program with one attention.
static std::vector<Candidate> getCandidates(mlir::ModuleOp module,
                                            const std::string &given) {
  std::vector<Candidate> candidates;
  module.getContext()->loadDialect<mlir::attn::hopper::HopperDialect>();
  llvm::SmallVector<mlir::attn::AttentionOp> attentions;
  module.walk([&](mlir::attn::AttentionOp op) { attentions.push_back(op); });
  if (given.empty() && attentions.size() == 1 &&
      !attentions[0].getScheduleAttr() &&
      mlir::attn::areHeadDimsSupported(attentions[0]))
    for (const mlir::attn::HopperSchedule &schedule :
         mlir::attn::getHopperSchedules(attentions[0])) {
      Candidate &candidate = candidates.emplace_back();
      llvm::raw_string_ostream(candidate.schedule) << schedule.schedule;
      candidate.tileCost = schedule.tileCost;
      candidate.keyCost = schedule.keyCost;
      candidate.isLastResort = schedule.isLastResort;
    }
  if (candidates.empty())
    candidates.push_back({given});
  return candidates;
}

llvm::Expected<KernelPackage>
Compilation::compileForCuda(mlir::ModuleOp module,
                            DiagnosticCollector &diagnostics,
                            PassTracker &tracker) {
  cuda::CudaProgram program;
  program.chip = kCudaChip.str();
  std::string object, reason;
  KernelMetadata described;
  // All that ptxas compiles well become variants, of which a launch takes one by
  // its extents.
  for (const Candidate &candidate : getCandidates(module, options.schedule)) {
    if (candidate.isLastResort && !program.launches.empty())
      break;
    const std::string &schedule = candidate.schedule;
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    llvm::Expected<CudaKernel> kernel =
        compileSchedule(*copy, schedule, diagnostics, tracker);
    if (!kernel)
      return kernel.takeError();
    CudaVerdict verdict;
    auto assemble = [&]() -> llvm::Error {
      std::string note;
      llvm::Expected<CudaVerdict> result =
          assembleKernel(kernel->variant, note);
      if (!result)
        return result.takeError();
      verdict = std::move(*result);
      if (!note.empty())
        emitRemark(module.getLoc(), "no-ptxas", metadata.entry,
                   "the driver will compile the PTX, unchecked: " + note);
      return llvm::Error::success();
    };
    if (llvm::Error error = runStage("assemble", assemble))
      return error;
    if (!verdict.isAccepted) {
      reason = kernel->variant.schedule + ": " + verdict.reason;
      emitRemark(module.getLoc(), "schedule-rejected", metadata.entry, reason);
      continue;
    }
    if (program.launches.empty()) {
      program.launches.push_back({kernel->grid, {}});
      llvm::Expected<std::string> plan = compilePlan(*copy, diagnostics);
      if (!plan)
        return plan.takeError();
      object = std::move(*plan);
      // The next schedule starts anew.
      described = metadata;
    }
    kernel->variant.tileCost = candidate.tileCost;
    kernel->variant.keyCost = candidate.keyCost;
    program.launches.front().variants.push_back(std::move(kernel->variant));
  }
  if (program.launches.empty())
    return makeCompileError("error: expects a schedule that a GPU has the "
                            "registers for, but with " +
                            reason +
                            "; give another one, or compile for the CPU");
  if (llvm::Error error = program.validate())
    return makeCompileError("error: " + llvm::toString(std::move(error)));
  return KernelPackage{std::move(described), std::move(object),
                       std::move(program)};
}
