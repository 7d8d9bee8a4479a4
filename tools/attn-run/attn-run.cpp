//===- attn-run.cpp - Compile an attention program and run it -------------===//

#include "Program.h"
#include "Report.h"
#include "attn/Support/Npy.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Errno.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/raw_ostream.h"
#include <csignal>
#include <unistd.h>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

static Error makeError(const llvm::Twine &message) {
  return llvm::createStringError(message);
}

/// Writes to standard output. Unlike llvm::outs it tells errors.
static Error print(llvm::StringRef text) {
  while (!text.empty()) {
    ssize_t done = llvm::sys::RetryAfterSignal(-1, ::write, STDOUT_FILENO,
                                               text.data(), text.size());
    if (done < 0)
      return makeError("cannot write the output: " +
                       llvm::sys::StrError(errno));
    text = text.drop_front(done);
  }
  return Error::success();
}

static CompileOptions getCompileOptions(const Options &options,
                                        Program &program) {
  CompileOptions compile;
  compile.entry = program.entry.getSymName().str();
  compile.bufferName = program.name;
  compile.boundsCheck = options.boundsCheck;
  compile.untilAfter = options.untilAfter;
  return compile;
}

/// The text of an error of the compiler is that of its diagnostics.
static Error makeCompileError(const Program &program, Error error) {
  return makeError("cannot compile '" + program.name + "'\n" +
                   llvm::StringRef(llvm::toString(std::move(error))).rtrim());
}

/// --until-after.
static Error printUntilAfter(const Options &options, Program &program) {
  std::vector<std::string> passes = getPipelinePasses();
  if (!llvm::is_contained(passes, options.untilAfter)) {
    std::vector<std::string> known;
    for (const std::string &pass : passes)
      if (!llvm::is_contained(known, pass))
        known.push_back(pass);
    return makeError(llvm::formatv("unknown pass '{0}': expects {1}{2}",
                                   options.untilAfter, quoteNames(known),
                                   suggestName(options.untilAfter, known)));
  }
  Expected<std::string> text = printAfter(program.buffer->getBuffer(),
                                          getCompileOptions(options, program));
  if (!text)
    return makeCompileError(program, text.takeError());
  return print(*text);
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
      return makeError("expects one file for result '" + names[*position] +
                       "', but got several");
    if (llvm::is_contained(files, output.value))
      return makeError("expects different files for results, but got '" +
                       output.value + "' twice");
    files[*position] = output.value;
  }
  return std::move(files);
}

/// All but the command line. Sets `passed` if the results are not right.
static Error runTool(const Options &options, bool &passed) {
  Progress progress;
  Expected<Program> program = loadProgram(options.file, options.entry);
  if (!program)
    return program.takeError();
  if (!options.untilAfter.empty())
    return printUntilAfter(options, *program);

  progress.show("compiling");
  Expected<Kernel> kernel = Kernel::compile(
      program->buffer->getBuffer(), getCompileOptions(options, *program));
  if (!kernel)
    return makeCompileError(*program, kernel.takeError());
  progress.clear();
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

  progress.show("running");
  if (Error error = execution->run())
    return error;
  for (auto [file, tensor] : llvm::zip(*files, execution->getResults()))
    if (!file.empty())
      if (Error error = writeNpy(file, tensor))
        return error;

  Report report{options,
                *kernel,
                *execution,
                program->name,
                program->entry.getSymName().str(),
                std::nullopt,
                std::nullopt};
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
        measure(*execution, program->entry, sizes, options, progress);
    if (!bench)
      return bench.takeError();
    report.bench = std::move(*bench);
  }
  progress.clear();
  return print(options.json ? formatJSON(report) : formatText(report));
}

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  // Writing beyond the user's limit of file sizes is an error like any other.
  std::signal(SIGXFSZ, SIG_IGN);
  std::optional<Options> options = parseCommandLine(argc, argv);
  if (!options)
    return 1;
  bool passed = true;
  if (Error error = runTool(*options, passed)) {
    llvm::errs() << kErrorPrefix << llvm::toString(std::move(error)) << '\n';
    return 1;
  }
  return passed ? 0 : 1;
}
