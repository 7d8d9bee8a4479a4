//===- Summary.cpp - A tensor in a few numbers ----------------------------===//

#include "Summary.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace attn;
using namespace attn::cli;

Summary cli::summarize(const Tensor &tensor) {
  constexpr int64_t numFirst = 4;
  Summary summary;
  double sum = 0;
  for (int64_t i = 0; i < tensor.getNumElements(); ++i) {
    double value = tensor.getAsDouble(i);
    if (i < numFirst)
      summary.first.push_back(value);
    if (std::isnan(value)) {
      ++summary.numNaN;
    } else if (std::isinf(value)) {
      ++(value > 0 ? summary.numPosInf : summary.numNegInf);
    } else {
      bool isFirst = summary.numFinite++ == 0;
      summary.min = isFirst ? value : std::min(summary.min, value);
      summary.max = isFirst ? value : std::max(summary.max, value);
      sum += value;
    }
  }
  if (summary.numFinite != 0)
    summary.mean = sum / double(summary.numFinite);
  return summary;
}

std::string cli::formatNumber(double value, int digits) {
  if (std::isnan(value))
    return "nan";
  if (std::isinf(value))
    return value > 0 ? "inf" : "-inf";
  std::string text;
  llvm::raw_string_ostream os(text);
  os << llvm::format("%.*g", digits, value);
  return text;
}
