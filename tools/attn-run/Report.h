//===- Report.h - What attn-run prints --------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_REPORT_H
#define ATTN_TOOLS_ATTNRUN_REPORT_H

#include "Checking.h"
#include "MaskReport.h"
#include "SparsityReport.h"
#include "Timing.h"
#include "Tuning.h"

namespace attn::cli {

/// All there is to tell about a run, or about a program and its arguments where
/// only its masks are shown.
struct Report {
  const Options &options;
  const Kernel &kernel;
  const Execution &execution;
  std::string program;
  std::string entry;
  bool hasRun = true;
  std::optional<CheckReport> check;
  std::optional<BenchReport> bench;
  std::optional<MaskReport> mask;
  std::vector<SparsityReport> sparsity = {};
  std::optional<TuningReport> tuned = {};
};

std::string formatText(const Report &report);

/// One JSON object with all that the text tells. Numbers that JSON does not
/// have are the strings "nan", "inf" and "-inf".
std::string formatJSON(const Report &report);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_REPORT_H
