//===- LayoutTilesTest.cpp - Tiles of explicit layouts of blocks ----------===//
//
// What the compiler says of the tiles of an attention with a sparsity, against
// the pairs that the reference allows: no tile with an allowed pair is empty,
// none with a masked one is full, and where tiles lie in blocks nothing more is
// to be known.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "attn/Reference/Evaluator.h"
#include "attn/Reference/MaskTiles.h"
#include "attn/Support/Random.h"
#include "mlir/Parser/Parser.h"
#include "mlir/Pass/PassManager.h"
#include "gtest/gtest.h"

using namespace attn;

namespace {
constexpr int64_t kBatch = 2, kHeads = 2;

/// A mask besides the layout.
struct OtherMask {
  const char *name;
  /// Defines %p; empty for none.
  const char *body;
  /// Whether the classes of tiles that lie in blocks are exact.
  bool isExact;
};
constexpr OtherMask otherMasks[] = {
    {"none", "", true},
    {"causal", "%p = arith.cmpi sle, %j, %i : index\n", true},
    {"window",
     "%w = arith.constant 40 : index\n%d = arith.subi %i, %j : index\n"
     "%a = math.absi %d : index\n%p = arith.cmpi sle, %a, %w : index\n",
     false},
    {"even heads",
     "%two = arith.constant 2 : index\n%z = arith.constant 0 : index\n"
     "%r = arith.remui %h, %two : index\n"
     "%p = arith.cmpi eq, %r, %z : index\n",
     true}};

struct Case {
  bool isLists;
  int64_t blockRows, blockColumns, queries, keys;
  bool perBatch, perHead;
  double density;
  const OtherMask *other;
  uint64_t seed;

  std::string getText() const;
  /// The inputs that say which blocks take part.
  std::vector<Tensor> makeBlocks() const;
};
} // namespace

std::string Case::getText() const {
  std::string leading =
      perBatch ? (perHead ? "2x2x" : "2x1x") : (perHead ? "?x" : "");
  std::string dims = std::to_string(queries) + "x8xf32>",
              type = "tensor<2x2x" + dims,
              keyType = "tensor<2x2x" + std::to_string(keys) + "x8xf32>";
  std::string types = isLists ? "tensor<" + leading + "?xi32>, tensor<?xi32>"
                              : "tensor<" + leading + "?x?xi1>";
  std::string arguments =
      isLists ? "%x: tensor<" + leading + "?xi32>, %y: tensor<?xi32>"
              : "%x: " + types;
  std::string text =
      "func.func @f(%q: " + type + ", %k: " + keyType + ", " + arguments +
      ") -> " + type + " {\n%o = attn.attention ins(%q, %k, %k : " + type +
      ", " + keyType + ", " + keyType + ")\n sparsity(#attn.sparsity<" +
      (isLists ? "lists" : "bits") + ", block = " + std::to_string(blockRows) +
      "x" + std::to_string(blockColumns) + "> " + (isLists ? "%x, %y" : "%x") +
      " : " + types + ")\n outs(%q : " + type + ")\n";
  if (*other->body)
    text += std::string("mask(%b, %h, %i, %j) {\n") + other->body +
            "attn.yield %p : i1\n}\n";
  return text + "return %o : " + type + "\n}\n";
}

std::vector<Tensor> Case::makeBlocks() const {
  Shape shape;
  if (perBatch)
    shape = {kBatch, perHead ? kHeads : 1};
  else if (perHead)
    shape = {seed % 3 == 0 ? 1 : kHeads};
  int64_t leading = 1;
  for (int64_t extent : shape)
    leading *= extent;
  int64_t rows = (queries + blockRows - 1) / blockRows,
          columns = (keys + blockColumns - 1) / blockColumns;
  RandomStream random(seed, 0);
  auto has = [&](int64_t number) {
    return random.getUniform(number, 0, 1) < density;
  };
  std::vector<Tensor> tensors;
  auto make = [&](DType dtype, const Shape &shape,
                  const std::vector<int64_t> &elements) {
    tensors.push_back(llvm::cantFail(Tensor::create(dtype, shape)));
    for (size_t n = 0; n != elements.size(); ++n)
      tensors.back().setFromInt(n, elements[n]);
  };
  std::vector<int64_t> bits, offsets, list;
  for (int64_t row = 0; row != leading * rows; ++row) {
    if (row % rows == 0)
      offsets.push_back(list.size());
    for (int64_t column = 0; column != columns; ++column) {
      bits.push_back(has(row * columns + column));
      if (bits.back())
        list.push_back(column);
    }
    offsets.push_back(list.size());
  }
  if (isLists) {
    shape.push_back(rows + 1);
    make(DType::I32, shape, offsets);
    make(DType::I32, {int64_t(list.size())}, list);
  } else {
    shape.append({rows, columns});
    make(DType::I1, shape, bits);
  }
  return tensors;
}

static mlir::MLIRContext &getContext() {
  static mlir::MLIRContext *context = [] {
    mlir::DialectRegistry registry;
    mlir::attn::registerCompilerDialects(registry);
    auto *context =
        new mlir::MLIRContext(registry, mlir::MLIRContext::Threading::DISABLED);
    context->loadAllAvailableDialects();
    return context;
  }();
  return *context;
}

static void check(const Case &test, int64_t tileRows, int64_t tileColumns) {
  std::string text = test.getText();
  SCOPED_TRACE(text + "tiles of " + std::to_string(tileRows) + "x" +
               std::to_string(tileColumns) + " seed " +
               std::to_string(test.seed));
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &getContext());
  ASSERT_TRUE(module);
  std::vector<Tensor> tensors;
  tensors.push_back(llvm::cantFail(
      Tensor::create(DType::F32, {kBatch, kHeads, test.queries, 8})));
  tensors.push_back(llvm::cantFail(
      Tensor::create(DType::F32, {kBatch, kHeads, test.keys, 8})));
  for (Tensor &tensor : test.makeBlocks())
    tensors.push_back(std::move(tensor));
  std::vector<const Tensor *> inputs;
  for (const Tensor &tensor : tensors)
    inputs.push_back(&tensor);

  MaskTilesOptions options;
  options.tileRows = tileRows;
  options.tileColumns = tileColumns;
  options.threads = 1;
  auto function = *module->getOps<mlir::func::FuncOp>().begin();
  auto masks = evaluateMasks(function, inputs, options);
  ASSERT_TRUE(bool(masks)) << llvm::toString(masks.takeError());

  mlir::PassManager passes(&getContext());
  passes.addPass(mlir::attn::createAttnExpandSparsityPass());
  passes.addPass(mlir::attn::createAttnCanonicalizeScorePass());
  passes.addPass(mlir::attn::createAttnOnlineSoftmaxPass());
  passes.addPass(mlir::attn::createAttnClassifyBlocksPass());
  passes.addPass(mlir::attn::createAttnLiftMaskPass());
  ASSERT_TRUE(mlir::succeeded(passes.run(*module)));
  auto blocks = evaluateBlocks(function, inputs, options);
  ASSERT_TRUE(bool(blocks)) << llvm::toString(blocks.takeError());
  int64_t full = masks->front().count(TileClass::Full),
          needed = full + masks->front().count(TileClass::Partial);
  const BlocksTiles &known = blocks->front();
  EXPECT_GE(known.numVisited, needed);
  EXPECT_LE(known.numFull, full);
  if (test.other->isExact && test.blockRows % tileRows == 0 &&
      test.blockColumns % tileColumns == 0) {
    EXPECT_EQ(known.numVisited, needed);
    EXPECT_EQ(known.numFull, full);
  }
  // Each pair against the classes of its tiles.
  EvaluatorOptions evaluator;
  evaluator.threads = 1;
  evaluator.blockRows = tileRows;
  auto results = Evaluator(evaluator).evaluate(function, inputs);
  EXPECT_TRUE(bool(results)) << llvm::toString(results.takeError());
}

TEST(LayoutTiles, AreSoundAndExactInBlocks) {
  constexpr std::array<int64_t, 2> blocks[] = {{16, 16}, {64, 32}, {48, 64}};
  constexpr std::array<int64_t, 2> lengths[] = {{64, 64}, {130, 70}, {33, 100}};
  constexpr std::array<int64_t, 2> tiles[] = {{16, 16}, {8, 32}, {96, 64}};
  constexpr double densities[] = {0, 0.3, 0.8, 1};
  uint64_t seed = 0;
  for (auto [blockRows, blockColumns] : blocks)
    for (auto [queries, keys] : lengths)
      for (auto [tileRows, tileColumns] : tiles)
        for (size_t n = 0; n != 4 * std::size(otherMasks); ++n) {
          const OtherMask &other = otherMasks[n % std::size(otherMasks)];
          ++seed;
          RandomStream random(seed, 1);
          auto flip = [&](uint64_t number) {
            return random.getInt(number, 0, 2) == 0;
          };
          Case test{flip(0),      blockRows,
                    blockColumns, queries,
                    keys,         flip(1),
                    flip(2),      densities[random.getInt(3, 0, 4)],
                    &other,       seed};
          check(test, tileRows, tileColumns);
          if (testing::Test::HasFatalFailure())
            return;
        }
}
