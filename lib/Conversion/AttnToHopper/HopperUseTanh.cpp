//===- HopperUseTanh.cpp - Logistic functions by the one for tanh ---------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERUSETANHPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

/// The exponent of a divisor 1 + exp(x) that nothing else uses, or null.
static Value getExponent(Value divisor) {
  auto sum = divisor.getDefiningOp<arith::AddFOp>();
  if (!sum || !sum->hasOneUse())
    return {};
  bool isSecond = matchPattern(sum.getRhs(), m_OneFloat());
  if (!isSecond && !matchPattern(sum.getLhs(), m_OneFloat()))
    return {};
  auto power =
      (isSecond ? sum.getLhs() : sum.getRhs()).getDefiningOp<math::ExpOp>();
  return power && power->hasOneUse() ? power.getOperand() : Value();
}

/// What a value is multiplied by, if that is all it is used for and the other
/// factor is `other`; or null.
static Operation *getProductWith(Value value, Value other) {
  if (!value.hasOneUse())
    return nullptr;
  auto product = dyn_cast<arith::MulFOp>(*value.getUsers().begin());
  return product && (product.getLhs() == other || product.getRhs() == other)
             ? product
             : nullptr;
}

static void rewriteLogistic(RewriterBase &rewriter, arith::DivFOp op) {
  Type type = op.getType();
  if (!type.isF32())
    return;
  Value exponent = getExponent(op.getRhs());
  if (!exponent)
    return;
  auto negation = exponent.getDefiningOp<arith::NegFOp>();
  Value x = negation ? negation.getOperand() : exponent;
  // The product of a logistic function with its argument is rewritten as one.
  Operation *product = nullptr;
  bool isOne = matchPattern(op.getLhs(), m_OneFloat());
  if (negation)
    product = isOne ? getProductWith(op, x) : op.getLhs() == x ? op : nullptr;
  Operation *root = product ? product : op;
  Location loc = op.getLoc();
  rewriter.setInsertionPoint(root);
  Value half = arith::ConstantOp::create(rewriter, loc,
                                         rewriter.getFloatAttr(type, 0.5));
  Value argument = arith::MulFOp::create(rewriter, loc, x, half);
  Value tanh = math::TanhOp::create(rewriter, loc, argument);
  Value factor = product ? argument : half;
  Value term = arith::MulFOp::create(rewriter, loc, factor, tanh);
  Value result =
      negation ? arith::AddFOp::create(rewriter, loc, term, factor).getResult()
               : arith::SubFOp::create(rewriter, loc, factor, term).getResult();
  if (!product && !isOne)
    result = arith::MulFOp::create(rewriter, loc, op.getLhs(), result);
  rewriter.replaceOp(root, result);
}

namespace {
struct AttnHopperUseTanh
    : public mlir::attn::impl::AttnHopperUseTanhPassBase<AttnHopperUseTanh> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](AttentionLikeOpInterface op) {
      auto queries = cast<RankedTensorType>(op.getQuery().getType());
      if (!isa<BFloat16Type, Float16Type>(queries.getElementType()))
        return;
      SmallVector<arith::DivFOp> divisions;
      for (Region &region : op->getRegions())
        region.walk([&](arith::DivFOp inner) { divisions.push_back(inner); });
      for (arith::DivFOp division : divisions)
        rewriteLogistic(rewriter, division);
    });
  }
};
} // namespace
