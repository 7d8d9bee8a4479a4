//===- Summary.h - A tensor in a few numbers --------------------*- C++ -*-===//

#ifndef ATTN_TOOLS_ATTNRUN_SUMMARY_H
#define ATTN_TOOLS_ATTNRUN_SUMMARY_H

#include "attn/Support/Tensor.h"

namespace attn::cli {

/// The numbers in a tensor. The extremes and the mean are of the finite ones,
/// and 0 if there is none.
struct Summary {
  double min = 0;
  double max = 0;
  double mean = 0;
  int64_t numFinite = 0;
  int64_t numNaN = 0;
  int64_t numPosInf = 0;
  int64_t numNegInf = 0;
  /// The first elements in row-major order.
  std::vector<double> first;
};

Summary summarize(const Tensor &tensor);

/// A number as short as possible with up to `digits` significant digits; "nan",
/// "inf", "-inf".
std::string formatNumber(double value, int digits = 5);

} // namespace attn::cli

#endif // ATTN_TOOLS_ATTNRUN_SUMMARY_H
