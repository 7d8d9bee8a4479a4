//===- CanonicalizePromiseTest.cpp - Canonical regions mean the same ------===//

#include "RandomRegion.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/IR/Verifier.h"
#include "gtest/gtest.h"
#include <cmath>
#include <limits>

using namespace mlir;
using namespace mlir::attn::test;
using mlir::attn::OnlineAttentionOp;

/// The score times the scale after the mask. Captures that an operation has
/// lost are told from the function's arguments.
static double evaluate(OnlineAttentionOp op, double s, int64_t b, int64_t h,
                       int64_t i, int64_t j, const CaptureData &data) {
  std::vector<Scalar> arguments = {Scalar::of(b), Scalar::of(h), Scalar::of(i),
                                   Scalar::of(j)};
  std::vector<Scalar> all = data.get();
  for (Value capture : op.getCaptures())
    arguments.push_back(all[cast<BlockArgument>(capture).getArgNumber() - 6]);
  if (!op.getMask().empty() && !interpret(op.getMask(), arguments)[0].integer)
    return -std::numeric_limits<double>::infinity();
  s *= op.getScale().convertToDouble();
  if (op.getScore().empty())
    return s;
  arguments.insert(arguments.begin(), Scalar::ofReal(s));
  return interpret(op.getScore(), arguments)[0].real;
}

TEST(CanonicalizePromise, KeepsTheMeaningOfRandomRegions) {
  std::unique_ptr<MLIRContext> context = makeContext();
  unsigned extracted = 0;
  for (unsigned seed = 0; seed < 600; ++seed) {
    RandomRegion random(seed);
    std::string score = random.makeScore(seed % 3);
    std::string mask = seed % 2 ? random.makeMask(seed % 4) : "";
    std::string text = makeOnlineAttention(score, mask);
    OwningOpRef<ModuleOp> before = parse(*context, text);
    OwningOpRef<ModuleOp> after = parse(*context, text);
    ASSERT_TRUE(before && after);
    OnlineAttentionOp from = getAttention(*before), to = getAttention(*after);
    IRRewriter rewriter(context.get());
    mlir::attn::canonicalizeScore(rewriter, to);
    ASSERT_TRUE(succeeded(verify(*after))) << text;
    extracted += !to.getMask().empty() && from.getMask().empty();
    for (unsigned repeat = 0; repeat < 20; ++repeat) {
      CaptureData data = random.makeCaptures();
      int64_t b = random.pick(0, 1), h = random.pick(0, 1),
              i = random.pick(0, kMaxRows - 1),
              j = random.pick(0, kMaxRows - 1);
      double expected = evaluate(from, 1.5, b, h, i, j, data);
      double got = evaluate(to, 1.5, b, h, i, j, data);
      // A folded scale may round otherwise.
      ASSERT_TRUE(expected == got ||
                  (std::isnan(expected) && std::isnan(got)) ||
                  std::abs(expected - got) <= 1e-12 * std::abs(expected))
          << expected << " became " << got << " at b " << b << " h " << h
          << " i " << i << " j " << j << "\n"
          << text;
    }
  }
  EXPECT_GT(extracted, 100u);
}
