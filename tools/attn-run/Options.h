//===- Options.h - The command line of attn-run -----------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_OPTIONS_H
#define ATTN_TOOLS_ATTNRUN_OPTIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace attn::cli {

/// NAME=VALUE.
struct NamedOption {
  std::string name;
  std::string value;
};

struct Options {
  /// The program, "-" for standard input.
  std::string file;
  std::string entry;
  /// Whether gradients are computed too, whether their last bits may differ
  /// from run to run, and with respect to what; all if empty.
  bool grad = false;
  bool nondeterministic = false;
  std::vector<std::string> wrt;
  std::string untilAfter;
  /// "cpu", "cuda" or "auto".
  std::string target;
  /// The GPU to compile for, or "" for the usual one.
  std::string chip;
  /// A folder for the program after each pass and its code, or "".
  std::string dumpIR;
  /// An attribute, or "" for the compiler's choice.
  std::string schedule;
  /// A file with a table of schedules, or "" for that of the compiler.
  std::string schedules;
  bool firstSchedule = false;
  std::string sparsity;
  /// "ptx", "cubin", "llvm", or "" for a run.
  std::string emit;
  /// The file for that, or "" for standard output; for several binaries, a
  /// folder.
  std::string emitTo;
  /// Of which variant: a number, "all", "checks", or "" for the first.
  std::string variant;
  std::vector<NamedOption> arguments;
  std::vector<NamedOption> outputs;
  bool check = false;
  /// Whether the schedule is tuned first, and for how long.
  bool tune = false;
  double tuneSeconds = 30;
  /// Whether this is a child process that runs what is tuned.
  bool isTuneWorker = false;
  /// Whether to tell which code runs and why, instead of a run.
  bool explain = false;
  bool explainJSON = false;
  bool bench = false;
  /// Timed runs, 0 for as many as a good median needs.
  int64_t benchRuns = 0;
  /// A program to measure in turn with the first, or "".
  std::string baseline;
  /// Whether the caches of a GPU are flushed before each timed run.
  bool cold = false;
  /// Whether masks are drawn, and whether in a file instead of in the text.
  bool showMask = false;
  bool maskPNG = false;
  /// The name of that file, or "" for one of the program's.
  std::string maskFile;
  /// The queries and the keys of a tile of them, or whether these are those of
  /// the schedule.
  bool maskOfSchedule = false;
  int64_t maskRows = 128;
  int64_t maskColumns = 128;
  bool json = false;
  bool boundsCheck = false;
  /// Whether a GPU looks for errors in lists before a run that is not timed.
  bool checkLists = false;
  uint64_t seed = 0;
  /// 0 for all.
  unsigned threads = 0;
};

/// Begins each line with an error.
constexpr char kErrorPrefix[] = "attn-run: error: ";

/// Reads the command line. After an error that is told on stderr, returns
/// nothing; --help and --version end the program.
std::optional<Options> parseCommandLine(int argc, char **argv);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_OPTIONS_H
