//===- BlockLayout.cpp - Explicit layouts of sparse blocks ----------------===//

#include "attn/Builder/BlockLayout.h"
#include "attn/Support/Random.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/Twine.h"
#include <array>
#include <cmath>
#include <numeric>

using namespace attn;
using namespace attn::layouts;
using llvm::Error;
using llvm::Expected;

/// The number of blocks, or an error.
static Expected<int64_t> countBlocks(int64_t heads, int64_t rows,
                                     int64_t columns) {
  int64_t sizes[] = {heads, rows, columns};
  for (auto [name, size] :
       llvm::zip_equal(std::array{"heads", "rows", "columns"}, sizes))
    if (size < 0)
      return llvm::createStringError("expects " + llvm::Twine(name) +
                                     " to be at least 0, but got " +
                                     llvm::Twine(size));
  // No two of these numbers have a product beyond 64 bits.
  bool isTooLarge = false;
  int64_t blocks = 1;
  for (int64_t size : sizes) {
    isTooLarge |= size > kMaxLayoutBlocks;
    if (!isTooLarge)
      blocks *= size;
    isTooLarge |= blocks > kMaxLayoutBlocks;
  }
  if (isTooLarge)
    return llvm::createStringError(
        "expects at most " + llvm::Twine(kMaxLayoutBlocks) +
        " blocks, but got " + llvm::Twine(heads) + " heads of " +
        llvm::Twine(rows) + " by " + llvm::Twine(columns));
  return blocks;
}

Expected<BlockLayout> BlockLayout::create(int64_t heads, int64_t rows,
                                          int64_t columns) {
  Expected<int64_t> blocks = countBlocks(heads, rows, columns);
  if (!blocks)
    return blocks.takeError();
  return BlockLayout(heads, rows, columns);
}

double BlockLayout::getDensity() const {
  if (bits.empty())
    return 0;
  return std::accumulate(bits.begin(), bits.end(), 0.0) / double(bits.size());
}

Expected<Tensor> BlockLayout::toTensor() const {
  Expected<Tensor> tensor = Tensor::create(DType::I1, {heads, rows, columns});
  if (!tensor)
    return tensor.takeError();
  for (size_t index = 0; index != bits.size(); ++index)
    tensor->setFromInt(index, bits[index]);
  return std::move(*tensor);
}

Expected<std::pair<Tensor, Tensor>> BlockLayout::toLists(DType dtype) const {
  if (dtype != DType::I32 && dtype != DType::I64)
    return llvm::createStringError("expects lists of i32 or i64, but got " +
                                   getName(dtype));
  int64_t size = std::count(bits.begin(), bits.end(), 1);
  if (dtype == DType::I32 && size > INT32_MAX)
    return llvm::createStringError("expects i64 for lists of " +
                                   llvm::Twine(size) + " blocks, but got i32");
  Expected<Tensor> offsets = Tensor::create(dtype, {heads, rows + 1});
  if (!offsets)
    return offsets.takeError();
  Expected<Tensor> list = Tensor::create(dtype, {size});
  if (!list)
    return list.takeError();
  int64_t next = 0, number = 0;
  for (int64_t head = 0; head != heads; ++head) {
    for (int64_t row = 0; row != rows; ++row) {
      offsets->setFromInt(number++, next);
      for (int64_t column = 0; column != columns; ++column)
        if (get(head, row, column))
          list->setFromInt(next++, column);
    }
    offsets->setFromInt(number++, next);
  }
  return std::make_pair(std::move(*offsets), std::move(*list));
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static Error checkAtLeast(llvm::StringRef name, int64_t value, int64_t least) {
  if (value >= least)
    return Error::success();
  return llvm::createStringError("expects " + name + " to be at least " +
                                 llvm::Twine(least) + ", but got " +
                                 llvm::Twine(value));
}

static Error checkAtMost(llvm::StringRef name, int64_t value, int64_t most,
                         llvm::StringRef what) {
  if (value <= most)
    return Error::success();
  return llvm::createStringError("expects " + name + " to be at most " +
                                 llvm::Twine(most) + ", " + what +
                                 ", but got " + llvm::Twine(value));
}

static Error checkSize(const LayoutSize &size) {
  for (auto [name, value] : {std::pair("heads", size.heads),
                             {"length", size.length},
                             {"block", size.block}})
    if (Error error = checkAtLeast(name, value, 1))
      return error;
  if (size.length % size.block != 0)
    return llvm::createStringError(
        "expects a length that is a multiple of the block of " +
        llvm::Twine(size.block) + ", but got " + llvm::Twine(size.length));
  int64_t blocks = size.length / size.block;
  return countBlocks(size.heads, blocks, blocks).takeError();
}

/// Checks a number of blocks of a row.
static Error checkCount(const LayoutSize &size, llvm::StringRef name,
                        int64_t value, int64_t least) {
  if (Error error = checkAtLeast(name, value, least))
    return error;
  return checkAtMost(name, value, size.length / size.block,
                     "the blocks of a row");
}

static Error checkHorizontal(const LayoutSize &size, bool horizontal) {
  if (!horizontal || !size.causal)
    return Error::success();
  return llvm::createStringError(
      "expects global blocks that see all where the layout is not "
      "causal");
}

static Error checkGlobals(llvm::ArrayRef<int64_t> blocks,
                          llvm::ArrayRef<int64_t> ends) {
  for (int64_t block : blocks)
    if (Error error = checkAtLeast("global blocks", block, 0))
      return error;
  if (ends.empty())
    return Error::success();
  if (ends.size() != blocks.size())
    return llvm::createStringError(
        "expects an end for each of " + llvm::Twine(blocks.size()) +
        " global blocks, but got " + llvm::Twine(ends.size()));
  for (auto [block, end] : llvm::zip_equal(blocks, ends))
    if (end <= block)
      return llvm::createStringError(
          "expects a range of global blocks to end behind block " +
          llvm::Twine(block) + ", but got the end " + llvm::Twine(end));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

namespace {
/// Draws the parts of layouts. Whatever is drawn above the diagonal of a causal
/// one is left out.
class Painter {
public:
  explicit Painter(const LayoutSize &size)
      : numBlocks(size.length / size.block), causal(size.causal),
        layout(size.heads, numBlocks, numBlocks) {}

  int64_t getNumBlocks() const { return numBlocks; }

  void addRectangle(int64_t head, int64_t beginRow, int64_t endRow,
                    int64_t beginColumn, int64_t endColumn) {
    endRow = std::min(endRow, numBlocks);
    for (int64_t row = std::max<int64_t>(0, beginRow); row < endRow; ++row) {
      int64_t end = std::min(endColumn, causal ? row + 1 : numBlocks);
      for (int64_t column = std::max<int64_t>(0, beginColumn); column < end;
           ++column)
        layout.set(head, row, column);
    }
  }

  void addRows(int64_t head, int64_t begin, int64_t end) {
    addRectangle(head, begin, end, 0, numBlocks);
  }
  void addColumns(int64_t head, int64_t begin, int64_t end) {
    addRectangle(head, 0, numBlocks, begin, end);
  }

  void addWindow(int64_t head, int64_t size) {
    for (int64_t row = 0; row != numBlocks; ++row)
      addRectangle(head, row, row + 1, row - size / 2, row + size / 2 + 1);
  }

  /// Distinct blocks of each row (Floyd, in Bentley, "A sample of brilliance",
  /// 1987).
  void addRandom(int64_t head, int64_t count, uint64_t seed) {
    for (int64_t row = 0; row != numBlocks; ++row) {
      RandomStream random(seed, head * numBlocks + row);
      int64_t range = causal ? row + 1 : numBlocks;
      std::vector<int64_t> chosen;
      for (int64_t last = std::max<int64_t>(0, range - count); last != range;
           ++last) {
        int64_t column = random.getInt(chosen.size(), 0, last + 1);
        chosen.push_back(llvm::is_contained(chosen, column) ? last : column);
      }
      for (int64_t column : chosen)
        layout.set(head, row, column);
    }
  }

  /// Global ranges, as Variable has them.
  void addGlobals(int64_t head, llvm::ArrayRef<int64_t> blocks,
                  llvm::ArrayRef<int64_t> ends, bool horizontal) {
    for (size_t n = 0; n != blocks.size(); ++n) {
      int64_t begin = std::min(blocks[n], numBlocks);
      int64_t end = ends.empty() ? begin + 1 : ends[n];
      addColumns(head, begin, end);
      if (horizontal)
        addRows(head, begin, end);
    }
  }

  /// Makes all heads like the first one.
  void copyFirstHead() {
    for (int64_t head = 1; head < layout.getHeads(); ++head)
      for (int64_t row = 0; row != numBlocks; ++row)
        for (int64_t column = 0; column != numBlocks; ++column)
          layout.set(head, row, column, layout.get(0, row, column));
  }

  BlockLayout take() { return std::move(layout); }

private:
  int64_t numBlocks;
  bool causal;
  BlockLayout layout;
};
} // namespace

//===----------------------------------------------------------------------===//
// Layouts
//===----------------------------------------------------------------------===//

Expected<BlockLayout> Fixed::make() const {
  if (Error error = checkSize(*this))
    return std::move(error);
  for (auto [name, value] : {std::pair("local blocks", localBlocks),
                             {"global blocks", globalBlocks},
                             {"global patterns", globalPatterns}})
    if (Error error = checkAtLeast(name, value, 1))
      return std::move(error);
  if (localBlocks % globalBlocks != 0)
    return llvm::createStringError(
        "expects local blocks that are a multiple of the " +
        llvm::Twine(globalBlocks) + " global blocks, but got " +
        llvm::Twine(localBlocks));
  if (Error error =
          checkAtMost("global patterns", globalPatterns,
                      localBlocks / globalBlocks, "the choices in a window"))
    return std::move(error);
  if (Error error = checkHorizontal(*this, horizontalGlobal))
    return std::move(error);

  Painter painter(*this);
  int64_t numBlocks = painter.getNumBlocks();
  for (int64_t head = 0; head != heads; ++head)
    for (int64_t begin = 0; begin < numBlocks; begin += localBlocks) {
      int64_t end = begin + localBlocks;
      painter.addRectangle(head, begin, end, begin, end);
      int64_t global = end - (1 + head % globalPatterns) * globalBlocks;
      // A last window that is short has them as far back as it needs.
      if (end > numBlocks)
        global =
            std::max<int64_t>(0, std::min(global, numBlocks - globalBlocks));
      painter.addColumns(head, global, global + globalBlocks);
      if (horizontalGlobal)
        painter.addRows(head, global, global + globalBlocks);
    }
  return painter.take();
}

Expected<BlockLayout> Variable::make() const {
  if (Error error = checkSize(*this))
    return std::move(error);
  if (Error error = checkCount(*this, "random blocks", randomBlocks, 0))
    return std::move(error);
  if (localBlocks.empty())
    return llvm::createStringError(
        "expects the size of a window, but got none");
  for (int64_t size : localBlocks)
    if (Error error = checkAtLeast("local blocks", size, 1))
      return std::move(error);
  if (Error error = checkGlobals(globalBlocks, globalEnds))
    return std::move(error);
  if (Error error = checkHorizontal(*this, horizontalGlobal))
    return std::move(error);

  Painter painter(*this);
  for (int64_t head = 0; head != (perHead ? heads : 1); ++head) {
    painter.addRandom(head, randomBlocks, seed);
    int64_t begin = 0;
    for (size_t window = 0; begin < painter.getNumBlocks(); ++window) {
      int64_t size =
          std::min(localBlocks[std::min(window, localBlocks.size() - 1)],
                   painter.getNumBlocks());
      painter.addRectangle(head, begin, begin + size, begin, begin + size);
      begin += size;
    }
    painter.addGlobals(head, globalBlocks, globalEnds, horizontalGlobal);
  }
  if (!perHead)
    painter.copyFirstHead();
  return painter.take();
}

Expected<BlockLayout> BigBird::make() const {
  if (Error error = checkSize(*this))
    return std::move(error);
  if (Error error = checkCount(*this, "random blocks", randomBlocks, 0))
    return std::move(error);
  if (Error error = checkCount(*this, "window blocks", windowBlocks, 1))
    return std::move(error);
  if (Error error = checkCount(*this, "global blocks", globalBlocks, 0))
    return std::move(error);

  Painter painter(*this);
  for (int64_t head = 0; head != (perHead ? heads : 1); ++head) {
    painter.addRandom(head, randomBlocks, seed);
    painter.addWindow(head, windowBlocks);
    painter.addRows(head, 0, globalBlocks);
    painter.addColumns(head, 0, globalBlocks);
  }
  if (!perHead)
    painter.copyFirstHead();
  return painter.take();
}

Expected<BlockLayout> BSLongformer::make() const {
  if (Error error = checkSize(*this))
    return std::move(error);
  if (Error error = checkCount(*this, "window blocks", windowBlocks, 1))
    return std::move(error);
  if (Error error = checkGlobals(globalBlocks, globalEnds))
    return std::move(error);
  Painter painter(*this);
  painter.addWindow(0, windowBlocks);
  painter.addGlobals(0, globalBlocks, globalEnds, /*horizontal=*/true);
  painter.copyFirstHead();
  return painter.take();
}

Expected<BlockLayout> LocalSlidingWindow::make() const {
  if (Error error = checkSize(*this))
    return std::move(error);
  if (Error error = checkCount(*this, "window blocks", windowBlocks, 1))
    return std::move(error);
  Painter painter(*this);
  painter.addWindow(0, windowBlocks);
  painter.copyFirstHead();
  return painter.take();
}

Expected<BlockLayout> layouts::topK(llvm::ArrayRef<float> scores, int64_t heads,
                                    int64_t rows, int64_t columns,
                                    int64_t count, bool causal) {
  if (Error error = checkAtLeast("blocks of a row", count, 0))
    return std::move(error);
  Expected<int64_t> blocks = countBlocks(heads, rows, columns);
  if (!blocks)
    return blocks.takeError();
  if (int64_t(scores.size()) != *blocks)
    return llvm::createStringError("expects " + llvm::Twine(*blocks) +
                                   " scores of blocks, but got " +
                                   llvm::Twine(scores.size()));
  BlockLayout layout(heads, rows, columns);
  if (*blocks == 0)
    return layout;
  for (int64_t head = 0; head != heads; ++head)
    for (int64_t row = 0; row != rows; ++row) {
      llvm::ArrayRef<float> own =
          scores.slice((head * rows + row) * columns, columns);
      std::vector<int64_t> candidates;
      for (int64_t column = 0; column != columns; ++column)
        if (own[column] > -HUGE_VALF && (!causal || column <= row))
          candidates.push_back(column);
      llvm::sort(candidates, [&](int64_t a, int64_t b) {
        return own[a] != own[b] ? own[a] > own[b] : a < b;
      });
      candidates.resize(std::min<size_t>(candidates.size(), count));
      for (int64_t column : candidates)
        layout.set(head, row, column);
    }
  return layout;
}
