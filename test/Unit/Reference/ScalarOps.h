//===- ScalarOps.h - Evaluate one operation on scalars ----------*- C++ -*-===//

#ifndef ATTN_TEST_UNIT_REFERENCE_SCALAROPS_H
#define ATTN_TEST_UNIT_REFERENCE_SCALAROPS_H

#include "TestHelpers.h"
#include <cmath>
#include <set>

namespace attn::test {

using Ints = std::vector<int64_t>;
using Doubles = std::vector<double>;

/// Equal in each bit but those of a NaN.
inline bool isSame(double a, double b) {
  return (std::isnan(a) && std::isnan(b)) ||
         (a == b && std::signbit(a) == std::signbit(b));
}

/// One operand: its type in MLIR and in memory, and its values.
struct Column {
  std::string type;
  DType dtype;
  Doubles values;
};

/// Evaluates operations that define %r from the operands %a, %b, %c, for each
/// row of the columns.
EvaluatedTensor evaluateRows(const std::string &ops,
                             const std::string &resultType,
                             llvm::ArrayRef<Column> columns,
                             EvaluatorOptions options = {});

/// Evaluates a cast of the samples.
EvaluatedTensor evaluateCast(const std::string &name, const std::string &from,
                             DType fromType, const std::string &to,
                             llvm::ArrayRef<double> samples,
                             EvaluatorOptions options = {});

/// Names of the operations that the tests of a file cover.
void addFloatOps(std::set<std::string> &names);
void addIntegerOps(std::set<std::string> &names);
void addCasts(std::set<std::string> &names);

} // namespace attn::test

#endif // ATTN_TEST_UNIT_REFERENCE_SCALAROPS_H
