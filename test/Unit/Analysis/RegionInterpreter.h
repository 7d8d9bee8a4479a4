//===- RegionInterpreter.h - Evaluate a region of an attention --*- C++ -*-===//
//
// A plain interpreter of score, mask and blocks regions, written apart from
// the analysis that it is the judge of. Integers are 64-bit two's complement
// wrapped to the width of their type.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_TEST_UNIT_ANALYSIS_REGIONINTERPRETER_H
#define ATTN_TEST_UNIT_ANALYSIS_REGIONINTERPRETER_H

#include "mlir/IR/Region.h"
#include <cstdint>
#include <vector>

namespace mlir::attn::test {

/// A value of a region: an integer, a float, or a captured tensor of integers
/// of rank 1.
struct Scalar {
  int64_t integer = 0;
  double real = 0;
  const std::vector<int64_t> *tensor = nullptr;

  static Scalar of(int64_t integer) { return {integer, 0, nullptr}; }
  static Scalar ofReal(double real) { return {0, real, nullptr}; }
  static Scalar of(const std::vector<int64_t> &tensor) {
    return {0, 0, &tensor};
  }
};

/// The values that `region` yields for these arguments. Fails the current test
/// at an operation that it does not know or an index that is out of range.
std::vector<Scalar> interpret(mlir::Region &region,
                              const std::vector<Scalar> &arguments);

} // namespace mlir::attn::test

#endif // ATTN_TEST_UNIT_ANALYSIS_REGIONINTERPRETER_H
