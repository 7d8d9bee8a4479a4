//===- Options.cpp - The command line of attn-run -------------------------===//

#include "Options.h"
#include "attn/JIT/Compiler.h"
#include "attn/Runtime/ThreadCount.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Texts
//===----------------------------------------------------------------------===//

static constexpr char overview[] =
    "compile an attention program and run it\n\n"
    "  Reads MLIR, text or bytecode, from FILE.mlir or, for '-', from "
    "standard\n"
    "  input, compiles it for this processor or a GPU, runs a function on "
    "seeded\n"
    "  random input, and prints the shape, the type and a summary of each "
    "result.\n";

static constexpr char argumentHelp[] = R"(
VALUES OF ARGUMENTS

  --arg=NAME=SPEC names an argument by its name in the program (or by what its
  attribute attn.name says), or by its position 0, 1, ...; --out=NAME=FILE.npy
  names a result likewise. SPEC is one of

    randn             standard normal numbers
    uniform(LO,HI)    real numbers in [LO, HI)
    randint(LO,HI)    integers in [LO, HI)
    blocks(P)         random blocks of a sparsity, each with probability P
    arange            0, 1, 2, ... in row-major order
    full(X) or X      the same number everywhere
    FILE.npy          an array saved by NumPy (bfloat16 as '<V2' or '<u2')

  and all but the file may end in a shape, as in randn:2x8x1000x64.

  By default floating-point tensors are randn, floating-point scalars are 1, and
  integers are 0, but for a sparsity, which is blocks(0.5), or blocks(0.05) if
  a block is 1x1; blocks(P) for the rows of lists makes the columns, too.
  A size that neither the type nor a shape tells is taken from where the program
  needs an equal one, or else from the query for keys, for captures that are
  read at [b], [h], [i] or [j], and for blocks. What is then still open is 1 for
  a batch, 8 for heads, and 128 otherwise.

EXAMPLES

  attn-run softcap.mlir
  attn-run softcap.mlir --arg=q=randn:2x8x1000x64 --check --bench
  attn-run softcap.mlir --arg=q=q.npy --arg=k=k.npy --arg=v=v.npy --out=o=o.npy
  attn-run softcap.mlir --until-after=attn-online-softmax
  attn-run softcap.mlir --target=cuda --check --bench
  attn-run softcap.mlir --bench --baseline=other.mlir
  attn-run softcap.mlir --emit=ptx --emit-to=softcap.ptx
  attn-run softcap.mlir --target=cuda --emit=package --emit-to=softcap.attn
  attn-run softcap.mlir --arg=q=randn:1x8x16384x64 --show-mask
)";

//===----------------------------------------------------------------------===//
// Options
//===----------------------------------------------------------------------===//

namespace {
namespace cl = llvm::cl;

/// The options. Their values are strings, so that this file words the errors
/// about them.
struct CommandLine {
  cl::OptionCategory category{"Options of attn-run"};
  cl::list<std::string> file{cl::Positional, cl::desc("FILE.mlir"),
                             cl::cat(category)};
  cl::opt<std::string> entry{
      "entry", cl::value_desc("name"),
      cl::desc("The function to run; needed where there are several\n"
               "public ones"),
      cl::cat(category)};
  cl::opt<std::string> grad{
      "grad", cl::value_desc("names"), cl::ValueOptional,
      cl::desc("Compute gradients too, of a loss whose gradients with\n"
               "respect to the results are arguments, with respect to\n"
               "the arguments of these names, or to all of floats, on a GPU\n"
               "without numbers"),
      cl::cat(category)};
  cl::opt<bool> nondeterministic{
      "nondeterministic",
      cl::desc("Let the last bits of gradients differ from run to run,\n"
               "which saves a GPU some time"),
      cl::cat(category)};
  cl::opt<std::string> target{
      "target", cl::value_desc("target"),
      cl::desc("What to run on: cpu; cuda, a GPU of compute\n"
               "capability 9.0; or auto, the default: a GPU if\n"
               "there is one that can run the program, otherwise\n"
               "the cpu. Where nothing runs, auto is the cpu,\n"
               "unless what is asked for is of a GPU"),
      cl::cat(category)};
  cl::list<std::string> arg{
      "arg", cl::value_desc("name=spec"),
      cl::desc("The value of an argument, see below; may be\n"
               "repeated"),
      cl::cat(category)};
  cl::list<std::string> out{
      "out", cl::value_desc("name=file.npy"),
      cl::desc("Write a result to a file; may be repeated"), cl::cat(category)};
  cl::opt<bool> check{
      "check", cl::ValueDisallowed,
      cl::desc("Compare the results with a reference in float64,\n"
               "and run twice. The exit code is 1 if a result is\n"
               "less exact than the same maths done step by step\n"
               "in the program's types, or if the runs differ in\n"
               "a bit"),
      cl::cat(category)};
  cl::opt<std::string> bench{
      "bench", cl::ValueOptional, cl::value_desc("runs"),
      cl::desc("Measure the time of so many runs after a warm-up;\n"
               "by default of 10 or more, for half a second or\n"
               "longer"),
      cl::cat(category)};
  cl::opt<std::string> tune{
      "tune", cl::ValueOptional, cl::value_desc("seconds"),
      cl::desc("Measure which schedule is fastest for these\n"
               "arguments, in about so many seconds, 30 by default,\n"
               "and keep it in the tuning database (ATTN_TUNING_DB),\n"
               "where compilations find it. The program runs with\n"
               "the result"),
      cl::cat(category)};
  cl::opt<std::string> explain{
      "explain", cl::ValueOptional, cl::value_desc("json"),
      cl::desc("Tell which code a run on these arguments takes and\n"
               "why, what each variant of it takes of a GPU, what is\n"
               "tuned, which schedules were ruled out or rejected, and\n"
               "what kernels lack where none is for a GPU, and do not\n"
               "run it"),
      cl::cat(category)};
  cl::opt<bool> tuneWorker{"tune-worker", cl::ReallyHidden,
                           cl::desc("Run what a --tune asks for"),
                           cl::cat(category)};
  cl::opt<std::string> baseline{
      "baseline", cl::value_desc("file.mlir"),
      cl::desc("With --bench, measure another program on the same\n"
               "inputs, in turn with the first, and tell how many\n"
               "times as long it takes. --schedule is not for it"),
      cl::cat(category)};
  cl::opt<bool> cold{"cold", cl::ValueDisallowed,
                     cl::desc("With --bench on a GPU, flush its caches before\n"
                              "each timed run; by default they hold what the\n"
                              "run before has left"),
                     cl::cat(category)};
  cl::opt<std::string> format{
      "format", cl::value_desc("text|json"),
      cl::desc("How to print: text, the default, or one JSON\n"
               "object"),
      cl::init("text"), cl::cat(category)};
  cl::opt<std::string> chip{
      "chip", cl::value_desc("name"),
      cl::desc("The GPU to compile for, as h200, the default, or\n"
               "its chip, as sm_90a. Others have fewer kinds of\n"
               "kernels, and run nothing here"),
      cl::cat(category)};
  cl::opt<std::string> schedule{
      "schedule", cl::value_desc("attribute"),
      cl::desc("A schedule for all attentions, such as\n"
               "'#attn.schedule<...>' or '#hopper.schedule<...>',\n"
               "instead of those that the compiler chooses"),
      cl::cat(category)};
  cl::opt<std::string> schedules{
      "schedules", cl::value_desc("file"),
      cl::desc("For a GPU, a table of schedules to choose from, as\n"
               "docs/gpu.md has it, instead of the compiler's own"),
      cl::cat(category)};
  cl::opt<bool> firstSchedule{
      "first-schedule",
      cl::desc("For a GPU, compile with the first schedule alone,\n"
               "in a fraction of the time; by default a launch\n"
               "has several to choose from"),
      cl::cat(category)};
  cl::opt<std::string> sparsity{
      "sparsity", cl::value_desc("form"),
      cl::desc("How sparse structures run: auto, the default,\n"
               "by a model of costs; dense, with a predicate;\n"
               "blocks, whose tiles are passed over; lists of\n"
               "single keys; or gathered, tiles of those keys, on\n"
               "a GPU"),
      cl::init("auto"), cl::cat(category)};
  cl::opt<std::string> seed{
      "seed", cl::value_desc("n"),
      cl::desc("The seed of all random numbers, 0 by default"),
      cl::cat(category)};
  cl::opt<std::string> threads{
      "threads", cl::value_desc("n"),
      cl::desc("The most threads to use; by default one for each\n"
               "processor"),
      cl::cat(category)};
  cl::opt<std::string> untilAfter{
      "until-after", cl::value_desc("pass"),
      cl::desc("Print the program as it is after the last run of\n"
               "this pass of the pipeline, and do not run it"),
      cl::cat(category)};
  cl::opt<std::string> emit{
      "emit", cl::value_desc("ptx|cubin|llvm|shape-function|package"),
      cl::desc("Print the code for a GPU as PTX or as a binary, or\n"
               "the LLVM IR, or how the extents of results come\n"
               "from those of inputs, or the kernel package, and\n"
               "do not run it; this needs no GPU"),
      cl::cat(category)};
  cl::opt<std::string> emitTo{
      "emit-to", cl::value_desc("file"),
      cl::desc("Write what --emit prints to a file; of binaries\n"
               "with --variant=all, to files in a folder"),
      cl::cat(category)};
  cl::opt<std::string> variant{
      "variant", cl::value_desc("n|all|checks"),
      cl::desc("With --emit, which of the variants of a kernel for\n"
               "a GPU, of which a launch takes one: its number,\n"
               "the first by default; all, with a comment before\n"
               "each; or checks, the kernels that look for errors\n"
               "in lists"),
      cl::cat(category)};
  cl::opt<std::string> dumpIR{
      "dump-ir", cl::value_desc("folder"),
      cl::desc("Write the program after each pass that changes it,\n"
               "and the code that comes of it, to files in a\n"
               "folder, which is made. Of a program for a GPU\n"
               "each schedule that is tried has a folder in it"),
      cl::cat(category)};
  cl::opt<std::string> showMask{
      "show-mask", cl::ValueOptional, cl::value_desc("png"),
      cl::desc("Draw which tiles of each mask are empty, partial\n"
               "and full, from its definition on the arguments,\n"
               "as text or as a PNG file, and tell the density\n"
               "and what the compiler visits. The program runs\n"
               "only if --check, --bench or --out ask for it;\n"
               "--bench measures it without its masks, too"),
      cl::cat(category)};
  cl::opt<std::string> showMaskTo{
      "show-mask-to", cl::value_desc("file.png"),
      cl::desc("The file for --show-mask=png; by default the name\n"
               "of the function with '-mask.png'"),
      cl::cat(category)};
  cl::opt<std::string> maskBlock{
      "mask-block", cl::value_desc("MxN|schedule"),
      cl::desc("The queries and the keys in a tile of --show-mask,\n"
               "128x128 by default, or those of the schedule of\n"
               "the first attention"),
      cl::cat(category)};
  cl::opt<bool> boundsCheck{
      "bounds-check", cl::ValueDisallowed,
      cl::desc("Report reads outside of captured tensors as errors"),
      cl::cat(category)};
  cl::opt<bool> checkLists{
      "check-lists", cl::ValueDisallowed,
      cl::desc("Let a GPU look for errors in the lists of a\n"
               "sparsity before it runs, as --check does and a\n"
               "CPU always does; runs that --bench times do not"),
      cl::cat(category)};
  cl::extrahelp help{argumentHelp};
};
} // namespace

//===----------------------------------------------------------------------===//
// Parsing
//===----------------------------------------------------------------------===//

static Error parseNamed(const cl::list<std::string> &list,
                        std::vector<NamedOption> &result) {
  for (const std::string &text : list) {
    auto [name, value] = StringRef(text).split('=');
    if (name.empty() || value.empty())
      return llvm::createStringError(
          llvm::formatv("expects --{0}={1}, but got '{2}'", list.ArgStr,
                        list.ValueStr, text));
    result.push_back({name.str(), value.str()});
  }
  return Error::success();
}

/// --target and --emit.
static Error readTarget(const CommandLine &line, Options &options) {
  options.emit = line.emit;
  options.emitTo = line.emitTo;
  bool needsGPU = options.emit == "ptx" || options.emit == "cubin";
  bool isWhole = options.emit == "shape-function" || options.emit == "package";
  if (line.emit.getNumOccurrences() && !needsGPU && !isWhole &&
      options.emit != "llvm")
    return llvm::createStringError(
        "expects --emit=ptx, --emit=cubin, --emit=llvm, "
        "--emit=shape-function or --emit=package, but got '" +
        options.emit + "'");
  if (line.emitTo.getNumOccurrences() &&
      (options.emit.empty() || options.emitTo.empty()))
    return llvm::createStringError(
        "expects the name of a file for --emit-to, together with "
        "--emit");
  options.variant = line.variant;
  int64_t number;
  if (line.variant.getNumOccurrences() && line.variant != "all" &&
      line.variant != "checks" &&
      (StringRef(line.variant).getAsInteger(10, number) || number < 0))
    return llvm::createStringError(
        "expects --variant=all, --variant=checks or a number for "
        "--variant, but got '" +
        options.variant + "'");
  if (line.variant.getNumOccurrences() && options.emit.empty())
    return llvm::createStringError("expects --variant together with --emit");
  if (line.variant.getNumOccurrences() && isWhole)
    return llvm::createStringError(
        "expects --emit=" + options.emit +
        " without --variant, as it is of all variants");
  if (options.variant == "all" && options.emit == "cubin" &&
      options.emitTo.empty())
    return llvm::createStringError(
        "expects the name of a folder for --emit-to with "
        "--emit=cubin and --variant=all");
  const std::pair<const char *, int> runs[] = {
      {"check", line.check.getNumOccurrences()},
      {"bench", line.bench.getNumOccurrences()},
      {"tune", line.tune.getNumOccurrences()},
      {"explain", line.explain.getNumOccurrences()},
      {"check-lists", line.checkLists.getNumOccurrences()},
      {"out", line.out.getNumOccurrences()},
      {"show-mask", line.showMask.getNumOccurrences()},
      {"until-after", line.untilAfter.getNumOccurrences()}};
  for (auto [name, count] : runs)
    if (!options.emit.empty() && count != 0)
      return llvm::createStringError(
          llvm::formatv("expects --emit without --{0}; ask for "
                        "one after the other",
                        name));
  options.target = line.target;
  options.chip = line.chip;
  options.schedules = line.schedules;
  options.firstSchedule = line.firstSchedule;
  if (!line.target.getNumOccurrences())
    options.target = "auto";
  if (options.target != "cpu" && options.target != "cuda" &&
      options.target != "auto")
    return llvm::createStringError(
        "expects --target=cpu, --target=cuda or --target=auto, "
        "but got '" +
        options.target + "'");
  if (needsGPU && options.target == "cpu")
    return llvm::createStringError(
        "expects --target=cuda for --emit=" + options.emit + ", but got 'cpu'");
  for (auto [name, value] :
       {std::pair<StringRef, StringRef>{"--chip", options.chip},
        {"--schedules", options.schedules},
        {"--first-schedule", options.firstSchedule ? "true" : ""}}) {
    if (!value.empty() && options.target == "cpu")
      return llvm::createStringError("expects --target=cuda for " +
                                     llvm::Twine(name) + ", but got 'cpu'");
    needsGPU |= !value.empty();
  }
  if (needsGPU)
    options.target = "cuda";
  return Error::success();
}

/// --show-mask and what goes with it.
static Error readMask(const CommandLine &line, Options &options) {
  options.showMask = line.showMask.getNumOccurrences();
  options.maskPNG = line.showMask == "png";
  if (!options.maskPNG && !line.showMask.empty())
    return llvm::createStringError(
        "expects --show-mask or --show-mask=png, but got '" + line.showMask +
        "'");
  if (options.showMask && line.untilAfter.getNumOccurrences())
    return llvm::createStringError(
        "expects --until-after without --show-mask; ask for one "
        "after the other");
  options.maskFile = line.showMaskTo;
  if (line.showMaskTo.getNumOccurrences() &&
      (!options.maskPNG || options.maskFile.empty()))
    return llvm::createStringError(
        "expects the name of a file for --show-mask-to, together "
        "with --show-mask=png");
  if (!line.maskBlock.getNumOccurrences())
    return Error::success();
  if (!options.showMask)
    return llvm::createStringError(
        "expects --mask-block together with --show-mask");
  options.maskOfSchedule = line.maskBlock == "schedule";
  if (options.maskOfSchedule)
    return Error::success();
  constexpr int64_t maxSize = 1 << 20;
  auto [rows, columns] = StringRef(line.maskBlock).split('x');
  for (auto [text, size] : {std::pair(rows, &options.maskRows),
                            std::pair(columns, &options.maskColumns)})
    if (text.getAsInteger(10, *size) || *size < 1 || *size > maxSize)
      return llvm::createStringError(
          llvm::formatv("expects --mask-block=MxN, of numbers "
                        "from 1 to {0}, or "
                        "--mask-block=schedule, but got '{1}'",
                        maxSize, line.maskBlock));
  return Error::success();
}

static Expected<Options> readOptions(const CommandLine &line) {
  Options options;
  options.isTuneWorker = line.tuneWorker;
  if (options.isTuneWorker)
    return std::move(options);
  if (line.file.size() != 1)
    return llvm::createStringError(
        line.file.empty()
            ? "expects a program, but got none; 'attn-run --help' tells how"
            : "expects one program, but got '" +
                  llvm::join(line.file, "' and '") + "'");
  options.file = line.file.front();
  if (options.file.empty())
    return llvm::createStringError("expects a program, but got an empty name");
  options.entry = StringRef(line.entry).ltrim('@').str();
  if (line.entry.getNumOccurrences() && options.entry.empty())
    return llvm::createStringError(
        "expects the name of a function for --entry, but got ''");
  options.grad = line.grad.getNumOccurrences();
  llvm::SmallVector<StringRef> names;
  StringRef(line.grad).split(names, ',', -1, /*KeepEmpty=*/false);
  for (StringRef name : names)
    options.wrt.push_back(name.ltrim('%').str());
  options.nondeterministic = line.nondeterministic;
  if (options.nondeterministic && !options.grad)
    return llvm::createStringError(
        "expects --nondeterministic together with --grad");
  if (Error error = readTarget(line, options))
    return std::move(error);
  if (Error error = parseNamed(line.arg, options.arguments))
    return std::move(error);
  if (Error error = parseNamed(line.out, options.outputs))
    return std::move(error);

  if (Error error = readMask(line, options))
    return std::move(error);
  options.schedule = line.schedule;
  if (line.schedule.getNumOccurrences() && options.schedule.empty())
    return llvm::createStringError(
        "expects an attribute for --schedule, but got ''");
  options.sparsity = line.sparsity;
  options.check = line.check;
  options.checkLists = line.check || line.checkLists;
  options.boundsCheck = line.boundsCheck;
  options.bench = line.bench.getNumOccurrences();
  constexpr int64_t maxRuns = 1000000;
  if (!line.bench.empty() &&
      (StringRef(line.bench).getAsInteger(10, options.benchRuns) ||
       options.benchRuns < 1 || options.benchRuns > maxRuns))
    return llvm::createStringError(
        llvm::formatv("expects from 1 to {0} runs for --bench, "
                      "but got '{1}'",
                      maxRuns, line.bench));
  options.explain = line.explain.getNumOccurrences();
  options.explainJSON = line.explain == "json";
  if (!line.explain.empty() && !options.explainJSON)
    return llvm::createStringError(
        "expects --explain or --explain=json, but got '" + line.explain + "'");
  for (auto [name, isGiven] :
       {std::pair("check", options.check), std::pair("bench", options.bench)})
    if (options.explain && isGiven)
      return llvm::createStringError(
          llvm::formatv("expects --explain without --{0}; ask "
                        "for one after the other",
                        name));
  options.tune = line.tune.getNumOccurrences();
  if (!line.tune.empty() &&
      (StringRef(line.tune).getAsDouble(options.tuneSeconds) ||
       !(options.tuneSeconds > 0) || options.tuneSeconds > 1e6))
    return llvm::createStringError(
        "expects more than 0 seconds for --tune, but got '" + line.tune + "'");
  if (options.tune && !options.schedule.empty())
    return llvm::createStringError(
        "expects --tune without --schedule, which leaves nothing "
        "to choose");
  if (options.tune && !options.schedules.empty())
    return llvm::createStringError(
        "expects --tune without --schedules, as it tries what is "
        "around the compiler's own table");
  options.baseline = line.baseline;
  if (line.baseline.getNumOccurrences() && options.baseline.empty())
    return llvm::createStringError(
        "expects the name of a program for --baseline, but got "
        "''");
  options.cold = line.cold;
  for (auto [name, isGiven] : {std::pair("baseline", !options.baseline.empty()),
                               std::pair("cold", options.cold)})
    if (isGiven && !options.bench)
      return llvm::createStringError(
          llvm::formatv("expects --{0} together with --bench", name));
  options.dumpIR = line.dumpIR;
  if (line.dumpIR.getNumOccurrences() && options.dumpIR.empty())
    return llvm::createStringError(
        "expects the name of a folder for --dump-ir, but got ''");
  options.json = line.format == "json";
  if (!options.json && line.format != "text")
    return llvm::createStringError(
        "expects --format=text or --format=json, but got '" + line.format +
        "'");
  if (line.seed.getNumOccurrences() &&
      StringRef(line.seed).getAsInteger(10, options.seed))
    return llvm::createStringError(
        llvm::formatv("expects an integer from 0 to {0} for "
                      "--seed, but got '{1}'",
                      UINT64_MAX, line.seed));
  if (line.threads.getNumOccurrences()) {
    options.threads = parseThreadCount(line.threads.c_str());
    if (options.threads == 0)
      return llvm::createStringError(
          llvm::formatv("expects from 1 to {0} threads for "
                        "--threads, but got '{1}'",
                        kMaxThreads, line.threads));
  }
  options.untilAfter = line.untilAfter;
  if (line.untilAfter.getNumOccurrences() && options.untilAfter.empty())
    return llvm::createStringError(
        "expects the name of a pass for --until-after, but got "
        "''");
  return std::move(options);
}

/// Whether the command line asks for a text rather than for a run.
static bool asksForHelp(llvm::ArrayRef<char *> args) {
  return llvm::any_of(args, [](StringRef arg) {
    return arg.consume_front("-") &&
           (arg.consume_front("-"),
            arg == "h" || arg == "version" || arg.starts_with("help"));
  });
}

static void printVersion(llvm::raw_ostream &os) {
  os << "attn-run " << ATTN_VERSION << " (LLVM " << LLVM_VERSION_STRING
     << ")\n";
}

std::optional<Options> cli::parseCommandLine(int argc, char **argv) {
  // The options of the libraries, of which some have the names of ours.
  keepCompilerOptions();
  cl::ResetCommandLineParser();
  static CommandLine line;
  cl::HideUnrelatedOptions(line.category);
  cl::SetVersionPrinter(printVersion);
  // The library begins its errors with the name of the program, some of them on
  // stderr whatever stream it is given. Ours begin with the name and "error".
  std::vector<const char *> args(argv, argv + argc);
  constexpr StringRef name = "attn-run";
  constexpr StringRef errorName = "attn-run: error";
  args.front() =
      asksForHelp({argv + 1, argv + argc}) ? name.data() : errorName.data();
  std::string text;
  llvm::raw_string_ostream os(text);
  if (!cl::ParseCommandLineOptions(args.size(), args.data(), overview, &os)) {
    size_t hint = text.find((errorName + " --help").str());
    if (hint != std::string::npos)
      text.replace(hint, errorName.size(), name);
    llvm::errs() << text;
    return std::nullopt;
  }
  Expected<Options> options = readOptions(line);
  if (options)
    return std::move(*options);
  llvm::errs() << kErrorPrefix << llvm::toString(options.takeError()) << '\n';
  return std::nullopt;
}
