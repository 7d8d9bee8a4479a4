//===- Checking.h - Comparison with the reference ---------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_CHECKING_H
#define ATTN_TOOLS_ATTNRUN_CHECKING_H

#include "Execution.h"
#include "Progress.h"
#include "attn/Reference/Check.h"

namespace attn::cli {

/// What --check found.
struct CheckReport {
  /// One for each result.
  std::vector<CheckResult> results;
  /// Whether a second run gave the same bits.
  std::vector<bool> isRepeated;
  /// The query rows compared of each head, 0 if all were.
  int64_t rows = 0;

  bool passed() const;
};

/// Compares the results of the run before with the reference, and then runs
/// again to compare the bits.
llvm::Expected<CheckReport>
checkResults(Execution &execution, mlir::func::FuncOp function,
             const Sizes &sizes, const Options &options, Progress &progress);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_CHECKING_H
