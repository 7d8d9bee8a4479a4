//===- Attention.cpp - Evaluate the operations of the attn dialect --------===//

#include "Attention.h"
#include "AttentionRows.h"
#include "BlocksCheck.h"
#include "TilesCheck.h"
#include "llvm/Support/MathExtras.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Results
//===----------------------------------------------------------------------===//

namespace {
/// Where the elements of a result of rank 4, or of rank 3 without the head
/// dimension, lie.
class ResultRows {
public:
  ResultRows(Array &array, mlir::attn::Layout layout) : array(array) {
    Shape all = array.strides();
    bool hasDim = array.shape.size() == 4;
    auto stride = [&](unsigned dim) {
      return all[hasDim ? dim : layout.rowDim(dim)];
    };
    strides = {stride(layout.b), stride(layout.h), stride(layout.s),
               hasDim ? stride(layout.d) : 0};
    dim = hasDim ? array.shape[layout.d] : 1;
  }
  int64_t getOffset(RowId id) const {
    return id.b * strides[0] + id.h * strides[1] + id.i * strides[2];
  }
  int64_t getDim() const { return dim; }
  double &at(RowId id, int64_t e = 0) {
    return array.floats[getOffset(id) + e * strides[3]];
  }
  void markEvaluated(RowId id) {
    for (int64_t e = 0; e < dim; ++e)
      array.evaluated[getOffset(id) + e * strides[3]] = 1;
  }

private:
  Array &array;
  std::array<int64_t, 4> strides;
  int64_t dim;
};

/// Noise of each row, in the order of rows, so that the sums over rows do not
/// depend on threads.
class RowNoise {
public:
  explicit RowNoise(int64_t numRows) : noise(numRows) {}
  RoundingNoise &operator[](int64_t row) { return noise[row]; }

  /// The maximum and the mean over rows that set anything.
  RoundingNoise reduce() const {
    RoundingNoise result;
    int64_t count = 0;
    for (const RoundingNoise &row : noise) {
      if (row.max == 0)
        continue;
      ++count;
      result.max = std::max(result.max, row.max);
      result.chanceMax = std::max(result.chanceMax, row.chanceMax);
      result.mean += row.mean;
      result.chanceMean += row.chanceMean;
    }
    if (count) {
      result.mean /= static_cast<double>(count);
      result.chanceMean /= static_cast<double>(count);
    }
    return result;
  }

private:
  std::vector<RoundingNoise> noise;
};
} // namespace

static Error checkOuts(mlir::Operation *op, const AttentionSizes &sizes,
                       mlir::attn::Layout layout,
                       llvm::ArrayRef<const Array *> outs) {
  for (auto [number, out] : llvm::enumerate(outs)) {
    auto expected =
        out->shape.size() == 4
            ? layout.arrange(sizes.batch, sizes.heads, sizes.queries,
                             sizes.valueDim)
            : layout.arrangeRows(sizes.batch, sizes.heads, sizes.queries);
    if (llvm::ArrayRef<int64_t>(expected) != llvm::ArrayRef(out->shape))
      return makeError(op, "expects out " + llvm::Twine(number) +
                               " to have shape " + formatShape(expected) +
                               ", but got " + formatShape(out->shape));
  }
  return Error::success();
}

static Arrays makeResults(llvm::ArrayRef<const Array *> outs, bool sampled) {
  Arrays results;
  for (const Array *out : outs) {
    results.push_back(std::make_shared<Array>(out->type, out->shape));
    if (sampled)
      results.back()->evaluated.assign(out->size(), 0);
  }
  return results;
}

/// Largest finite score of a row, and whether there are others than -inf.
static double getLargestScore(const AttentionRows::Row &row) {
  double largest = 0;
  for (KeySpan span : row.spans)
    for (int64_t j = span.begin; j < span.end; ++j) {
      double s = std::fabs(row.scores[j]);
      largest = s > largest && std::isfinite(s) ? s : largest;
    }
  return largest;
}

//===----------------------------------------------------------------------===//
// attn.attention
//===----------------------------------------------------------------------===//

/// Noise of o and lse, from normalised probabilities in `row.p`. CheckRule says
/// why it is what it is.
static void setNoise(const AttentionRows::Row &row, int64_t valueDim,
                     ElementType::Kind inputs, double max, double logSum,
                     RoundingNoise &output, RoundingNoise &lse) {
  double accumulator =
      getEpsilon(inputs == ElementType::F64 ? inputs : ElementType::F32);
  double largest = row.getSpread(/*mean=*/false);
  double average = row.getSpread(/*mean=*/true);
  double scores = getLargestScore(row);
  // Terms that are equal are rounded alike.
  constexpr int64_t mostInTurn = 64;
  double alike =
      accumulator *
      static_cast<double>(
          std::clamp<int64_t>(row.getNumAlike(), 1, mostInTurn) - 1) /
      4;
  double largestOut = 0, sumOfOut = 0;
  for (int64_t e = 0; e < valueDim; ++e) {
    largestOut = std::max(largestOut, std::fabs(row.out[e]));
    sumOfOut += std::fabs(row.out[e]);
  }
  output.max = accumulator * (2 + scores) * largest + alike * largestOut;
  output.mean =
      accumulator * average + alike * sumOfOut / static_cast<double>(valueDim);
  lse.max = accumulator * (2 + std::fabs(max) + std::fabs(logSum)) + alike;
  lse.mean = lse.max / 2 + alike / 2;
  double input = getEpsilon(inputs), products = accumulator * row.productScale;
  output.chanceMax = (input + products) * largest;
  // A few elements may have the same errors of scores.
  output.chanceMean =
      (2 * input + std::max(products, accumulator * scores)) * average;
  lse.chanceMax = products;
  lse.chanceMean = lse.max + products;
}

Expected<Arrays> attn::reference::evaluateAttention(
    mlir::attn::AttentionOp op, const AttentionInputs &inputs,
    llvm::ArrayRef<const Array *> outs, const EvaluatorOptions &options) {
  mlir::attn::AttentionLikeOpInterface like = op;
  Expected<std::unique_ptr<AttentionRows>> rows =
      AttentionRows::create(like, op.getEffectiveScale(), inputs, options);
  if (!rows)
    return rows.takeError();
  const AttentionSizes &sizes = (*rows)->getSizes();
  mlir::attn::Layout layout = like.getLayout(3);
  if (Error error = checkOuts(op, sizes, layout, outs))
    return std::move(error);

  bool sampled = options.maxRows > 0 && options.maxRows < sizes.queries;
  Arrays results = makeResults(outs, sampled);
  std::vector<ResultRows> at;
  for (const std::shared_ptr<Array> &result : results)
    at.emplace_back(*result, layout);
  Sums sums = (*rows)->getSums();
  ElementType::Kind kind = (*rows)->getInputKind();
  bool reference = isReference(sums);
  int64_t numRows = sizes.batch * sizes.heads * sizes.queries;
  RowNoise outputNoise(reference ? numRows : 0),
      lseNoise(reference ? numRows : 0);

  auto evaluateRow = [&](AttentionRows::Row &row) {
    for (ResultRows &result : at)
      if (sampled)
        result.markEvaluated(row.id);
    double max =
        row.numAllowed ? maximumScore(row.scores.data(), row.spans) : -HUGE_VAL;
    bool isEmpty = max == -HUGE_VAL;
    double logSum = 0;
    if (isEmpty) {
      llvm::fill(row.out, 0.0);
    } else if (reference) {
      double sum =
          exponentials(row.scores.data(), row.spans, max, sums, row.p.data());
      for (KeySpan span : row.spans)
        for (int64_t j = span.begin; j < span.end; ++j)
          row.p[j] /= sum;
      row.applyWeights();
      row.multiplyValues();
      logSum = std::log(sum);
      setNoise(row, sizes.valueDim, kind, max, logSum, outputNoise[row.number],
               lseNoise[row.number]);
    } else {
      double sum = eagerSoftmax(row.scores.data(), row.spans, max, sums, kind,
                                row.p.data());
      row.applyWeights();
      row.multiplyValues();
      roundRow(row.out.data(), row.out.size(), kind);
      logSum = std::log(sum);
      if (sums == Sums::F32)
        logSum = roundToF32(logSum);
    }
    for (int64_t e = 0; e < sizes.valueDim; ++e)
      at[0].at(row.id, e) = row.out[e];
    if (at.size() > 1) {
      double lse = isEmpty ? -HUGE_VAL : max + logSum;
      at[1].at(row.id) = sums == Sums::F32 ? roundToF32(lse) : lse;
    }
  };
  if (Error error = (*rows)->forEachRow(options.maxRows, evaluateRow))
    return std::move(error);
  results[0]->noise = outputNoise.reduce();
  if (results.size() > 1)
    results[1]->noise = lseNoise.reduce();
  return results;
}

//===----------------------------------------------------------------------===//
// attn.online_attention and attn.finalize
//===----------------------------------------------------------------------===//

/// 2^(from - to), where the difference of two equal infinities is none.
static double getCorrection(double from, double to) {
  return from == -HUGE_VAL && to == -HUGE_VAL ? 0 : std::exp2(from - to);
}

static double maximum(double a, double b) {
  if (a != a || b != b)
    return a + b;
  return a > b ? a : b;
}

Expected<Arrays> attn::reference::evaluateOnlineAttention(
    mlir::attn::OnlineAttentionOp op, const AttentionInputs &inputs,
    llvm::ArrayRef<const Array *> outs, const EvaluatorOptions &options) {
  mlir::attn::AttentionLikeOpInterface like = op;
  Expected<std::unique_ptr<AttentionRows>> rows = AttentionRows::create(
      like, op.getScale().convertToDouble(), inputs, options);
  if (!rows)
    return rows.takeError();
  const AttentionSizes &sizes = (*rows)->getSizes();
  mlir::attn::Layout layout = like.getLayout(3);
  if (Error error = checkOuts(op, sizes, layout, outs))
    return std::move(error);
  BlocksCheck blocks(op, sizes, inputs, options);
  if (Error error = blocks.compile())
    return std::move(error);
  TilesCheck tiles(op, sizes, inputs, options);
  if (Error error = tiles.compile())
    return std::move(error);

  Arrays results;
  std::vector<ResultRows> at;
  for (const Array *out : outs)
    results.push_back(std::make_shared<Array>(*out));
  for (const std::shared_ptr<Array> &result : results)
    at.emplace_back(*result, layout);
  Sums sums = (*rows)->getSums();
  auto round = [&](double value) {
    return sums == Sums::F32 ? roundToF32(value) : value;
  };

  auto evaluateRow = [&](AttentionRows::Row &row) {
    blocks.checkRow(row);
    tiles.checkRow(row);
    if (row.numAllowed == 0)
      return;
    for (KeySpan span : row.spans)
      for (int64_t j = span.begin; j < span.end; ++j)
        row.scores[j] = round(row.scores[j] * round(llvm::numbers::log2e));
    double oldMax = at[1].at(row.id);
    double newMax = maximum(oldMax, maximumScore(row.scores.data(), row.spans));
    if (newMax == -HUGE_VAL)
      return;
    double sum = round(exponentials2(row.scores.data(), row.spans, newMax, sums,
                                     row.p.data()));
    row.applyWeights();
    row.multiplyValues();
    double correction = getCorrection(oldMax, newMax);
    at[1].at(row.id) = newMax;
    at[2].at(row.id) = round(at[2].at(row.id) * correction + sum);
    for (int64_t e = 0; e < sizes.valueDim; ++e)
      at[0].at(row.id, e) =
          round(at[0].at(row.id, e) * correction + row.out[e]);
  };
  if (Error error = (*rows)->forEachRow(/*maxRows=*/0, evaluateRow))
    return std::move(error);
  if (Error error = blocks.takeError())
    return std::move(error);
  if (Error error = tiles.takeError())
    return std::move(error);
  return results;
}

Expected<Arrays>
attn::reference::evaluateFinalize(mlir::attn::FinalizeOp op, const Array &acc,
                                  const Array &max, const Array &sum,
                                  llvm::ArrayRef<const Array *> outs,
                                  const EvaluatorOptions &options) {
  mlir::attn::Layout layout = op.getAccLayout();
  const Shape &shape = acc.shape;
  AttentionSizes sizes;
  sizes.batch = shape[layout.b];
  sizes.heads = shape[layout.h];
  sizes.queries = shape[layout.s];
  sizes.valueDim = shape[layout.d];
  llvm::SmallVector<const Array *> all(outs.begin(), outs.end());
  all.append({&max, &sum});
  if (Error error = checkOuts(op, sizes, layout, all))
    return std::move(error);

  Arrays results = makeResults(outs, /*sampled=*/false);
  ResultRows output(*results[0], layout);
  ElementType::Kind outKind = results[0]->type.kind, accKind = acc.type.kind;
  bool eager = options.mode == EvalMode::Eager;
  auto round = [&](ElementType::Kind kind, double value) {
    return eager ? roundTo(kind, value) : value;
  };
  // Reading is through the same class as writing.
  Array state[] = {acc, max, sum};
  ResultRows accRows(state[0], layout), maxRows(state[1], layout),
      sumRows(state[2], layout);
  forEachIndex(
      {sizes.batch, sizes.heads, sizes.queries},
      [&](llvm::ArrayRef<int64_t> index) {
        RowId id{index[0], index[1], index[2]};
        double total = sumRows.at(id);
        for (int64_t e = 0; e < sizes.valueDim; ++e)
          output.at(id, e) =
              total == 0 ? 0 : round(outKind, accRows.at(id, e) / total);
        if (results.size() < 2)
          return;
        double log2 = maxRows.at(id) + std::log2(total);
        ResultRows(*results[1], layout).at(id) =
            total == 0
                ? -HUGE_VAL
                : round(accKind, llvm::numbers::ln2 * round(accKind, log2));
      });
  return results;
}
