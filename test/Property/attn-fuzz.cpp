//===- attn-fuzz.cpp - Random programs against the reference --------------===//
//
// Makes random attention programs, compiles and runs them, and compares the
// results with the reference. Each case has a number: case n of seed s is case
// 0 of seed s + n. What fails is made smaller and written to a file.
//
//===----------------------------------------------------------------------===//

#include "Program.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <chrono>

using namespace attn;
using namespace attn::property;
using Clock = std::chrono::steady_clock;

static llvm::cl::OptionCategory category("Options of attn-fuzz");
static llvm::cl::opt<uint64_t> runs("runs", llvm::cl::desc("Number of cases"),
                                    llvm::cl::init(100),
                                    llvm::cl::cat(category));
static llvm::cl::opt<uint64_t> seed("seed",
                                    llvm::cl::desc("Seed of the first case"),
                                    llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<unsigned>
    timeLimit("time-limit",
              llvm::cl::desc("Begin no case after so many seconds; 0 for none"),
              llvm::cl::init(0), llvm::cl::cat(category));
static llvm::cl::opt<unsigned>
    caseLimit("case-limit", llvm::cl::desc("Seconds that one case may take"),
              llvm::cl::init(60), llvm::cl::cat(category));
static llvm::cl::opt<unsigned>
    shrinkLimit("shrink-limit",
                llvm::cl::desc("Seconds to make a failing case smaller"),
                llvm::cl::init(120), llvm::cl::cat(category));
static llvm::cl::opt<unsigned>
    maxFailures("max-failures",
                llvm::cl::desc("End after so many failing cases"),
                llvm::cl::init(1), llvm::cl::cat(category));
static llvm::cl::opt<std::string>
    outDir("out-dir",
           llvm::cl::desc("Where to write failing cases, by default here"),
           llvm::cl::init("."), llvm::cl::cat(category));
static llvm::cl::opt<bool>
    spoil("spoil",
          llvm::cl::desc("Spoil results before they are compared, to see that "
                         "it is found out"),
          llvm::cl::cat(category));
static llvm::cl::opt<std::string> failOn(
    "fail-on",
    llvm::cl::desc("Run nothing, and let each program fail that contains "
                   "this text, to see how it is made smaller"),
    llvm::cl::cat(category));
static llvm::cl::opt<DeviceKind> target(
    "target", llvm::cl::desc("What programs are compiled for"),
    llvm::cl::values(clEnumValN(DeviceKind::CPU, "cpu", "This processor"),
                     clEnumValN(DeviceKind::Cuda, "cuda",
                                "A GPU; cases run if there is one")),
    llvm::cl::init(DeviceKind::CPU), llvm::cl::cat(category));
static llvm::cl::opt<bool>
    compileOnly("compile-only", llvm::cl::desc("Compile programs and run none"),
                llvm::cl::cat(category));
static llvm::cl::opt<bool>
    gradients("grad", llvm::cl::desc("Check gradients instead of results"),
              llvm::cl::cat(category));
static llvm::cl::opt<bool>
    printOnly("print", llvm::cl::desc("Print the programs and run nothing"),
              llvm::cl::cat(category));

static bool isOver(Clock::time_point begin, unsigned seconds) {
  return Clock::now() - begin >= std::chrono::seconds(seconds);
}

static Outcome checkCase(const Program &program) {
  if (!failOn.empty()) {
    if (llvm::StringRef(print(program)).contains(failOn))
      return {Outcome::Kind::Wrong, "the program contains " + failOn};
    return {};
  }
  CheckOptions options;
  options.timeout = caseLimit;
  options.spoil = spoil;
  options.compileOnly = compileOnly;
  options.gradients = gradients;
  return check(program, options);
}

/// A program with what is to be known of it in comments.
static std::string describe(const Program &program, const Outcome &outcome,
                            uint64_t caseSeed, llvm::StringRef path) {
  std::string text = llvm::formatv("// {0}: case of seed {1}\n",
                                   getName(outcome.kind), caseSeed);
  for (llvm::StringRef line : llvm::split(llvm::StringRef(outcome.text), '\n'))
    text += ("// " + line + "\n").str();
  return text + printCommands(program, path) + print(program);
}

/// Makes a failing case smaller and writes it.
static bool report(const Program &program, const Outcome &outcome,
                   uint64_t caseSeed) {
  llvm::outs() << llvm::formatv("seed {0}: {1}: {2}\n", caseSeed,
                                getName(outcome.kind), outcome.text);
  llvm::outs().flush();
  Clock::time_point begin = Clock::now();
  Program small = shrink(program, outcome.kind, checkCase,
                         [&] { return !isOver(begin, shrinkLimit); });
  Outcome last = checkCase(small);
  if (last.kind != outcome.kind)
    last = outcome;

  llvm::SmallString<128> path(outDir);
  llvm::sys::path::append(path, llvm::formatv("attn-fuzz-{0}.mlir", caseSeed));
  std::error_code code;
  llvm::raw_fd_ostream file(path, code);
  if (!code)
    file << describe(small, last, caseSeed, path);
  llvm::outs() << describe(small, last, caseSeed, path);
  if (code)
    llvm::errs() << "attn-fuzz: error: cannot write " << path << ": "
                 << code.message() << "\n";
  else
    llvm::outs() << "written to " << path << "\n";
  return !code;
}

int main(int argc, char **argv) {
  llvm::cl::HideUnrelatedOptions(category);
  llvm::cl::ParseCommandLineOptions(
      argc, argv, "Random attention programs against the reference\n");
  Clock::time_point begin = Clock::now();
  uint64_t done = 0, failures = 0, unsupported = 0;
  for (; done < runs && failures < maxFailures; ++done) {
    if (timeLimit && isOver(begin, timeLimit))
      break;
    Program program = generate(seed + done, target);
    if (printOnly) {
      llvm::outs() << "// seed " << seed + done << "\n"
                   << print(program) << "// -----\n";
      continue;
    }
    Outcome outcome = checkCase(program);
    unsupported += outcome.kind == Outcome::Kind::Unsupported;
    if (!outcome.isFailure())
      continue;
    ++failures;
    report(program, outcome, seed + done);
  }
  if (!printOnly) {
    llvm::outs() << llvm::formatv(
        "attn-fuzz: {0} cases from seed {1}, {2} failed", done, seed.getValue(),
        failures);
    if (target == DeviceKind::Cuda)
      llvm::outs() << ", " << unsupported << " not for a GPU";
    llvm::outs() << "\n";
  }
  return failures ? 1 : 0;
}
