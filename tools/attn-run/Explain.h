//===- Explain.h - Which code runs, and why ---------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_EXPLAIN_H
#define ATTN_TOOLS_ATTNRUN_EXPLAIN_H

#include "Execution.h"
#include "Table.h"

namespace attn::cli {

/// A row for each variant, and for each kernel that runs beside it.
Table makeVariantTable(llvm::ArrayRef<VariantReport> reports);

/// Which code a run takes and why, what each variant of it takes of a GPU, what
/// is tuned, which rows of the table of schedules were ruled out and which
/// schedules rejected, and what kernels for a GPU lack where a CPU runs in its
/// place; as text or as a JSON object.
llvm::Expected<std::string> explain(const Kernel &kernel,
                                    const Execution &execution,
                                    llvm::ArrayRef<KernelObstacle> obstacles,
                                    bool asJSON);

/// What all kernels lack where there is none to run a program.
std::string explainObstacles(llvm::StringRef entry,
                             llvm::ArrayRef<KernelObstacle> obstacles,
                             bool asJSON);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_EXPLAIN_H
