//===- Printer.h - Random programs as MLIR ----------------------*- C++ -*-===//

#ifndef ATTN_TEST_PROPERTY_PRINTER_H
#define ATTN_TEST_PROPERTY_PRINTER_H

#include "Program.h"
#include "llvm/Support/raw_ostream.h"

namespace attn::property {

/// Arranges extents of b, h, s and d in a layout, without d for lse.
Shape arrange(llvm::StringRef layout, int64_t b, int64_t h, int64_t s,
              std::optional<int64_t> d);

/// The type of an input with its free extents.
std::string getInputType(const Program &program, size_t input);

/// Prints the body of a region that yields an expression.
void printRegion(const Program &program, const ExprRef &expr,
                 llvm::raw_ostream &os);

/// Prints that of a score, or of the argument without one, with a weight behind
/// it where there is dropout.
void printScore(const Program &program, const Attention &attention,
                llvm::raw_ostream &os);

} // namespace attn::property

#endif // ATTN_TEST_PROPERTY_PRINTER_H
