//===- Timing.h - Time of a kernel ------------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_TIMING_H
#define ATTN_TOOLS_ATTNRUN_TIMING_H

#include "Execution.h"
#include "Progress.h"

namespace attn::cli {

/// The median of numbers in ascending order.
double getMedian(llvm::ArrayRef<double> sorted);

/// What --bench measured of --baseline.
struct BaselineReport {
  std::string program;
  std::string entry;
  /// Seconds of each timed run, in ascending order.
  std::vector<double> seconds;
};

/// What --bench measured.
struct BenchReport {
  int64_t warmUps = 0;
  /// Seconds of each timed run, in ascending order.
  std::vector<double> seconds;
  std::optional<BaselineReport> baseline;
  /// What one run computes, if that is known.
  std::optional<Work> work;
  /// What the inputs and the results hold.
  uint64_t bytes = 0;

  double getMedian() const { return cli::getMedian(seconds); }
  /// An amount per second, by the median. None where the clock is too coarse to
  /// see a run.
  std::optional<double> getRate(double amount) const;
  /// How many times as long as ours the baseline takes, by medians; none as for
  /// a rate.
  std::optional<double> getRatio() const;
};

/// Runs a kernel repeatedly and, if it is not null, a baseline in turn with it,
/// which the caller names in the report.
llvm::Expected<BenchReport> measure(Execution &execution, Execution *baseline,
                                    mlir::func::FuncOp function,
                                    const Sizes &sizes, const Options &options,
                                    Progress &progress);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_TIMING_H
