//===- Timing.h - Time of a kernel ------------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_TIMING_H
#define ATTN_TOOLS_ATTNRUN_TIMING_H

#include "Execution.h"
#include "Progress.h"

namespace attn::cli {

/// What --bench measured.
struct BenchReport {
  int64_t warmUps = 0;
  /// Seconds of each timed run, in ascending order.
  std::vector<double> seconds;
  /// What one run computes, if that is known.
  std::optional<Work> work;
  /// What the inputs and the results hold.
  uint64_t bytes = 0;

  double getMedian() const;
};

/// Runs a kernel repeatedly.
llvm::Expected<BenchReport> measure(Execution &execution,
                                    mlir::func::FuncOp function,
                                    const Sizes &sizes, const Options &options,
                                    Progress &progress);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_TIMING_H
