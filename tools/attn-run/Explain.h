//===- Explain.h - Which code runs, and why ---------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_EXPLAIN_H
#define ATTN_TOOLS_ATTNRUN_EXPLAIN_H

#include "Execution.h"
#include "Table.h"

namespace attn::cli {

/// A row for each variant, and for each kernel that runs beside it.
Table makeVariantTable(llvm::ArrayRef<VariantReport> reports);

/// Which code a run takes and why, what each variant of it takes of a GPU, and
/// which schedules were rejected; as text or as a JSON object.
llvm::Expected<std::string> explain(const Kernel &kernel,
                                    const Execution &execution, bool asJSON);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_EXPLAIN_H
