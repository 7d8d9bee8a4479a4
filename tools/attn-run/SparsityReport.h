//===- SparsityReport.h - Which form a sparsity runs in ---------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_SPARSITYREPORT_H
#define ATTN_TOOLS_ATTNRUN_SPARSITYREPORT_H

#include "Execution.h"
#include "Program.h"

namespace attn::cli {

/// An attention with lists of single keys, with these arguments.
struct SparsityReport {
  /// "lists", "dense" or "gathered".
  std::string form;
  /// The part of all pairs that is in lists.
  double density = 0;
};

/// Of each attention with lists that are arguments of the program, in order.
llvm::Expected<std::vector<SparsityReport>>
surveySparsity(Program &program, const Kernel &kernel,
               const Execution &execution, const Options &options);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_SPARSITYREPORT_H
