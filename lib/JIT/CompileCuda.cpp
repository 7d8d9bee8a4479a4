//===- CompileCuda.cpp - From a program to kernels for a GPU --------------===//

#include "Compilation.h"
#include "attn/Conversion/AttnToHopper/Schedules.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Sparsity.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/Pipelines/AttnToNVVM.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/Passes.h"
#include "llvm/Support/FormatVariadic.h"
#include <cmath>
#include <deque>
#include <thread>

using namespace attn;

/// The cost of a tile of the variant for any strides.
static constexpr double kAnyStridesCost = 1e9;

llvm::Error Compilation::runCudaPipeline(mlir::ModuleOp module,
                                         llvm::StringRef sparsity,
                                         DiagnosticCollector &diagnostics,
                                         PassTracker &tracker) {
  mlir::attn::AttnToNVVMOptions pipeline;
  pipeline.sparsity = sparsity.str();
  pipeline.launch = launch;
  return runStages(mlir::attn::getAttnToNVVMStages(), pipeline, module,
                   diagnostics, tracker);
}

/// Compiles a module, which it changes, with a schedule; "" is the one that the
/// compiler chooses. `sparsity` is the form of sparse structures.
llvm::Expected<CudaKernel>
Compilation::compileSchedule(mlir::ModuleOp module, const std::string &schedule,
                             const std::string &sparsity,
                             DiagnosticCollector &diagnostics,
                             PassTracker &tracker) {
  CompileOptions candidate = options;
  candidate.schedule = schedule;
  if (llvm::Error error = prepare(module, candidate, diagnostics))
    return error;
  if (llvm::Error error =
          runCudaPipeline(module, sparsity, diagnostics, tracker))
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
  return generateKernel(*modules.begin(), candidate, stage);
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

/// The kernels that check the lists of a program, which this changes, and the
/// texts of what they may find.
llvm::Expected<cuda::ListChecks> Compilation::compileChecks(
    mlir::ModuleOp module, DiagnosticCollector &diagnostics,
    PassTracker &tracker, std::vector<std::string> &texts) {
  if (llvm::Error error = prepare(module, options, diagnostics))
    return error;
  if (llvm::Error error = runStages(mlir::attn::getGPUCheckStages(),
                                    mlir::attn::AttnToNVVMOptions(), module,
                                    diagnostics, tracker))
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
  /// The form of sparse structures.
  std::string sparsity;
  double tileCost = 0, keyCost = 0;
  double typicalKeys = 0, longKeyCost = 0, partRowCost = 0;
  double rowCost = 0, pairCost = 0, entryCost = 0, tableCost = 0;
  bool isForAnyStrides = false;
  bool isForFewTiles = false;
  bool fewAreLong = false;
  bool isLastResort = false;
  /// Of queries with lists of keys, for which there is one schedule.
  bool isOfRows = false;
};
} // namespace

/// What a byte of words costs in microseconds, on an H200: it is written once
/// and read once, mostly beside the products.
static constexpr double kWordByteCost = 0.5e-6;

/// What a kernel that merges parts costs in microseconds, on an H200: to start,
/// and for each element of a row of a part, which is written, read, and written
/// again as a result.
static constexpr double kMergeCost = 6.0, kPartElementCost = 2.0e-6;

/// Of both forms of lists of single keys; Dense and Lists are forced.
static bool areBothForms(mlir::attn::SparsityForm form) {
  return form == mlir::attn::SparsityForm::Auto ||
         form == mlir::attn::SparsityForm::XFormers;
}

namespace {
/// A copy of a program whose one attention is as schedules are chosen for: a
/// score of minus infinity is a mask.
struct CanonicalProgram {
  mlir::OwningOpRef<mlir::ModuleOp> module;
  /// Null where the program does not need it.
  mlir::attn::AttentionOp attention;
};
} // namespace

static CanonicalProgram canonicalize(mlir::ModuleOp module) {
  CanonicalProgram program = {module.clone(), nullptr};
  mlir::IRRewriter rewriter(module.getContext());
  auto find = [&] {
    program.attention = nullptr;
    program.module->walk(
        [&](mlir::attn::AttentionOp op) { program.attention = op; });
  };
  find();
  mlir::attn::canonicalizeScore(rewriter, program.attention);
  find();
  return program;
}

/// The schedules to try for a program with one attention, and its forms. Where
/// the compiler chooses, and heads may share keys at all, `packingObstacle` is
/// set to why tiles have the queries of one head, or to "".
static std::vector<Candidate>
getCandidates(mlir::ModuleOp module, const CompileOptions &options,
              unsigned launch,
              std::optional<llvm::StringRef> &packingObstacle) {
  using mlir::attn::SparsityForm;
  std::vector<Candidate> candidates;
  module.getContext()->loadDialect<mlir::attn::hopper::HopperDialect>();
  llvm::SmallVector<mlir::attn::AttentionOp> attentions;
  llvm::SmallVector<mlir::attn::AttentionGradOp> gradients;
  llvm::SmallVector<mlir::attn::AttentionLikeOpInterface> all;
  module.walk(
      [&](mlir::attn::AttentionLikeOpInterface op) { all.push_back(op); });
  for (auto [number, op] : llvm::enumerate(all)) {
    if (all.size() > 1 && number != launch)
      continue;
    if (auto attention = llvm::dyn_cast<mlir::attn::AttentionOp>(*op))
      attentions.push_back(attention);
    else
      gradients.push_back(llvm::cast<mlir::attn::AttentionGradOp>(*op));
  }
  if (options.schedule.empty() && attentions.empty() && gradients.size() == 1 &&
      !gradients[0].getScheduleAttr() && mlir::attn::haveTiles(gradients[0])) {
    for (const mlir::attn::HopperSchedule &schedule :
         mlir::attn::getGradientSchedules(gradients[0])) {
      Candidate &candidate = candidates.emplace_back();
      llvm::raw_string_ostream(candidate.schedule) << schedule.schedule;
      candidate.sparsity = options.sparsity;
      candidate.registers = schedule.schedule.getRegisters();
      candidate.tileCost = schedule.tileCost;
      candidate.keyCost = schedule.keyCost;
      candidate.isLastResort = schedule.isLastResort;
    }
    return candidates;
  }
  SparsityForm form = *mlir::attn::parseSparsityForm(options.sparsity);
  bool isFree = options.schedule.empty() && attentions.size() == 1 &&
                !attentions[0].getScheduleAttr();
  bool hasLists = llvm::any_of(attentions, mlir::attn::hasKeyLists);
  bool hasBoth = isFree && hasLists && areBothForms(form) &&
                 mlir::attn::haveTiles(attentions[0]);
  mlir::attn::ListCosts costs;
  if (hasLists)
    costs = mlir::attn::getCudaListCosts(
        *llvm::find_if(attentions, mlir::attn::hasKeyLists));
  constexpr double microseconds = 1e-3;
  // Rows are a form of their own, in which alone there may be other elements.
  bool isGathered = hasLists && form == SparsityForm::Gathered;
  if (hasLists && form != SparsityForm::Dense && !isGathered &&
      (isFree || !hasBoth)) {
    Candidate &rows = candidates.emplace_back();
    rows.schedule = options.schedule;
    rows.sparsity =
        hasBoth || (isFree && areBothForms(form)) ? "lists" : options.sparsity;
    rows.isOfRows = true;
    rows.rowCost = costs.row * microseconds;
    rows.pairCost = costs.pair * microseconds;
  }
  bool areTiles =
      isFree && mlir::attn::haveTiles(attentions[0]) &&
      (!hasLists || hasBoth || form == SparsityForm::Dense || isGathered);
  if (areTiles) {
    if (isGathered)
      attentions[0]->setAttr(mlir::attn::kGatheredAttrName,
                             mlir::UnitAttr::get(module.getContext()));
    if (form == SparsityForm::Dense)
      attentions[0]->setAttr(mlir::attn::kWholeAttrName,
                             mlir::UnitAttr::get(module.getContext()));
    CanonicalProgram canonical = canonicalize(module);
    if (canonical.attention && !hasLists &&
        mlir::attn::mayShareKeys(canonical.attention))
      packingObstacle = mlir::attn::getPackingObstacle(canonical.attention);
    for (const mlir::attn::HopperSchedule &schedule :
         mlir::attn::getHopperSchedules(
             canonical.attention ? canonical.attention : attentions[0])) {
      // Rows are for any strides.
      if (hasBoth && (schedule.isForAnyStrides || schedule.isLastResort))
        continue;
      // They are one form of several; few tiles of them are not shared out.
      if (schedule.isForFewTiles && hasLists)
        continue;
      Candidate &candidate = candidates.emplace_back();
      llvm::raw_string_ostream(candidate.schedule) << schedule.schedule;
      candidate.sparsity = hasLists && !isGathered ? "dense" : options.sparsity;
      // Small tiles are assembled last, as others take longer.
      candidate.registers = schedule.schedule.getPackHeads()
                                ? 0
                                : schedule.schedule.getRegisters();
      candidate.tileCost = schedule.tileCost;
      candidate.keyCost = schedule.keyCost;
      candidate.typicalKeys = schedule.typicalKeys;
      candidate.longKeyCost = schedule.longKeyCost;
      candidate.fewAreLong = schedule.fewAreLong;
      candidate.isForFewTiles = schedule.isForFewTiles;
      candidate.partRowCost =
          kPartElementCost *
          double(mlir::attn::AttentionLikeOpInterface(attentions[0])
                     .getValueDim());
      candidate.isForAnyStrides = schedule.isForAnyStrides;
      candidate.isLastResort = schedule.isLastResort;
      if (hasLists && !isGathered) {
        candidate.entryCost = costs.entry * microseconds;
        candidate.tableCost = kWordByteCost;
      }
    }
  }
  if (candidates.empty()) {
    Candidate &candidate = candidates.emplace_back();
    candidate.schedule = options.schedule;
    candidate.sparsity = options.sparsity;
  }
  return candidates;
}

/// Where a launch finds the lists of the one attention, if its operands are
/// arguments of the function.
static cuda::ListsInfo describeLists(mlir::ModuleOp module,
                                     llvm::StringRef sparsity) {
  cuda::ListsInfo lists;
  module.walk([&](mlir::attn::AttentionOp op) {
    if (!mlir::attn::hasKeyLists(op))
      return;
    auto getNumber = [](mlir::Value operand) -> int32_t {
      while (auto cast = operand.getDefiningOp<mlir::tensor::CastOp>())
        operand = cast.getSource();
      auto argument = llvm::dyn_cast<mlir::BlockArgument>(operand);
      return argument ? static_cast<int32_t>(argument.getArgNumber()) : -1;
    };
    lists.rowsOperand = getNumber(op.getSparsityOperands()[0]);
    lists.columnsOperand = getNumber(op.getSparsityOperands()[1]);
  });
  if (sparsity ==
      mlir::attn::getSparsityFormName(mlir::attn::SparsityForm::XFormers))
    lists.maxDensity = mlir::attn::kXFormersDensity;
  return lists;
}

/// Says which forms a kernel for lists of single keys has, and why.
static void explainForms(const std::vector<Candidate> &candidates,
                         const cuda::ListsInfo &lists, mlir::Location loc,
                         llvm::StringRef entry) {
  const Candidate *rows = nullptr, *dense = nullptr;
  for (const Candidate &candidate : candidates)
    (candidate.isOfRows ? rows : dense) = &candidate;
  if (!rows || rows->pairCost == 0)
    return;
  std::string text = "lists: the only form that was asked for, or that a GPU "
                     "has for these elements";
  if (dense && lists.maxDensity >= 0) {
    text =
        llvm::formatv("lists and dense: xFormers' rule has lists below {0:F1} "
                      "% of all pairs",
                      100 * lists.maxDensity);
  } else if (dense) {
    // Of many keys, each list of one head; an H200 has 132 multiprocessors.
    double tileRows = 0, keyCost = HUGE_VAL;
    for (const Candidate &candidate : candidates) {
      auto schedule = llvm::dyn_cast_or_null<mlir::attn::hopper::ScheduleAttr>(
          candidate.isOfRows
              ? mlir::Attribute()
              : mlir::parseAttribute(candidate.schedule, loc.getContext()));
      if (schedule &&
          candidate.keyCost / double(schedule.getTileM()) < keyCost) {
        tileRows = double(schedule.getTileM());
        keyCost = candidate.keyCost / tileRows;
      }
    }
    mlir::attn::ListCosts costs;
    costs.pair = rows->pairCost;
    costs.row = rows->rowCost;
    costs.entry = dense->entryCost;
    costs.densePair = keyCost / 132 + dense->tableCost / 8;
    constexpr double keys = 4096;
    text = llvm::formatv(
        "lists and dense: a launch takes the one that costs less, lists below "
        "some {0:F1} % of all pairs (of 4096 keys); a pair of a list costs "
        "{1:F1} ps on an H200, and one of all {2:F2}",
        100 * costs.getCrossover(keys), 1e6 * costs.pair,
        1e6 * costs.densePair);
  }
  mlir::remark::passed(loc, mlir::remark::RemarkOpts::name("sparsity")
                                .category(mlir::attn::kRemarkCategory)
                                .function(entry))
      << mlir::remark::add("{0}", text);
}

/// Says whether tiles of a variant have heads that share their keys, or why
/// not.
static void explainPacking(llvm::StringRef obstacle, mlir::Location loc,
                           llvm::StringRef entry) {
  auto opts = mlir::remark::RemarkOpts::name("pack-heads")
                  .category(mlir::attn::kRemarkCategory)
                  .function(entry);
  if (obstacle.empty())
    mlir::remark::passed(loc, opts)
        << mlir::remark::add("where queries are few, tiles have those of "
                             "several heads, whose keys are read once");
  else
    mlir::remark::missed(loc, opts) << mlir::remark::add(
        "{0}", "tiles have the queries of one head: " + obstacle.str());
}

namespace {
/// A kernel with one schedule, and what the assembler says of it.
struct Attempt {
  Attempt() = default;
  Attempt(const Candidate &candidate, CudaKernel kernel)
      : candidate(candidate), kernel(std::move(kernel)) {}

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

static std::string getPartName(const Attempt &attempt, size_t schedule) {
  return attempt.candidate.isForFewTiles
             ? "few-tiles"
             : "schedule-" + std::to_string(schedule);
}

static llvm::Error assembleAll(std::deque<Attempt> &attempts) {
  for (Attempt &attempt : attempts)
    attempt.wait();
  for (const Attempt &attempt : attempts)
    if (!attempt.failure.empty())
      return makeCompileError(attempt.failure);
  return llvm::Error::success();
}

/// Compiles one attention of a module, as the only launch of a program.
llvm::Expected<KernelPackage>
Compilation::compileLaunch(mlir::ModuleOp module,
                           DiagnosticCollector &diagnostics,
                           PassTracker &tracker) {
  cuda::CudaProgram program;
  program.chip = kCudaChip.str();
  std::string reason;
  std::optional<KernelMetadata> described;
  auto compile = [&](const Candidate &candidate) -> llvm::Expected<CudaKernel> {
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    return compileSchedule(*copy, candidate.schedule, candidate.sparsity,
                           diagnostics, tracker);
  };
  auto addChecks = [&]() -> llvm::Error {
    if (!hasLists(module))
      return llvm::Error::success();
    if (options.dumpPart)
      options.dumpPart("checks");
    mlir::OwningOpRef<mlir::ModuleOp> copy = module.clone();
    llvm::Expected<cuda::ListChecks> checks =
        compileChecks(*copy, diagnostics, tracker, described->sites);
    if (!checks)
      return checks.takeError();
    program.checks = std::move(*checks);
    return llvm::Error::success();
  };
  // All that ptxas compiles well become variants, of which a launch takes one
  // by its extents; those of last resort are tried one by one. The one for any
  // strides is made in any case, and assembled by the driver if it is needed.
  std::optional<llvm::StringRef> packingObstacle;
  std::vector<Candidate> candidates =
      getCandidates(module, options, launch, packingObstacle);
  cuda::ListsInfo lists = describeLists(module, options.sparsity);
  std::optional<Candidate> forAnyStrides;
  if (candidates.back().isForAnyStrides) {
    forAnyStrides = candidates.back();
    candidates.pop_back();
  }
  // The one that shares out keys is compiled with the first ones, and of use
  // beside others alone.
  std::optional<Candidate> forFewTiles;
  if (candidates.size() > 1 && candidates.back().isForFewTiles) {
    forFewTiles = candidates.back();
    candidates.pop_back();
  }
  std::optional<cuda::Variant> strided, split;
  // What runs if ptxas compiles no schedule well: the last one that was tried.
  std::optional<Attempt> lastRejected;
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
  for (size_t next = 0; next < candidates.size() && program.launches.empty();) {
    std::deque<Attempt> attempts;
    size_t first = next;
    do
      attempts.emplace_back().candidate = candidates[next++];
    while (next < candidates.size() && !candidates[next].isLastResort &&
           !attempts.back().candidate.isLastResort);
    if (forFewTiles)
      attempts.emplace_back().candidate = *std::exchange(forFewTiles, {});
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
        options.dumpPart(getPartName(attempts[number], first + number));
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
    if (!described) {
      // The same for all schedules.
      described = metadata;
      if (llvm::Error error = addChecks())
        return error;
    }
    if (llvm::Error error =
            runStage("assemble", [&] { return assembleAll(attempts); }))
      return error;
    for (size_t i = 0; options.dumpLLVM && i < attempts.size(); ++i) {
      if (attempts[i].verdict.log.empty())
        continue;
      if (options.dumpPart)
        options.dumpPart(getPartName(attempts[i], first + i));
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
        if (!isOfRows) {
          if (!attempt.candidate.isForFewTiles)
            lastRejected.emplace(attempt.candidate, std::move(attempt.kernel));
          continue;
        }
      }
      variant.tileCost = attempt.candidate.tileCost;
      variant.keyCost = attempt.candidate.keyCost;
      variant.typicalKeys = attempt.candidate.typicalKeys;
      variant.longKeyCost = attempt.candidate.longKeyCost;
      variant.fewAreLong = attempt.candidate.fewAreLong;
      if (attempt.candidate.isForFewTiles) {
        variant.merge->cost = kMergeCost;
        variant.merge->rowCost = attempt.candidate.partRowCost;
        split = std::move(variant);
        continue;
      }
      variant.rowCost = attempt.candidate.rowCost;
      variant.pairCost = attempt.candidate.pairCost;
      variant.entryCost = attempt.candidate.entryCost;
      variant.tableCost = attempt.candidate.tableCost;
      variant.ofLists = attempt.candidate.isOfRows;
      addVariant(attempt);
    }
  }
  if (program.launches.empty()) {
    cuda::Variant &variant = lastRejected->kernel.variant;
    emitRemark(
        module.getLoc(), "last-schedule", metadata.entry,
        "right but slow: no schedule has registers for what is computed "
        "of each score, so that " +
            reason +
            (variant.cubin.empty() ? "; the driver will compile the PTX" : ""));
    variant.tileCost = lastRejected->candidate.tileCost;
    variant.keyCost = lastRejected->candidate.keyCost;
    addVariant(*lastRejected);
  }
  explainForms(candidates, lists, module.getLoc(), metadata.entry);
  if (split)
    program.launches.front().variants.push_back(std::move(*split));
  if (packingObstacle)
    explainPacking(*packingObstacle, module.getLoc(), metadata.entry);
  if (strided) {
    // More than any other, which is taken where it can be.
    strided->tileCost = kAnyStridesCost;
    program.launches.front().variants.push_back(std::move(*strided));
  }
  if (llvm::Error error = program.validate())
    return makeCompileError("error: " + llvm::toString(std::move(error)));
  return KernelPackage{std::move(*described), /*object=*/"",
                       std::move(program)};
}

llvm::Expected<KernelPackage>
Compilation::compileForCuda(mlir::ModuleOp module,
                            DiagnosticCollector &diagnostics,
                            PassTracker &tracker) {
  auto count = [&] {
    unsigned number = 0;
    module.walk([&](mlir::attn::AttentionLikeOpInterface) { ++number; });
    return number;
  };
  unsigned numLaunches = count();
  if (numLaunches < 2)
    return compileLaunch(module, diagnostics, tracker);
  // As the pipeline will see them.
  auto simplify = [](mlir::OpPassManager &passes) {
    passes.addPass(mlir::createInlinerPass({}, [](mlir::OpPassManager &) {}));
    passes.addPass(mlir::createSymbolDCEPass());
    passes.addPass(mlir::createCSEPass());
  };
  if (llvm::Error error = runPasses("tensor", simplify, module, diagnostics))
    return error;
  numLaunches = count();
  llvm::Expected<KernelPackage> package =
      compileLaunch(module, diagnostics, tracker);
  while (package && ++launch < numLaunches) {
    llvm::Expected<KernelPackage> next =
        compileLaunch(module, diagnostics, tracker);
    if (!next)
      return next.takeError();
    package->program->launches.push_back(
        std::move(next->program->launches.front()));
  }
  return package;
}
