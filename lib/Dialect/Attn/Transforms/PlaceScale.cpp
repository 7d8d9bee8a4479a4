//===- PlaceScale.cpp - Where scores are multiplied by the scale ----------===//

#include "RegionSlice.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNPLACESCALEPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Computes the score of products without the scale. A value that depends on
/// the score then has a degree: it is to be multiplied by the scale to that
/// power, which is done where an operation is not homogeneous in it.
class Placement {
public:
  explicit Placement(OnlineAttentionOp op)
      : op(op), region(op.getScore()), product(region.getArgument(0)),
        scale(op.getScale().convertToDouble()) {}

  /// Finds the degrees of all values. Fails where a power of the scale is no
  /// normal number, or degrees become large.
  LogicalResult analyze();
  /// Multiplications that one pair takes; those that join another operation are
  /// none.
  int64_t getCost() const { return cost; }
  /// The same, if products are multiplied by the scale as they are.
  int64_t getPlainCost() { return getCost(product); }
  void apply(RewriterBase &rewriter);

private:
  /// What is multiplied by the scale to the power.
  struct Change {
    OpOperand *use;
    int power;
  };

  LogicalResult visit(Operation &inner);
  LogicalResult visitEqual(Operation &inner, OpOperand &lhs, OpOperand &rhs);
  LogicalResult require(Operation &inner);
  LogicalResult multiply(OpOperand &use, int power);
  LogicalResult addPower(OpOperand &use, int power);
  int64_t getCost(Value value);
  OpOperand *getFreeFactor(Value value);
  bool isFree(Value value);
  int getDegree(Value value) const { return degrees.lookup(value); }

  OnlineAttentionOp op;
  Region &region;
  Value product;
  double scale;
  /// Values with a degree other than 0.
  llvm::SmallDenseMap<Value, int> degrees;
  SmallVector<Change> changes;
  /// Values that are multiplied for all of their uses that need it.
  llvm::SmallSetVector<Value, 4> multiplied;
  int64_t cost = 0;
};
} // namespace

/// Whether a value is the same for all pairs of a head, so that multiplying it
/// costs nothing.
bool Placement::isFree(Value value) {
  return !dependsOn(region, value, {0, kNumScoreArgs - 2, kNumScoreArgs - 1});
}

/// The factor, or the divisor, of a product that can be multiplied in its place
/// at no cost.
OpOperand *Placement::getFreeFactor(Value value) {
  Operation *source = value.getDefiningOp();
  if (!isa_and_present<arith::MulFOp, arith::DivFOp>(source) ||
      !value.hasOneUse())
    return nullptr;
  for (OpOperand &operand : source->getOpOperands())
    if (isFree(operand.get()))
      return &operand;
  return nullptr;
}

/// What it costs to multiply a value. In front of a sum it is a part of a fused
/// multiply-add.
int64_t Placement::getCost(Value value) {
  if (getFreeFactor(value))
    return 0;
  bool isFused = value.hasOneUse() &&
                 isa<arith::AddFOp, arith::SubFOp>(*value.getUsers().begin());
  return isFused ? 0 : 1;
}

LogicalResult Placement::addPower(OpOperand &use, int power) {
  double factor = std::pow(scale, power);
  if (!std::isnormal(static_cast<float>(factor)))
    return failure();
  FloatAttr constant;
  if (matchPattern(use.get(), m_Constant(&constant))) {
    double value = constant.getValueAsDouble();
    if (std::isfinite(value) && value != 0 &&
        !std::isnormal(static_cast<float>(value * factor)))
      return failure();
  }
  changes.push_back({&use, power});
  return success();
}

/// Multiplies what an operation reads.
LogicalResult Placement::multiply(OpOperand &use, int power) {
  Value value = use.get();
  if (OpOperand *factor = getFreeFactor(value)) {
    bool isDivisor = isa<arith::DivFOp>(factor->getOwner()) &&
                     factor->getOperandNumber() == 1;
    return addPower(*factor, isDivisor ? -power : power);
  }
  if (!isFree(value) && multiplied.insert(value))
    cost += getCost(value);
  return addPower(use, power);
}

/// Operands of an operation that may compute anything, in its regions as well.
LogicalResult Placement::require(Operation &inner) {
  WalkResult walk = inner.walk([&](Operation *nested) {
    for (OpOperand &operand : nested->getOpOperands())
      if (int degree = getDegree(operand.get()))
        if (failed(multiply(operand, degree)))
          return WalkResult::interrupt();
    return WalkResult::advance();
  });
  return failure(walk.wasInterrupted());
}

/// An operation whose operands have to have the same degree, which its result
/// has, too, if it is a float.
LogicalResult Placement::visitEqual(Operation &inner, OpOperand &lhs,
                                    OpOperand &rhs) {
  int left = getDegree(lhs.get()), right = getDegree(rhs.get());
  int degree = left ? left : right;
  if (left != right) {
    OpOperand &other = left ? rhs : lhs;
    if ((left && right) || !isFree(other.get()))
      return require(inner);
    if (failed(multiply(other, -degree)))
      return failure();
  }
  if (isa<FloatType>(inner.getResult(0).getType()))
    degrees[inner.getResult(0)] = degree;
  return success();
}

LogicalResult Placement::visit(Operation &inner) {
  MutableArrayRef<OpOperand> operands = inner.getOpOperands();
  return llvm::TypeSwitch<Operation *, LogicalResult>(&inner)
      .Case<arith::MulFOp, arith::DivFOp>([&](Operation *) -> LogicalResult {
        int second = getDegree(operands[1].get());
        int degree = getDegree(operands[0].get()) +
                     (isa<arith::MulFOp>(inner) ? second : -second);
        degrees[inner.getResult(0)] = degree;
        return success(std::abs(degree) <= 2);
      })
      .Case<arith::NegFOp, math::AbsFOp>([&](Operation *) -> LogicalResult {
        degrees[inner.getResult(0)] = getDegree(operands[0].get());
        return success();
      })
      .Case<arith::AddFOp, arith::SubFOp, arith::MaximumFOp, arith::MinimumFOp,
            arith::MaxNumFOp, arith::MinNumFOp, arith::CmpFOp>(
          [&](Operation *) {
            return visitEqual(inner, operands[0], operands[1]);
          })
      .Case<arith::SelectOp>([&](Operation *) {
        return visitEqual(inner, operands[1], operands[2]);
      })
      .Default([&](Operation *) { return require(inner); });
}

LogicalResult Placement::analyze() {
  degrees[product] = 1;
  for (Operation &inner : region.front().without_terminator())
    if (failed(visit(inner)))
      return failure();
  // The score may have any degree: there is a factor of exponents. What comes
  // behind it are weights.
  auto yielded = region.front().getTerminator()->getOpOperands();
  for (OpOperand &weight : yielded.drop_front())
    if (int degree = getDegree(weight.get()))
      if (failed(multiply(weight, degree)))
        return failure();
  if (int degree = getDegree(yielded.front().get()))
    return addPower(yielded.front(), degree);
  return success();
}

void Placement::apply(RewriterBase &rewriter) {
  llvm::SmallDenseMap<std::pair<Value, int>, Value> products;
  for (const Change &change : changes) {
    OpOperand *use = change.use;
    Value value = use->get();
    Value &changed = products[{value, change.power}];
    if (!changed) {
      rewriter.setInsertionPointAfterValue(value);
      Location loc = value.getLoc();
      FloatAttr constant;
      double factor = std::pow(scale, change.power);
      bool isConstant = matchPattern(value, m_Constant(&constant));
      if (isConstant)
        factor *= constant.getValueAsDouble();
      Value number = arith::ConstantOp::create(
          rewriter, loc, rewriter.getFloatAttr(value.getType(), factor));
      changed = isConstant
                    ? number
                    : arith::MulFOp::create(rewriter, loc, value, number);
    }
    rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(changed); });
  }
  rewriter.modifyOpInPlace(
      op, [&] { op.setScaleAttr(rewriter.getF64FloatAttr(1)); });
}

namespace {
struct PlaceScale : public attn::impl::AttnPlaceScalePassBase<PlaceScale> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    getOperation()->walk([&](OnlineAttentionOp op) {
      double scale = op.getScale().convertToDouble();
      if (!changesScores(op) || scale == 1 || !(scale > 0))
        return;
      Placement placement(op);
      if (succeeded(placement.analyze()) &&
          placement.getCost() < placement.getPlainCost())
        placement.apply(rewriter);
    });
  }
};
} // namespace
