//===- CompileLaunch.cpp - The kernels of a launch ------------------------===//
//
// A launch has a kernel for each schedule that is tried and that the assembler
// compiles well. LLVM's code generator and the assembler take most of a
// compilation, and run beside what comes next: other schedules, and the next
// launches.
//
//===----------------------------------------------------------------------===//

#include "CompileLaunch.h"
#include "attn/Dialect/Attn/IR/AttnTarget.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/SaveAndRestore.h"
#include "llvm/Support/Threading.h"

using namespace attn;

using Kind = Candidate::Kind;

//===----------------------------------------------------------------------===//
// Attempts
//===----------------------------------------------------------------------===//

void Attempt::emit() {
  if (llvm::Expected<std::string> ptx = emitPTX(std::move(kernel.code)))
    kernel.variant.ptx = std::move(*ptx);
  else
    failure = llvm::toString(ptx.takeError());
}

void Attempt::assemble() {
  if (llvm::Expected<CudaVerdict> result = assembleKernel(
          kernel.target, kernel.variant, candidate.spillBytes, note))
    verdict = std::move(*result);
  else
    failure = llvm::toString(result.takeError());
}

void Attempt::start() {
  thread = std::thread([this] {
    if (kernel.code.module)
      emit();
    if (failure.empty() && candidate.kind != Kind::AnyStrides)
      assemble();
  });
}

void Attempt::wait() {
  if (thread.joinable())
    thread.join();
}

int64_t Attempt::getSpillBytes() const {
  const std::optional<cuda::Resources> &resources = kernel.variant.resources;
  return resources ? resources->spillBytes
                   : std::numeric_limits<int64_t>::max();
}

//===----------------------------------------------------------------------===//
// Schedules
//===----------------------------------------------------------------------===//

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

/// The names of the parts of dumps, by the order of candidates.
static std::vector<std::string>
getPartNames(llvm::ArrayRef<Candidate> candidates) {
  std::vector<std::string> names;
  size_t schedules = 0;
  for (const Candidate &candidate : candidates)
    names.push_back(candidate.kind == Kind::SplitKV ? "split-kv"
                    : candidate.kind == Kind::AnyStrides
                        ? "any-strides"
                        : "schedule-" + std::to_string(schedules++));
  return names;
}

void LaunchCompilation::dumpPart(llvm::StringRef name) {
  if (compilation.options.dumpPart)
    compilation.options.dumpPart(
        launch == 0 ? name.str()
                    : ("launch-" + llvm::Twine(launch) + "-" + name).str());
}

/// Runs what does not depend on a schedule, and finds those that may be tried.
llvm::Error LaunchCompilation::findCandidates() {
  // Once; of the first launch behind what is the same for all.
  if (launch != 0)
    dumpPart("program");
  auto stages = mlir::attn::getAttnToNVVMStages();
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.launch = launch;
  forms = getCudaForms(*module, compilation.options, *compilation.schedules,
                       launch);
  for (CudaForm &form : forms) {
    if (forms.size() > 1)
      dumpPart(form.areRows ? "program-rows" : "program-tiles");
    form.module = module->clone();
    pipeline.sparsity = form.sparsity;
    if (llvm::Error error = compilation.runStages(
            stages.slice(Compilation::kNumProgramStages,
                         Compilation::kNumSharedStages -
                             Compilation::kNumProgramStages),
            pipeline, *form.module, diagnostics, tracker))
      return error;
  }
  mlir::FailureOr<std::vector<Candidate>> found =
      getCandidates(forms, *compilation.schedules);
  if (failed(found))
    return diagnostics.takeError("there is no schedule");
  candidates = std::move(*found);
  parts = getPartNames(candidates);
  for (const Candidate &candidate : candidates)
    attempts.emplace_back(candidate);
  // All that ptxas compiles well become variants, of which a launch takes one
  // by its extents; of those of last resort, the first one that it compiles
  // well.
  bool hasFirst = llvm::any_of(candidates, [](const Candidate &candidate) {
    return candidate.kind == Kind::Usual;
  });
  for (auto [number, candidate] : llvm::enumerate(candidates)) {
    bool isLastResort = candidate.kind == Kind::LastResort;
    (candidate.kind == Kind::Fallback ? fallbacks
     : isLastResort && hasFirst       ? rest
                                      : round)
        .push_back(number);
    hasFirst |= isLastResort;
  }
  if (compilation.options.firstSchedule)
    round.resize(1);
  return llvm::Error::success();
}

llvm::Error LaunchCompilation::startAttempt(size_t number) {
  dumpPart(parts[number]);
  Attempt &attempt = attempts[number];
  mlir::OwningOpRef<mlir::ModuleOp> copy = attempt.candidate.makeModule();
  llvm::Expected<CudaKernel> kernel =
      compilation.compileKernel(attempt.candidate, *copy, diagnostics, tracker);
  if (!kernel)
    return kernel.takeError();
  attempt.kernel = std::move(*kernel);
  // The IR and the code of a kernel are told together.
  if (compilation.options.dumpLLVM) {
    attempt.emit();
    compilation.options.dumpLLVM("ptx", attempt.kernel.variant.ptx);
  }
  attempt.start();
  return llvm::Error::success();
}

llvm::Error LaunchCompilation::startRound() {
  // The one that will take longest is first.
  llvm::SmallVector<size_t> order = round;
  llvm::sort(order, [&](size_t a, size_t b) {
    auto getKey = [&](size_t number) {
      const Candidate &candidate = candidates[number];
      return std::tuple(candidate.kind == Kind::AnyStrides,
                        -candidate.assemblyCost, number);
    };
    return getKey(a) < getKey(b);
  });
  for (size_t number : order)
    if (llvm::Error error = startAttempt(number))
      return error;
  return llvm::Error::success();
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

llvm::Error LaunchCompilation::addChecks() {
  if (!hasLists(*module))
    return llvm::Error::success();
  dumpPart("checks");
  llvm::Expected<cuda::ListChecks> checks =
      compilation.compileChecks(*module, diagnostics, tracker, described.sites);
  if (!checks)
    return checks.takeError();
  program.checks = std::move(*checks);
  return llvm::Error::success();
}

llvm::Error LaunchCompilation::start() {
  described = compilation.metadata;
  mlir::attn::TargetAttr target = mlir::attn::getTarget(*module);
  program.chip = target.getChip().str();
  program.dependentLaunch = target.getDependentLaunch();
  program.productRate = 1e12 * double(target.getProductTflops());
  program.memoryRate = 1e9 * double(target.getMemoryGbs());
  if (llvm::Error error = findCandidates())
    return error;
  if (llvm::Error error = startRound())
    return error;
  // While assemblers run.
  return addChecks();
}

//===----------------------------------------------------------------------===//
// Verdicts
//===----------------------------------------------------------------------===//

void LaunchCompilation::addVariant(Attempt &attempt) {
  cuda::Variant &variant = attempt.kernel.variant;
  program.firstScratch = attempt.kernel.firstScratch;
  program.scratch = attempt.kernel.scratch;
  if (program.launches.empty())
    program.launches.push_back({attempt.kernel.grid, lists, {}});
  // The grid of packed heads says more, and the same otherwise.
  if (variant.mostPackedHeads > 1)
    program.launches.front().grid = attempt.kernel.grid;
  program.launches.front().variants.push_back(std::move(variant));
}

void LaunchCompilation::addVerdict(Attempt &attempt) {
  const Candidate &candidate = attempt.candidate;
  cuda::Variant &variant = attempt.kernel.variant;
  static_cast<cuda::Costs &>(variant) = candidate;
  variant.ofLists = candidate.form->areRows;
  variant.partlyRead = candidate.partlyRead;
  if (!attempt.note.empty())
    emitRemark(module->getLoc(), "no-ptxas", described.entry,
               "the driver will compile the PTX, unchecked: " + attempt.note);
  if (candidate.kind == Kind::AnyStrides) {
    // More than any other, which is taken where it can be.
    variant.tileCost = cuda::Costs::kLastTileCost;
    strided = std::move(variant);
    return;
  }
  compilation.report.isRepeatable &= !attempt.verdict.isTimeout;
  bool isAccepted = attempt.verdict.isAccepted;
  if (!attempt.verdict.reason.empty())
    emitRemark(getLoc(candidate),
               isAccepted ? "schedule-spills" : "schedule-rejected",
               described.entry, attempt.verdict.reason, variant.schedule);
  if (!isAccepted) {
    if (candidate.kind != Kind::SplitKV &&
        (!leastRejected ||
         attempt.getSpillBytes() <= leastRejected->getSpillBytes()))
      leastRejected = &attempt;
    return;
  }
  if (candidate.kind != Kind::SplitKV)
    return addVariant(attempt);
  // The table has its costs without spills. With some it is still what few Q
  // blocks are for, and nothing else: many took 1.2 times as long as with what
  // should cost as much.
  if (variant.resources && variant.resources->spillBytes != 0)
    variant.keyCost *= 1.5;
  split = std::move(variant);
}

llvm::Error LaunchCompilation::finishRound(bool takesAll) {
  auto wait = [&]() -> llvm::Error {
    for (size_t number : round)
      attempts[number].wait();
    return llvm::Error::success();
  };
  if (llvm::Error error = compilation.runStage("assemble", wait))
    return error;
  for (size_t number : round) {
    // Those behind the first one might as well not have been tried.
    if (!takesAll && !program.launches.empty())
      break;
    Attempt &attempt = attempts[number];
    if (compilation.options.dumpLLVM && !attempt.verdict.log.empty()) {
      dumpPart(parts[number]);
      compilation.options.dumpLLVM("ptxas", attempt.verdict.log);
    }
    if (!attempt.failure.empty())
      return makeCompileError(attempt.failure);
    addVerdict(attempt);
  }
  return llvm::Error::success();
}

llvm::Expected<KernelPackage> LaunchCompilation::finish() {
  if (llvm::Error error = finishRound(/*takesAll=*/true))
    return error;
  bool isOneRejected = llvm::any_of(round, [&](size_t number) {
    return candidates[number].kind == Kind::Usual &&
           !attempts[number].verdict.isAccepted;
  });
  if (isOneRejected && !fallbacks.empty()) {
    round = fallbacks;
    if (llvm::Error error = startRound())
      return error;
    if (llvm::Error error = finishRound(/*takesAll=*/true))
      return error;
  }
  // Several are assembled side by side where processors have nothing else to
  // do.
  size_t numTriedAtOnce =
      std::max(1u, llvm::hardware_concurrency().compute_thread_count() / 4);
  while (program.launches.empty() && !rest.empty()) {
    size_t count = std::min(rest.size(), numTriedAtOnce);
    round.assign(rest.begin(), rest.begin() + count);
    rest.erase(rest.begin(), rest.begin() + count);
    if (llvm::Error error = startRound())
      return error;
    if (llvm::Error error = finishRound(/*takesAll=*/false))
      return error;
  }
  if (program.launches.empty()) {
    bool isBinary = !leastRejected->kernel.variant.cubin.empty();
    emitRemark(getLoc(leastRejected->candidate), "least-spills",
               described.entry,
               "right but slow: no schedule has registers for what is computed "
               "of each score, so that " +
                   leastRejected->kernel.variant.schedule + ": " +
                   leastRejected->verdict.reason +
                   (isBinary ? "" : "; the driver will compile the PTX"));
    addVariant(*leastRejected);
  }
  explainForms(candidates, module->getLoc(), described.entry);
  explainPacking(forms, module->getLoc(), described.entry);
  for (std::optional<cuda::Variant> *variant : {&split, &strided})
    if (*variant)
      program.launches.front().variants.push_back(std::move(**variant));
  if (llvm::Error error = program.validate())
    return makeCompileError("error: " + llvm::toString(std::move(error)));
  return KernelPackage{std::move(described), /*object=*/"", std::move(program)};
}
