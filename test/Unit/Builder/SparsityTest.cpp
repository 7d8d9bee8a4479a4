//===- SparsityTest.cpp - Layouts of blocks against dense masks -----------===//
//
// Kernels that take a layout as bits or as lists, against one whose mask reads
// a bit for each pair. Lists and bits give the same bits.
//
//===----------------------------------------------------------------------===//

#include "../JIT/TestTensor.h"
#include "attn/Builder/AttentionSpec.h"
#include "attn/Builder/BlockLayout.h"
#include "gtest/gtest.h"

using namespace attn;

namespace {
constexpr int64_t kBatch = 2, kHeads = 3, kDim = 8;

/// One layout for each batch.
struct Case {
  int64_t queries, keys, blockRows, blockColumns;
  bool perBatch, perHead, causal;
  /// Of a block to take part.
  double density;
  uint64_t seed;

  int64_t getBatch() const { return perBatch ? kBatch : 1; }
  int64_t getHeads() const { return perHead ? kHeads : 1; }
  int64_t getRows() const { return (queries + blockRows - 1) / blockRows; }
  int64_t getColumns() const {
    return (keys + blockColumns - 1) / blockColumns;
  }
  /// Heads of one batch after those of another.
  BlockLayout makeLayout() const {
    BlockLayout layout(getBatch() * getHeads(), getRows(), getColumns());
    RandomStream random(seed, 0);
    uint64_t number = 0;
    for (int64_t head = 0; head != layout.getHeads(); ++head)
      for (int64_t row = 0; row != getRows(); ++row)
        for (int64_t column = 0; column != getColumns(); ++column)
          layout.set(head, row, column,
                     random.getUniform(number++, 0, 1) < density);
    return layout;
  }
  bool isAllowed(const BlockLayout &layout, int64_t b, int64_t h, int64_t i,
                 int64_t j) const {
    int64_t head = (perBatch ? b * getHeads() : 0) + (perHead ? h : 0);
    return (!causal || j <= i) &&
           layout.get(head, i / blockRows, j / blockColumns);
  }
  std::string str() const {
    return std::to_string(queries) + "x" + std::to_string(keys) +
           " in blocks of " + std::to_string(blockRows) + "x" +
           std::to_string(blockColumns) + (perBatch ? " per batch" : "") +
           (perHead ? " per head" : "") + (causal ? " causal" : "") +
           " density " + std::to_string(density) + " seed " +
           std::to_string(seed);
  }
};

/// Kernels that differ in nothing but sizes at run time.
class SparsityTest : public testing::Test {
protected:
  static AttentionSpec makeSpec() {
    AttentionSpec spec;
    spec.queryKeyDim = spec.valueDim = kDim;
    spec.wantLse = true;
    return spec;
  }
  static Kernel compile(const AttentionSpec &spec) {
    llvm::Expected<Kernel> kernel = spec.compile();
    if (!kernel)
      llvm::report_fatal_error(kernel.takeError());
    return std::move(*kernel);
  }
  static std::vector<TestTensor> run(const Kernel &kernel, const Case &test,
                                     llvm::ArrayRef<TensorView> layout) {
    TestTensor q = TestTensor::random(DType::F32,
                                      {kBatch, kHeads, test.queries, kDim}, 1),
               k = TestTensor::random(DType::F32,
                                      {kBatch, kHeads, test.keys, kDim}, 2),
               v = TestTensor::random(DType::F32,
                                      {kBatch, kHeads, test.keys, kDim}, 3);
    std::vector<TestTensor> results;
    results.push_back(
        TestTensor::poison(DType::F32, {kBatch, kHeads, test.queries, kDim}));
    results.push_back(
        TestTensor::poison(DType::F32, {kBatch, kHeads, test.queries}));
    std::vector<TensorView> inputs = {q.view(), k.view(), v.view()};
    llvm::append_range(inputs, layout);
    llvm::Error error =
        kernel.run(inputs, {results[0].view(), results[1].view()});
    EXPECT_FALSE(bool(error)) << llvm::toString(std::move(error));
    return results;
  }

  /// Runs cases that have blocks and what these are of in common.
  static void check(llvm::ArrayRef<Case> cases);
};
} // namespace

static TensorView viewOf(const Tensor &tensor, const Shape &shape,
                         const Shape &strides) {
  return {const_cast<void *>(tensor.getData()),
          static_cast<int32_t>(tensor.getDType()),
          static_cast<int32_t>(shape.size()), shape.data(), strides.data()};
}

static Shape getStrides(const Shape &shape) {
  Shape strides(shape.size(), 1);
  for (size_t dim = shape.size(); dim-- > 1;)
    strides[dim - 1] = strides[dim] * shape[dim];
  return strides;
}

void SparsityTest::check(llvm::ArrayRef<Case> cases) {
  const Case &first = cases.front();
  static const Kernel dense = [] {
    AttentionSpec spec = makeSpec();
    Capture allowed = spec.capture(
        "allowed", DType::I1,
        {kDynamicExtent, kDynamicExtent, kDynamicExtent, kDynamicExtent});
    spec.mask(
        [=](const MaskArgs &at) { return allowed[{at.b, at.h, at.i, at.j}]; });
    return compile(spec);
  }();
  auto compileSparse = [&](Sparsity::Format format, DType dtype) {
    AttentionSpec spec = makeSpec();
    if (first.causal)
      spec.mask([](const MaskArgs &at) { return at.j <= at.i; });
    Sparsity sparsity;
    sparsity.format = format;
    sparsity.blockRows = first.blockRows;
    sparsity.blockColumns = first.blockColumns;
    sparsity.perHead = first.perHead;
    sparsity.perBatch = first.perBatch;
    sparsity.dtype = dtype;
    spec.sparsity(sparsity);
    return compile(spec);
  };
  Kernel bits = compileSparse(Sparsity::Format::Bits, DType::I32);
  DType dtype = first.seed % 2 ? DType::I32 : DType::I64;
  Kernel lists = compileSparse(Sparsity::Format::Lists, dtype);

  for (const Case &test : cases) {
    BlockLayout layout = test.makeLayout();
    TestTensor pairs(DType::I1, {kBatch, kHeads, test.queries, test.keys});
    int64_t number = 0;
    for (int64_t b = 0; b != kBatch; ++b)
      for (int64_t h = 0; h != kHeads; ++h)
        for (int64_t i = 0; i != test.queries; ++i)
          for (int64_t j = 0; j != test.keys; ++j)
            pairs.tensor.setFromInt(number++,
                                    test.isAllowed(layout, b, h, i, j));
    std::vector<TestTensor> expected = run(dense, test, {pairs.view()});

    Shape leading;
    if (test.perBatch)
      leading = {test.getBatch(), test.getHeads()};
    else if (test.perHead)
      leading = {test.getHeads()};
    Tensor blocks = llvm::cantFail(layout.toTensor());
    Shape shape = leading;
    llvm::append_range(shape, Shape{test.getRows(), test.getColumns()});
    std::vector<TestTensor> ofBits =
        run(bits, test, {viewOf(blocks, shape, getStrides(shape))});
    auto [rows, columns] = llvm::cantFail(layout.toLists(dtype));
    Shape rowShape = leading, columnShape = {columns.getNumElements()};
    rowShape.push_back(test.getRows() + 1);
    std::vector<TestTensor> ofLists =
        run(lists, test,
            {viewOf(rows, rowShape, getStrides(rowShape)),
             viewOf(columns, columnShape, {1})});
    for (size_t result = 0; result != expected.size(); ++result)
      for (int64_t k = 0; k != expected[result].tensor.getNumElements(); ++k) {
        double want = expected[result][k], got = ofBits[result][k];
        ASSERT_TRUE(want == got || std::fabs(want - got) <= 1e-6)
            << test.str() << ": " << want << " and " << got << " at " << k;
        ASSERT_EQ(got, ofLists[result][k]) << test.str() << " at " << k;
      }
  }
}

TEST_F(SparsityTest, RandomLayouts) {
  constexpr std::pair<int64_t, int64_t> blocks[] = {
      {16, 16}, {64, 64}, {32, 128}, {256, 48}};
  constexpr std::pair<int64_t, int64_t> lengths[] = {
      {64, 64}, {70, 300}, {257, 100}, {1, 130}, {130, 1}};
  uint64_t seed = 0;
  for (auto [blockRows, blockColumns] : blocks)
    for (bool perBatch : {false, true})
      for (bool perHead : {false, true}) {
        std::vector<Case> cases;
        bool causal = ++seed % 2;
        for (auto [queries, keys] : lengths)
          for (double density : {0.0, 0.1, 0.5, 1.0})
            cases.push_back({queries, keys, blockRows, blockColumns, perBatch,
                             perHead, causal, density,
                             seed + 2 * cases.size()});
        check(cases);
      }
}

TEST_F(SparsityTest, LayoutsOfTheLibrary) {
  layouts::BigBird bigBird;
  bigBird.heads = kHeads;
  bigBird.length = 128;
  bigBird.block = 16;
  bigBird.perHead = true;
  BlockLayout layout = llvm::cantFail(bigBird.make());
  AttentionSpec spec = makeSpec();
  Sparsity sparsity;
  sparsity.format = Sparsity::Format::Lists;
  sparsity.blockRows = sparsity.blockColumns = 16;
  spec.sparsity(sparsity);
  Kernel kernel = compile(spec);
  ASSERT_EQ(kernel.inputs().size(), 5u);
  EXPECT_EQ(kernel.inputs()[3].name, "rows");
  EXPECT_EQ(kernel.inputs()[4].name, "columns");
  auto [rows, columns] = llvm::cantFail(layout.toLists());
  Shape rowShape = {kHeads, 9}, columnShape = {columns.getNumElements()};
  Case test{128, 128, 16, 16, false, true, false, 0, 0};
  std::vector<TestTensor> results =
      run(kernel, test,
          {viewOf(rows, rowShape, {9, 1}), viewOf(columns, columnShape, {1})});
  for (int64_t k = 0; k != results[1].tensor.getNumElements(); ++k)
    EXPECT_TRUE(std::isfinite(results[1][k]));
}

//===----------------------------------------------------------------------===//
// Errors
//===----------------------------------------------------------------------===//

TEST_F(SparsityTest, Errors) {
  AttentionSpec spec = makeSpec();
  auto getError = [&](const Sparsity &sparsity) {
    spec.sparsity(sparsity);
    llvm::Expected<Kernel> kernel = spec.compile();
    EXPECT_FALSE(bool(kernel));
    return kernel ? "" : llvm::toString(kernel.takeError());
  };
  Sparsity sparsity;
  sparsity.blockColumns = 24;
  EXPECT_NE(getError(sparsity).find("expects a block whose extents are "
                                    "multiples of 16 from 16 to 256, but got "
                                    "64x24"),
            std::string::npos);
  sparsity.blockColumns = 64;
  sparsity.format = Sparsity::Format::Lists;
  sparsity.dtype = DType::I16;
  EXPECT_NE(getError(sparsity).find("expects rows of the sparsity to have "
                                    "element type i32 or i64, but got 'i16'"),
            std::string::npos);
}

TEST_F(SparsityTest, ErrorsOfLists) {
  AttentionSpec spec = makeSpec();
  Sparsity sparsity;
  sparsity.format = Sparsity::Format::Lists;
  sparsity.perHead = false;
  spec.sparsity(sparsity);
  Kernel kernel = compile(spec);
  auto getError = [&](llvm::ArrayRef<double> rows,
                      llvm::ArrayRef<double> columns) {
    TestTensor q(DType::F32, {1, 1, 128, kDim}),
        k(DType::F32, {1, 1, 192, kDim}),
        r(DType::I32, {int64_t(rows.size())}, rows),
        c(DType::I32, {int64_t(columns.size())}, columns),
        o(DType::F32, {1, 1, 128, kDim}), lse(DType::F32, {1, 1, 128});
    llvm::Error error =
        kernel.run({q.view(), k.view(), k.view(), r.view(), c.view()},
                   {o.view(), lse.view()});
    std::string text = llvm::toString(std::move(error));
    size_t at = text.find(" op expects ");
    return at == std::string::npos ? text : text.substr(at + 4);
  };
  EXPECT_EQ(getError({0, 3, 4}, {0, 1, 2, 2}), "");
  EXPECT_EQ(getError({4, 4, 4}, {0, 7, -1, 2}), "");
  EXPECT_EQ(getError({0, 2, 4}, {0, 1, 2, 3}),
            "expects columns of the sparsity to be from 0 to below 3, but got "
            "3");
  EXPECT_EQ(getError({0, 2, 4}, {0, 1, -5, 2}),
            "expects columns of the sparsity to be from 0 to below 3, but got "
            "-5");
  EXPECT_EQ(getError({0, 2, 4}, {0, 1, 2, 1}),
            "expects the columns of a row of the sparsity to ascend, but got 1 "
            "after one that is not less");
  EXPECT_EQ(getError({0, 2, 4}, {0, 0, 1, 2}),
            "expects the columns of a row of the sparsity to ascend, but got 0 "
            "after one that is not less");
  EXPECT_EQ(getError({0, 2, 1}, {0, 1}),
            "expects rows of the sparsity not to decrease, but got 1 after a "
            "larger one");
  EXPECT_EQ(getError({0, 1, 3}, {0, 1}),
            "expects rows of the sparsity to lie in the 2 columns, but got 3");
  EXPECT_EQ(getError({0, 1}, {0, 1}),
            "expects dimension 0 of rows of the sparsity to have extent 3, but "
            "got 2");
}
