//===- Tuner.h - Measures which schedule is fastest -------------*- C++ -*-===//
//
// Candidates are what is legal for a program on its target, the most promising
// ones by a model of costs. They are compiled in parallel and run in a child
// process, in turn with what the compiler chooses: what counts is the ratio of
// both, so that a change of the clock or of the load meets both. Half of the
// candidates goes after each round. One that does not compile, spills, crashes,
// hangs or gives other results goes, too, and the tuning goes on.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TUNE_TUNER_H
#define ATTN_TUNE_TUNER_H

#include "attn/JIT/Compiler.h"
#include "attn/Support/Tensor.h"
#include "attn/Tune/Database.h"

namespace attn::tune {

struct TuneOptions {
  /// About how long it may take, more than 0: up to a half for compilations,
  /// and at least a half for measurements.
  double seconds = 30;
  /// The program and the arguments of a worker: what calls runWorker(0, 1).
  /// ATTN_TUNE_WORKER names another program.
  std::vector<std::string> worker;
  /// The most candidates that are compiled.
  size_t maxCandidates = 32;
  /// The file to keep the result in, by default the user's; "" for none.
  std::string database = getUserDatabasePath();
  /// Is told from time to time what is going on: "12 of 24, best so far 1.08x".
  std::function<void(llvm::StringRef step)> progress;
};

/// What a trial is called: its schedule, "" for the compiler's, and threads, 0
/// for all.
std::string describeTrial(llvm::StringRef schedule, int64_t threads);

/// A time that was measured in a search.
struct Turn {
  /// When, in seconds since the search began.
  double elapsed = 0;
  /// The number of the trial, and how long it took, in seconds.
  size_t trial = 0;
  double seconds = 0;
};

struct TuneResult {
  Entry entry;
  /// What came of each candidate; the first is what the compiler chooses.
  std::vector<Trial> trials;
  /// In the order of the search.
  std::vector<Turn> turns;
  /// Whether the database holds it, and if not, why.
  bool isKept = false;
  std::string note;

  /// How many times as fast as without tuning.
  double getSpeedup() const { return entry.untunedSeconds / entry.seconds; }
  /// What won and by how much, in a line.
  std::string describe() const;
};

/// Finds the schedule for a program on tensors about as large as these, and
/// keeps it. An error if there is nothing to choose, if the program does not
/// compile or does not run on them.
llvm::Expected<TuneResult> tune(llvm::StringRef program,
                                const CompileOptions &compile,
                                llvm::ArrayRef<const Tensor *> inputs,
                                const TuneOptions &options);

} // namespace attn::tune

#endif // ATTN_TUNE_TUNER_H
