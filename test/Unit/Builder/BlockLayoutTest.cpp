//===- BlockLayoutTest.cpp - Layouts against their definitions ------------===//
//
// test/Python/test_layouts.py has the same checksums.
//
//===----------------------------------------------------------------------===//

#include "attn/Builder/BlockLayout.h"
#include "../Support/TestHelpers.h"
#include "llvm/Support/CRC.h"
#include <cmath>

using namespace attn;
using namespace attn::layouts;

/// Rows of '#' and '.', joined by '/'.
static std::string draw(const BlockLayout &layout, int64_t head = 0) {
  std::string text;
  for (int64_t row = 0; row != layout.getRows(); ++row) {
    text += row == 0 ? "" : "/";
    for (int64_t column = 0; column != layout.getColumns(); ++column)
      text += layout.get(head, row, column) ? '#' : '.';
  }
  return text;
}

/// A layout of 16 tokens to a block.
template <typename T> static T withBlocks(int64_t blocks, int64_t heads = 1) {
  T layout;
  layout.heads = heads;
  layout.length = blocks * 16;
  return layout;
}

template <typename T> static std::string drawOf(const T &layout) {
  return draw(llvm::cantFail(layout.make()));
}

template <typename T> static std::string errorOf(const T &layout) {
  return messageOf(layout.make());
}

static bool isLowerTriangular(const BlockLayout &layout) {
  for (int64_t head = 0; head != layout.getHeads(); ++head)
    for (int64_t row = 0; row != layout.getRows(); ++row)
      for (int64_t column = row + 1; column != layout.getColumns(); ++column)
        if (layout.get(head, row, column))
          return false;
  return true;
}

TEST(BlockLayout, Fixed) {
  Fixed fixed = withBlocks<Fixed>(6);
  fixed.localBlocks = 2;
  EXPECT_EQ(drawOf(fixed), "##.#.#/##.#.#/.###.#/.###.#/.#.###/.#.###");
  fixed.causal = true;
  EXPECT_EQ(drawOf(fixed), "#...../##..../.##.../.###../.#.##./.#.###");
  fixed.causal = false;
  fixed.horizontalGlobal = true;
  EXPECT_EQ(drawOf(fixed), "##.#.#/######/.###.#/######/.#.###/######");
}

TEST(BlockLayout, FixedShortLastWindow) {
  Fixed fixed = withBlocks<Fixed>(5);
  EXPECT_EQ(drawOf(fixed), "#####/#####/#####/#####/...##");
  // Shorter than one window, and than its global blocks.
  fixed = withBlocks<Fixed>(1);
  fixed.globalBlocks = 2;
  EXPECT_EQ(drawOf(fixed), "#");
}

TEST(BlockLayout, FixedPatterns) {
  Fixed fixed = withBlocks<Fixed>(8, 4);
  fixed.globalPatterns = 3;
  BlockLayout layout = llvm::cantFail(fixed.make());
  for (int64_t head = 0; head != 4; ++head)
    for (int64_t column = 0; column != 8; ++column) {
      bool isGlobal = true;
      for (int64_t row = 0; row != 8; ++row)
        isGlobal &= layout.get(head, row, column);
      EXPECT_EQ(isGlobal, column % 4 == 3 - head % 3) << head << " " << column;
    }
}

TEST(BlockLayout, Variable) {
  Variable variable = withBlocks<Variable>(6);
  variable.localBlocks = {1, 2};
  variable.globalBlocks = {4, 9};
  EXPECT_EQ(drawOf(variable), "#...#./.##.#./.##.#./...##./...##./....##");
  variable.horizontalGlobal = true;
  EXPECT_EQ(drawOf(variable), "#...#./.##.#./.##.#./...##./######/....##");
  variable.horizontalGlobal = false;
  variable.globalBlocks = {1};
  variable.globalEnds = {3};
  variable.causal = true;
  EXPECT_EQ(drawOf(variable), "#...../.#..../.##.../.###../.####./.##..#");
}

TEST(BlockLayout, BigBird) {
  BigBird bigBird = withBlocks<BigBird>(6);
  bigBird.randomBlocks = 0;
  EXPECT_EQ(drawOf(bigBird), "######/###.../####../#.###./#..###/#...##");
  bigBird.causal = true;
  EXPECT_EQ(drawOf(bigBird), "#...../##..../###.../#.##../#..##./#...##");
}

TEST(BlockLayout, BSLongformer) {
  BSLongformer longformer = withBlocks<BSLongformer>(6);
  longformer.globalBlocks = {3};
  longformer.windowBlocks = 1;
  EXPECT_EQ(drawOf(longformer), "#..#../.#.#../..##../######/...##./...#.#");
  longformer.causal = true;
  EXPECT_EQ(drawOf(longformer), "#...../.#..../..#.../####../...##./...#.#");
}

TEST(BlockLayout, LocalSlidingWindow) {
  LocalSlidingWindow local = withBlocks<LocalSlidingWindow>(4);
  EXPECT_EQ(drawOf(local), "#.../##../.##./..##");
  local.causal = false;
  EXPECT_EQ(drawOf(local), "##../###./.###/..##");
  local.windowBlocks = 2;
  EXPECT_EQ(drawOf(local), "##../###./.###/..##");
}

TEST(BlockLayout, RandomBlocks) {
  BigBird bigBird = withBlocks<BigBird>(20, 3);
  bigBird.randomBlocks = 4;
  bigBird.windowBlocks = 1;
  bigBird.globalBlocks = 0;
  BlockLayout shared = llvm::cantFail(bigBird.make());
  EXPECT_EQ(draw(shared, 0), draw(shared, 2));
  bigBird.perHead = true;
  BlockLayout layout = llvm::cantFail(bigBird.make());
  EXPECT_EQ(draw(layout, 0), draw(shared, 0));
  EXPECT_NE(draw(layout, 0), draw(layout, 2));
  for (int64_t row = 0; row != 20; ++row) {
    int64_t count = 0;
    for (int64_t column = 0; column != 20; ++column)
      count += layout.get(1, row, column);
    // The block of the diagonal may be among them.
    EXPECT_TRUE(count == 4 || count == 5) << count;
  }
  bigBird.seed = 1;
  EXPECT_NE(draw(layout), draw(llvm::cantFail(bigBird.make())));
  bigBird.causal = true;
  BlockLayout causal = llvm::cantFail(bigBird.make());
  EXPECT_TRUE(isLowerTriangular(causal));
  // All there are, where they are fewer than asked for.
  EXPECT_EQ(draw(causal).substr(0, 3 * 21 - 1),
            "#.................../##................../###.................");
}

TEST(BlockLayout, Causal) {
  auto check = [](auto layout) {
    layout.causal = true;
    EXPECT_TRUE(isLowerTriangular(llvm::cantFail(layout.make())));
  };
  Fixed fixed = withBlocks<Fixed>(11, 2);
  fixed.globalBlocks = 2;
  check(fixed);
  Variable variable = withBlocks<Variable>(11);
  variable.randomBlocks = 3;
  check(variable);
  check(withBlocks<BSLongformer>(11));
}

TEST(BlockLayout, Density) {
  LocalSlidingWindow local = withBlocks<LocalSlidingWindow>(8, 2);
  local.windowBlocks = 1;
  BlockLayout layout = llvm::cantFail(local.make());
  EXPECT_EQ(layout.getDensity(), 1.0 / 8);
  Tensor tensor = llvm::cantFail(layout.toTensor());
  EXPECT_EQ(tensor.getDType(), DType::I1);
  EXPECT_EQ(tensor.getShape().vec(), (std::vector<int64_t>{2, 8, 8}));
  EXPECT_EQ(tensor.getAsInt(9), 1);
  EXPECT_EQ(tensor.getAsInt(10), 0);
  EXPECT_EQ(BlockLayout(0, 4, 4).getDensity(), 0);
}

/// Python makes the same bits.
TEST(BlockLayout, Checksums) {
  auto checksum = [](const auto &layout) {
    return llvm::crc32(llvm::cantFail(layout.make()).getBytes());
  };
  Fixed fixed = withBlocks<Fixed>(30, 4);
  fixed.globalPatterns = 4;
  EXPECT_EQ(checksum(fixed), 1365972526u);
  Variable variable = withBlocks<Variable>(40, 3);
  variable.randomBlocks = 2;
  variable.localBlocks = {3, 5};
  variable.globalBlocks = {2, 17};
  variable.globalEnds = {3, 20};
  variable.perHead = true;
  variable.seed = 123456789012345;
  EXPECT_EQ(checksum(variable), 623650919u);
  BigBird bigBird = withBlocks<BigBird>(64, 2);
  bigBird.randomBlocks = 3;
  bigBird.causal = true;
  bigBird.perHead = true;
  EXPECT_EQ(checksum(bigBird), 238096115u);
  EXPECT_EQ(checksum(withBlocks<BSLongformer>(33, 2)), 2913264994u);
  EXPECT_EQ(checksum(withBlocks<LocalSlidingWindow>(21, 2)), 1244547885u);
}

TEST(BlockLayout, Errors) {
  EXPECT_EQ(errorOf(Fixed()), "expects length to be at least 1, but got 0");
  Fixed fixed = withBlocks<Fixed>(4, 0);
  EXPECT_EQ(errorOf(fixed), "expects heads to be at least 1, but got 0");
  fixed = withBlocks<Fixed>(4);
  fixed.length = 70;
  EXPECT_EQ(errorOf(fixed), "expects a length that is a multiple of the block "
                            "of 16, but got 70");
  fixed = withBlocks<Fixed>(4);
  fixed.globalBlocks = 3;
  EXPECT_EQ(errorOf(fixed), "expects local blocks that are a multiple of the 3 "
                            "global blocks, but got 4");
  fixed.globalBlocks = 2;
  fixed.globalPatterns = 3;
  EXPECT_EQ(errorOf(fixed), "expects global patterns to be at most 2, the "
                            "choices in a window, but got 3");
  fixed = withBlocks<Fixed>(4);
  fixed.causal = fixed.horizontalGlobal = true;
  EXPECT_EQ(errorOf(fixed), "expects global blocks that see all where the "
                            "layout is not causal");

  Variable variable = withBlocks<Variable>(4);
  variable.randomBlocks = 5;
  EXPECT_EQ(errorOf(variable), "expects random blocks to be at most 4, the "
                               "blocks of a row, but got 5");
  variable = withBlocks<Variable>(4);
  variable.localBlocks = {};
  EXPECT_EQ(errorOf(variable), "expects the size of a window, but got none");
  variable.localBlocks = {2, 0};
  EXPECT_EQ(errorOf(variable),
            "expects local blocks to be at least 1, but got 0");
  variable.localBlocks = {2};
  variable.globalBlocks = {1, 2};
  variable.globalEnds = {2};
  EXPECT_EQ(errorOf(variable),
            "expects an end for each of 2 global blocks, but got 1");
  variable.globalEnds = {2, 2};
  EXPECT_EQ(errorOf(variable), "expects a range of global blocks to end behind "
                               "block 2, but got the end 2");
  variable.globalBlocks = {-1};
  EXPECT_EQ(errorOf(variable),
            "expects global blocks to be at least 0, but got -1");

  BigBird bigBird = withBlocks<BigBird>(2);
  EXPECT_EQ(errorOf(bigBird), "expects window blocks to be at most 2, the "
                              "blocks of a row, but got 3");
  bigBird.windowBlocks = 1;
  bigBird.globalBlocks = -1;
  EXPECT_EQ(errorOf(bigBird),
            "expects global blocks to be at least 0, but got -1");
}

//===----------------------------------------------------------------------===//
// Lists
//===----------------------------------------------------------------------===//

static std::vector<int64_t> intsOf(const Tensor &tensor) {
  std::vector<int64_t> ints;
  for (int64_t k = 0; k != tensor.getNumElements(); ++k)
    ints.push_back(tensor.getAsInt(k));
  return ints;
}

TEST(BlockLayout, Lists) {
  BlockLayout layout(2, 2, 3);
  layout.set(0, 0, 2);
  layout.set(0, 1, 0);
  layout.set(0, 1, 1);
  layout.set(1, 1, 1);
  for (DType dtype : {DType::I32, DType::I64}) {
    auto [rows, columns] = llvm::cantFail(layout.toLists(dtype));
    EXPECT_EQ(rows.getDType(), dtype);
    EXPECT_EQ(rows.getShape(), llvm::ArrayRef<int64_t>({2, 3}));
    EXPECT_EQ(intsOf(rows), (std::vector<int64_t>{0, 1, 3, 3, 3, 4}));
    EXPECT_EQ(intsOf(columns), (std::vector<int64_t>{2, 0, 1, 1}));
  }
  auto [rows, columns] = llvm::cantFail(BlockLayout(1, 2, 3).toLists());
  EXPECT_EQ(intsOf(rows), (std::vector<int64_t>{0, 0, 0}));
  EXPECT_EQ(columns.getShape(), llvm::ArrayRef<int64_t>({0}));
  EXPECT_EQ(messageOf(layout.toLists(DType::I16)),
            "expects lists of i32 or i64, but got i16");
}

TEST(BlockLayout, Sizes) {
  constexpr int64_t large = int64_t(1) << 32;
  Fixed fixed = withBlocks<Fixed>(large);
  EXPECT_EQ(errorOf(fixed),
            "expects at most 2147483648 blocks, but got 1 heads "
            "of 4294967296 by 4294967296");
  LocalSlidingWindow window = withBlocks<LocalSlidingWindow>(1 << 20, 64);
  EXPECT_EQ(errorOf(window), "expects at most 2147483648 blocks, but got 64 "
                             "heads of 1048576 by 1048576");
  EXPECT_EQ(errorOf(withBlocks<BSLongformer>(1, INT64_MAX)),
            "expects at most 2147483648 blocks, but got 9223372036854775807 "
            "heads of 1 by 1");
  EXPECT_EQ(messageOf(BlockLayout::create(1, -1, 2)),
            "expects rows to be at least 0, but got -1");
  EXPECT_EQ(llvm::cantFail(BlockLayout::create(2, 3, 4)).getBytes().size(),
            24u);
  // Sizes of parts beyond the layout are cut.
  Variable variable = withBlocks<Variable>(3);
  variable.localBlocks = {1, INT64_MAX};
  variable.globalBlocks = {INT64_MAX};
  EXPECT_EQ(drawOf(variable), "#../.##/.##");
  fixed = withBlocks<Fixed>(2);
  fixed.localBlocks = INT64_MAX;
  EXPECT_EQ(drawOf(fixed), "##/##");
}

TEST(BlockLayout, TopK) {
  const float nan = NAN, inf = INFINITY;
  std::vector<float> scores = {1, 3, 2, 3, 4, 4, nan, -inf, -1, -2, inf, nan};
  auto drawn = [&](int64_t count, bool causal) {
    return draw(llvm::cantFail(topK(scores, 1, 3, 4, count, causal)));
  };
  EXPECT_EQ(drawn(0, false), "..../..../....");
  EXPECT_EQ(drawn(1, false), ".#../#.../..#.");
  EXPECT_EQ(drawn(2, false), ".#.#/##../#.#.");
  EXPECT_EQ(drawn(9, false), "####/##../###.");
  EXPECT_EQ(drawn(2, true), "#.../##../#.#.");
  EXPECT_EQ(messageOf(topK(scores, 1, 3, 4, -1)),
            "expects blocks of a row to be at least 0, but got -1");
  EXPECT_EQ(messageOf(topK({}, -1, 2, 2, 1)),
            "expects heads to be at least 0, but got -1");
  EXPECT_EQ(messageOf(topK({}, int64_t(1) << 62, 4, 1, 1)),
            "expects at most 2147483648 blocks, but got 4611686018427387904 "
            "heads of 4 by 1");
  EXPECT_EQ(llvm::cantFail(topK({}, 0, 1 << 30, 4, 1)).getBytes().size(), 0u);
  EXPECT_EQ(messageOf(topK(scores, 2, 3, 4, 1)),
            "expects 24 scores of blocks, but got 12");
}
