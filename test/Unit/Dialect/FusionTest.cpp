//===- FusionTest.cpp - Consumers and producers of attention tiles --------===//
//
// What of the tiling interfaces no transform operation reaches: consumers that
// are fused into the loops over their producer, and the questions that decide
// whether they may.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Pipelines/RegisterDialects.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/SCF/Transforms/TileUsingInterface.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Parser/Parser.h"
#include "gtest/gtest.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
constexpr const char *kOnline = R"mlir(
func.func @f(%q: tensor<2x8x64x16xf16>, %k: tensor<2x2x32x16xf16>,
    %a: tensor<2x8x64x16xf32>, %m: tensor<2x8x64xf32>, %s: tensor<2x8x64xf32>,
    %o: tensor<2x8x64x16xf16>, %l: tensor<2x8x64xf32>)
    -> (tensor<2x8x64x16xf16>, tensor<2x8x64xf32>) {
  %r:3 = attn.online_attention scale 1.0
      ins(%q, %k, %k : tensor<2x8x64x16xf16>, tensor<2x2x32x16xf16>, tensor<2x2x32x16xf16>)
      outs(%a, %m, %s : tensor<2x8x64x16xf32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>)
  %f:2 = attn.finalize
      ins(%r#0, %r#1, %r#2 : tensor<2x8x64x16xf32>, tensor<2x8x64xf32>, tensor<2x8x64xf32>)
      outs(%o, %l : tensor<2x8x64x16xf16>, tensor<2x8x64xf32>)
      -> tensor<2x8x64x16xf16>, tensor<2x8x64xf32>
  return %f#0, %f#1 : tensor<2x8x64x16xf16>, tensor<2x8x64xf32>
}
)mlir";

constexpr const char *kScaledQueries = R"mlir(
func.func @f(%q: tensor<2x64x8x16xf32>, %k: tensor<2x32x8x16xf32>, %o: tensor<2x64x8x16xf32>)
    -> tensor<2x64x8x16xf32> {
  %e = tensor.empty() : tensor<2x64x8x16xf32>
  %x = linalg.generic {
      indexing_maps = [affine_map<(b, s, h, d) -> (b, s, h, d)>, affine_map<(b, s, h, d) -> (b, s, h, d)>],
      iterator_types = ["parallel", "parallel", "parallel", "parallel"]}
      ins(%q : tensor<2x64x8x16xf32>) outs(%e : tensor<2x64x8x16xf32>) {
    ^bb0(%y: f32, %z: f32):
      %w = arith.addf %y, %y : f32
      linalg.yield %w : f32
  } -> tensor<2x64x8x16xf32>
  %r = attn.attention layout(bshd)
      ins(%x, %k, %k : tensor<2x64x8x16xf32>, tensor<2x32x8x16xf32>, tensor<2x32x8x16xf32>)
      outs(%o : tensor<2x64x8x16xf32>)
      mask(%b, %h, %i, %j) {
        %p = arith.cmpi sle, %j, %i : index
        attn.yield %p : i1
      }
  return %r : tensor<2x64x8x16xf32>
}
)mlir";

class FusionTest : public ::testing::Test {
protected:
  FusionTest() : context(makeRegistry()), rewriter(&context) {
    context.loadAllAvailableDialects();
  }

  static DialectRegistry makeRegistry() {
    DialectRegistry registry;
    registerCompilerDialects(registry);
    return registry;
  }

  void parse(const char *text) {
    module = parseSourceString<ModuleOp>(text, &context);
    ASSERT_TRUE(module);
  }

  template <typename OpTy> OpTy find() {
    OpTy found;
    module->walk([&](OpTy op) { found = op; });
    EXPECT_TRUE(found);
    return found;
  }

  /// Tiles an operation with scf.forall.
  SmallVector<LoopLikeOpInterface> tile(TilingInterface op,
                                        ArrayRef<int64_t> sizes) {
    scf::SCFTilingOptions options;
    options.setLoopType(scf::SCFTilingOptions::LoopType::ForallOp);
    options.setTileSizes(getAsIndexOpFoldResult(&context, sizes));
    FailureOr<scf::SCFTilingResult> result =
        scf::tileUsingSCF(rewriter, op, options);
    EXPECT_TRUE(succeeded(result));
    if (failed(result))
      return {};
    rewriter.replaceOp(op, result->replacements);
    return result->loops;
  }

  SmallVector<OpFoldResult> folds(ArrayRef<int64_t> values) {
    return getAsIndexOpFoldResult(&context, values);
  }

  MLIRContext context;
  IRRewriter rewriter;
  OwningOpRef<ModuleOp> module;
};
} // namespace

TEST_F(FusionTest, FinalizeJoinsTheLoopsOverItsState) {
  parse(kOnline);
  SmallVector<LoopLikeOpInterface> loops =
      tile(cast<TilingInterface>(find<OnlineAttentionOp>().getOperation()),
           {1, 4, 16});
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_TRUE(
      succeeded(scf::tileAndFuseConsumer(rewriter, find<FinalizeOp>(), loops)));
  EXPECT_TRUE(succeeded(verify(*module)));

  // Both work on the same tile, in the same loop.
  auto online = find<OnlineAttentionOp>();
  SmallVector<FinalizeOp> inLoop;
  module->walk([&](FinalizeOp op) {
    if (op->getParentOfType<scf::ForallOp>())
      inLoop.push_back(op);
  });
  ASSERT_EQ(inLoop.size(), 1u);
  EXPECT_EQ(inLoop[0]->getBlock(), online->getBlock());
  EXPECT_EQ(cast<ShapedType>(inLoop[0].getOuts()[0].getType()).getShape(),
            ArrayRef<int64_t>({1, 4, 16, 16}));
  EXPECT_EQ(cast<ShapedType>(inLoop[0].getLseInit().getType()).getShape(),
            ArrayRef<int64_t>({1, 4, 16}));
}

TEST_F(FusionTest, AttentionJoinsTheLoopsOverItsQueries) {
  parse(kScaledQueries);
  // Loops over b, s and h; d is whole.
  SmallVector<LoopLikeOpInterface> loops =
      tile(cast<TilingInterface>(find<linalg::GenericOp>().getOperation()),
           {1, 16, 2});
  ASSERT_EQ(loops.size(), 1u);
  ASSERT_TRUE(succeeded(
      scf::tileAndFuseConsumer(rewriter, find<AttentionOp>(), loops)));
  EXPECT_TRUE(succeeded(verify(*module)));

  SmallVector<AttentionOp> inLoop;
  module->walk([&](AttentionOp op) {
    if (op->getParentOfType<scf::ForallOp>())
      inLoop.push_back(op);
  });
  ASSERT_EQ(inLoop.size(), 1u);
  EXPECT_EQ(cast<ShapedType>(inLoop[0].getQuery().getType()).getShape(),
            ArrayRef<int64_t>({1, 16, 2, 16}));
  EXPECT_EQ(cast<ShapedType>(inLoop[0].getKey().getType()).getShape(),
            ArrayRef<int64_t>({1, 32, 2, 16}));
  EXPECT_EQ(inLoop[0].getOffsets().size(), 4u);
}

TEST_F(FusionTest, QueriesWithoutAllOfDAreNoTile) {
  parse(kScaledQueries);
  SmallVector<LoopLikeOpInterface> loops =
      tile(cast<TilingInterface>(find<linalg::GenericOp>().getOperation()),
           {0, 0, 0, 8});
  ASSERT_EQ(loops.size(), 1u);
  ScopedDiagnosticHandler quiet(&context, [](Diagnostic &) {});
  EXPECT_TRUE(
      failed(scf::tileAndFuseConsumer(rewriter, find<AttentionOp>(), loops)));
}

TEST_F(FusionTest, OperandsSayWhetherTheyTellATile) {
  parse(kOnline);
  auto online = cast<TilingInterface>(find<OnlineAttentionOp>().getOperation());
  SmallVector<OpFoldResult> zero = folds({0, 0, 0, 0});
  SmallVector<OpFoldResult> rows = folds({1, 4, 16, 16});
  SmallVector<OpFoldResult> others = folds({1, 4, 8, 16});
  // q (0) and acc (3), alone and together; not k (1) and v (2).
  EXPECT_TRUE(online.isOpFusableWithProducerSlices({0}, {zero}, {rows}));
  EXPECT_TRUE(online.isOpFusableWithProducerSlices({3}, {zero}, {rows}));
  EXPECT_TRUE(
      online.isOpFusableWithProducerSlices({0, 3}, {zero, zero}, {rows, rows}));
  EXPECT_FALSE(online.isOpFusableWithProducerSlices({1}, {zero}, {rows}));
  EXPECT_FALSE(online.isOpFusableWithProducerSlices({2}, {zero}, {rows}));
  // Two that do not agree.
  EXPECT_FALSE(online.isOpFusableWithProducerSlices({0, 3}, {zero, zero},
                                                    {rows, others}));
  // Half of d.
  EXPECT_FALSE(online.isOpFusableWithProducerSlices({3}, {zero},
                                                    {folds({1, 4, 16, 8})}));
}

TEST_F(FusionTest, ResultsSayWhetherTheyTellATile) {
  parse(kOnline);
  auto online = cast<TilingInterface>(find<OnlineAttentionOp>().getOperation());
  EXPECT_TRUE(online.isOpFusableWithConsumerSlice(0, folds({1, 4, 16, 0}),
                                                  folds({1, 4, 16, 16})));
  EXPECT_FALSE(online.isOpFusableWithConsumerSlice(0, folds({1, 4, 16, 8}),
                                                   folds({1, 4, 16, 8})));
  EXPECT_TRUE(online.isOpFusableWithConsumerSlice(2, folds({1, 4, 16}),
                                                  folds({1, 4, 16})));

  // The reduction is over all keys.
  rewriter.setInsertionPoint(online);
  SmallVector<OpFoldResult> offsets, sizes;
  ASSERT_TRUE(succeeded(online.getIterationDomainTileFromResultTile(
      rewriter, 2, folds({1, 4, 16}), folds({1, 4, 16}), offsets, sizes)));
  EXPECT_EQ(getConstantIntValues(offsets), (SmallVector<int64_t>{1, 4, 16, 0}));
  EXPECT_EQ(getConstantIntValues(sizes), (SmallVector<int64_t>{1, 4, 16, 32}));
}
