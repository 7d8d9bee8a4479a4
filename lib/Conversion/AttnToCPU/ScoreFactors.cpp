//===- ScoreFactors.cpp - The constant factor of a tile's scores ----------===//
//
// With a factor, 2^(factor * s - max) is a fused multiply-add, which rounds
// once. A product that is rounded first loses as much as all the rest of a
// score together where it is large.
//
//===----------------------------------------------------------------------===//

#include "ScoreFactors.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

static bool isTile(Value value) {
  auto type = dyn_cast<VectorType>(value.getType());
  return type && type.getRank() == 2 && isa<FloatType>(type.getElementType());
}

static Value createFactor(OpBuilder &builder, Location loc, Type type,
                          double factor) {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  return arith::ConstantOp::create(
      builder, loc,
      DenseElementsAttr::get(cast<VectorType>(type),
                             Attribute(builder.getFloatAttr(element, factor))));
}

/// select(p, x * c, -inf) is select(p, x, -inf) * c.
static LogicalResult sinkBehindPredicate(arith::SelectOp op,
                                         PatternRewriter &rewriter) {
  FactoredScores scores = splitScoreFactor(op.getTrueValue());
  if (!isTile(op) || scores.factor == 1 ||
      !matchPattern(op.getFalseValue(), m_NegInfFloat()))
    return rewriter.notifyMatchFailure(op, "is no predicate on a product");
  Value kept = arith::SelectOp::create(rewriter, op.getLoc(), op.getCondition(),
                                       scores.value, op.getFalseValue());
  rewriter.replaceOpWithNewOp<arith::MulFOp>(
      op, kept,
      createFactor(rewriter, op.getLoc(), op.getType(), scores.factor));
  return success();
}

/// if p then x * c else y * c is (if p then x else y) * c.
static LogicalResult sinkBehindBranch(scf::IfOp op, PatternRewriter &rewriter) {
  for (OpResult result : op.getResults()) {
    unsigned number = result.getResultNumber();
    if (!isTile(result))
      continue;
    Value yes = op.thenYield().getOperand(number);
    Value no = op.elseYield().getOperand(number);
    FactoredScores x = splitScoreFactor(yes), y = splitScoreFactor(no);
    if (x.factor == 1 || x.factor != y.factor)
      continue;
    rewriter.modifyOpInPlace(
        op.thenYield(), [&] { op.thenYield()->setOperand(number, x.value); });
    rewriter.modifyOpInPlace(
        op.elseYield(), [&] { op.elseYield()->setOperand(number, y.value); });
    rewriter.setInsertionPointAfter(op);
    Value constant =
        createFactor(rewriter, op.getLoc(), result.getType(), x.factor);
    auto product =
        arith::MulFOp::create(rewriter, op.getLoc(), result, constant);
    rewriter.replaceAllUsesExcept(result, product, product);
    return success();
  }
  return rewriter.notifyMatchFailure(op, "has no common factor");
}

void mlir::attn::sinkScoreFactors(Operation *root) {
  RewritePatternSet patterns(root->getContext());
  patterns.add(sinkBehindPredicate);
  patterns.add(sinkBehindBranch);
  GreedyRewriteConfig config;
  config.enableFolding(false);
  config.enableConstantCSE(false);
  config.setRegionSimplificationLevel(GreedySimplifyRegionLevel::Disabled);
  // Without a fixed point the program is right all the same.
  (void)applyPatternsGreedily(root, std::move(patterns), config);
}
