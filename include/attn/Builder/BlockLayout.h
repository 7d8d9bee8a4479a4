//===- BlockLayout.h - Explicit layouts of sparse blocks --------*- C++ -*-===//
//
//   layouts::BigBird bigBird;
//   bigBird.heads = 8;
//   bigBird.length = 4096;
//   bigBird.block = 64;
//   llvm::Expected<BlockLayout> layout = bigBird.make();
//
// A layout says which blocks of queries and keys take part in attention, head
// by head: a bit for each block of `block` queries and `block` keys. A kernel
// takes it as its sparsity (AttentionSpec::sparsity), as bits or as lists, or
// reads it as a capture (masks::blockLayout).
//
// These are the layouts of DeepSpeed's sparse attention. Each number has the
// same meaning, with two differences: a causal layout has no block above the
// diagonal, not even random or global ones; and random blocks come from a seed.
// python/attn/layouts.py makes the same bits from the same numbers.
//
// Blocks are counted from 0, and `length` is in tokens. An error of make()
// names the number that does not fit. All layouts have these errors:
//
//   expects heads, length and block to be at least 1
//   expects a length that is a multiple of the block
//   expects at most 2147483648 blocks
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_BLOCKLAYOUT_H
#define ATTN_BUILDER_BLOCKLAYOUT_H

#include "attn/Support/Tensor.h"
#include <vector>

namespace attn {

/// The most blocks of a layout, which takes a byte for each.
inline constexpr int64_t kMaxLayoutBlocks = int64_t(1) << 31;

/// Blocks of heads, rows (of queries) and columns (of keys).
class BlockLayout {
public:
  /// A layout in which no block takes part. The sizes and their product are
  /// from 0 to kMaxLayoutBlocks, which `create` checks.
  BlockLayout(int64_t heads, int64_t rows, int64_t columns)
      : heads(heads), rows(rows), columns(columns),
        bits(heads * rows * columns) {}
  static llvm::Expected<BlockLayout> create(int64_t heads, int64_t rows,
                                            int64_t columns);

  int64_t getHeads() const { return heads; }
  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }

  bool get(int64_t head, int64_t row, int64_t column) const {
    return bits[(head * rows + row) * columns + column];
  }
  void set(int64_t head, int64_t row, int64_t column, bool value = true) {
    bits[(head * rows + row) * columns + column] = value;
  }

  /// The fraction of blocks that take part.
  double getDensity() const;
  /// The bytes 0 and 1 as [heads, rows, columns]: the data of an i1 capture.
  const std::vector<uint8_t> &getBytes() const { return bits; }
  /// The same as an i1 tensor.
  llvm::Expected<Tensor> toTensor() const;
  /// The layout as two lists of i32 or i64: row offsets, [heads, rows + 1],
  /// which say where the blocks of each row start in the second list and where
  /// the last row ends; and the columns of all blocks.
  llvm::Expected<std::pair<Tensor, Tensor>>
  toLists(DType dtype = DType::I32) const;

private:
  int64_t heads, rows, columns;
  std::vector<uint8_t> bits;
};

namespace layouts {

/// The members that all layouts have.
struct LayoutSize {
  int64_t heads = 1;
  /// The number of queries and of keys in tokens; a multiple of `block`.
  int64_t length = 0;
  /// Tokens in a block.
  int64_t block = 16;
  /// No block above the diagonal. (DeepSpeed: unidirectional.)
  bool causal = false;
};

/// Adjacent windows in which all blocks see each other, with some global blocks
/// in each window, which all blocks see (Child et al., "Generating long
/// sequences with sparse transformers", 2019).
struct Fixed : public LayoutSize {
  /// Blocks of a window.
  int64_t localBlocks = 4;
  /// So many last blocks of a window are global; divides localBlocks.
  int64_t globalBlocks = 1;
  /// Whether global blocks of queries see all keys, too; not with `causal`.
  bool horizontalGlobal = false;
  /// With n patterns, the global blocks of head h end h % n times globalBlocks
  /// blocks before the end of a window; at most localBlocks / globalBlocks.
  int64_t globalPatterns = 1;

  llvm::Expected<BlockLayout> make() const;
};

/// Windows of several sizes, global blocks anywhere, and random blocks.
struct Variable : public LayoutSize {
  /// Random blocks in each row.
  int64_t randomBlocks = 0;
  /// The sizes of the first windows, in blocks; the last size repeats.
  std::vector<int64_t> localBlocks = {4};
  /// Blocks of keys that all queries see; blocks past the end are ignored.
  std::vector<int64_t> globalBlocks = {0};
  /// If not empty, global blocks are ranges, from globalBlocks[n] up to and
  /// without globalEnds[n].
  std::vector<int64_t> globalEnds;
  /// Whether global blocks of queries see all keys, too; not with `causal`.
  bool horizontalGlobal = false;
  /// Whether each head has random blocks of its own, and their seed.
  bool perHead = false;
  uint64_t seed = 0;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window, the first blocks as global blocks, and random blocks
/// (Zaheer et al., "Big Bird: transformers for longer sequences", 2020).
struct BigBird : public LayoutSize {
  /// Random blocks in each row.
  int64_t randomBlocks = 1;
  /// The size of the window in blocks, centred at the query's block; an even
  /// number counts as the next odd one.
  int64_t windowBlocks = 3;
  /// So many first blocks see all blocks, and all blocks see them.
  int64_t globalBlocks = 1;
  /// Whether each head has random blocks of its own, and their seed.
  bool perHead = false;
  uint64_t seed = 0;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window and global blocks, which see all blocks and which all
/// blocks see (Beltagy et al., "Longformer: the long-document transformer",
/// 2020; by blocks).
struct BSLongformer : public LayoutSize {
  /// As in BigBird.
  int64_t windowBlocks = 3;
  /// As in Variable.
  std::vector<int64_t> globalBlocks = {0};
  std::vector<int64_t> globalEnds;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window, causal by default.
struct LocalSlidingWindow : public LayoutSize {
  LocalSlidingWindow() { causal = true; }
  /// As in BigBird; a causal layout has only the past half of the window.
  int64_t windowBlocks = 3;

  llvm::Expected<BlockLayout> make() const;
};

/// The `count` blocks of each row with the highest scores, for sparsity that
/// depends on data. `scores` is [heads, rows, columns]. Of blocks with equal
/// scores the first are taken. Blocks whose score is NaN or -inf are never
/// taken, and with `causal` no blocks above the diagonal, so that a row may
/// have fewer than `count`.
llvm::Expected<BlockLayout> topK(llvm::ArrayRef<float> scores, int64_t heads,
                                 int64_t rows, int64_t columns, int64_t count,
                                 bool causal = false);

} // namespace layouts
} // namespace attn

#endif // ATTN_BUILDER_BLOCKLAYOUT_H
