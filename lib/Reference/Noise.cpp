//===- Noise.cpp - Rounding noise through other operations ----------------===//

#include "Array.h"

using namespace attn;
using namespace attn::reference;

bool reference::hasNoise(const Array &array) {
  return !array.floats.empty() && array.noise.mean > 0;
}

Array reference::disturb(const Array &array) {
  Array result = array;
  // Signs without a pattern that sums would cancel or add up.
  uint64_t state = 0;
  for (double &element : result.floats) {
    state += 0x9e3779b97f4a7c15u;
    uint64_t mixed = (state ^ (state >> 30)) * 0xbf58476d1ce4e5b9u;
    element += mixed >> 63 ? array.noise.mean : -array.noise.mean;
  }
  return result;
}

RoundingNoise reference::measureNoise(const Array &result,
                                      const Array &disturbed,
                                      llvm::ArrayRef<const Array *> operands) {
  double sum = 0, most = 0;
  int64_t count = 0;
  for (auto [exact, other] : llvm::zip_equal(result.floats, disturbed.floats)) {
    double change = std::fabs(other - exact);
    if (!std::isfinite(change))
      continue;
    sum += change;
    most = std::max(most, change);
    ++count;
  }
  // By how much the worst operand, and chance, exceed the mean.
  RoundingNoise ratio;
  for (const Array *operand : operands) {
    if (!hasNoise(*operand))
      continue;
    const RoundingNoise &noise = operand->noise;
    ratio.max = std::max(ratio.max, noise.max / noise.mean);
    ratio.chanceMax = std::max(ratio.chanceMax, noise.chanceMax / noise.mean);
    ratio.chanceMean =
        std::max(ratio.chanceMean, noise.chanceMean / noise.mean);
  }
  RoundingNoise noise;
  noise.mean = count ? sum / static_cast<double>(count) : 0;
  noise.max = most * ratio.max;
  noise.chanceMax = most * ratio.chanceMax;
  noise.chanceMean = noise.mean * ratio.chanceMean;
  return noise;
}
