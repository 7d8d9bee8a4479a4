//===- MaskTiles.cpp - Which tiles of a mask are empty or full ------------===//

#include "attn/Reference/MaskTiles.h"
#include "AttentionObserver.h"
#include "AttentionRows.h"
#include "BlocksCheck.h"
#include "TilesCheck.h"
#include "llvm/ADT/Hashing.h"
#include <atomic>
#include <map>
#include <mutex>
#include <numeric>
#include <thread>

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Counts
//===----------------------------------------------------------------------===//

int64_t MaskHeads::count(TileClass wanted) const {
  return llvm::count(tiles, wanted);
}

int64_t MaskTiles::count(TileClass wanted) const {
  int64_t sum = 0;
  for (const MaskHeads &group : groups)
    sum += group.count(wanted) * int64_t(group.heads.size());
  return sum;
}

double MaskTiles::getDensity(const MaskHeads &group) const {
  double pairs = double(queries) * double(keys);
  return pairs == 0 ? 0 : double(group.numAllowed) / pairs;
}

double MaskTiles::getDensity() const {
  double sum = 0, count = 0;
  for (const MaskHeads &group : groups) {
    sum += getDensity(group) * double(group.heads.size());
    count += double(group.heads.size());
  }
  return count == 0 ? 0 : sum / count;
}

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }

//===----------------------------------------------------------------------===//
// One head
//===----------------------------------------------------------------------===//

namespace {
/// Evaluates the mask of one head at a time.
class HeadEvaluator {
public:
  HeadEvaluator(const AttentionRows &rows, const MaskTiles &shape,
                const MaskTilesOptions &options)
      : rows(rows), shape(shape) {
    // A thread costs about as much as this many pairs.
    constexpr double threadCost = 1e5;
    double pairs = double(shape.queries) * double(shape.keys);
    unsigned wanted =
        options.threads ? options.threads : std::thread::hardware_concurrency();
    double useful = std::min(pairs / threadCost, double(shape.numRows));
    unsigned numThreads =
        std::clamp(unsigned(std::max(1.0, useful)), 1u, std::max(1u, wanted));
    for (unsigned t = 0; t != numThreads; ++t)
      workers.push_back(rows.makeRow());
  }

  /// Calls `progress` from this thread, with the part of the head that is done.
  Expected<MaskHeads> evaluate(int64_t b, int64_t h,
                               llvm::function_ref<void(double)> progress);

private:
  using Row = AttentionRows::Row;
  /// The text of an error, if any.
  std::string evaluateTileRow(Row &row, int64_t tileRow, MaskHeads &head,
                              std::atomic<int64_t> &numAllowed) const;

  const AttentionRows &rows;
  const MaskTiles &shape;
  std::vector<Row> workers;
};
} // namespace

std::string
HeadEvaluator::evaluateTileRow(Row &row, int64_t tileRow, MaskHeads &head,
                               std::atomic<int64_t> &numAllowed) const {
  std::vector<int64_t> counts(shape.numColumns);
  int64_t begin = tileRow * shape.tileRows;
  int64_t end = std::min(begin + shape.tileRows, shape.queries);
  for (row.id.i = begin; row.id.i != end; ++row.id.i) {
    std::string error = rows.computeMask(row);
    if (!error.empty())
      return error;
    if (row.numAllowed == 0)
      continue;
    for (int64_t column = 0; column != shape.numColumns; ++column) {
      const uint8_t *first = row.allowed.data() + column * shape.tileColumns;
      const uint8_t *last =
          row.allowed.data() +
          std::min((column + 1) * shape.tileColumns, shape.keys);
      counts[column] += std::accumulate(first, last, int64_t(0));
    }
  }
  for (int64_t column = 0; column != shape.numColumns; ++column) {
    int64_t width =
        std::min(shape.tileColumns, shape.keys - column * shape.tileColumns);
    head.tiles[tileRow * shape.numColumns + column] =
        counts[column] == 0                       ? TileClass::Empty
        : counts[column] == (end - begin) * width ? TileClass::Full
                                                  : TileClass::Partial;
  }
  numAllowed += std::accumulate(counts.begin(), counts.end(), int64_t(0));
  return "";
}

Expected<MaskHeads>
HeadEvaluator::evaluate(int64_t b, int64_t h,
                        llvm::function_ref<void(double)> progress) {
  MaskHeads head;
  head.tiles.resize(shape.numRows * shape.numColumns);
  std::atomic<int64_t> next = 0, numAllowed = 0;
  // The error of the first row that has one, whichever thread comes to it.
  std::atomic<int64_t> firstError = INT64_MAX;
  std::string message;
  std::mutex mutex;
  auto work = [&](Row &row, bool isCaller) {
    row.id.b = b;
    row.id.h = h;
    for (int64_t tileRow; (tileRow = next++) < shape.numRows;) {
      if (firstError < tileRow)
        return;
      std::string error = evaluateTileRow(row, tileRow, head, numAllowed);
      if (isCaller)
        progress(double(tileRow) / double(shape.numRows));
      if (error.empty())
        continue;
      std::lock_guard<std::mutex> lock(mutex);
      if (tileRow < firstError) {
        firstError = tileRow;
        message = std::move(error);
      }
      return;
    }
  };
  std::vector<std::thread> threads;
  for (Row &row : llvm::MutableArrayRef(workers).drop_front())
    threads.emplace_back([&work, &row] { work(row, /*isCaller=*/false); });
  work(workers.front(), /*isCaller=*/true);
  for (std::thread &thread : threads)
    thread.join();
  if (firstError != INT64_MAX)
    return llvm::createStringError(message);
  head.numAllowed = numAllowed;
  return std::move(head);
}

//===----------------------------------------------------------------------===//
// All heads
//===----------------------------------------------------------------------===//

namespace {
/// Puts heads that are alike together.
class HeadGroups {
public:
  explicit HeadGroups(std::vector<MaskHeads> &groups) : groups(groups) {}

  /// Gives the number of the group of a head whose tiles are known.
  size_t add(MaskHeads head) {
    llvm::ArrayRef<uint8_t> bytes(
        reinterpret_cast<const uint8_t *>(head.tiles.data()),
        head.tiles.size());
    size_t hash = llvm::hash_combine(head.numAllowed, llvm::hash_value(bytes));
    for (size_t number : byHash[hash])
      if (groups[number].numAllowed == head.numAllowed &&
          groups[number].tiles == head.tiles)
        return number;
    byHash[hash].push_back(groups.size());
    groups.push_back(std::move(head));
    return groups.size() - 1;
  }

private:
  std::vector<MaskHeads> &groups;
  std::map<size_t, std::vector<size_t>> byHash;
};

class MaskObserver : public AttentionObserver {
public:
  explicit MaskObserver(const MaskTilesOptions &options) : options(options) {}

  Error observe(mlir::attn::AttentionLikeOpInterface op,
                const AttentionInputs &inputs) override;
  std::vector<MaskTiles> masks;

private:
  Error checkTiles(const MaskTiles &mask, size_t numGroups) const;
  const MaskTilesOptions &options;
  size_t numSeen = 0;
};
} // namespace

static MaskTiles makeShape(mlir::Operation *op, const AttentionSizes &sizes,
                           const MaskTilesOptions &options) {
  MaskTiles mask;
  mask.op = op;
  mask.batch = sizes.batch;
  mask.heads = sizes.heads;
  mask.queries = sizes.queries;
  mask.keys = sizes.keys;
  mask.tileRows = options.tileRows;
  mask.tileColumns = options.tileColumns;
  mask.numRows = ceilDiv(mask.queries, mask.tileRows);
  mask.numColumns = ceilDiv(mask.keys, mask.tileColumns);
  return mask;
}

Error MaskObserver::checkTiles(const MaskTiles &mask, size_t numGroups) const {
  double tiles = double(mask.numRows) * double(mask.numColumns);
  if (tiles * double(numGroups + 1) <= double(options.maxTiles))
    return Error::success();
  return makeError(mask.op,
                   "expects masks of at most " + llvm::Twine(options.maxTiles) +
                       " tiles, but got " + llvm::Twine(mask.numRows) + "x" +
                       llvm::Twine(mask.numColumns) + " tiles of each of " +
                       llvm::Twine(numGroups + 1) +
                       " or more heads that differ; larger tiles are fewer");
}

Error MaskObserver::observe(mlir::attn::AttentionLikeOpInterface op,
                            const AttentionInputs &inputs) {
  size_t number = numSeen++;
  if (op.getMask().empty() && !op.getSparsityAttr())
    return Error::success();
  EvaluatorOptions evaluator;
  evaluator.threads = options.threads;
  Expected<std::unique_ptr<AttentionRows>> rows =
      AttentionRows::create(op, /*scale=*/1, inputs, evaluator);
  if (!rows)
    return rows.takeError();
  MaskTiles mask = makeShape(op, (*rows)->getSizes(), options);
  mask.number = number;
  if (Error error = checkTiles(mask, 0))
    return error;

  // What the mask does not look at need not be gone through.
  const std::optional<SparsityBlocks> &sparsity = (*rows)->getSparsity();
  auto isLookedAt = [&](unsigned argument) {
    return !op.getMask().empty() &&
           !op.getMask().front().getArgument(argument).use_empty();
  };
  bool byBatch = isLookedAt(0) || (sparsity && sparsity->dependsOnBatch());
  bool byHead = isLookedAt(1) || (sparsity && sparsity->dependsOnHead());
  int64_t batchStep = byBatch ? 1 : mask.batch;
  int64_t headStep = byHead ? 1 : mask.heads;
  double numHeads = double(mask.batch) /
                    double(std::max<int64_t>(1, batchStep)) *
                    double(mask.heads) / double(std::max<int64_t>(1, headStep));
  HeadEvaluator evaluate(**rows, mask, options);
  HeadGroups groups(mask.groups);
  double done = 0;
  auto progress = [&](double part) {
    if (options.progress)
      options.progress((done + part) / numHeads);
  };
  for (int64_t b = 0; b < mask.batch; b += batchStep)
    for (int64_t h = 0; h < mask.heads; h += headStep, ++done) {
      if (Error error = checkTiles(mask, mask.groups.size()))
        return error;
      Expected<MaskHeads> head = evaluate.evaluate(b, h, progress);
      if (!head)
        return head.takeError();
      MaskHeads &group = mask.groups[groups.add(std::move(*head))];
      for (int64_t likeB = b; likeB < b + batchStep; ++likeB)
        for (int64_t likeH = h; likeH < h + headStep; ++likeH)
          group.heads.push_back({likeB, likeH});
    }
  for (MaskHeads &group : mask.groups)
    llvm::sort(group.heads);
  masks.push_back(std::move(mask));
  return Error::success();
}

Expected<std::vector<MaskTiles>>
attn::evaluateMasks(mlir::func::FuncOp function,
                    llvm::ArrayRef<const Tensor *> inputs,
                    const MaskTilesOptions &options) {
  MaskObserver observer(options);
  EvaluatorOptions evaluator;
  evaluator.threads = options.threads;
  if (Error error = observeAttentions(function, inputs, evaluator, observer))
    return std::move(error);
  return std::move(observer.masks);
}

//===----------------------------------------------------------------------===//
// Bounds of blocks
//===----------------------------------------------------------------------===//

namespace {
class BlocksObserver : public AttentionObserver {
public:
  explicit BlocksObserver(const MaskTilesOptions &options) : options(options) {}

  Error observe(mlir::attn::AttentionLikeOpInterface op,
                const AttentionInputs &inputs) override;
  std::vector<BlocksTiles> blocks;

private:
  const MaskTilesOptions &options;
};
} // namespace

Error BlocksObserver::observe(mlir::attn::AttentionLikeOpInterface op,
                              const AttentionInputs &inputs) {
  EvaluatorOptions evaluator;
  Expected<std::unique_ptr<AttentionRows>> rows =
      AttentionRows::create(op, /*scale=*/1, inputs, evaluator);
  if (!rows)
    return rows.takeError();
  const AttentionSizes &sizes = (*rows)->getSizes();
  MaskTiles shape = makeShape(op, sizes, options);
  int64_t all = shape.getNumTiles();
  BlocksTiles result{op, all, all,
                     op.getMask().empty() && !op.getSparsityAttr() ? all : 0};
  auto online =
      mlir::dyn_cast<mlir::attn::OnlineAttentionOp>(op.getOperation());
  // The tiles that the bounds of each row of tiles leave, and those of them
  // that are full.
  struct Row {
    int64_t lo, hi, fullLo, fullHi;
  };
  std::vector<Row> tileRows;
  if (online && !online.getBlocks().empty()) {
    auto add = [&](BlocksCheck::Bounds bounds) {
      int64_t lo = std::clamp<int64_t>(bounds.lo, 0, sizes.keys);
      int64_t hi = std::clamp<int64_t>(bounds.hi, lo, sizes.keys);
      if (lo == hi) {
        tileRows.push_back({0, 0, 0, 0});
        return;
      }
      // The last tile may be narrower than the others.
      int64_t fullEnd = std::clamp(bounds.fullHi, lo, hi);
      Row row = {lo / shape.tileColumns, ceilDiv(hi, shape.tileColumns),
                 ceilDiv(std::clamp(bounds.fullLo, lo, hi), shape.tileColumns),
                 fullEnd == sizes.keys ? shape.numColumns
                                       : fullEnd / shape.tileColumns};
      row.fullHi = std::max(row.fullLo, row.fullHi);
      tileRows.push_back(row);
    };
    if (Error error = BlocksCheck::forEachTile(online, sizes, inputs, evaluator,
                                               shape.tileRows, add))
      return error;
    result.numVisited = 0;
    for (const Row &row : tileRows) {
      result.numVisited += row.hi - row.lo;
      result.numFull += row.fullHi - row.fullLo;
    }
  }
  if (online && !online.getTiles().empty()) {
    result.numVisited = result.numFull = 0;
    int64_t number = 0;
    auto add = [&](TilesCheck::Class tile) {
      int64_t column = number % shape.numColumns;
      int64_t row = number++ / shape.numColumns;
      bool isBounded = tileRows.empty() || (column >= tileRows[row].lo &&
                                            column < tileRows[row].hi);
      result.numVisited += isBounded && tile.may;
      result.numFull += isBounded && tile.must;
    };
    if (Error error =
            TilesCheck::forEachTile(online, sizes, inputs, evaluator,
                                    shape.tileRows, shape.tileColumns, add))
      return error;
  }
  blocks.push_back(result);
  return Error::success();
}

Expected<std::vector<BlocksTiles>>
attn::evaluateBlocks(mlir::func::FuncOp function,
                     llvm::ArrayRef<const Tensor *> inputs,
                     const MaskTilesOptions &options) {
  BlocksObserver observer(options);
  EvaluatorOptions evaluator;
  evaluator.threads = options.threads;
  if (Error error = observeAttentions(function, inputs, evaluator, observer))
    return std::move(error);
  return std::move(observer.blocks);
}
