//===- CompileCuda.cpp - From a program to kernels for a GPU --------------===//

#include "Compilation.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToCPU.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/IR/Remarks.h"
#include <deque>
#include <thread>

using namespace attn;

/// The cost of a tile of the variant for any strides.
static constexpr double kAnyStridesCost = 1e9;

llvm::Error Compilation::runCudaPipeline(mlir::ModuleOp module,
                                         DiagnosticCollector &diagnostics,
                                         PassTracker &tracker) {
  mlir::attn::AttnToNVVMOptions pipeline;
  return runStages(mlir::attn::getAttnToNVVMStages(), pipeline, module,
                   diagnostics, tracker);
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
  /// Of a thread that computes: the more, the longer the assembler takes.
  int64_t registers = 0;
  double tileCost = 0, keyCost = 0;
  bool isForAnyStrides = false;
  bool isLastResort = false;
  /// Of queries with lists of keys, for which there is one schedule.
  bool isOfRows = false;
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
      !mlir::attn::hasKeyLists(attentions[0]) &&
      mlir::attn::areHeadDimsSupported(attentions[0]))
    for (const mlir::attn::HopperSchedule &schedule :
         mlir::attn::getHopperSchedules(attentions[0])) {
      Candidate &candidate = candidates.emplace_back();
      llvm::raw_string_ostream(candidate.schedule) << schedule.schedule;
      candidate.registers = schedule.schedule.getRegisters();
      candidate.tileCost = schedule.tileCost;
      candidate.keyCost = schedule.keyCost;
      candidate.isForAnyStrides = schedule.isForAnyStrides;
      candidate.isLastResort = schedule.isLastResort;
    }
  if (candidates.empty()) {
    candidates.push_back({given});
    candidates.back().isOfRows =
        llvm::any_of(attentions, mlir::attn::hasKeyLists);
  }
  return candidates;
}

namespace {
/// A kernel with one schedule, and what the assembler says of it.
struct Attempt {
  Candidate candidate;
  CudaKernel kernel;
  CudaVerdict verdict;
  std::string note;
  /// Why there is no verdict, if there is none.
  std::string failure;
  std::thread thread;

  ~Attempt() { wait(); }

  /// Starts the assembler: it takes most of a compilation, and the next kernel
  /// can be made meanwhile.
  void assemble() {
    thread = std::thread([this] {
      llvm::Expected<CudaVerdict> result = assembleKernel(kernel.variant, note);
      if (result)
        verdict = std::move(*result);
      else
        failure = llvm::toString(result.takeError());
    });
  }
  void wait() {
    if (thread.joinable())
      thread.join();
  }
};
} // namespace

static std::string getPartName(size_t schedule) {
  return "schedule-" + std::to_string(schedule);
}

static llvm::Error assembleAll(std::deque<Attempt> &attempts) {
  for (Attempt &attempt : attempts)
    attempt.wait();
  for (const Attempt &attempt : attempts)
    if (!attempt.failure.empty())
      return makeCompileError(attempt.failure);
  return llvm::Error::success();
}

llvm::Expected<KernelPackage>
Compilation::compileForCuda(mlir::ModuleOp module,
                            DiagnosticCollector &diagnostics,
                            PassTracker &tracker) {
  cuda::CudaProgram program;
  program.chip = kCudaChip.str();
  std::string object, reason;
  // The plan is the same for all schedules. It is compiled while assemblers
  // run.
  mlir::OwningOpRef<mlir::ModuleOp> withPlan;
  KernelMetadata described;
  auto compile = [&](const Candidate &candidate) -> llvm::Expected<CudaKernel> {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    llvm::Expected<CudaKernel> kernel =
        compileSchedule(*copy, candidate.schedule, diagnostics, tracker);
    if (kernel && !withPlan)
      withPlan = std::move(copy);
    return kernel;
  };
  // All that ptxas compiles well become variants, of which a launch takes one
  // by its extents; those of last resort are tried one by one. The one for any
  // strides is made in any case, and assembled by the driver if it is needed.
  std::vector<Candidate> candidates = getCandidates(module, options.schedule);
  std::optional<Candidate> forAnyStrides;
  if (candidates.back().isForAnyStrides) {
    forAnyStrides = candidates.back();
    candidates.pop_back();
  }
  std::optional<cuda::Variant> strided;
  for (size_t next = 0; next < candidates.size() && program.launches.empty();) {
    std::deque<Attempt> attempts;
    size_t first = next;
    do
      attempts.emplace_back().candidate = candidates[next++];
    while (next < candidates.size() && !candidates[next].isLastResort &&
           !attempts.back().candidate.isLastResort);
    // The one that will take longest is first.
    llvm::SmallVector<size_t> order =
        llvm::to_vector(llvm::seq<size_t>(0, attempts.size()));
    llvm::sort(order, [&](size_t a, size_t b) {
      int64_t more =
          attempts[a].candidate.registers - attempts[b].candidate.registers;
      return more != 0 ? more > 0 : a < b;
    });
    for (size_t number : order) {
      if (options.dumpPart)
        options.dumpPart(getPartName(first + number));
      Attempt &attempt = attempts[number];
      llvm::Expected<CudaKernel> kernel = compile(attempt.candidate);
      if (!kernel)
        return kernel.takeError();
      attempt.kernel = std::move(*kernel);
      attempt.assemble();
    }
    if (forAnyStrides && !strided) {
      if (options.dumpPart)
        options.dumpPart("any-strides");
      llvm::Expected<CudaKernel> kernel = compile(*forAnyStrides);
      if (!kernel)
        return kernel.takeError();
      strided = std::move(kernel->variant);
    }
    if (object.empty()) {
      if (options.dumpPart)
        options.dumpPart("plan");
      llvm::Expected<std::string> plan = compilePlan(*withPlan, diagnostics);
      if (!plan)
        return plan.takeError();
      object = std::move(*plan);
      described = metadata;
    }
    if (llvm::Error error =
            runStage("assemble", [&] { return assembleAll(attempts); }))
      return error;
    for (size_t i = 0; options.dumpLLVM && i < attempts.size(); ++i) {
      if (attempts[i].verdict.log.empty())
        continue;
      if (options.dumpPart)
        options.dumpPart(getPartName(first + i));
      options.dumpLLVM("ptxas", attempts[i].verdict.log);
    }
    for (Attempt &attempt : attempts) {
      cuda::Variant &variant = attempt.kernel.variant;
      if (!attempt.note.empty())
        emitRemark(module.getLoc(), "no-ptxas", metadata.entry,
                   "the driver will compile the PTX, unchecked: " +
                       attempt.note);
      if (!attempt.verdict.isAccepted) {
        reason = variant.schedule + ": " + attempt.verdict.reason;
        // The assembler chooses the registers of rows: a few bytes are the
        // price of more warps at a time.
        bool isOfRows = attempt.candidate.isOfRows;
        emitRemark(module.getLoc(),
                   isOfRows ? "rows-spill" : "schedule-rejected",
                   metadata.entry, reason);
        if (!isOfRows)
          continue;
      }
      if (program.launches.empty())
        program.launches.push_back({attempt.kernel.grid, {}});
      variant.tileCost = attempt.candidate.tileCost;
      variant.keyCost = attempt.candidate.keyCost;
      program.launches.front().variants.push_back(std::move(variant));
    }
  }
  if (program.launches.empty())
    return makeCompileError("error: expects a schedule that a GPU has the "
                            "registers for, but with " +
                            reason +
                            "; give another one, or compile for the CPU");
  if (strided) {
    // More than any other, which is taken where it can be.
    strided->tileCost = kAnyStridesCost;
    program.launches.front().variants.push_back(std::move(*strided));
  }
  if (llvm::Error error = program.validate())
    return makeCompileError("error: " + llvm::toString(std::move(error)));
  return KernelPackage{std::move(described), std::move(object),
                       std::move(program)};
}
