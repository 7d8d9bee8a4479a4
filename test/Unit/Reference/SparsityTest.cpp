//===- SparsityTest.cpp - Explicit layouts of blocks ----------------------===//
//
// An attention with a sparsity is one whose mask reads the same blocks, and
// lists that say nothing, or nothing sensible, are errors.
//
//===----------------------------------------------------------------------===//

#include "TestHelpers.h"
#include "attn/Reference/MaskTiles.h"

using namespace attn;
using namespace attn::test;

namespace {
/// Blocks of one operand: [batch, heads, rows, columns] bits.
struct Blocks {
  int64_t batch = 1, heads = 1, rows = 1, columns = 1;
  std::vector<double> bits;

  void fill(uint64_t seed) {
    RandomStream random(seed, 0);
    for (int64_t n = 0; n < batch * heads * rows * columns; ++n)
      bits.push_back(random.getInt(n, 0, 3) == 0);
  }
  Tensor getBits() const {
    return makeTensor(DType::I1, {batch, heads, rows, columns}, bits);
  }
  /// The rows and the columns of the same.
  std::pair<Tensor, Tensor> getLists(DType dtype) const {
    std::vector<double> offsets, list;
    for (int64_t row = 0; row < batch * heads * rows; ++row) {
      if (row % rows == 0)
        offsets.push_back(double(list.size()));
      for (int64_t column = 0; column < columns; ++column)
        if (bits[row * columns + column] != 0)
          list.push_back(double(column));
      offsets.push_back(double(list.size()));
    }
    return {makeTensor(dtype, {batch, heads, rows + 1}, offsets),
            list.empty() ? makeTensor(dtype, {0}, 0.0)
                         : makeTensor(dtype, {int64_t(list.size())}, list)};
  }
};
} // namespace

static void expectSame(const Results &a, const Results &b) {
  for (size_t n = 0; n < a.size(); ++n)
    EXPECT_EQ(a[n].floats, b[n].floats);
}

/// Bits and lists against a mask that reads the bits.
static void testBlocks(int64_t batch, int64_t heads, int64_t queries,
                       int64_t keys, int64_t rowSize, int64_t columnSize,
                       bool perBatch, bool perHead, std::string mask,
                       uint64_t seed) {
  Blocks blocks;
  blocks.batch = perBatch ? batch : 1;
  blocks.heads = perHead ? heads : 1;
  blocks.rows = (queries + rowSize - 1) / rowSize;
  blocks.columns = (keys + columnSize - 1) / columnSize;
  blocks.fill(seed);
  Tensor q = makeRandom(DType::F64, {batch, heads, queries, 1}, 1),
         k = makeRandom(DType::F64, {batch, heads, keys, 1}, 2),
         v = makeRandom(DType::F64, {batch, heads, keys, 1}, 3),
         bits = blocks.getBits();
  std::string block =
      std::to_string(rowSize) + "x" + std::to_string(columnSize);

  AttentionText byMask;
  byMask.captures = {"tensor<?x?x?x?xi1>"};
  byMask.mask = "%bi = arith.constant " + std::to_string(rowSize) +
                " : index\n%bj = arith.constant " + std::to_string(columnSize) +
                " : index\n%zero = arith.constant 0 : index\n"
                "%x = arith.floordivsi %i, %bi : index\n"
                "%y = arith.floordivsi %j, %bj : index\n"
                "%bit = tensor.extract %c0[" +
                (perBatch ? "%b" : "%zero") + ", " +
                (perHead ? "%h" : "%zero") +
                ", %x, %y] : tensor<?x?x?x?xi1>\n" +
                (mask.empty() ? "attn.yield %bit : i1"
                              : mask + "%p = arith.andi %bit, %other : i1\n"
                                       "attn.yield %p : i1");
  Results expected = evaluate(byMask.str(), {&q, &k, &v, &bits});

  AttentionText text;
  if (!mask.empty())
    text.mask = mask + "attn.yield %other : i1";
  text.sparsityTypes = {"tensor<?x?x?xi32>", "tensor<?xi32>"};
  text.sparsity = "#attn.sparsity<lists, block = " + block + ">";
  auto [rows, columns] = blocks.getLists(DType::I32);
  expectSame(evaluate(text.str(), {&q, &k, &v, &rows, &columns}), expected);

  text.sparsityTypes = {"tensor<?x?x?xi64>", "tensor<?xi64>"};
  auto [rows64, columns64] = blocks.getLists(DType::I64);
  expectSame(evaluate(text.str(), {&q, &k, &v, &rows64, &columns64}), expected);
  if (rowSize == 1)
    return;
  text.sparsityTypes = {"tensor<?x?x?x?xi1>"};
  text.sparsity = "#attn.sparsity<bits, block = " + block + ">";
  expectSame(evaluate(text.str(), {&q, &k, &v, &bits}), expected);
}

static const char *const kCausal = "%other = arith.cmpi sle, %j, %i : index\n";

TEST(SparsityTest, IsAMaskThatReadsBlocks) {
  uint64_t seed = 0;
  for (bool perBatch : {false, true})
    for (bool perHead : {false, true})
      for (const char *mask : {"", kCausal}) {
        testBlocks(2, 3, 70, 100, 16, 32, perBatch, perHead, mask, ++seed);
        testBlocks(1, 2, 64, 64, 64, 16, perBatch, perHead, mask, ++seed);
        testBlocks(2, 2, 9, 13, 1, 1, perBatch, perHead, mask, ++seed);
      }
}

/// Attention of one head of 32 queries and 48 keys in blocks of 16, with lists
/// of two rows.
static AttentionText makeListsText() {
  AttentionText text;
  text.sparsity = "#attn.sparsity<lists, block = 16x16>";
  text.sparsityTypes = {"tensor<?xi32>", "tensor<?xi64>"};
  return text;
}

static Results evaluateLists(llvm::ArrayRef<double> rows,
                             llvm::ArrayRef<double> columns) {
  Tensor q = makeTensor(DType::F64, {1, 1, 32, 1}, 0.0),
         k = makeTensor(DType::F64, {1, 1, 48, 1}, 0.0),
         r = makeTensor(DType::I32, {int64_t(rows.size())}, rows),
         c = columns.empty()
                 ? makeTensor(DType::I64, {0}, 0.0)
                 : makeTensor(DType::I64, {int64_t(columns.size())}, columns);
  return evaluate(makeListsText().str(), {&q, &k, &k, &r, &c});
}

TEST(SparsityTest, RowsCountTheirKeys) {
  // Scores are 0, so that lse is the logarithm of the number of keys.
  auto counts = [](const Results &results) {
    std::vector<double> result;
    for (int64_t i : {0, 15, 16, 31})
      result.push_back(std::round(std::exp(results[1].floats[i])));
    return result;
  };
  EXPECT_EQ(counts(evaluateLists({0, 3, 6}, {0, 1, 2, 0, 1, 2})),
            (std::vector<double>{48, 48, 48, 48}));
  EXPECT_EQ(counts(evaluateLists({0, 1, 3}, {1, 0, 2})),
            (std::vector<double>{16, 16, 32, 32}));
  EXPECT_EQ(counts(evaluateLists({0, 0, 0}, {})),
            (std::vector<double>{0, 0, 0, 0}));
  // Rows need not begin with the first of the columns, nor end with the last.
  EXPECT_EQ(counts(evaluateLists({2, 3, 3}, {9, 9, 0, 9})),
            (std::vector<double>{16, 16, 0, 0}));
}

static std::string getListsError(llvm::ArrayRef<double> rows,
                                 llvm::ArrayRef<double> columns) {
  Tensor q = makeTensor(DType::F64, {1, 1, 32, 1}, 0.0),
         k = makeTensor(DType::F64, {1, 1, 48, 1}, 0.0),
         r = makeTensor(DType::I32, {int64_t(rows.size())}, rows),
         c = makeTensor(DType::I64, {int64_t(columns.size())}, columns);
  std::string error = getError(makeListsText().str(), {&q, &k, &k, &r, &c});
  return error.substr(std::min(error.find('\''), error.size()));
}

TEST(SparsityTest, ListsAreChecked) {
  EXPECT_EQ(getListsError({0, 2, 3}, {2, 1, 0}),
            "'attn.attention' expects the columns of a row of the sparsity to "
            "ascend, but got 1 after 2 at 0 of rows");
  EXPECT_EQ(getListsError({0, 1, 3}, {2, 1, 1}),
            "'attn.attention' expects the columns of a row of the sparsity to "
            "ascend, but got 1 after 1 at 1 of rows");
  EXPECT_EQ(getListsError({0, 1, 3}, {2, 1, 3}),
            "'attn.attention' expects columns of the sparsity to be from 0 to "
            "below 3, but got 3 at 1 of rows");
  EXPECT_EQ(getListsError({0, 1, 1}, {-1}),
            "'attn.attention' expects columns of the sparsity to be from 0 to "
            "below 3, but got -1 at 0 of rows");
  EXPECT_EQ(getListsError({0, 2, 1}, {0, 1}),
            "'attn.attention' expects rows of the sparsity not to decrease, "
            "but got 1 after 2 at 1 of rows");
  EXPECT_EQ(getListsError({0, 1, 3}, {0, 1}),
            "'attn.attention' expects rows of the sparsity to lie in the 2 "
            "columns, but got 3 at 2 of rows");
  EXPECT_EQ(getListsError({-1, 1, 2}, {0, 1}),
            "'attn.attention' expects rows of the sparsity to lie in the 2 "
            "columns, but got -1 at 0 of rows");
}

TEST(SparsityTest, ShapesAreChecked) {
  Tensor q = makeTensor(DType::F64, {2, 3, 32, 1}, 0.0),
         k = makeTensor(DType::F64, {2, 3, 40, 1}, 0.0);
  auto getShapeError = [&](llvm::ArrayRef<int64_t> shape) {
    AttentionText text;
    text.sparsity = "#attn.sparsity<bits, block = 16x16>";
    text.sparsityTypes = {"tensor<?x?x?x?xi1>"};
    Tensor bits = makeTensor(DType::I1, shape, 0.0);
    std::string error = getError(text.str(), {&q, &k, &k, &bits});
    return error.substr(std::min(error.find('\''), error.size()));
  };
  std::string begin = "'attn.attention' expects dimension ";
  EXPECT_EQ(getShapeError({3, 1, 2, 3}),
            begin +
                "0 of bits of the sparsity to have extent 2 or 1, but got 3");
  EXPECT_EQ(getShapeError({1, 2, 2, 3}),
            begin +
                "1 of bits of the sparsity to have extent 3 or 1, but got 2");
  EXPECT_EQ(getShapeError({1, 1, 3, 3}),
            begin + "2 of bits of the sparsity to have extent 2, but got 3");
  EXPECT_EQ(getShapeError({2, 3, 2, 2}),
            begin + "3 of bits of the sparsity to have extent 3, but got 2");
}

TEST(SparsityTest, MaskTiles) {
  AttentionText text;
  text.sparsity = "#attn.sparsity<bits, block = 16x16>";
  text.sparsityTypes = {"tensor<?x?x?xi1>"};
  mlir::OwningOpRef<mlir::ModuleOp> module = parse(text.str());
  Tensor q = makeTensor(DType::F64, {2, 2, 32, 1}, 0.0),
         bits = makeTensor(DType::I1, {2, 2, 2}, {1, 0, 1, 1, 0, 0, 0, 1});
  MaskTilesOptions options;
  options.tileRows = options.tileColumns = 32;
  llvm::Expected<std::vector<MaskTiles>> masks =
      evaluateMasks(getEntry(*module), {&q, &q, &q, &bits}, options);
  ASSERT_TRUE(bool(masks)) << llvm::toString(masks.takeError());
  ASSERT_EQ(masks->size(), 1u);
  const MaskTiles &mask = masks->front();
  ASSERT_EQ(mask.groups.size(), 2u);
  EXPECT_EQ(mask.getDensity(mask.groups[0]), 0.75);
  EXPECT_EQ(mask.getDensity(mask.groups[1]), 0.25);
  EXPECT_EQ(mask.groups[0].heads,
            (std::vector<std::pair<int64_t, int64_t>>{{0, 0}, {1, 0}}));
}

TEST(SparsityTest, TilesCountFromTheWhole) {
  // The second half of the queries, which is the second row of blocks.
  const char *text = R"(
    func.func @f(%q: tensor<1x1x16x1xf64>, %k: tensor<1x1x32x1xf64>,
                 %bits: tensor<2x2xi1>, %o: tensor<1x1x16x1xf64>,
                 %l: tensor<1x1x16xf64>) -> tensor<1x1x16xf64> {
      %z = arith.constant 0 : index
      %i = arith.constant 16 : index
      %r, %lse = attn.attention
          ins(%q, %k, %k : tensor<1x1x16x1xf64>, tensor<1x1x32x1xf64>, tensor<1x1x32x1xf64>)
          sparsity(#attn.sparsity<bits, block = 16x16> %bits : tensor<2x2xi1>)
          offsets(%z, %z, %i, %z)
          outs(%o, %l : tensor<1x1x16x1xf64>, tensor<1x1x16xf64>)
      return %lse : tensor<1x1x16xf64>
    })";
  Tensor q = makeTensor(DType::F64, {1, 1, 16, 1}, 0.0),
         k = makeTensor(DType::F64, {1, 1, 32, 1}, 0.0),
         bits = makeTensor(DType::I1, {2, 2}, {1, 1, 1, 0}),
         l = makeTensor(DType::F64, {1, 1, 16}, 0.0);
  Results results = evaluate(text, {&q, &k, &bits, &q, &l});
  EXPECT_NEAR(results[0].floats[0], std::log(16.0), 1e-12);
}
