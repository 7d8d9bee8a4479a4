//===- Tuning.h - Tuning the schedule of a program --------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_TUNING_H
#define ATTN_TOOLS_ATTNRUN_TUNING_H

#include "Options.h"
#include "Program.h"
#include "Progress.h"
#include "attn/JIT/Kernel.h"
#include "attn/Tune/Tuner.h"

namespace attn::cli {

struct TuningReport {
  tune::TuneResult result;
  /// What has won and by how much.
  CompileReport::Remark remark;
};

/// Tunes a program on the arguments that the options tell. This program is the
/// worker, too.
llvm::Expected<TuningReport> tuneProgram(const Options &options,
                                         Program &program, const Kernel &kernel,
                                         const CompileOptions &compile,
                                         Progress &progress);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_TUNING_H
