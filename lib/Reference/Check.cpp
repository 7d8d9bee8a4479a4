//===- Check.cpp - The rule by which results are right --------------------===//

#include "attn/Reference/Check.h"
#include "ElementType.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/raw_ostream.h"

using namespace attn;
using namespace attn::reference;

static constexpr double kMeanFactor = 1.1;
static constexpr double kMaxFactor = 2;

/// "(0, 1, 7, 3)".
static std::string formatIndex(int64_t position,
                               llvm::ArrayRef<int64_t> shape) {
  llvm::SmallVector<int64_t> index(shape.size(), 0);
  for (size_t dim = shape.size(); dim-- > 0; position /= shape[dim])
    index[dim] = position % shape[dim];
  std::string text;
  llvm::raw_string_ostream stream(text);
  stream << "(";
  llvm::interleaveComma(index, stream);
  stream << ")";
  return text;
}

static std::string formatNumber(double value) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("%.4g", value);
  return text;
}

/// The distance of neighbouring numbers of a type at a magnitude.
static double getUnit(ElementType::Kind kind, double magnitude) {
  if (magnitude == 0)
    return 0;
  return std::ldexp(getEpsilon(kind), std::ilogb(magnitude));
}

static double getRatio(double error, double eager) {
  if (error == 0)
    return 0;
  return error / eager;
}

namespace {
/// Sums up one side's errors.
struct Errors {
  double max = 0;
  double sum = 0;
  int64_t count = 0;
  int64_t worst = -1;

  void add(int64_t index, double error) {
    ++count;
    sum += error;
    if (worst >= 0 && error <= max)
      return;
    max = error;
    worst = index;
  }
  double mean() const { return count ? sum / static_cast<double>(count) : 0.0; }
};
} // namespace

/// How many of some numbers differ.
static size_t countDifferent(std::vector<double> &values) {
  llvm::sort(values);
  return std::distance(values.begin(), llvm::unique(values));
}

/// Sets the floors, for elements of which `magnitudes` holds the absolute
/// values, so many of which differ.
static void setFloors(CheckResult &check, const EvaluatedTensor &reference,
                      const Errors &magnitudes, size_t numDifferent) {
  ElementType::Kind kind = getElementType(reference.dtype).kind;
  if (magnitudes.count == 0)
    return;
  RoundingNoise noise = reference.noise;
  double maxUnit = getUnit(kind, magnitudes.max);
  double meanUnit = getUnit(kind, magnitudes.mean());
  if (noise.max == 0) {
    noise.max = 4 * maxUnit;
    noise.mean = meanUnit;
  }
  double chance =
      std::min(1.0, 8 / std::sqrt(static_cast<double>(numDifferent)));
  check.maxFloor = maxUnit + noise.max + chance * noise.chanceMax;
  // One of few elements may have the largest noise.
  check.meanFloor = noise.mean + noise.max / double(magnitudes.count) +
                    chance * (meanUnit / 2 + noise.chanceMean);
}

static void checkFloats(CheckResult &check, const Tensor &result,
                        const EvaluatedTensor &reference,
                        const EvaluatedTensor &eager) {
  ElementType::Kind kind = getElementType(reference.dtype).kind;
  Errors errors, eagerErrors, magnitudes;
  std::vector<double> values;
  int64_t firstMismatch = -1;
  for (int64_t index = 0; index < reference.getNumElements(); ++index) {
    if (!reference.isEvaluated(index))
      continue;
    ++check.numCompared;
    double expected = reference.floats[index];
    // A number that is too large for the type is an infinity of it.
    if (std::isinf(roundTo(kind, expected)))
      expected = roundTo(kind, expected);
    double got = result.getAsDouble(index);
    if (!std::isfinite(expected) || !std::isfinite(got)) {
      if (expected == got || (std::isnan(expected) && std::isnan(got)))
        continue;
      ++check.numMismatches;
      if (firstMismatch < 0)
        firstMismatch = index;
      continue;
    }
    magnitudes.add(index, std::fabs(expected));
    values.push_back(expected);
    errors.add(index, std::fabs(got - expected));
    double eagerError = std::fabs(eager.floats[index] - expected);
    if (std::isfinite(eagerError))
      eagerErrors.add(index, eagerError);
    else
      ++check.numEagerOverflows;
  }
  check.maxError = errors.max;
  check.meanError = errors.mean();
  check.eagerMax = eagerErrors.max;
  check.eagerMean = eagerErrors.mean();
  check.maxRatio = getRatio(check.maxError, check.eagerMax);
  check.meanRatio = getRatio(check.meanError, check.eagerMean);
  setFloors(check, reference, magnitudes, countDifferent(values));
  check.maxBound = kMaxFactor * check.eagerMax + check.maxFloor;
  check.meanBound = kMeanFactor * check.eagerMean + check.meanFloor;
  check.worstIndex = firstMismatch >= 0 ? firstMismatch : errors.worst;

  auto describe = [&](const char *what, double error, double ratio,
                      double eagerError, double factor, double floor) {
    return std::string(what) + " error " + formatNumber(error) + ", " +
           formatNumber(ratio) + " x eager (" + formatNumber(eagerError) +
           "), is above " + formatNumber(factor) + " x eager + " +
           formatNumber(floor);
  };
  if (check.numMismatches)
    check.reason = std::to_string(check.numMismatches) +
                   " elements are NaN or infinite on one side, first at " +
                   formatIndex(firstMismatch, reference.shape) + ": expects " +
                   formatNumber(reference.floats[firstMismatch]) +
                   ", but got " +
                   formatNumber(result.getAsDouble(firstMismatch));
  else if (check.maxError > check.maxBound)
    check.reason =
        describe("max", check.maxError, check.maxRatio, check.eagerMax,
                 kMaxFactor, check.maxFloor) +
        ", at " + formatIndex(check.worstIndex, reference.shape) +
        ": expects " + formatNumber(reference.floats[check.worstIndex]) +
        ", but got " + formatNumber(result.getAsDouble(check.worstIndex));
  else if (check.meanError > check.meanBound)
    check.reason = describe("mean", check.meanError, check.meanRatio,
                            check.eagerMean, kMeanFactor, check.meanFloor);
}

static void checkInts(CheckResult &check, const Tensor &result,
                      const EvaluatedTensor &reference,
                      const EvaluatedTensor &eager) {
  for (int64_t index = 0; index < reference.getNumElements(); ++index) {
    ++check.numCompared;
    int64_t got = result.getAsInt(index);
    if (got == reference.ints[index] || got == eager.ints[index])
      continue;
    if (check.numMismatches++ == 0)
      check.worstIndex = index;
  }
  if (check.numMismatches)
    check.reason =
        std::to_string(check.numMismatches) + " integers differ, first at " +
        formatIndex(check.worstIndex, reference.shape) + ": expects " +
        std::to_string(reference.ints[check.worstIndex]) + ", but got " +
        std::to_string(result.getAsInt(check.worstIndex));
}

CheckResult attn::checkResult(const Tensor &result,
                              const EvaluatedTensor &reference,
                              const EvaluatedTensor &eager) {
  CheckResult check;
  for (auto [shape, dtype] :
       {std::pair(result.getShape(), result.getDType()),
        std::pair(llvm::ArrayRef<int64_t>(eager.shape), eager.dtype)})
    if (shape != llvm::ArrayRef<int64_t>(reference.shape) ||
        dtype != reference.dtype) {
      check.reason = "expects " +
                     formatTensorType(reference.shape, reference.dtype) +
                     ", but got " + formatTensorType(shape, dtype);
      return check;
    }
  if (isFloat(reference.dtype))
    checkFloats(check, result, reference, eager);
  else
    checkInts(check, result, reference, eager);
  check.pass = check.reason.empty();
  return check;
}
