//===- AttentionGrad.cpp - Evaluate gradients of attention ----------------===//
//
// One query head after the other: a row of probabilities and one of the scores'
// gradients for each query, as an eager framework has them as matrices, and
// then the products of these matrices with queries, keys and gradients of
// results.
//
//===----------------------------------------------------------------------===//

#include "AttentionGrad.h"
#include "GradientScore.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
using mlir::attn::kGradCapture;
using mlir::attn::kGradKey;
using mlir::attn::kGradQuery;
using mlir::attn::kGradValue;
using mlir::attn::Layout;

namespace {
/// A tensor of b, h, s, d, or of b, h, s, in logical order.
class Logical {
public:
  Logical() = default;
  Logical(const Array *array, Layout layout) {
    if (!array)
      return;
    data = const_cast<double *>(array->floats.data());
    Shape all = array->strides();
    bool hasDim = all.size() == 4;
    auto stride = [&](unsigned dim) {
      return all[hasDim ? dim : layout.rowDim(dim)];
    };
    strides = {stride(layout.b), stride(layout.h), stride(layout.s),
               hasDim ? all[layout.d] : 0};
  }
  explicit operator bool() const { return data; }
  int64_t getOffset(int64_t b, int64_t h, int64_t s, int64_t d) const {
    return b * strides[0] + h * strides[1] + s * strides[2] + d * strides[3];
  }
  double &at(int64_t b, int64_t h, int64_t s, int64_t d = 0) const {
    return data[getOffset(b, h, s, d)];
  }
  /// The matrix of a head, of rows or, transposed, of columns.
  void pack(PanelMatrix &matrix, int64_t b, int64_t h, int64_t rows,
            int64_t dims, bool transposed) const {
    if (transposed)
      matrix.resize(dims, rows);
    else
      matrix.resize(rows, dims);
    for (int64_t s = 0; s < rows; ++s)
      for (int64_t d = 0; d < dims; ++d)
        (transposed ? matrix.at(d, s) : matrix.at(s, d)) = at(b, h, s, d);
  }

private:
  double *data = nullptr;
  std::array<int64_t, 4> strides = {};
};

class GradientEvaluator {
public:
  GradientEvaluator(mlir::attn::AttentionGradOp op,
                    const GradientInputs &inputs,
                    llvm::ArrayRef<const Array *> outs,
                    const EvaluatorOptions &options)
      : op(op), like(op), inputs(inputs), outs(outs), options(options) {}

  Expected<Arrays> run();

private:
  Error checkShapes();
  Error runHead(int64_t b, int64_t h);
  Error runRow(AttentionRows::Row &row);
  void setNoise();
  double round(double value) const { return rounding.round(value); }
  double roundAccumulator(double value) const {
    return rounding.roundAccumulator(value);
  }

  mlir::attn::AttentionGradOp op;
  mlir::attn::AttentionLikeOpInterface like;
  const GradientInputs &inputs;
  llvm::ArrayRef<const Array *> outs;
  const EvaluatorOptions &options;

  std::unique_ptr<AttentionRows> rows;
  AttentionSizes sizes;
  GradientRounding rounding;
  double scale = 1;

  Logical query, key, value, output, lse, outputGrad, lseGrad;
  Logical queryGrad, keyGrad, valueGrad;
  Arrays results;

  /// Null for none.
  std::unique_ptr<GradientScore> score;

  // Of the head at hand. Of a matrix of queries by keys, the transpose is kept:
  // column i is that of query i.
  PanelMatrix keysTransposed, keys, valuesTransposed, queries, gradients;
  PanelMatrix squaredKeys, squaredQueries, squaredGradients;
  std::vector<double> probabilities, products;
  int64_t paddedKeys = 0;

  // For the noise, of the reference only: how large the terms of the gradients
  // of products are, squares of the terms of each element of each result, and
  // numbers that probabilities are computed from.
  std::vector<double> weights;
  std::vector<std::vector<double>> variances;
  // The same of what rounding o to 16 bits leaves of delta, for dq and dk.
  std::vector<double> savedWeights;
  std::vector<std::vector<double>> savedVariances;
  double largestScore = 0, largestLse = 0, sumOfLse = 0;
  int64_t numLse = 0;
};
} // namespace

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Error GradientEvaluator::checkShapes() {
  auto expect = [&](const char *name, const Array *array,
                    llvm::ArrayRef<int64_t> shape) -> Error {
    if (!array || llvm::ArrayRef<int64_t>(array->shape) == shape)
      return Error::success();
    return makeError(op, "expects " + llvm::Twine(name) + " to have shape " +
                             formatShape(shape) + ", but got " +
                             formatShape(array->shape));
  };
  Layout layout = like.getLayout(3);
  auto ofOutput =
      layout.arrange(sizes.batch, sizes.heads, sizes.queries, sizes.valueDim);
  auto ofRows = layout.arrangeRows(sizes.batch, sizes.heads, sizes.queries);
  if (Error error = expect("o", inputs.output, ofOutput))
    return error;
  if (Error error = expect("do", inputs.outputGrad, ofOutput))
    return error;
  if (Error error = expect("lse", inputs.lse, ofRows))
    return error;
  if (Error error = expect("dlse", inputs.lseGrad, ofRows))
    return error;
  for (auto [input, out] : llvm::zip_equal(op.getWrt(), outs)) {
    const Array *primal = input == kGradQuery ? inputs.attention.query
                          : input == kGradKey ? inputs.attention.key
                          : input == kGradValue
                              ? inputs.attention.value
                              : inputs.attention.captures[input - kGradCapture];
    if (Error error = expect("a gradient", out, primal->shape))
      return error;
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

/// Scores become probabilities, and `row.p` the gradients of the products
/// before scaling.
Error GradientEvaluator::runRow(AttentionRows::Row &row) {
  RowId id = row.id;
  int64_t numKeys = sizes.keys;
  double *p = &probabilities[id.i * paddedKeys];
  double *dx = &products[id.i * paddedKeys];
  double *weight = &weights[id.i * paddedKeys];
  std::fill_n(weight, paddedKeys, 0.0);
  std::fill_n(p, paddedKeys, 0.0);
  std::fill_n(dx, paddedKeys, 0.0);
  if (!savedWeights.empty())
    std::fill_n(&savedWeights[id.i * paddedKeys], paddedKeys, 0.0);
  std::string text = rows->computeMask(row);
  if (!text.empty())
    return llvm::createStringError(text);
  double logSum = lse.at(id.b, id.h, id.i);
  if (row.numAllowed == 0 || logSum == -HUGE_VAL)
    return Error::success();

  std::vector<double> q(sizes.dim), grad(sizes.valueDim);
  double delta = 0;
  long double wideDelta = 0;
  for (int64_t d = 0; d < sizes.dim; ++d)
    q[d] = query.at(id.b, id.h, id.i, d);
  double squaredDelta = 0;
  for (int64_t e = 0; e < sizes.valueDim; ++e) {
    grad[e] = outputGrad.at(id.b, id.h, id.i, e);
    double term = grad[e] * output.at(id.b, id.h, id.i, e);
    wideDelta +=
        static_cast<long double>(grad[e]) * output.at(id.b, id.h, id.i, e);
    squaredDelta += term * term;
  }
  std::vector<double> s(paddedKeys), dp(paddedKeys);
  // What probabilities are multiplied by.
  std::vector<double> factors(paddedKeys, 1.0);
  int64_t numPanels = paddedKeys / PanelMatrix::kWidth;
  multiplyPanels(q.data(), keysTransposed, 0, numPanels,
                 rounding.eager ? 1.0 : scale, rounding.sums, s.data());
  multiplyPanels(grad.data(), valuesTransposed, 0, numPanels, 1.0,
                 rounding.sums, dp.data());
  if (rounding.eager) {
    eagerScale(s.data(), numKeys, scale, rounding.sums, rounding.kind);
    roundRow(dp.data(), numKeys, rounding.kind);
  }
  // Lanes of a chunk of keys have to be looked at before the next one runs.
  if (score)
    if (std::string text =
            score->setRow(id, llvm::find(row.allowed, 1) - row.allowed.begin());
        !text.empty())
      return llvm::createStringError(text);
  auto forEachChunk =
      [&](llvm::function_ref<Error(int64_t, llvm::ArrayRef<int64_t>)> body)
      -> Error {
    for (int64_t begin = 0; begin < numKeys; begin += kLanes) {
      llvm::SmallVector<int64_t> lanes;
      for (int64_t l = 0; l < std::min<int64_t>(kLanes, numKeys - begin); ++l)
        if (row.allowed[begin + l])
          lanes.push_back(l);
      if (score && !lanes.empty())
        if (std::string text = score->run(s, begin, lanes); !text.empty())
          return llvm::createStringError(text);
      if (Error error = body(begin, lanes))
        return error;
    }
    return Error::success();
  };
  auto setProbabilities = [&](int64_t begin, llvm::ArrayRef<int64_t> lanes) {
    for (auto [lane, at] : llvm::enumerate(lanes)) {
      double value = score ? score->getScore(lane) : s[begin + at];
      if (score && score->hasWeight())
        factors[begin + at] = score->getWeight(lane);
      if (rounding.eager)
        value = round(value);
      p[begin + at] = round(
          rounding.sums == Sums::Extended
              ? double(std::exp(static_cast<long double>(value) - logSum))
              : roundAccumulator(std::exp(roundAccumulator(value - logSum))));
    }
    return Error::success();
  };
  if (Error error = forEachChunk(setProbabilities))
    return error;
  if (score && score->hasWeight())
    for (int64_t j = 0; j < numKeys; ++j)
      dp[j] = round(dp[j] * factors[j]);
  if (rounding.eager)
    for (int64_t j = 0; j < numKeys; ++j)
      delta = roundAccumulator(delta + (p[j] == 0 ? 0 : p[j] * dp[j]));
  double ofLse = lseGrad ? lseGrad.at(id.b, id.h, id.i) : 0;
  double ofRow = rounding.eager ? roundAccumulator(delta - ofLse)
                                : static_cast<double>(wideDelta - ofLse);
  double *saved =
      savedWeights.empty() ? nullptr : &savedWeights[id.i * paddedKeys];
  for (int64_t j = 0; j < numKeys; ++j)
    if (p[j] != 0) {
      dx[j] = round(p[j] * roundAccumulator(dp[j] - ofRow));
      double magnitude = std::fabs(dp[j]) + std::fabs(ofRow);
      weight[j] = p[j] * magnitude;
      if (saved)
        saved[j] = magnitude == 0 ? 0 : std::sqrt(squaredDelta) / magnitude;
      largestScore = std::max(largestScore, std::fabs(std::log(p[j]) + logSum));
    }
  largestLse = std::max(largestLse, std::fabs(logSum));
  sumOfLse += std::fabs(logSum);
  ++numLse;
  if (score)
    if (Error error =
            forEachChunk([&](int64_t begin, llvm::ArrayRef<int64_t> lanes) {
              score->reverse(begin, lanes, dx, weight);
              return Error::success();
            }))
      return error;
  for (int64_t j = 0; j < numKeys; ++j) {
    dx[j] = round(dx[j] * scale);
    weight[j] *= std::fabs(scale);
    if (saved)
      saved[j] *= weight[j];
    // Values are multiplied by these.
    p[j] = round(p[j] * factors[j]);
  }
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Heads
//===----------------------------------------------------------------------===//

static PanelMatrix squareElements(PanelMatrix matrix, int64_t rows,
                                  int64_t columns) {
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t column = 0; column < columns; ++column)
      matrix.at(row, column) *= matrix.at(row, column);
  return matrix;
}

namespace {
/// Of the roots of the elements that are finite.
struct Spread {
  explicit Spread(llvm::ArrayRef<double> variance) {
    for (double element : variance) {
      double spread = std::sqrt(element);
      if (!std::isfinite(spread))
        continue;
      largest = std::max(largest, spread);
      mean += spread / static_cast<double>(variance.size());
    }
  }
  double largest = 0, mean = 0;
};
} // namespace

/// What rounding leaves undecided: probabilities come from scores and lse that
/// are kept in the accumulator type. Check.h has the rule.
void GradientEvaluator::setNoise() {
  double accumulator = getEpsilon(
      rounding.kind == ElementType::F64 ? rounding.kind : ElementType::F32);
  double meanLse = numLse ? sumOfLse / static_cast<double>(numLse) : 0;
  for (auto [result, variance, savedVariance] :
       llvm::zip_equal(results, variances, savedVariances)) {
    Spread terms(variance);
    if (terms.largest == 0)
      continue;
    result->noise.max =
        accumulator * (2 + largestScore + largestLse) * terms.largest;
    result->noise.mean = accumulator * (1 + meanLse) * terms.mean;
    // What is saved of o is rounded to the element type.
    double input = getEpsilon(rounding.kind);
    result->noise.chanceMax = input * terms.largest;
    result->noise.chanceMean = 2 * input * terms.mean;
    Spread saved(savedVariance);
    result->noise.max += input * saved.largest;
    result->noise.mean += input / 4 * saved.mean;
  }
}

Error GradientEvaluator::runHead(int64_t b, int64_t h) {
  int64_t c = sizes.kvBatch == 1 ? 0 : b;
  int64_t g = h / (sizes.heads / sizes.kvHeads);
  key.pack(keysTransposed, c, g, sizes.keys, sizes.dim, /*transposed=*/true);
  key.pack(keys, c, g, sizes.keys, sizes.dim, /*transposed=*/false);
  value.pack(valuesTransposed, c, g, sizes.keys, sizes.valueDim,
             /*transposed=*/true);
  query.pack(queries, b, h, sizes.queries, sizes.dim, /*transposed=*/false);
  outputGrad.pack(gradients, b, h, sizes.queries, sizes.valueDim,
                  /*transposed=*/false);
  if (!rounding.eager) {
    squaredKeys = squareElements(keys, sizes.keys, sizes.dim);
    squaredQueries = squareElements(queries, sizes.queries, sizes.dim);
    squaredGradients = squareElements(gradients, sizes.queries, sizes.valueDim);
  }
  AttentionRows::Row row = rows->makeRow();
  for (int64_t i = 0; i < sizes.queries; ++i) {
    row.id = {b, h, i};
    if (Error error = runRow(row))
      return error;
  }

  // Rows and columns of these matrices, times rows of tensors. What is not a
  // number there does not meet a 0.
  auto multiply = [&](const std::vector<double> &line,
                      const PanelMatrix &matrix, std::vector<double> &sum,
                      Sums sums) {
    std::vector<uint8_t> takesPart(line.size());
    for (size_t n = 0; n < line.size(); ++n)
      takesPart[n] = line[n] != 0;
    sum.resize(matrix.getNumPanels() * PanelMatrix::kWidth);
    KeySpans spans;
    if (!line.empty())
      spans.push_back({0, int64_t(line.size())});
    multiplyRows(line.data(), spans, takesPart.data(), matrix, sums,
                 sum.data());
  };
  std::vector<double> line, sum;
  auto getVariance = [&](int64_t input, auto &all) -> std::vector<double> * {
    auto found = llvm::find(op.getWrt(), input);
    if (found == op.getWrt().end())
      return nullptr;
    std::vector<double> &variance = all[found - op.getWrt().begin()];
    return variance.empty() ? nullptr : &variance;
  };
  auto square = [](std::vector<double> &numbers) {
    for (double &number : numbers)
      number *= number;
  };
  for (int64_t i = 0; queryGrad && i < sizes.queries; ++i) {
    const double *dx = &products[i * paddedKeys];
    line.assign(dx, dx + sizes.keys);
    multiply(line, keys, sum, rounding.sums);
    for (int64_t d = 0; d < sizes.dim; ++d)
      queryGrad.at(b, h, i, d) = round(sum[d]);
    if (rounding.eager)
      continue;
    line.assign(&weights[i * paddedKeys],
                &weights[i * paddedKeys] + sizes.keys);
    square(line);
    multiply(line, squaredKeys, sum, Sums::Reference);
    for (int64_t d = 0; d < sizes.dim; ++d)
      (*getVariance(kGradQuery, variances))[queryGrad.getOffset(b, h, i, d)] =
          sum[d];
    std::vector<double> *saved = getVariance(kGradQuery, savedVariances);
    if (!saved)
      continue;
    line.assign(&savedWeights[i * paddedKeys],
                &savedWeights[i * paddedKeys] + sizes.keys);
    square(line);
    multiply(line, squaredKeys, sum, Sums::Reference);
    for (int64_t d = 0; d < sizes.dim; ++d)
      (*saved)[queryGrad.getOffset(b, h, i, d)] = sum[d];
  }
  auto addVariance = [&](const std::vector<double> &terms, int64_t j,
                         const PanelMatrix &squared, const Logical &to,
                         int64_t dims, std::vector<double> &variance) {
    for (int64_t i = 0; i < sizes.queries; ++i)
      line[i] = terms[i * paddedKeys + j];
    square(line);
    multiply(line, squared, sum, Sums::Reference);
    for (int64_t d = 0; d < dims; ++d)
      variance[to.getOffset(c, g, j, d)] += sum[d];
  };
  auto addColumns =
      [&](const std::vector<double> &matrix, const std::vector<double> &terms,
          const PanelMatrix &with, const PanelMatrix &squared,
          const Logical &to, int64_t dims, std::vector<double> *variance,
          std::vector<double> *saved) {
        line.resize(sizes.queries);
        for (int64_t j = 0; j < sizes.keys; ++j) {
          for (int64_t i = 0; i < sizes.queries; ++i)
            line[i] = matrix[i * paddedKeys + j];
          multiply(line, with, sum, rounding.sums);
          for (int64_t d = 0; d < dims; ++d) {
            double &total = to.at(c, g, j, d);
            total = roundAccumulator(total + round(sum[d]));
          }
          if (variance)
            addVariance(terms, j, squared, to, dims, *variance);
          if (saved)
            addVariance(savedWeights, j, squared, to, dims, *saved);
        }
      };
  if (keyGrad)
    addColumns(products, weights, queries, squaredQueries, keyGrad, sizes.dim,
               getVariance(kGradKey, variances),
               getVariance(kGradKey, savedVariances));
  if (valueGrad)
    addColumns(probabilities, probabilities, gradients, squaredGradients,
               valueGrad, sizes.valueDim, getVariance(kGradValue, variances),
               nullptr);
  return Error::success();
}

Expected<Arrays> GradientEvaluator::run() {
  scale = op.getEffectiveScale();
  Expected<std::unique_ptr<AttentionRows>> made =
      AttentionRows::create(like, scale, inputs.attention, options);
  if (!made)
    return made.takeError();
  rows = std::move(*made);
  sizes = rows->getSizes();
  rounding = {options.mode == EvalMode::Eager, rows->getInputKind(),
              rows->getSums()};
  if (rounding.eager)
    scale = roundAccumulator(scale);
  if (Error error = checkShapes())
    return std::move(error);

  query = {inputs.attention.query, like.getLayout(0)};
  key = {inputs.attention.key, like.getLayout(1)};
  value = {inputs.attention.value, like.getLayout(2)};
  output = {inputs.output, like.getLayout(3)};
  lse = {inputs.lse, like.getLayout(3)};
  outputGrad = {inputs.outputGrad, like.getLayout(3)};
  lseGrad = {inputs.lseGrad, like.getLayout(3)};
  for (const Array *out : outs) {
    results.push_back(std::make_shared<Array>(out->type, out->shape));
    llvm::fill(results.back()->floats, 0.0);
    variances.emplace_back(rounding.eager ? 0 : out->size());
    savedVariances.emplace_back();
  }
  for (auto [input, result] : llvm::zip_equal(op.getWrt(), results)) {
    if (input == kGradQuery)
      queryGrad = {result.get(), like.getLayout(0)};
    if (input == kGradKey)
      keyGrad = {result.get(), like.getLayout(1)};
    if (input == kGradValue)
      valueGrad = {result.get(), like.getLayout(2)};
  }
  auto compiled = GradientScore::create(op, inputs.attention, options.mode,
                                        rounding, results, variances);
  if (!compiled)
    return compiled.takeError();
  score = std::move(*compiled);
  paddedKeys = llvm::alignTo(sizes.keys, PanelMatrix::kWidth);
  probabilities.resize(sizes.queries * paddedKeys);
  products.resize(sizes.queries * paddedKeys);
  weights.resize(sizes.queries * paddedKeys);
  bool isSavedShort =
      rounding.kind == ElementType::F16 || rounding.kind == ElementType::BF16;
  if (!rounding.eager && isSavedShort) {
    savedWeights.resize(weights.size());
    for (auto [input, result, variance] :
         llvm::zip_equal(op.getWrt(), results, savedVariances))
      if (input == kGradQuery || input == kGradKey)
        variance.resize(result->size());
  }
  if (sizes.keys != 0 && sizes.queries != 0)
    for (int64_t b = 0; b < sizes.batch; ++b)
      for (int64_t h = 0; h < sizes.heads; ++h)
        if (Error error = runHead(b, h))
          return std::move(error);
  if (!rounding.eager)
    setNoise();
  if (rounding.eager)
    for (const std::shared_ptr<Array> &result : results)
      for (double &element : result->floats)
        element = roundTo(result->type.kind, element);
  return std::move(results);
}

Expected<Arrays> attn::reference::evaluateAttentionGrad(
    mlir::attn::AttentionGradOp op, const GradientInputs &inputs,
    llvm::ArrayRef<const Array *> outs, const EvaluatorOptions &options) {
  return GradientEvaluator(op, inputs, outs, options).run();
}
