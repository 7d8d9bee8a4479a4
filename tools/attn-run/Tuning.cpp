//===- Tuning.cpp - Tuning the schedule of a program ----------------------===//

#include "Tuning.h"
#include "Arguments.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "llvm/Support/FileSystem.h"

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

/// A remark on the function, by the names that attn-apply-tuning has for them.
static CompileReport::Remark makeRemark(Program &program,
                                        const tune::TuneResult &result) {
  CompileReport::Remark remark;
  remark.location = mlir::attn::getLocationText(program.entry.getLoc());
  bool isTuned = !result.entry.schedule.empty() || result.entry.threads != 0;
  remark.name = isTuned ? "tuned" : "not-tuned";
  remark.text = result.describe();
  return remark;
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
  TuningReport report;
  report.remark = makeRemark(program, *result);
  report.result = std::move(*result);
  return std::move(report);
}
