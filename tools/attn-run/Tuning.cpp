//===- Tuning.cpp - Tuning the schedule of a program ----------------------===//

#include "Tuning.h"
#include "Arguments.h"
#include "TuningPlot.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "attn/JIT/Diagnostics.h"
#include "attn/Support/Files.h"
#include "mlir/IR/Remarks.h"
#include "llvm/Support/FileSystem.h"

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

/// A remark on the function, by the names that attn-apply-tuning has for them.
static std::string makeRemark(Program &program,
                              const tune::TuneResult &result) {
  std::string text;
  RemarkCollector collector(program.context.get(), text);
  bool isTuned = !result.entry.schedule.empty() || result.entry.threads != 0;
  auto opts = mlir::remark::RemarkOpts::name(isTuned ? "tuned" : "not-tuned")
                  .category(mlir::attn::kRemarkCategory)
                  .function(program.entry.getSymName());
  auto what = mlir::remark::add("{0}", result.describe());
  if (isTuned)
    mlir::remark::passed(program.entry.getLoc(), opts) << what;
  else
    mlir::remark::missed(program.entry.getLoc(), opts) << what;
  return text;
}

Expected<TuningReport> cli::tuneProgram(const Options &options,
                                        Program &program, const Kernel &kernel,
                                        const CompileOptions &compile,
                                        Progress &progress) {
  progress.show("making the arguments");
  Sizes sizes(program.entry);
  Expected<std::vector<Argument>> arguments =
      makeArguments(kernel, program.entry, options, sizes);
  if (!arguments)
    return arguments.takeError();
  std::vector<const Tensor *> inputs;
  for (const Argument &argument : *arguments)
    inputs.push_back(&argument.tensor);
  tune::TuneOptions tuning;
  tuning.seconds = options.tuneSeconds;
  // By this the program is found wherever it was started.
  static int anchor;
  tuning.worker = {llvm::sys::fs::getMainExecutable("attn-run", &anchor),
                   "--tune-worker"};
  tuning.progress = [&](llvm::StringRef step) {
    progress.show("tuning: " + step);
  };
  Expected<tune::TuneResult> result =
      tune::tune(program.buffer->getBuffer(), compile, inputs, tuning);
  if (!result)
    return makeCompileError(program, result.takeError());
  if (!options.plot.empty())
    if (Error error = writeFile(options.plot, drawTuning(*result)))
      return std::move(error);
  TuningReport report;
  report.remarks = makeRemark(program, *result);
  report.result = std::move(*result);
  return std::move(report);
}
