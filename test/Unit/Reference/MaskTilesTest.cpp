//===- MaskTilesTest.cpp - Classes of tiles against the definition --------===//

#include "attn/Reference/MaskTiles.h"
#include "TestHelpers.h"
#include <numeric>

using namespace attn;
using namespace attn::test;

namespace {
using Allowed = std::function<bool(int64_t b, int64_t h, int64_t i, int64_t j)>;

/// A mask, and sizes to try it on.
struct Case {
  std::string mask;
  Allowed allowed;
  int64_t batch = 1, heads = 1, queries = 0, keys = 0;
  std::vector<std::string> captures = {};
  std::vector<Tensor> inputs = {};
};
} // namespace

static AttentionText makeText(const Case &test) {
  AttentionText text;
  text.dtype = DType::F32;
  text.mask = test.mask;
  text.captures = test.captures;
  return text;
}

static llvm::Expected<std::vector<MaskTiles>>
evaluate(const Case &test, const MaskTilesOptions &options) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(makeText(test).str());
  Tensor q = makeRandom(DType::F32, {test.batch, test.heads, test.queries, 1},
                        1),
         k = makeRandom(DType::F32, {test.batch, test.heads, test.keys, 1}, 2);
  std::vector<const Tensor *> inputs = {&q, &k, &k};
  for (const Tensor &input : test.inputs)
    inputs.push_back(&input);
  return evaluateMasks(getEntry(*module), inputs, options);
}

/// Compares every tile and every count with the definition.
static void check(const Case &test, int64_t tileRows, int64_t tileColumns,
                  unsigned threads = 2) {
  MaskTilesOptions options;
  options.tileRows = tileRows;
  options.tileColumns = tileColumns;
  options.threads = threads;
  llvm::Expected<std::vector<MaskTiles>> masks = evaluate(test, options);
  ASSERT_TRUE(bool(masks)) << llvm::toString(masks.takeError());
  ASSERT_EQ(masks->size(), 1u);
  const MaskTiles &mask = masks->front();
  EXPECT_EQ(mask.numRows, (test.queries + tileRows - 1) / tileRows);
  EXPECT_EQ(mask.numColumns, (test.keys + tileColumns - 1) / tileColumns);
  std::vector<bool> isSeen(test.batch * test.heads);
  for (const MaskHeads &group : mask.groups)
    for (auto [b, h] : group.heads) {
      EXPECT_FALSE(isSeen[b * test.heads + h]);
      isSeen[b * test.heads + h] = true;
      int64_t numAllowed = 0;
      for (int64_t row = 0; row != mask.numRows; ++row)
        for (int64_t column = 0; column != mask.numColumns; ++column) {
          bool any = false, all = true;
          for (int64_t i = row * tileRows;
               i < std::min((row + 1) * tileRows, test.queries); ++i)
            for (int64_t j = column * tileColumns;
                 j < std::min((column + 1) * tileColumns, test.keys); ++j) {
              bool allowed = test.allowed(b, h, i, j);
              any |= allowed;
              all &= allowed;
              numAllowed += allowed;
            }
          TileClass expected = !any  ? TileClass::Empty
                               : all ? TileClass::Full
                                     : TileClass::Partial;
          ASSERT_EQ(group.tiles[row * mask.numColumns + column], expected)
              << "(" << b << ", " << h << ") " << row << ", " << column;
        }
      EXPECT_EQ(group.numAllowed, numAllowed);
    }
  EXPECT_TRUE(llvm::all_of(isSeen, [](bool seen) { return seen; }));
  EXPECT_EQ(mask.count(TileClass::Empty) + mask.count(TileClass::Partial) +
                mask.count(TileClass::Full),
            mask.getNumTiles());
}

static const char kCausal[] = "%p = arith.cmpi sle, %j, %i : index\n"
                              "attn.yield %p : i1";

static bool isCausal(int64_t, int64_t, int64_t i, int64_t j) { return j <= i; }

TEST(MaskTiles, Causal) {
  for (auto [queries, keys] : {std::pair<int64_t, int64_t>{100, 100},
                               {1, 70},
                               {70, 1},
                               {64, 128},
                               {129, 65}})
    for (auto [rows, columns] :
         {std::pair<int64_t, int64_t>{16, 16}, {32, 8}, {1, 1}, {200, 200}})
      check({kCausal, isCausal, 2, 3, queries, keys}, rows, columns);
}

TEST(MaskTiles, NoPairs) {
  check({kCausal, isCausal, 1, 2, 0, 10}, 16, 16);
  check({kCausal, isCausal, 1, 2, 10, 0}, 16, 16);
  check({kCausal, isCausal, 0, 2, 10, 10}, 16, 16);
}

TEST(MaskTiles, ManyThreads) {
  check({kCausal, isCausal, 1, 1, 1500, 1500}, 16, 16, 7);
}

/// Causal and a window of 512: the diagonal and the far edge of the window.
TEST(MaskTiles, CountsOfWindow) {
  Case test{"%w = arith.constant 512 : index\n"
            "%d = arith.subi %i, %j : index\n"
            "%near = arith.cmpi slt, %d, %w : index\n"
            "%past = arith.cmpi sle, %j, %i : index\n"
            "%p = arith.andi %near, %past : i1\n"
            "attn.yield %p : i1",
            isCausal,
            1,
            1,
            2048,
            2048};
  llvm::Expected<std::vector<MaskTiles>> masks = evaluate(test, {});
  ASSERT_TRUE(bool(masks));
  EXPECT_EQ(masks->front().count(TileClass::Partial), 28);
  EXPECT_EQ(masks->front().count(TileClass::Full), 15 + 14 + 13);
}

TEST(MaskTiles, AlikeHeadsAreOne) {
  // The parity of the head decides.
  Case test{
      "%c2 = arith.constant 2 : index\n"
      "%r = arith.remsi %h, %c2 : index\n"
      "%d = arith.muli %r, %j : index\n"
      "%p = arith.cmpi sle, %d, %i : index\n"
      "attn.yield %p : i1",
      [](int64_t, int64_t h, int64_t i, int64_t j) { return h % 2 * j <= i; },
      2,
      5,
      40,
      50};
  check(test, 16, 16);
  MaskTilesOptions options;
  options.tileRows = options.tileColumns = 16;
  llvm::Expected<std::vector<MaskTiles>> masks = evaluate(test, options);
  ASSERT_TRUE(bool(masks));
  const std::vector<MaskHeads> &groups = masks->front().groups;
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[0].heads.size(), 6u);
  EXPECT_EQ(groups[1].heads.size(), 4u);
  EXPECT_EQ(masks->front().getDensity(groups[0]), 1);
  EXPECT_TRUE(llvm::is_sorted(groups[0].heads));
}

TEST(MaskTiles, Captures) {
  std::vector<double> ids(2 * 90);
  for (size_t n = 0; n != ids.size(); ++n)
    ids[n] = double(n % 90 / (n < 90 ? 13 : 40));
  Case test{"%x = tensor.extract %c0[%b, %i] : tensor<2x90xi32>\n"
            "%y = tensor.extract %c0[%b, %j] : tensor<2x90xi32>\n"
            "%p = arith.cmpi eq, %x, %y : i32\n"
            "attn.yield %p : i1",
            [ids](int64_t b, int64_t, int64_t i, int64_t j) {
              return ids[b * 90 + i] == ids[b * 90 + j];
            },
            2,
            3,
            90,
            90,
            {"tensor<2x90xi32>"},
            {}};
  test.inputs.push_back(makeTensor(DType::I32, {2, 90}, ids));
  check(test, 16, 16);
}

/// What an attention gives may be what the mask of another one reads.
TEST(MaskTiles, MaskFromAnAttention) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
    !t = tensor<1x1x6x1xf32>
    func.func @f(%q: !t, %k: !t, %v: !t) -> !t {
      %e = tensor.empty() : !t
      %x = attn.attention ins(%q, %k, %v : !t, !t, !t) outs(%e : !t)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi eq, %j, %i : index
          attn.yield %p : i1
        }
      %y = attn.attention ins(%x, %k, %v : !t, !t, !t)
        captures(%x : !t) outs(%e : !t)
        mask(%b, %h, %i, %j, %c) {
          %0 = arith.constant 0 : index
          %zero = arith.constant 0.0 : f32
          %s = tensor.extract %c[%0, %0, %j, %0] : !t
          %p = arith.cmpf ogt, %s, %zero : f32
          attn.yield %p : i1
        }
      return %y : !t
    })");
  Tensor q = makeTensor(DType::F32, {1, 1, 6, 1}, {1}),
         v = makeTensor(DType::F32, {1, 1, 6, 1}, {1, -1, 1, 1, -1, -1});
  MaskTilesOptions options;
  options.tileRows = 6;
  options.tileColumns = 1;
  llvm::Expected<std::vector<MaskTiles>> masks =
      evaluateMasks(getEntry(*module), {&q, &q, &v}, options);
  ASSERT_TRUE(bool(masks)) << llvm::toString(masks.takeError());
  ASSERT_EQ(masks->size(), 2u);
  EXPECT_EQ((*masks)[0].count(TileClass::Partial), 6);
  EXPECT_EQ((*masks)[1].number, 1u);
  constexpr TileClass empty = TileClass::Empty, full = TileClass::Full;
  EXPECT_EQ((*masks)[1].groups.front().tiles,
            (std::vector{full, empty, full, full, empty, empty}));
}

static std::string getError(const Case &test, MaskTilesOptions options) {
  llvm::Expected<std::vector<MaskTiles>> masks = evaluate(test, options);
  EXPECT_FALSE(bool(masks));
  return masks ? "" : llvm::toString(masks.takeError());
}

TEST(MaskTiles, TooManyTiles) {
  MaskTilesOptions options;
  options.tileRows = options.tileColumns = 1;
  options.maxTiles = 99;
  std::string error = getError({kCausal, isCausal, 1, 1, 10, 10}, options);
  EXPECT_NE(error.find("expects masks of at most 99 tiles, but got 10x10 tiles "
                       "of each of 1 or more heads that differ"),
            std::string::npos)
      << error;
}

TEST(MaskTiles, ReadOutsideOfACapture) {
  Case test{"%p = tensor.extract %c0[%j] : tensor<?xi1>\n"
            "attn.yield %p : i1",
            isCausal,
            1,
            1,
            300,
            300,
            {"tensor<?xi1>"},
            {}};
  test.inputs.push_back(makeTensor(DType::I1, {200}, {1}));
  MaskTilesOptions options;
  options.tileRows = 1;
  options.threads = 4;
  std::string error = getError(test, options);
  EXPECT_NE(error.find("at (b, h, i, j) = (0, 0, 0, 200)"), std::string::npos)
      << error;
}

TEST(MaskTiles, Progress) {
  std::vector<double> parts;
  MaskTilesOptions options;
  options.tileRows = options.tileColumns = 8;
  options.progress = [&](double part) { parts.push_back(part); };
  llvm::Expected<std::vector<MaskTiles>> masks =
      evaluate({kCausal, isCausal, 1, 1, 64, 64}, options);
  ASSERT_TRUE(bool(masks));
  EXPECT_EQ(parts.size(), 8u);
  EXPECT_TRUE(llvm::is_sorted(parts));
}

//===----------------------------------------------------------------------===//
// Bounds of blocks
//===----------------------------------------------------------------------===//

TEST(BlocksTiles, Causal) {
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(R"(
    !t = tensor<1x2x50x4xf32>
    func.func @f(%q: !t, %a: !t, %m: tensor<1x2x50xf32>) -> !t {
      %r:3 = attn.online_attention scale 1.0 ins(%q, %q, %q : !t, !t, !t)
          outs(%a, %m, %m : !t, tensor<1x2x50xf32>, tensor<1x2x50xf32>)
        mask(%b, %h, %i, %j) {
          %p = arith.cmpi sle, %j, %i : index
          attn.yield %p : i1
        }
        blocks(%b, %h, %i0, %i1, %skv) {
          %c0 = arith.constant 0 : index
          %c1 = arith.constant 1 : index
          %full = arith.addi %i0, %c1 : index
          attn.yield %c0, %c0, %full, %i1 : index, index, index, index
        }
      return %r#0 : !t
    })");
  Tensor q = makeTensor(DType::F32, {1, 2, 50, 4}, {0}),
         m = makeTensor(DType::F32, {1, 2, 50}, {0});
  MaskTilesOptions options;
  options.tileRows = 10;
  options.tileColumns = 20;
  llvm::Expected<std::vector<BlocksTiles>> blocks =
      evaluateBlocks(getEntry(*module), {&q, &q, &m}, options);
  ASSERT_TRUE(bool(blocks)) << llvm::toString(blocks.takeError());
  ASSERT_EQ(blocks->size(), 1u);
  EXPECT_EQ(blocks->front().numTiles, 2 * 5 * 3);
  EXPECT_EQ(blocks->front().numVisited, 2 * (1 + 1 + 2 + 2 + 3));
  EXPECT_EQ(blocks->front().numFull, 2 * (0 + 0 + 1 + 1 + 2));
}
