//===- Timing.cpp - Time of a kernel --------------------------------------===//

#include "Timing.h"
#include "llvm/ADT/STLExtras.h"
#include <chrono>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

using Clock = std::chrono::steady_clock;

double BenchReport::getMedian() const {
  size_t middle = seconds.size() / 2;
  if (seconds.size() % 2 == 1)
    return seconds[middle];
  return (seconds[middle - 1] + seconds[middle]) / 2;
}

/// The time of one run.
static Expected<double> timeRun(Execution &execution) {
  Clock::time_point start = Clock::now();
  if (Error error = execution.runAgain())
    return std::move(error);
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Expected<BenchReport> cli::measure(Execution &execution,
                                   mlir::func::FuncOp function,
                                   const Sizes &sizes, const Options &options,
                                   Progress &progress) {
  // Enough for a clock that the processor raises, and for a median that a few
  // interruptions do not move.
  constexpr double warmUpSeconds = 0.1;
  constexpr double minSeconds = 0.5;
  constexpr size_t minRuns = 10;
  constexpr size_t maxRuns = 100000;

  BenchReport report;
  report.work = countWork(function, sizes);
  report.bytes = execution.getTotalBytes();
  progress.show("warming up");
  for (double sum = 0; report.warmUps == 0 || sum < warmUpSeconds;
       ++report.warmUps) {
    Expected<double> seconds = timeRun(execution);
    if (!seconds)
      return seconds.takeError();
    sum += *seconds;
  }

  progress.show("measuring");
  size_t wanted = options.benchRuns;
  for (double sum = 0;;) {
    size_t count = report.seconds.size();
    if (wanted ? count == wanted
               : (count >= minRuns && sum >= minSeconds) || count == maxRuns)
      break;
    Expected<double> seconds = timeRun(execution);
    if (!seconds)
      return seconds.takeError();
    report.seconds.push_back(*seconds);
    sum += *seconds;
  }
  llvm::sort(report.seconds);
  return std::move(report);
}
