//===- Timing.cpp - Time of a kernel --------------------------------------===//

#include "Timing.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

double BenchReport::getMedian() const {
  size_t middle = seconds.size() / 2;
  if (seconds.size() % 2 == 1)
    return seconds[middle];
  return (seconds[middle - 1] + seconds[middle]) / 2;
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
  for (double sum = 0; report.warmUps == 0 || sum < warmUpSeconds;) {
    Expected<std::vector<double>> seconds = execution.measure(minRuns);
    if (!seconds)
      return seconds.takeError();
    sum += std::accumulate(seconds->begin(), seconds->end(), 0.0);
    report.warmUps += seconds->size();
  }

  progress.show("measuring");
  size_t wanted = options.benchRuns;
  for (double sum = 0;;) {
    size_t count = report.seconds.size();
    if (wanted ? count == wanted
               : (count >= minRuns && sum >= minSeconds) || count == maxRuns)
      break;
    Expected<std::vector<double>> seconds =
        execution.measure((wanted ? wanted : maxRuns) - count);
    if (!seconds)
      return seconds.takeError();
    llvm::append_range(report.seconds, *seconds);
    sum += std::accumulate(seconds->begin(), seconds->end(), 0.0);
  }
  llvm::sort(report.seconds);
  return std::move(report);
}
