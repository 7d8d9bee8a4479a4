//===- Table.h - Aligned columns --------------------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_TABLE_H
#define ATTN_TOOLS_ATTNRUN_TABLE_H

#include "llvm/Support/raw_ostream.h"
#include <string>
#include <vector>

namespace attn::cli {

/// Rows of cells; a row may end early.
using Table = std::vector<std::vector<std::string>>;

/// Prints rows with their columns aligned.
void printTable(llvm::raw_ostream &os, const Table &rows);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_TABLE_H
