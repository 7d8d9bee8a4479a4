//===- Contenders.h - Kernels that are measured in turn ---------*- C++ -*-===//

#ifndef ATTN_LIB_TUNE_CONTENDERS_H
#define ATTN_LIB_TUNE_CONTENDERS_H

#include "Judge.h"
#include "attn/Tune/Tuner.h"
#include "attn/Tune/Worker.h"
#include "llvm/ADT/STLFunctionalExtras.h"
#include "llvm/ADT/Twine.h"
#include <functional>
#include <optional>

namespace attn::tune {

using Clock = std::chrono::steady_clock;

/// A kernel that is measured; the first one is what the compiler chooses.
struct Contender {
  std::string schedule;
  /// 0 for all.
  int64_t threads = 0;
  /// Its package.
  std::string file;
  /// Why it is out, "" if it is not.
  std::string verdict;
  /// It is out because the tuning ended before its turn.
  bool lacksTime = false;
  /// Its results are known to be right.
  bool isRight = false;
  /// Times of runs, and for each turn how many times as long as the first
  /// contender it took.
  std::vector<double> seconds, ratios;
  /// Its number in the worker that runs.
  std::optional<size_t> number;

  double getMedian() const;
  double getRatio() const;
  /// What contenders are ranked by: the ratio, or half of what it promises
  /// where there are too few turns to rely on it.
  double getScore() const;
  /// From the first to the third quartile.
  double getSpread() const;
};

/// Measures contenders against the first one, and drops half of them after each
/// round. None is dropped for being slower than one whose results are wrong.
class Race {
public:
  Race(std::vector<std::string> command, std::vector<std::string> inputCommands,
       std::vector<Contender> &contenders, Judge &judge,
       llvm::ArrayRef<DType> resultTypes, std::string scratch)
      : command(std::move(command)), inputCommands(std::move(inputCommands)),
        contenders(contenders), judge(judge), resultTypes(resultTypes),
        scratch(std::move(scratch)) {}

  /// Starts a worker with the first contender, and checks that it runs.
  llvm::Error start();
  /// Measures those that are not out, and new ones.
  void run();
  /// The fastest one so far that gives right results. One that becomes the
  /// fastest is compared with the first one, which takes none of the time to
  /// measure, and is out if it is wrong.
  size_t findBest();
  /// Measures the best one until it is sure to be faster than the first, or
  /// makes the first one the best.
  void decide(size_t &best);

  Clock::time_point begin = Clock::now(), end;
  /// How much longer than others the first run of a candidate may take, which
  /// may still put its code in memory.
  WorkerProcess::Seconds firstRunLimit{20};
  std::function<void(const llvm::Twine &step)> progress;
  /// What was measured so far.
  std::vector<Turn> turns;

private:
  llvm::Error restart();
  /// Restarts a worker that is gone or has not got the first contender. If that
  /// fails, the race is over.
  llvm::Error prepare();
  /// Makes a contender one of the worker, which runs it.
  llvm::Error load(Contender &contender);
  /// Runs it and the first one, and says whether its results are right.
  llvm::Error check(Contender &contender);
  /// Whether the results of a kernel of the worker are right.
  llvm::Error compare(size_t number);
  /// Has the worker free what a kernel of it holds: all with "drop", and with
  /// "free" its results.
  void tell(llvm::StringRef command, size_t number);
  /// Puts a contender out of the race.
  void retire(Contender &contender, std::string verdict);
  llvm::Expected<std::vector<double>> measure(Contender &contender,
                                              size_t count);
  llvm::Expected<std::vector<double>>
  measure(Contender &contender, size_t count, WorkerProcess::Seconds limit);
  /// One turn of the first contender and of another one, which is out if it
  /// fails.
  void takeTurn(Contender &contender);
  bool hasTime() const { return obstacle.empty() && Clock::now() < end; }
  void report(llvm::StringRef what);

  std::vector<std::string> command, inputCommands;
  std::vector<Contender> &contenders;
  Judge &judge;
  llvm::ArrayRef<DType> resultTypes;
  /// How names of files for results begin.
  std::string scratch;
  std::optional<WorkerProcess> worker;
  /// Why the race is over before its end, "" if it is not.
  std::string obstacle;
  /// How many kernels the worker was given.
  size_t numLoaded = 0;
  /// Of a run of the first contender, in seconds.
  double usual = 0;
};

} // namespace attn::tune

#endif // ATTN_LIB_TUNE_CONTENDERS_H
