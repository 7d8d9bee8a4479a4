//===- Timing.cpp - Time of a kernel --------------------------------------===//

#include "Timing.h"
#include "llvm/ADT/STLExtras.h"
#include <numeric>

using namespace attn;
using namespace attn::cli;
using llvm::Error;
using llvm::Expected;

double cli::getMedian(llvm::ArrayRef<double> sorted) {
  size_t middle = sorted.size() / 2;
  if (sorted.size() % 2 == 1)
    return sorted[middle];
  return (sorted[middle - 1] + sorted[middle]) / 2;
}

std::optional<double> BenchReport::getRate(double amount) const {
  double seconds = getMedian();
  if (seconds <= 0)
    return std::nullopt;
  return amount / seconds;
}

std::optional<double> BenchReport::getRatio() const {
  return getRate(cli::getMedian(baseline->seconds));
}

/// Appends the times of some runs and returns their sum.
static Expected<double> append(std::vector<double> &seconds,
                               Execution &execution, size_t count) {
  Expected<std::vector<double>> more = execution.measure(count);
  if (!more)
    return more.takeError();
  llvm::append_range(seconds, *more);
  return std::accumulate(more->begin(), more->end(), 0.0);
}

Expected<BenchReport> cli::measure(Execution &execution, Execution *baseline,
                                   mlir::func::FuncOp function,
                                   const Sizes &sizes, const Options &options,
                                   Progress &progress) {
  // Enough for a clock that the processor raises, and for a median that a few
  // interruptions do not move.
  constexpr double warmUpSeconds = 0.1;
  constexpr double minSeconds = 0.5;
  constexpr size_t minRuns = 10;
  constexpr size_t maxRuns = 100000;
  // In turn with a baseline, so few runs at a time that a change of the clock
  // or of the load meets both.
  constexpr size_t turn = 5;

  BenchReport report;
  report.work = countWork(function, sizes);
  report.bytes = execution.getTotalBytes();
  progress.show("warming up");
  std::vector<double> ignored;
  for (double sum = 0; report.warmUps == 0 || sum < warmUpSeconds;
       report.warmUps = ignored.size()) {
    Expected<double> seconds = append(ignored, execution, minRuns);
    if (!seconds)
      return seconds.takeError();
    sum += *seconds;
  }
  std::vector<double> other;
  for (double sum = 0; baseline && (other.empty() || sum < warmUpSeconds);) {
    Expected<double> seconds = append(other, *baseline, minRuns);
    if (!seconds)
      return seconds.takeError();
    sum += *seconds;
  }
  other.clear();

  progress.show("measuring");
  size_t wanted = options.benchRuns;
  for (double sum = 0;;) {
    size_t count = report.seconds.size();
    if (wanted ? count == wanted
               : (count >= minRuns && sum >= minSeconds) || count == maxRuns)
      break;
    size_t left = (wanted ? wanted : maxRuns) - count;
    if (baseline)
      left = std::min(left, turn);
    Expected<double> seconds = append(report.seconds, execution, left);
    if (!seconds)
      return seconds.takeError();
    sum += *seconds;
    // As many of the baseline.
    while (baseline && other.size() < report.seconds.size()) {
      seconds = append(other, *baseline, report.seconds.size() - other.size());
      if (!seconds)
        return seconds.takeError();
    }
  }
  llvm::sort(report.seconds);
  if (baseline) {
    llvm::sort(other);
    report.baseline = BaselineReport{"", "", std::move(other)};
  }
  return std::move(report);
}
