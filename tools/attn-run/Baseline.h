//===- Baseline.h - Another program to measure against ----------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_BASELINE_H
#define ATTN_TOOLS_ATTNRUN_BASELINE_H

#include "Execution.h"

namespace attn::cli {

/// The program of --baseline, ready to run.
struct Baseline {
  std::string program;
  std::string entry;
  Execution execution;
};

/// Compiles the program of --baseline for the device of `kernel`, on the inputs
/// of its execution. Fails if its inputs or results are of other types.
llvm::Expected<Baseline> makeBaseline(const Options &options,
                                      const Kernel &kernel,
                                      const Execution &execution);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_BASELINE_H
