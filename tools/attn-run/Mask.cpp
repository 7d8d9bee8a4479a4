//===- Mask.cpp - What --show-mask tells of a program ---------------------===//

#include "Mask.h"
#include "attn/Analysis/MaskCost.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/AsmParser/AsmParser.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <chrono>
#include <utility>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;
using mlir::attn::AttentionLikeOpInterface;

std::optional<double> MaskReport::getPredictedSpeedup(size_t mask) const {
  double all = double(masks[mask].getNumTiles());
  if (all == 0)
    return std::nullopt;
  if (compiled.empty())
    return all / (all - double(masks[mask].count(TileClass::Empty)));
  return all / double(compiled[mask].blocks.numVisited);
}

//===----------------------------------------------------------------------===//
// Tiles of schedules
//===----------------------------------------------------------------------===//

/// The schedule of the first attention as the kernel has it, or null.
static Expected<mlir::Attribute>
findSchedule(Program &program, const Kernel &kernel, const Options &options) {
  if (const auto &cuda = kernel.package().program) {
    const cuda::Variant &variant = getFirstAttention(*cuda).variants.front();
    return variant.hasTiles()
               ? mlir::parseAttribute(variant.schedule, program.context.get())
               : mlir::Attribute();
  }
  CompileOptions compile;
  compile.entry = program.entry.getSymName().str();
  compile.bufferName = program.name;
  compile.schedule = options.schedule;
  compile.schedules = options.schedules;
  compile.sparsity = options.sparsity;
  compile.untilAfter = "attn-assign-schedule";
  Expected<std::string> text = printAfter(*program.module, compile);
  if (!text)
    return makeCompileError(program, text.takeError());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(*text, program.context.get());
  mlir::Attribute schedule;
  if (module)
    module->walk([&](mlir::attn::OnlineAttentionOp op) {
      schedule = op.getScheduleAttr();
      return mlir::WalkResult::interrupt();
    });
  return schedule;
}

/// The tiles that --mask-block asks for.
static Error setTiles(MaskTilesOptions &tiles, Program &program,
                      const Kernel &kernel, const Options &options) {
  tiles.tileRows = options.maskRows;
  tiles.tileColumns = options.maskColumns;
  if (!options.maskOfSchedule)
    return Error::success();
  Expected<mlir::Attribute> schedule = findSchedule(program, kernel, options);
  if (!schedule)
    return schedule.takeError();
  auto attribute =
      mlir::dyn_cast_if_present<mlir::attn::ScheduleAttrInterface>(*schedule);
  if (!attribute)
    return llvm::createStringError(
        "expects --mask-block=MxN, because the kernel has no "
        "schedule");
  tiles.tileRows = attribute.getTileM();
  tiles.tileColumns = attribute.getTileN();
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Survey
//===----------------------------------------------------------------------===//

/// How the class of a tile is found, by the regions of an attention.
static std::string describeWay(mlir::Operation *op) {
  auto online = mlir::dyn_cast<mlir::attn::OnlineAttentionOp>(op);
  if (!online || online.getMask().empty())
    return "there is no mask";
  std::vector<std::string> ways;
  if (!online.getBlocks().empty())
    ways.push_back("the condition solved for keys");
  if (!online.getTiles().empty()) {
    size_t ranges = 0, lines = 0, pairs = 0;
    for (mlir::Operation &inner : online.getTiles().front()) {
      auto over = mlir::dyn_cast<mlir::attn::RangeOverOp>(inner);
      ranges += mlir::isa<mlir::attn::RangeOp>(inner);
      lines += over && over.getLows().size() == 1;
      pairs += over && over.getLows().size() > 1;
    }
    auto count = [](size_t number, const char *what) {
      return llvm::formatv("{0} {1}{2}", number, what, number == 1 ? "" : "s")
          .str();
    };
    if (ranges)
      ways.push_back(count(ranges, "range") + " of captures");
    if (lines)
      ways.push_back(count(lines, "value") + " computed for each query or key");
    if (pairs)
      ways.push_back("the mask evaluated on pairs");
    if (ranges + lines + pairs == 0)
      ways.push_back("positions of the tile");
  }
  return ways.empty() ? "nothing is known of a tile" : llvm::join(ways, ", ");
}

/// What the mask that is left costs, or "".
static std::string describeCost(mlir::Operation *op) {
  auto attention = mlir::cast<AttentionLikeOpInterface>(op);
  mlir::Region &mask = attention.getMask();
  return mask.empty() ? "" : mlir::attn::getMaskCost(mask).describe();
}

/// Runs the passes that find the bounds of blocks and the classes of tiles on a
/// copy of the program, and counts what they leave.
static Expected<std::vector<CompiledMask>>
countVisits(Program &program, llvm::ArrayRef<const Tensor *> inputs,
            const MaskTilesOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module->clone();
  mlir::PassManager passes(program.context.get());
  passes.addPass(mlir::attn::createAttnExpandSparsityPass());
  passes.addPass(mlir::attn::createAttnCanonicalizeScorePass());
  passes.addPass(mlir::attn::createAttnOnlineSoftmaxPass());
  passes.addPass(mlir::attn::createAttnClassifyBlocksPass());
  passes.addPass(mlir::attn::createAttnLiftMaskPass());
  // Remarks of this are not news: the compiler has made them before.
  std::string text;
  mlir::ScopedDiagnosticHandler handler(
      program.context.get(), [&](mlir::Diagnostic &diagnostic) {
        if (diagnostic.getSeverity() == mlir::DiagnosticSeverity::Error)
          text = diagnostic.str();
        return mlir::success();
      });
  if (mlir::failed(passes.run(*module)))
    return llvm::createStringError(text);
  auto function =
      module->lookupSymbol<mlir::func::FuncOp>(program.entry.getSymName());
  Expected<std::vector<BlocksTiles>> blocks =
      evaluateBlocks(function, inputs, options);
  if (!blocks)
    return blocks.takeError();
  std::vector<CompiledMask> masks;
  for (BlocksTiles &tiles : *blocks) {
    mlir::Operation *op = std::exchange(tiles.op, nullptr); // Of the copy.
    masks.push_back({tiles, describeWay(op), describeCost(op)});
  }
  return masks;
}

/// Shows how far an evaluation is, but not so often that it takes time.
static std::function<void(double)> makeProgress(Progress &progress) {
  using Clock = std::chrono::steady_clock;
  static constexpr auto pause = std::chrono::milliseconds(100);
  return [&progress, next = Clock::now() + pause](double part) mutable {
    if (Clock::now() < next)
      return;
    progress.show(
        llvm::formatv("evaluating the mask, {0} %", int(part * 100)).str());
    next = Clock::now() + pause;
  };
}

Expected<MaskReport> cli::surveyMasks(Program &program, const Kernel &kernel,
                                      llvm::ArrayRef<Argument> arguments,
                                      const Options &options,
                                      Progress &progress) {
  std::vector<const Tensor *> inputs;
  for (const Argument &argument : arguments)
    inputs.push_back(&argument.tensor);
  progress.show("evaluating the mask");
  MaskTilesOptions tiles;
  if (Error error = setTiles(tiles, program, kernel, options))
    return std::move(error);
  tiles.threads = options.threads;
  tiles.progress = makeProgress(progress);
  Expected<std::vector<MaskTiles>> masks =
      evaluateMasks(program.entry, inputs, tiles);
  if (!masks)
    return llvm::createStringError("cannot evaluate the mask: " +
                                   llvm::toString(masks.takeError()));
  if (masks->empty())
    return llvm::createStringError(
        "expects an attention with a mask for --show-mask, but @" +
        program.entry.getSymName() + " of '" + program.name + "' runs none");
  MaskReport report;
  report.masks = std::move(*masks);

  Expected<std::vector<CompiledMask>> compiled =
      countVisits(program, inputs, tiles);
  if (!compiled) {
    report.whyNotCompiled = llvm::toString(compiled.takeError());
    return std::move(report);
  }
  for (const MaskTiles &mask : report.masks) {
    if (mask.number >= compiled->size() ||
        (*compiled)[mask.number].blocks.numTiles != mask.getNumTiles()) {
      report.compiled.clear();
      report.whyNotCompiled = "the compiler changes the attentions";
      break;
    }
    report.compiled.push_back((*compiled)[mask.number]);
  }
  return std::move(report);
}

std::string cli::getPictureName(llvm::StringRef entry) {
  // A name may have any letters, those of paths among them.
  std::string name = entry.str();
  for (char &c : name)
    if (!llvm::isAlnum(c) && c != '_' && c != '-' && c != '.')
      c = '_';
  return name + "-mask.png";
}

//===----------------------------------------------------------------------===//
// Without masks
//===----------------------------------------------------------------------===//

Expected<std::optional<Baseline>> cli::makeUnmasked(const Options &options,
                                                    Program &program,
                                                    const Kernel &kernel,
                                                    const Execution &execution,
                                                    std::string &reason) {
  mlir::OwningOpRef<mlir::ModuleOp> module = program.module->clone();
  mlir::WalkResult result = module->walk([&](AttentionLikeOpInterface op) {
    if (op.getMask().empty())
      return mlir::WalkResult::advance();
    // The score may rely on the mask to stay inside of what it reads.
    if (op.getScore()
            .walk([](mlir::tensor::ExtractOp) {
              return mlir::WalkResult::interrupt();
            })
            .wasInterrupted())
      return mlir::WalkResult::interrupt();
    op.getMask().dropAllReferences();
    op.getMask().getBlocks().clear();
    return mlir::WalkResult::advance();
  });
  if (result.wasInterrupted()) {
    reason = "without the mask, the score may read outside of its captures";
    return std::nullopt;
  }
  CompileOptions compile;
  compile.entry = program.entry.getSymName().str();
  compile.bufferName = program.name;
  compile.boundsCheck = options.boundsCheck;
  compile.device = kernel.device();
  compile.schedule = options.schedule;
  compile.schedules = options.schedules;
  compile.sparsity = options.sparsity;
  Expected<Kernel> other = Kernel::compile(*module, compile);
  if (!other)
    return makeCompileError(program, other.takeError());
  Expected<Execution> made = Execution::create(*other, execution, options);
  if (!made)
    return made.takeError();
  return Baseline{program.name + " without its masks", compile.entry,
                  std::move(*made)};
}
