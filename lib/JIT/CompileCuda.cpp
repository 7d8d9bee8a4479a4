//===- CompileCuda.cpp - From a program to kernels for a GPU --------------===//

#include "Compilation.h"
#include "Program.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/Threading.h"
#include <deque>
#include <thread>

using namespace attn;

/// The stages that are the same for all schedules: of the program, and of a
/// form of its sparse structures.
static constexpr size_t kNumProgramStages = 1, kNumSharedStages = 2;

llvm::Error Compilation::runCudaPipeline(mlir::ModuleOp module,
                                         llvm::StringRef sparsity,
                                         DiagnosticCollector &diagnostics,
                                         PassTracker &tracker) {
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.launch = launch;
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

/// Whether there is a list of keys or blocks that may be none.
static bool hasLists(mlir::ModuleOp module) {
  auto walk = module.walk([](mlir::attn::AttentionOp op) {
    mlir::attn::SparsityAttr sparsity = op.getSparsityAttr();
    return sparsity && sparsity.isLists() ? mlir::WalkResult::interrupt()
                                          : mlir::WalkResult::advance();
  });
  return walk.wasInterrupted();
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

/// The place of the attention of a candidate, of which schedules are told.
static mlir::Location getLoc(const Candidate &candidate) {
  mlir::ModuleOp module = candidate.form->module.get();
  mlir::Location loc = module.getLoc();
  module.walk([&](mlir::attn::AttentionLikeOpInterface op) {
    loc = op.getLoc();
    return mlir::WalkResult::interrupt();
  });
  return loc;
}

/// A remark on the program as a whole, or on its attention and a schedule.
static void emitRemark(mlir::Location loc, llvm::StringRef name,
                       llvm::StringRef entry, llvm::StringRef text,
                       llvm::StringRef schedule = "") {
  auto remark =
      mlir::remark::missed(loc, mlir::remark::RemarkOpts::name(name)
                                    .category(mlir::attn::kRemarkCategory)
                                    .function(entry));
  if (!schedule.empty())
    remark << mlir::remark::metric(mlir::attn::kScheduleRemarkKey,
                                   schedule.str());
  remark << mlir::remark::add("{0}", text.str());
}

namespace {
/// A kernel with one schedule, and what the assembler says of it.
struct Attempt {
  explicit Attempt(const Candidate &candidate) : candidate(candidate) {}

  const Candidate &candidate;
  CudaKernel kernel;
  CudaVerdict verdict;
  std::string note;
  /// Why there is no verdict, if there is none.
  std::string failure;
  std::thread thread;

  ~Attempt() { wait(); }

  void emit() {
    if (llvm::Expected<std::string> ptx = emitPTX(std::move(kernel.code)))
      kernel.variant.ptx = std::move(*ptx);
    else
      failure = llvm::toString(ptx.takeError());
  }
  void assemble() {
    if (llvm::Expected<CudaVerdict> result = assembleKernel(
            kernel.target, kernel.variant, candidate.spillBytes, note))
      verdict = std::move(*result);
    else
      failure = llvm::toString(result.takeError());
  }
  /// Starts LLVM's code generator and the assembler, which take most of a
  /// compilation: the next kernel can be made meanwhile. What is for any
  /// strides is assembled by the driver if it is needed.
  void start() {
    thread = std::thread([this] {
      if (kernel.code.module)
        emit();
      if (failure.empty() && candidate.kind != Candidate::Kind::AnyStrides)
        assemble();
    });
  }
  void wait() {
    if (thread.joinable())
      thread.join();
  }
};
} // namespace

/// The names of the parts of dumps, by the order of candidates.
static std::vector<std::string>
getPartNames(llvm::ArrayRef<Candidate> candidates) {
  std::vector<std::string> names;
  size_t schedules = 0;
  for (const Candidate &candidate : candidates)
    names.push_back(candidate.kind == Candidate::Kind::SplitKV ? "split-kv"
                    : candidate.kind == Candidate::Kind::AnyStrides
                        ? "any-strides"
                        : "schedule-" + std::to_string(schedules++));
  return names;
}

/// Compiles one launch of a module that has gone through the stages of the
/// program, as the only one of a program.
llvm::Expected<KernelPackage>
Compilation::compileLaunch(mlir::ModuleOp module, const cuda::ListsInfo &lists,
                           DiagnosticCollector &diagnostics,
                           PassTracker &tracker) {
  using Kind = Candidate::Kind;
  auto dumpPart = [&](llvm::StringRef name) {
    if (options.dumpPart)
      options.dumpPart(
          launch == 0 ? name.str()
                      : ("launch-" + llvm::Twine(launch) + "-" + name).str());
  };
  // What does not depend on a schedule, once; of the first launch behind what
  // is the same for all.
  if (launch != 0)
    dumpPart("program");
  auto stages = mlir::attn::getAttnToNVVMStages();
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.launch = launch;
  std::vector<CudaForm> forms =
      getCudaForms(module, options, *schedules, launch);
  for (CudaForm &form : forms) {
    if (forms.size() > 1)
      dumpPart(form.areRows ? "program-rows" : "program-tiles");
    form.module = module.clone();
    pipeline.sparsity = form.sparsity;
    if (llvm::Error error =
            runStages(stages.slice(kNumProgramStages,
                                   kNumSharedStages - kNumProgramStages),
                      pipeline, *form.module, diagnostics, tracker))
      return error;
  }
  mlir::FailureOr<std::vector<Candidate>> found =
      getCandidates(forms, *schedules);
  if (failed(found))
    return diagnostics.takeError("there is no schedule");
  const std::vector<Candidate> candidates = std::move(*found);
  std::vector<std::string> parts = getPartNames(candidates);

  KernelMetadata described = metadata;
  auto addChecks = [&](cuda::CudaProgram &program) -> llvm::Error {
    if (!hasLists(module))
      return llvm::Error::success();
    dumpPart("checks");
    llvm::Expected<cuda::ListChecks> checks =
        compileChecks(module, diagnostics, tracker, described.sites);
    if (!checks)
      return checks.takeError();
    program.checks = std::move(*checks);
    return llvm::Error::success();
  };

  cuda::CudaProgram program;
  mlir::attn::TargetAttr target = mlir::attn::getTarget(module);
  program.chip = target.getChip().str();
  program.dependentLaunch = target.getDependentLaunch();
  program.productRate = 1e12 * double(target.getProductTflops());
  program.memoryRate = 1e9 * double(target.getMemoryGbs());
  std::deque<Attempt> attempts;
  auto compileAndStart = [&](size_t number) -> llvm::Error {
    dumpPart(parts[number]);
    Attempt &attempt = attempts[number];
    mlir::OwningOpRef<mlir::ModuleOp> copy = attempt.candidate.makeModule();
    llvm::Expected<CudaKernel> kernel =
        compileKernel(attempt.candidate, *copy, diagnostics, tracker);
    if (!kernel)
      return kernel.takeError();
    attempt.kernel = std::move(*kernel);
    // The IR and the code of a kernel are told together.
    if (options.dumpLLVM) {
      attempt.emit();
      options.dumpLLVM("ptx", attempt.kernel.variant.ptx);
    }
    attempt.start();
    return llvm::Error::success();
  };
  for (const Candidate &candidate : candidates)
    attempts.emplace_back(candidate);
  // All that ptxas compiles well become variants, of which a launch takes one
  // by its extents; of those of last resort, the first one that it compiles
  // well. Several are assembled side by side where processors have nothing else
  // to do.
  size_t numTriedAtOnce =
      std::max(1u, llvm::hardware_concurrency().compute_thread_count() / 4);
  auto isUsual = [](const Candidate &candidate) {
    return candidate.kind == Kind::Usual;
  };
  llvm::SmallVector<size_t> round, rest;
  bool hasFirst = llvm::any_of(candidates, isUsual);
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    bool isLastResort = candidate.kind == Kind::LastResort;
    (isLastResort && hasFirst ? rest : round).push_back(number);
    hasFirst |= isLastResort;
  }
  if (options.firstSchedule)
    round.resize(1);
  bool hasChecks = false, isFirstRound = true;
  std::optional<cuda::Variant> strided, split;
  // What runs if ptxas compiles no schedule well: the one that spills least, of
  // equals the last one that was tried.
  Attempt *leastRejected = nullptr;
  auto getSpillBytes = [](const Attempt &attempt) {
    const std::optional<cuda::Resources> &resources =
        attempt.kernel.variant.resources;
    return resources ? resources->spillBytes
                     : std::numeric_limits<int64_t>::max();
  };
  auto addVariant = [&](Attempt &attempt) {
    cuda::Variant &variant = attempt.kernel.variant;
    program.firstScratch = attempt.kernel.firstScratch;
    program.scratch = attempt.kernel.scratch;
    if (program.launches.empty())
      program.launches.push_back({attempt.kernel.grid, lists, {}});
    // The grid of packed heads says more, and the same otherwise.
    if (variant.mostPackedHeads > 1)
      program.launches.front().grid = attempt.kernel.grid;
    program.launches.front().variants.push_back(std::move(variant));
  };
  auto addVerdict = [&](Attempt &attempt) {
    const Candidate &candidate = attempt.candidate;
    cuda::Variant &variant = attempt.kernel.variant;
    static_cast<cuda::Costs &>(variant) = candidate;
    variant.ofLists = candidate.form->areRows;
    variant.partlyRead = candidate.partlyRead;
    if (!attempt.note.empty())
      emitRemark(module.getLoc(), "no-ptxas", metadata.entry,
                 "the driver will compile the PTX, unchecked: " + attempt.note);
    if (candidate.kind == Kind::AnyStrides) {
      // More than any other, which is taken where it can be.
      variant.tileCost = cuda::Costs::kLastTileCost;
      strided = std::move(variant);
      return;
    }
    report.isRepeatable &= !attempt.verdict.isTimeout;
    bool isAccepted = attempt.verdict.isAccepted;
    if (!attempt.verdict.reason.empty()) {
      emitRemark(getLoc(candidate),
                 isAccepted ? "schedule-spills" : "schedule-rejected",
                 metadata.entry, attempt.verdict.reason, variant.schedule);
    }
    if (!isAccepted) {
      if (candidate.kind != Kind::SplitKV &&
          (!leastRejected ||
           getSpillBytes(attempt) <= getSpillBytes(*leastRejected)))
        leastRejected = &attempt;
      return;
    }
    if (candidate.kind != Kind::SplitKV)
      return addVariant(attempt);
    // The table has its costs without spills. With some it is still what few
    // Q blocks are for, and nothing else: many took 1.2 times as long as with
    // what should cost as much.
    if (variant.resources && variant.resources->spillBytes != 0)
      variant.keyCost *= 1.5;
    split = std::move(variant);
  };
  while (program.launches.empty() && !round.empty()) {
    // The one that will take longest is first.
    llvm::SmallVector<size_t> order = round;
    llvm::sort(order, [&](size_t a, size_t b) {
      auto getKey = [&](size_t number) {
        const Candidate &candidate = candidates[number];
        return std::tuple(candidate.kind == Kind::AnyStrides,
                          -candidate.registers, number);
      };
      return getKey(a) < getKey(b);
    });
    for (size_t number : order)
      if (llvm::Error error = compileAndStart(number))
        return error;
    // Once, while assemblers run.
    if (!std::exchange(hasChecks, true))
      if (llvm::Error error = addChecks(program))
        return error;
    auto wait = [&]() -> llvm::Error {
      for (size_t number : round)
        attempts[number].wait();
      return llvm::Error::success();
    };
    if (llvm::Error error = runStage("assemble", wait))
      return error;
    for (size_t number : round) {
      // Those behind the first one might as well not have been tried.
      if (!isFirstRound && !program.launches.empty())
        break;
      Attempt &attempt = attempts[number];
      if (options.dumpLLVM && !attempt.verdict.log.empty()) {
        dumpPart(parts[number]);
        options.dumpLLVM("ptxas", attempt.verdict.log);
      }
      if (!attempt.failure.empty())
        return makeCompileError(attempt.failure);
      addVerdict(attempt);
    }
    isFirstRound = false;
    round.assign(rest.begin(),
                 rest.begin() + std::min(rest.size(), numTriedAtOnce));
    rest.erase(rest.begin(), rest.begin() + round.size());
  }
  if (program.launches.empty()) {
    bool isBinary = !leastRejected->kernel.variant.cubin.empty();
    emitRemark(getLoc(leastRejected->candidate), "least-spills", metadata.entry,
               "right but slow: no schedule has registers for what is computed "
               "of each score, so that " +
                   leastRejected->kernel.variant.schedule + ": " +
                   leastRejected->verdict.reason +
                   (isBinary ? "" : "; the driver will compile the PTX"));
    addVariant(*leastRejected);
  }
  explainForms(candidates, module.getLoc(), metadata.entry);
  explainPacking(forms, module.getLoc(), metadata.entry);
  for (std::optional<cuda::Variant> *variant : {&split, &strided})
    if (*variant)
      program.launches.front().variants.push_back(std::move(**variant));
  if (llvm::Error error = program.validate())
    return makeCompileError("error: " + llvm::toString(std::move(error)));
  return KernelPackage{std::move(described), /*object=*/"", std::move(program)};
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
      return makeCompileError("error: " + llvm::toString(table.takeError()));
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
  unsigned numLaunches = getNumLaunches(module);
  auto compileNext = [&] {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    return compileLaunch(*copy, lists, diagnostics, tracker);
  };
  llvm::Expected<KernelPackage> package = compileNext();
  while (package && ++launch < numLaunches) {
    llvm::Expected<KernelPackage> next = compileNext();
    if (!next)
      return next.takeError();
    package->program->launches.push_back(
        std::move(next->program->launches.front()));
  }
  return package;
}
