//===- AttentionRows.cpp - Scores of the query rows of an attention -------===//

#include "AttentionRows.h"
#include "attn/Support/Random.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
using mlir::attn::Layout;

/// Keys for which the regions are run at once.
static constexpr int64_t kChunk = kLanes;
static_assert(kChunk % PanelMatrix::kWidth == 0);

//===----------------------------------------------------------------------===//
// Set-up
//===----------------------------------------------------------------------===//

Expected<std::unique_ptr<AttentionRows>>
AttentionRows::create(mlir::attn::AttentionLikeOpInterface op, double scale,
                      const AttentionInputs &inputs,
                      const EvaluatorOptions &options) {
  std::unique_ptr<AttentionRows> rows(
      new AttentionRows(op, scale, inputs, options));
  bool isF64 = rows->getInputKind() == ElementType::F64;
  if (options.mode == EvalMode::Eager)
    rows->sums = isF64 ? Sums::F64 : Sums::F32;
  else
    rows->sums = isF64 ? Sums::Extended : Sums::Reference;
  if (Error error = rows->setSizes())
    return std::move(error);
  if (op.getSparsityAttr()) {
    const AttentionSizes &sizes = rows->sizes;
    rows->sparsity.emplace(op, inputs);
    if (Error error = rows->sparsity->check(
            {sizes.batch, sizes.heads, sizes.queries, sizes.keys}))
      return std::move(error);
  }
  if (Error error = rows->compile())
    return std::move(error);
  return std::move(rows);
}

/// Strides of an array in logical order: b, h, s, d.
static std::array<int64_t, 4> getLogicalStrides(const Array &array,
                                                Layout layout) {
  Shape strides = array.strides();
  return {strides[layout.b], strides[layout.h], strides[layout.s],
          strides[layout.d]};
}

Error AttentionRows::setSizes() {
  Layout q = op.getLayout(0), k = op.getLayout(1), v = op.getLayout(2);
  const Shape &qShape = inputs.query->shape, &kShape = inputs.key->shape,
              &vShape = inputs.value->shape;
  sizes = {qShape[q.b], qShape[q.h], kShape[k.b], kShape[k.h],
           qShape[q.s], kShape[k.s], qShape[q.d], vShape[v.d]};
  queryStrides = getLogicalStrides(*inputs.query, q);
  auto expectEqual = [&](const char *what, int64_t a, const llvm::Twine &b,
                         int64_t got) -> Error {
    if (a == got)
      return Error::success();
    return makeError(op, "expects " + b + " to have " + what + " " +
                             llvm::Twine(a) + ", but got " + llvm::Twine(got));
  };
  // The head dimensions are in the types, where the verifier checks them.
  if (Error error = expectEqual("length", sizes.keys, "v", vShape[v.s]))
    return error;
  if (Error error =
          expectEqual("number of heads", sizes.kvHeads, "v", vShape[v.h]))
    return error;
  if (Error error = expectEqual("batch", sizes.kvBatch, "v", vShape[v.b]))
    return error;
  if (sizes.kvBatch != 1)
    if (Error error = expectEqual("batch", sizes.batch, "k", sizes.kvBatch))
      return error;
  if (sizes.kvHeads == 0 ? sizes.heads != 0 : sizes.heads % sizes.kvHeads != 0)
    return makeError(op, "expects the heads of q to be a multiple of the heads "
                         "of k and v, but got " +
                             llvm::Twine(sizes.heads) + " and " +
                             llvm::Twine(sizes.kvHeads));
  return Error::success();
}

Expected<std::unique_ptr<AttentionRows::RegionCode>>
AttentionRows::compileRegion(mlir::Region &region, RegionKind kind) {
  auto code = std::make_unique<RegionCode>(options.mode);
  mlir::Block &block = region.front();
  RegionCompiler &compiler = code->compiler;
  unsigned argument = 0;
  code->s = kind == RegionKind::Score
                ? compiler.bindLane(block.getArgument(argument++))
                : 0;
  code->b = compiler.bindRow(block.getArgument(argument++));
  code->h = compiler.bindRow(block.getArgument(argument++));
  code->i = compiler.bindRow(block.getArgument(argument++));
  code->j = kind == RegionKind::Rows
                ? 0
                : compiler.bindLane(block.getArgument(argument++));
  for (auto [number, capture] : llvm::enumerate(inputs.captures))
    compiler.bindArray(block.getArgument(argument++), *capture, number);
  if (Error error = code->compile(block))
    return std::move(error);
  return std::move(code);
}

Error AttentionRows::RegionCode::compile(mlir::Block &block) {
  if (Error error = compiler.compileBlock(block))
    return error;
  mlir::Operation *yield = block.getTerminator();
  for (mlir::Value value : yield->getOperands()) {
    Expected<uint32_t> result = compiler.getLane(value, yield);
    if (!result)
      return result.takeError();
    results.push_back(*result);
  }
  return Error::success();
}

Error AttentionRows::compile() {
  auto compile = [&](mlir::Region &region, RegionKind kind,
                     std::unique_ptr<RegionCode> &result) -> Error {
    if (region.empty())
      return Error::success();
    Expected<std::unique_ptr<RegionCode>> code = compileRegion(region, kind);
    if (!code)
      return code.takeError();
    result = std::move(*code);
    return Error::success();
  };
  if (Error error = compile(op.getMask(), RegionKind::Mask, mask))
    return error;
  if (auto online =
          mlir::dyn_cast<mlir::attn::OnlineAttentionOp>(op.getOperation()))
    if (Error error = compile(online.getRows(), RegionKind::Rows, rowTerms))
      return error;
  return compile(op.getScore(), RegionKind::Score, score);
}

void AttentionRows::packKeysAndValues(int64_t b, int64_t g) {
  std::array<int64_t, 4> k = getLogicalStrides(*inputs.key, op.getLayout(1));
  std::array<int64_t, 4> v = getLogicalStrides(*inputs.value, op.getLayout(2));
  keys.resize(sizes.dim, llvm::alignTo(sizes.keys, kChunk));
  values.resize(sizes.keys, sizes.valueDim);
  valueMax.assign(sizes.keys, 0);
  valueMean.assign(sizes.keys, 0);
  valuesAreFinite = true;
  const double *kData = inputs.key->floats.data() + b * k[0] + g * k[1];
  const double *vData = inputs.value->floats.data() + b * v[0] + g * v[1];
  keyNorm = 0;
  for (int64_t j = 0; j < sizes.keys; ++j) {
    double keySquares = 0;
    for (int64_t d = 0; d < sizes.dim; ++d) {
      double key = kData[j * k[2] + d * k[3]];
      keys.at(d, j) = key;
      keySquares += key * key;
    }
    if (std::isfinite(keySquares))
      keyNorm = std::max(keyNorm, std::sqrt(keySquares));
    double squares = 0;
    for (int64_t e = 0; e < sizes.valueDim; ++e) {
      double value = vData[j * v[2] + e * v[3]];
      values.at(j, e) = value;
      if (!std::isfinite(value)) {
        valuesAreFinite = false;
        continue;
      }
      valueMax[j] = std::max(valueMax[j], std::fabs(value));
      squares += value * value;
    }
    valueMean[j] = std::sqrt(squares / static_cast<double>(sizes.valueDim));
  }
}

//===----------------------------------------------------------------------===//
// Rows
//===----------------------------------------------------------------------===//

void AttentionRows::Row::multiplyValues() {
  multiplyRows(p.data(), spans,
               rows->valuesAreFinite ? nullptr : allowed.data(), rows->values,
               rows->sums, out.data());
}

void AttentionRows::Row::applyWeights() {
  if (weights.empty())
    return;
  bool eager = !isReference(rows->sums);
  for (KeySpan span : spans)
    for (int64_t j = span.begin; j < span.end; ++j) {
      if (!allowed[j])
        continue;
      p[j] *= weights[j];
      if (eager)
        p[j] = roundTo(rows->getInputKind(), p[j]);
    }
}

double AttentionRows::Row::getSpread(bool mean) const {
  const std::vector<double> &weight = mean ? rows->valueMean : rows->valueMax;
  double squares = 0;
  for (KeySpan span : spans)
    for (int64_t j = span.begin; j < span.end; ++j)
      squares += p[j] * p[j] * weight[j] * weight[j];
  return std::sqrt(squares);
}

int64_t AttentionRows::Row::getNumAlike() const {
  std::vector<double> sorted;
  for (KeySpan span : spans)
    for (int64_t j = span.begin; j < span.end; ++j)
      if (p[j] > 0)
        sorted.push_back(p[j]);
  llvm::sort(sorted);
  int64_t most = 0;
  for (auto *first = sorted.data(), *end = first + sorted.size();
       first != end;) {
    double *next = std::upper_bound(first, end, *first);
    most = std::max<int64_t>(most, next - first);
    first = next;
  }
  return most;
}

AttentionRows::Row AttentionRows::makeRow() const {
  Row row;
  row.rows = this;
  if (mask)
    row.mask = std::make_unique<Frame>(mask->program);
  if (score)
    row.score = std::make_unique<Frame>(score->program);
  row.q.resize(sizes.dim);
  row.scores.resize(llvm::alignTo(sizes.keys, kChunk));
  row.p.resize(sizes.keys);
  if (rowTerms)
    row.rowTerms = std::make_unique<Frame>(rowTerms->program);
  if (score && score->results.size() > 1)
    row.weights.resize(sizes.keys);
  row.allowed.resize(sizes.keys);
  row.out.resize(llvm::alignTo(sizes.valueDim, PanelMatrix::kWidth));
  return row;
}

std::string AttentionRows::describe(const RegionCode &code, const Frame &frame,
                                    RowId id, int64_t j) const {
  const std::array<int64_t, 4> &at = inputs.offsets;
  return code.compiler.describe(frame.getError()) + " at (b, h, i, j) = (" +
         std::to_string(id.b + at[0]) + ", " + std::to_string(id.h + at[1]) +
         ", " + std::to_string(id.i + at[2]) + ", " +
         std::to_string(j + at[3]) + ")";
}

void AttentionRows::setRowRegisters(const RegionCode &code, Frame &frame,
                                    RowId id) const {
  frame.rowInt(code.b) = id.b + inputs.offsets[0];
  frame.rowInt(code.h) = id.h + inputs.offsets[1];
  frame.rowInt(code.i) = id.i + inputs.offsets[2];
}

/// Adds a range to spans, joined to the last one where they touch.
static void addSpan(KeySpans &spans, int64_t begin, int64_t end) {
  if (!spans.empty() && spans.back().end == begin)
    spans.back().end = end;
  else
    spans.push_back({begin, end});
}

std::string AttentionRows::runMask(Row &row) const {
  row.spans.clear();
  row.numAllowed = sizes.keys;
  if (!mask || sizes.keys == 0) {
    llvm::fill(row.allowed, 1);
    if (sizes.keys != 0)
      row.spans.push_back({0, sizes.keys});
    return "";
  }
  Frame &frame = *row.mask;
  setRowRegisters(*mask, frame, row.id);
  if (!frame.runRow())
    return describe(*mask, frame, row.id, 0);
  row.numAllowed = 0;
  for (int64_t begin = 0; begin < sizes.keys; begin += kChunk) {
    int64_t count = std::min(kChunk, sizes.keys - begin);
    int64_t *j = frame.laneInts(mask->j);
    for (int64_t l = 0; l < count; ++l)
      j[l] = begin + l + inputs.offsets[3];
    if (!frame.runLanes(count))
      return describe(*mask, frame, row.id, begin + frame.getError().lane);
    const int64_t *result = frame.laneInts(mask->results[0]);
    int64_t numAllowed = 0;
    for (int64_t l = 0; l < count; ++l) {
      row.allowed[begin + l] = result[l] != 0;
      numAllowed += result[l] != 0;
    }
    if (numAllowed)
      addSpan(row.spans, begin, begin + count);
    row.numAllowed += numAllowed;
  }
  return "";
}

void AttentionRows::applySparsity(Row &row) const {
  row.allowedByMask = row.allowed;
  sparsity->restrict(row.id.b, row.id.h, row.id.i, row.allowed);
  row.spans.clear();
  row.numAllowed = 0;
  for (int64_t begin = 0; begin < sizes.keys; begin += kChunk) {
    int64_t end = std::min(begin + kChunk, sizes.keys);
    int64_t numAllowed = std::count(row.allowed.begin() + begin,
                                    row.allowed.begin() + end, uint8_t(1));
    if (numAllowed)
      addSpan(row.spans, begin, end);
    row.numAllowed += numAllowed;
  }
}

std::string AttentionRows::computeRowTerms(Row &row) const {
  if (!rowTerms)
    return "";
  Frame &frame = *row.rowTerms;
  setRowRegisters(*rowTerms, frame, row.id);
  if (!frame.runRow() || !frame.runLanes(1))
    return describe(*rowTerms, frame, row.id, 0);
  row.added = frame.laneFloats(rowTerms->results[0])[0];
  row.isAllowed = frame.laneInts(rowTerms->results[1])[0] != 0;
  row.factor = frame.laneFloats(rowTerms->results[2])[0];
  return "";
}

std::string AttentionRows::computeMask(Row &row) const {
  std::string error = runMask(row);
  if (error.empty() && sparsity)
    applySparsity(row);
  return error;
}

std::string AttentionRows::computeScores(Row &row) const {
  ElementType::Kind kind = getInputKind();
  const double *q = inputs.query->floats.data() + row.id.b * queryStrides[0] +
                    row.id.h * queryStrides[1] + row.id.i * queryStrides[2];
  double squares = 0;
  for (int64_t d = 0; d < sizes.dim; ++d) {
    row.q[d] = q[d * queryStrides[3]];
    squares += row.q[d] * row.q[d];
  }
  row.productScale = std::fabs(scale) * std::sqrt(squares) * keyNorm;
  if (!std::isfinite(row.productScale))
    row.productScale = 0;

  if (score) {
    setRowRegisters(*score, *row.score, row.id);
    if (!row.score->runRow())
      return describe(*score, *row.score, row.id,
                      llvm::find(row.allowed, 1) - row.allowed.begin());
  }
  for (KeySpan span : row.spans)
    for (int64_t begin = span.begin; begin < span.end; begin += kChunk) {
      int64_t count = std::min(kChunk, span.end - begin);
      double *s = row.scores.data() + begin;
      multiplyPanels(row.q.data(), keys, begin / PanelMatrix::kWidth,
                     (begin + kChunk) / PanelMatrix::kWidth,
                     isReference(sums) ? scale : 1.0, sums, s);
      if (!isReference(sums))
        eagerScale(s, count, scale, sums, kind);
      // The score function sees allowed keys only.
      int64_t lanes[kChunk];
      int64_t numLanes = 0;
      for (int64_t l = 0; l < count; ++l)
        if (row.allowed[begin + l])
          lanes[numLanes++] = l;
      if (score) {
        Frame &frame = *row.score;
        double *in = frame.laneFloats(score->s);
        int64_t *j = frame.laneInts(score->j);
        for (int64_t l = 0; l < numLanes; ++l) {
          in[l] = s[lanes[l]];
          j[l] = begin + lanes[l] + inputs.offsets[3];
        }
        if (!frame.runLanes(numLanes))
          return describe(*score, frame, row.id,
                          begin + lanes[frame.getError().lane]);
        const double *result = frame.laneFloats(score->results[0]);
        for (int64_t l = 0; l < numLanes; ++l)
          s[lanes[l]] = result[l];
        if (score->results.size() > 1)
          for (int64_t l = 0; l < numLanes; ++l)
            row.weights[begin + lanes[l]] =
                frame.laneFloats(score->results[1])[l];
        if (!isReference(sums))
          roundRow(s, count, kind);
      }
      if (rowTerms) {
        for (int64_t l = 0; l < count; ++l)
          s[l] = row.factor * s[l] + row.added;
        if (!isReference(sums))
          roundRow(s, count, kind);
      }
      if (numLanes != count)
        for (int64_t l = 0; l < count; ++l)
          s[l] = row.allowed[begin + l] ? s[l] : -HUGE_VAL;
    }
  return "";
}

std::string AttentionRows::computeRow(Row &row) const {
  std::string error = computeMask(row);
  if (error.empty())
    error = computeRowTerms(row);
  if (!row.isAllowed) {
    row.numAllowed = 0;
    row.spans.clear();
  }
  if (!error.empty() || row.numAllowed == 0)
    return error;
  return computeScores(row);
}

//===----------------------------------------------------------------------===//
// All rows
//===----------------------------------------------------------------------===//

/// Queries to evaluate, ascending. Each subset of that size is as likely.
std::vector<int64_t> AttentionRows::selectQueries(int64_t b, int64_t h,
                                                  int64_t maxRows) const {
  std::vector<int64_t> selected;
  RandomStream random(options.seed, b * sizes.heads + h);
  int64_t wanted =
      maxRows == 0 ? sizes.queries : std::min(maxRows, sizes.queries);
  for (int64_t i = 0; i < sizes.queries; ++i) {
    int64_t left = sizes.queries - i;
    int64_t missing = wanted - static_cast<int64_t>(selected.size());
    if (missing == left || random.getInt(i, 0, left) < missing)
      selected.push_back(i);
  }
  return selected;
}

namespace {
/// The error of the row that comes first.
class FirstError {
public:
  void report(int64_t order, std::string text) {
    std::lock_guard<std::mutex> lock(mutex);
    if (order >= first)
      return;
    first = order;
    message = std::move(text);
  }
  bool isBefore(int64_t order) const { return first < order; }
  Error take() {
    if (first == INT64_MAX)
      return Error::success();
    return llvm::createStringError(message);
  }

private:
  std::mutex mutex;
  std::atomic<int64_t> first = INT64_MAX;
  std::string message;
};
} // namespace

Error AttentionRows::forEachRow(int64_t maxRows,
                                llvm::function_ref<void(Row &)> body) {
  unsigned numThreads =
      options.threads ? options.threads : std::thread::hardware_concurrency();
  std::vector<Row> rows;
  for (unsigned t = 0; t < std::max(1u, numThreads); ++t)
    rows.push_back(makeRow());
  int64_t group = sizes.kvHeads ? sizes.heads / sizes.kvHeads : 0;

  // One key/value head at a time, for all rows that use it.
  for (int64_t c = 0; c < sizes.kvBatch; ++c)
    for (int64_t g = 0; g < sizes.kvHeads; ++g) {
      std::vector<RowId> ids;
      int64_t firstBatch = sizes.kvBatch == 1 ? 0 : c;
      int64_t lastBatch = sizes.kvBatch == 1 ? sizes.batch : c + 1;
      for (int64_t b = firstBatch; b < lastBatch; ++b)
        for (int64_t h = g * group; h < (g + 1) * group; ++h)
          for (int64_t i : selectQueries(b, h, maxRows))
            ids.push_back({b, h, i});
      if (ids.empty())
        continue;
      packKeysAndValues(c, g);

      FirstError firstError;
      std::atomic<int64_t> next = 0;
      int64_t numRows = ids.size();
      auto work = [&](Row &row) {
        for (int64_t order; (order = next++) < numRows;) {
          if (firstError.isBefore(order))
            return;
          row.id = ids[order];
          row.number =
              (row.id.b * sizes.heads + row.id.h) * sizes.queries + row.id.i;
          std::string error = computeRow(row);
          if (error.empty())
            body(row);
          else
            firstError.report(order, std::move(error));
        }
      };
      // A thread costs about as much as this many multiplications.
      constexpr int64_t kThreadCost = 100000;
      int64_t cost = numRows * (sizes.keys + 1) * (sizes.dim + sizes.valueDim);
      int64_t useful = std::clamp<int64_t>(cost / kThreadCost, 1, rows.size());
      std::vector<std::thread> threads;
      for (int64_t t = 1; t < useful; ++t)
        threads.emplace_back(work, std::ref(rows[t]));
      work(rows[0]);
      for (std::thread &thread : threads)
        thread.join();
      if (Error error = firstError.take())
        return error;
    }
  return Error::success();
}
