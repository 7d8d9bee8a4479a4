//===- attn-run.cpp - Compile an attention program and run it -------------===//

#include "Baseline.h"
#include "Emit.h"
#include "Explain.h"
#include "MaskPicture.h"
#include "Program.h"
#include "Report.h"
#include "Tuning.h"
#include "attn/Support/Npy.h"
#include "attn/Tune/Worker.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

/// Where a program is compiled for when it does not run: what is asked for
/// decides, and not whether this machine has a GPU.
static DeviceKind findDeviceToPrint(const Options &options) {
  if (options.target != "auto")
    return options.target == "cuda" ? DeviceKind::Cuda : DeviceKind::CPU;
  auto has = [&](DeviceKind device) {
    return llvm::is_contained(getPipelinePasses(device), options.untilAfter);
  };
  if (!options.untilAfter.empty() && !has(DeviceKind::CPU) &&
      has(DeviceKind::Cuda))
    return DeviceKind::Cuda;
  return DeviceKind::CPU;
}

/// What --target asks for; a run needs the device.
static Expected<DeviceKind> findDevice(const Options &options) {
  if (!options.variant.empty() && findDeviceToPrint(options) == DeviceKind::CPU)
    return llvm::createStringError(
        "expects --target=cuda with --variant, as code for a CPU "
        "has no variants");
  if (!options.emit.empty() || !options.untilAfter.empty())
    return findDeviceToPrint(options);
  if (options.target == "cpu")
    return DeviceKind::CPU;
  Error error = checkDevice(DeviceKind::Cuda);
  if (!error)
    return DeviceKind::Cuda;
  std::string reason = llvm::toString(std::move(error));
  if (options.target == "auto")
    return DeviceKind::CPU;
  if (!llvm::StringRef(reason).contains("--target=cpu"))
    reason += "; run with --target=cpu";
  return llvm::createStringError("cannot run on a GPU: " + reason);
}

static CompileOptions getCompileOptions(const Options &options,
                                        Program &program, DeviceKind device) {
  CompileOptions compile;
  compile.entry = program.entry.getSymName().str();
  compile.bufferName = program.name;
  compile.boundsCheck = options.boundsCheck;
  compile.untilAfter = options.untilAfter;
  compile.device = device;
  compile.chip = options.chip;
  compile.schedule = options.schedule;
  compile.schedules = options.schedules;
  compile.firstSchedule = options.firstSchedule;
  compile.sparsity = options.sparsity;
  return compile;
}

/// --until-after.
static Error printUntilAfter(const Options &options, Program &program,
                             DeviceKind device, Dump &dump) {
  std::vector<std::string> passes = getPipelinePasses(device);
  if (!llvm::is_contained(passes, options.untilAfter)) {
    std::vector<std::string> known;
    for (const std::string &pass : passes)
      if (!llvm::is_contained(known, pass))
        known.push_back(pass);
    return llvm::createStringError(llvm::formatv(
        "unknown pass '{0}': expects {1}{2}", options.untilAfter,
        quoteNames(known), suggestName(options.untilAfter, known)));
  }
  CompileOptions compile = getCompileOptions(options, program, device);
  dump.attach(compile);
  Expected<std::string> text = printAfter(program.buffer->getBuffer(), compile);
  if (!text)
    return makeCompileError(program, text.takeError());
  if (Error error = dump.takeError())
    return error;
  return writeOutput(*text);
}

/// --emit.
static Error printCode(const Options &options, Program &program,
                       DeviceKind device, Dump &dump) {
  Expected<std::vector<EmittedCode>> code =
      emitCode(program.buffer->getBuffer(), options,
               getCompileOptions(options, program, device), dump);
  if (!code)
    return makeCompileError(program, code.takeError());
  if (Error error = dump.takeError())
    return error;
  return writeCode(*code, options);
}

/// Compiles a program to run it.
static Expected<Kernel> compileToRun(const Options &options, Program &program,
                                     DeviceKind device, Dump &dump) {
  CompileOptions compile = getCompileOptions(options, program, device);
  dump.attach(compile);
  return Kernel::compile(program.buffer->getBuffer(), compile);
}

/// Compiles a program for a device, or with --target=auto, if a GPU cannot run
/// it, for the CPU. For --explain, `obstacles` is given why a GPU cannot.
static Expected<Kernel> compileToRun(const Options &options, Program &program,
                                     DeviceKind device, Dump &dump,
                                     Progress &progress,
                                     std::vector<KernelObstacle> &obstacles) {
  progress.show("compiling");
  Expected<Kernel> kernel = compileToRun(options, program, device, dump);
  if (kernel)
    return kernel;
  std::error_code code;
  Error error = llvm::handleErrors(
      kernel.takeError(), [&](std::unique_ptr<llvm::ErrorInfoBase> info) {
        code = info->convertToErrorCode();
        return Error(std::move(info));
      });
  if (options.explain && code == std::errc::not_supported)
    obstacles = getKernelObstacles(*program.module,
                                   getCompileOptions(options, program, device));
  if (device == DeviceKind::CPU || options.target != "auto")
    return makeCompileError(program, std::move(error));
  // The first diagnostic, without its place.
  std::string text = llvm::toString(std::move(error));
  llvm::StringRef reason = llvm::StringRef(text).trim().split('\n').first;
  if (size_t at = reason.find("error: "); at != llvm::StringRef::npos)
    reason = reason.drop_front(at + llvm::StringRef("error: ").size());
  progress.clear();
  llvm::errs() << "attn-run: note: runs on the CPU, as the GPU cannot: "
               << reason << '\n';
  progress.show("compiling");
  kernel = compileToRun(options, program, DeviceKind::CPU, dump);
  if (!kernel)
    return makeCompileError(program, kernel.takeError());
  return kernel;
}

/// Where the results go, one file or none for each.
static Expected<std::vector<std::string>>
findOutputs(const Options &options, llvm::ArrayRef<std::string> names) {
  std::vector<std::string> files(names.size());
  for (const NamedOption &output : options.outputs) {
    Expected<unsigned> position = findByName(output.name, "result", names);
    if (!position)
      return position.takeError();
    if (!files[*position].empty())
      return llvm::createStringError("expects one file for result '" +
                                     names[*position] + "', but got several");
    if (llvm::is_contained(files, output.value))
      return llvm::createStringError(
          "expects different files for results, but got '" + output.value +
          "' twice");
    files[*position] = output.value;
  }
  return std::move(files);
}

/// --show-mask: the masks, and the file with their picture.
static Expected<MaskReport> showMasks(const Options &options, Program &program,
                                      const Kernel &kernel,
                                      const Execution &execution,
                                      Progress &progress) {
  Expected<MaskReport> report =
      surveyMasks(program, kernel, execution.getArguments(), options, progress);
  if (!report || !options.maskPNG)
    return report;
  progress.show("drawing the mask");
  Expected<Picture> picture = drawPicture(report->masks);
  if (!picture)
    return picture.takeError();
  report->file = options.maskFile.empty()
                     ? getPictureName(program.entry.getSymName())
                     : options.maskFile;
  report->width = picture->width;
  report->height = picture->height;
  if (Error error = writeOutput(encodePNG(*picture), report->file))
    return std::move(error);
  return report;
}

/// What --bench measures in turn with the program, if anything. Tells in the
/// report why it is not the program without its masks, where that is wanted.
static Expected<std::optional<Baseline>>
compileBaseline(const Options &options, Program &program, const Kernel &kernel,
                const Execution &execution, std::optional<MaskReport> &mask,
                Progress &progress) {
  if (!options.baseline.empty()) {
    progress.show("compiling the baseline");
    if (mask)
      mask->whyNotMeasured = "--baseline names another program to measure";
    return makeBaseline(options, kernel, execution);
  }
  if (!options.bench || !mask)
    return std::nullopt;
  progress.show("compiling without masks");
  return makeUnmasked(options, program, kernel, execution,
                      mask->whyNotMeasured);
}

/// All but the command line. Sets `passed` if the results are not right.
static Error runTool(const Options &options, bool &passed) {
  Progress progress;
  Expected<Program> program = loadProgram(options.file, options.entry);
  if (!program)
    return program.takeError();
  Expected<DeviceKind> device = findDevice(options);
  if (!device)
    return device.takeError();
  if (options.grad)
    if (Error error = addGradients(*program, options.wrt,
                                   /*tensorsOnly=*/*device == DeviceKind::Cuda,
                                   options.nondeterministic))
      return error;
  Dump dump(options.dumpIR);
  if (Error error = dump.create())
    return error;
  if (!options.untilAfter.empty())
    return printUntilAfter(options, *program, *device, dump);
  if (!options.emit.empty())
    return printCode(options, *program, *device, dump);

  std::vector<KernelObstacle> obstacles;
  Expected<Kernel> kernel =
      compileToRun(options, *program, *device, dump, progress, obstacles);
  progress.clear();
  if (!kernel && !obstacles.empty()) {
    llvm::consumeError(kernel.takeError());
    return writeOutput(explainObstacles(program->entry.getSymName(), obstacles,
                                        options.explainJSON));
  }
  if (!kernel)
    return kernel.takeError();
  std::optional<TuningReport> tuned;
  if (options.tune) {
    Expected<TuningReport> result = tuneProgram(
        options, *program, *kernel,
        getCompileOptions(options, *program, kernel->device()), progress);
    progress.clear();
    if (!result)
      return result.takeError();
    tuned = std::move(*result);
    // Once more, with what is known now.
    kernel =
        compileToRun(options, *program, *device, dump, progress, obstacles);
    progress.clear();
    if (!kernel)
      return kernel.takeError();
  }
  dump.writeBinaries(kernel->package());
  if (Error error = dump.takeError())
    return error;
  llvm::errs() << kernel->report().warnings;
  Expected<std::vector<std::string>> files =
      findOutputs(options, getNames(kernel->results()));
  if (!files)
    return files.takeError();

  progress.show("making the arguments");
  Sizes sizes(program->entry);
  Expected<std::vector<Argument>> arguments =
      makeArguments(*kernel, program->entry, options, sizes);
  if (!arguments)
    return arguments.takeError();
  Expected<Execution> execution =
      Execution::create(*kernel, std::move(*arguments), options);
  if (!execution)
    return execution.takeError();

  if (options.explain) {
    Expected<std::string> text =
        explain(*kernel, *execution, obstacles, options.explainJSON);
    progress.clear();
    return text ? writeOutput(*text) : text.takeError();
  }
  if (options.cold && !execution->getGPU())
    return llvm::createStringError(
        "expects --cold with a GPU, of which it flushes the "
        "caches, but this runs on the CPU");
  Report report{options, *kernel, *execution, program->name,
                program->entry.getSymName().str()};
  Expected<std::vector<SparsityReport>> sparsity =
      surveySparsity(*program, *kernel, *execution, options);
  if (!sparsity)
    return sparsity.takeError();
  report.sparsity = std::move(*sparsity);
  report.tuned = std::move(tuned);
  if (options.showMask) {
    Expected<MaskReport> mask =
        showMasks(options, *program, *kernel, *execution, progress);
    if (!mask)
      return mask.takeError();
    report.mask = std::move(*mask);
    report.hasRun = options.check || options.bench || !options.outputs.empty();
  }
  Expected<std::optional<Baseline>> baseline = compileBaseline(
      options, *program, *kernel, *execution, report.mask, progress);
  if (!baseline)
    return baseline.takeError();

  if (report.hasRun) {
    progress.show("running");
    if (Error error = execution->run())
      return error;
  }
  for (auto [file, tensor] : llvm::zip(*files, execution->getResults()))
    if (!file.empty())
      if (Error error = writeNpy(file, tensor))
        return error;

  if (options.check) {
    Expected<CheckReport> check =
        checkResults(*execution, program->entry, sizes, options, progress);
    if (!check)
      return check.takeError();
    passed = check->passed();
    report.check = std::move(*check);
  }
  if (options.bench) {
    Expected<BenchReport> bench =
        measure(*execution, *baseline ? &(*baseline)->execution : nullptr,
                program->entry, sizes, options, progress);
    if (!bench)
      return bench.takeError();
    if (*baseline) {
      bench->baseline->program = (*baseline)->program;
      bench->baseline->entry = (*baseline)->entry;
      if (report.mask && options.baseline.empty()) {
        report.mask->measuredSpeedup = bench->getRatio();
        if (!report.mask->measuredSpeedup)
          report.mask->whyNotMeasured = "the clock is too coarse to see a run";
      }
    }
    report.bench = std::move(*bench);
  }
  progress.clear();
  return writeOutput(options.json ? formatJSON(report) : formatText(report));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // Writing beyond the user's limit of file sizes is an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<Options> options = parseCommandLine(argc, argv);
  if (!options)
    return 1;
  if (options->isTuneWorker) {
    tune::runWorker(0, 1);
    return 0;
  }
  bool passed = true;
  if (Error error = runTool(*options, passed)) {
    llvm::errs() << kErrorPrefix << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return passed ? 0 : 1;
}
