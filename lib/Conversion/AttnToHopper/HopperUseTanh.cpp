//===- HopperUseTanh.cpp - Logistic functions by the one for tanh ---------===//

#include "attn/Conversion/AttnToHopper/Passes.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNHOPPERUSETANHPASS
#include "attn/Conversion/AttnToHopper/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// What is computed of l = 1 / (1 + exp(x)) or, if the exponent is negated, of
/// l = 1 / (1 + exp(-x)).
class Logistic {
public:
  Logistic(RewriterBase &rewriter, math::ExpOp power)
      : rewriter(rewriter), power(power) {}

  /// Whether tanh gives all that the exponential is used for: quotients by
  /// 1 + exp(x), and those times exp(x), which are times 1 - l.
  bool analyze();
  void rewrite();

private:
  bool isDivision(Value value) const {
    auto division = value.getDefiningOp<arith::DivFOp>();
    return division && division.getRhs() == divisor;
  }
  OpOperand *findDivision(OpOperand &use);
  bool isAddedUp(Value value) const;
  Value addTanh(Location loc, Value factor, bool isAdded);
  void replace(arith::DivFOp division);

  RewriterBase &rewriter;
  math::ExpOp power;
  Value divisor;
  /// Products with the exponential, and the quotient that each has as a factor.
  SmallVector<std::pair<arith::MulFOp, OpOperand *>> products;
  bool isNegated = false;
  Value argument, halfArgument, half, tanh;
};
} // namespace

/// The use of a quotient that is a factor of this one.
OpOperand *Logistic::findDivision(OpOperand &use) {
  Value value = use.get();
  if (isDivision(value))
    return &use;
  Operation *source = value.getDefiningOp();
  if (!isa_and_present<arith::MulFOp, arith::NegFOp>(source) ||
      !value.hasOneUse())
    return nullptr;
  for (OpOperand &operand : source->getOpOperands())
    if (OpOperand *found = findDivision(operand))
      return found;
  return nullptr;
}

/// Whether a value is used in sums and products of a score or a gradient alone.
/// The error of tanh is one of 2^-11, whatever the value: a logarithm, a
/// divisor or a comparison of a small one would not bear it.
bool Logistic::isAddedUp(Value value) const {
  SetVector<Value> reached;
  reached.insert(value);
  for (unsigned next = 0; next < reached.size(); ++next)
    for (OpOperand &use : reached[next].getUses()) {
      Operation *user = use.getOwner();
      if (isa<YieldOp, ContributeOp>(user))
        continue;
      // What a branch or a loop gives, and the next iteration gets.
      if (isa<scf::YieldOp>(user)) {
        Operation *parent = user->getParentOp();
        reached.insert(parent->getResult(use.getOperandNumber()));
        if (auto loop = dyn_cast<scf::ForOp>(parent))
          reached.insert(loop.getRegionIterArg(use.getOperandNumber()));
        continue;
      }
      if (!isa<arith::MulFOp, arith::AddFOp, arith::SubFOp, arith::NegFOp,
               arith::MaximumFOp, arith::MinimumFOp, arith::SelectOp>(user) &&
          (user->getNumResults() != 1 || !isDivision(user->getResult(0))))
        return false;
      reached.insert(user->getResult(0));
    }
  return true;
}

bool Logistic::analyze() {
  if (!power.getType().isF32())
    return false;
  SmallVector<arith::MulFOp> multiplied;
  for (Operation *user : power->getUsers()) {
    auto sum = dyn_cast<arith::AddFOp>(user);
    bool isDivisor = sum && !divisor &&
                     (matchPattern(sum.getLhs(), m_OneFloat()) ||
                      matchPattern(sum.getRhs(), m_OneFloat()));
    if (isDivisor)
      divisor = sum;
    else if (auto product = dyn_cast<arith::MulFOp>(user))
      multiplied.push_back(product);
    else
      return false;
  }
  if (!divisor || !llvm::all_of(divisor.getUsers(), [&](Operation *user) {
        return isa<arith::DivFOp>(user) && isDivision(user->getResult(0)) &&
               user->getOperand(0) != divisor && isAddedUp(user->getResult(0));
      }))
    return false;
  for (arith::MulFOp product : multiplied) {
    bool isFirst = product.getLhs() == power;
    OpOperand *division = findDivision(product->getOpOperand(isFirst ? 1 : 0));
    // One quotient is for one exponential.
    if (!division ||
        llvm::is_contained(llvm::make_second_range(products), division))
      return false;
    products.push_back({product, division});
  }
  return true;
}

/// factor + factor * tanh(x / 2), or the difference.
Value Logistic::addTanh(Location loc, Value factor, bool isAdded) {
  Value term = arith::MulFOp::create(rewriter, loc, factor, tanh);
  if (isAdded)
    return arith::AddFOp::create(rewriter, loc, term, factor);
  return arith::SubFOp::create(rewriter, loc, factor, term);
}

/// A quotient by the divisor. That of the argument, and a logistic function
/// that is multiplied by it alone, are h + h * tanh(h) of its half.
void Logistic::replace(arith::DivFOp division) {
  Location loc = division.getLoc();
  bool isOne = matchPattern(division.getLhs(), m_OneFloat());
  Operation *product = nullptr;
  if (isNegated && division.getLhs() == argument) {
    product = division;
  } else if (isNegated && isOne && division->hasOneUse()) {
    product = dyn_cast<arith::MulFOp>(*division->getUsers().begin());
    if (product && !llvm::is_contained(product->getOperands(), argument))
      product = nullptr;
  }
  Operation *root = product ? product : division;
  rewriter.setInsertionPoint(root);
  Value result = addTanh(loc, product ? halfArgument : half, isNegated);
  if (!product && !isOne)
    result = arith::MulFOp::create(rewriter, loc, division.getLhs(), result);
  rewriter.replaceOp(root, result);
  if (root != division)
    rewriter.eraseOp(division);
}

void Logistic::rewrite() {
  Location loc = power.getLoc();
  Type type = power.getType();
  auto negation = power.getOperand().getDefiningOp<arith::NegFOp>();
  isNegated = negation != nullptr;
  argument = negation ? negation.getOperand() : power.getOperand();
  rewriter.setInsertionPoint(power);
  half = arith::ConstantOp::create(rewriter, loc,
                                   rewriter.getFloatAttr(type, 0.5));
  halfArgument = arith::MulFOp::create(rewriter, loc, argument, half);
  tanh = math::TanhOp::create(rewriter, loc, halfArgument);
  for (auto [product, use] : products) {
    auto division = use->get().getDefiningOp<arith::DivFOp>();
    rewriter.setInsertionPointAfter(division);
    // 1 - l.
    Value rest = addTanh(loc, half, !isNegated);
    if (!matchPattern(division.getLhs(), m_OneFloat()))
      rest = arith::MulFOp::create(rewriter, loc, division.getLhs(), rest);
    use->set(rest);
    bool isFirst = product.getLhs() == power;
    rewriter.replaceOp(product, isFirst ? product.getRhs() : product.getLhs());
  }
  for (Operation *user : llvm::make_early_inc_range(divisor.getUsers()))
    replace(cast<arith::DivFOp>(user));
  // Nothing uses them any more.
  rewriter.eraseOp(divisor.getDefiningOp());
  rewriter.eraseOp(power);
  if (negation && negation.use_empty())
    rewriter.eraseOp(negation);
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
      SmallVector<math::ExpOp> powers;
      for (Region &region : op->getRegions())
        region.walk([&](math::ExpOp inner) { powers.push_back(inner); });
      for (math::ExpOp power : powers) {
        Logistic logistic(rewriter, power);
        if (logistic.analyze())
          logistic.rewrite();
      }
    });
  }
};
} // namespace
