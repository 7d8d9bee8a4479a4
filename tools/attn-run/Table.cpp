//===- Table.cpp - Aligned columns ----------------------------------------===//

#include "Table.h"
#include "llvm/ADT/STLExtras.h"

using namespace attn::cli;

void attn::cli::printTable(llvm::raw_ostream &os, const Table &rows) {
  std::vector<size_t> widths;
  for (const std::vector<std::string> &row : rows) {
    widths.resize(std::max(widths.size(), row.size()));
    for (auto [width, cell] : llvm::zip(widths, row))
      width = std::max(width, cell.size());
  }
  for (const std::vector<std::string> &row : rows) {
    std::string line;
    for (auto [width, cell] : llvm::zip(widths, row)) {
      line += "  " + cell;
      line.append(width - cell.size(), ' ');
    }
    os << llvm::StringRef(line).rtrim() << '\n';
  }
}
