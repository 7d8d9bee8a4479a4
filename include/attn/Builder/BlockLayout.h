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
// These are the layouts of DeepSpeed's sparse attention, with the same meaning
// of each number, but for two things: where a layout is causal, no block above
// the diagonal is in it, random and global ones included; and random blocks
// come from a seed. python/attn/layouts.py makes the same bits from the same
// numbers.
//
// Blocks are counted from 0, and `length` is in tokens. An error of make()
// names the number that does not fit. All of them
//
//   expects heads, length and block to be at least 1
//   expects a length that is a multiple of the block
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_BLOCKLAYOUT_H
#define ATTN_BUILDER_BLOCKLAYOUT_H

#include "attn/Support/Tensor.h"
#include <vector>

namespace attn {

/// Blocks of heads, rows (of queries) and columns (of keys).
class BlockLayout {
public:
  /// Without blocks.
  BlockLayout(int64_t heads, int64_t rows, int64_t columns)
      : heads(heads), rows(rows), columns(columns),
        bits(heads * rows * columns) {}

  int64_t getHeads() const { return heads; }
  int64_t getRows() const { return rows; }
  int64_t getColumns() const { return columns; }

  bool get(int64_t head, int64_t row, int64_t column) const {
    return bits[(head * rows + row) * columns + column];
  }
  void set(int64_t head, int64_t row, int64_t column, bool value = true) {
    bits[(head * rows + row) * columns + column] = value;
  }

  /// Blocks that are in the layout, over all of them.
  double getDensity() const;
  /// The bytes 0 and 1 as [heads, rows, columns]: the data of an i1 capture.
  const std::vector<uint8_t> &getBytes() const { return bits; }
  /// The same as an i1 tensor.
  llvm::Expected<Tensor> toTensor() const;
  /// The same as lists: where the blocks of each row start in a list of
  /// columns, and where those of the last one end, [heads, rows + 1], and that
  /// list. Of i32 or i64.
  llvm::Expected<std::pair<Tensor, Tensor>>
  toLists(DType dtype = DType::I32) const;

private:
  int64_t heads, rows, columns;
  std::vector<uint8_t> bits;
};

namespace layouts {

/// What all layouts have.
struct LayoutSize {
  int64_t heads = 1;
  /// Tokens, queries and keys alike; a multiple of `block`.
  int64_t length = 0;
  /// Tokens in a block.
  int64_t block = 16;
  /// No block above the diagonal. (DeepSpeed: unidirectional.)
  bool causal = false;
};

/// Windows side by side, in each of which all blocks see each other, and some
/// blocks of each that all see (Child et al., "Generating long sequences with
/// sparse transformers", 2019).
struct Fixed : public LayoutSize {
  /// Blocks of a window.
  int64_t localBlocks = 4;
  /// Blocks of a window that are global, its last ones; divides localBlocks.
  int64_t globalBlocks = 1;
  /// Whether global blocks see all, too; not with `causal`.
  bool horizontalGlobal = false;
  /// With n of these, head h has its global blocks h % n times globalBlocks
  /// before the end of a window; at most localBlocks / globalBlocks.
  int64_t globalPatterns = 1;

  llvm::Expected<BlockLayout> make() const;
};

/// Windows of several sizes, global blocks anywhere, and random ones.
struct Variable : public LayoutSize {
  /// Random blocks in each row.
  int64_t randomBlocks = 0;
  /// Blocks of the first windows; the last size repeats.
  std::vector<int64_t> localBlocks = {4};
  /// Blocks that all see; those behind the end are left out.
  std::vector<int64_t> globalBlocks = {0};
  /// If not empty, globalBlocks[n] is the first of a range and this is behind
  /// its last one.
  std::vector<int64_t> globalEnds;
  /// Whether global blocks see all, too; not with `causal`.
  bool horizontalGlobal = false;
  /// Whether each head has random blocks of its own, and where they come from.
  bool perHead = false;
  uint64_t seed = 0;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window, the first blocks global, and random ones (Zaheer et al.,
/// "Big Bird: transformers for longer sequences", 2020).
struct BigBird : public LayoutSize {
  /// Random blocks in each row.
  int64_t randomBlocks = 1;
  /// Blocks of the window, whose middle is that of the query; an even number
  /// counts as the next one.
  int64_t windowBlocks = 3;
  /// The first blocks see all, and all see them.
  int64_t globalBlocks = 1;
  /// Whether each head has random blocks of its own, and where they come from.
  bool perHead = false;
  uint64_t seed = 0;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window and some blocks that see all and that all see (Beltagy et
/// al., "Longformer: the long-document transformer", 2020; by blocks).
struct BSLongformer : public LayoutSize {
  /// As BigBird has it.
  int64_t windowBlocks = 3;
  /// As Variable has them.
  std::vector<int64_t> globalBlocks = {0};
  std::vector<int64_t> globalEnds;

  llvm::Expected<BlockLayout> make() const;
};

/// A sliding window, causal unless told otherwise.
struct LocalSlidingWindow : public LayoutSize {
  LocalSlidingWindow() { causal = true; }
  /// As BigBird has it; half of it, the past, where it is causal.
  int64_t windowBlocks = 3;

  llvm::Expected<BlockLayout> make() const;
};

/// The `count` blocks of each row with the highest scores, [heads, rows,
/// columns], as sparsity that depends on data chooses them: of equal ones the
/// first, fewer where there are no more, and none that is NaN or -inf. With
/// `causal`, none above the diagonal.
llvm::Expected<BlockLayout> topK(llvm::ArrayRef<float> scores, int64_t heads,
                                 int64_t rows, int64_t columns, int64_t count,
                                 bool causal = false);

} // namespace layouts
} // namespace attn

#endif // ATTN_BUILDER_BLOCKLAYOUT_H
