//===- ExpandScalarOps.cpp - Operations on numbers by simpler ones --------===//

#include "attn/Analysis/MaskValues.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNEXPANDSCALAROPSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Short forms
//===----------------------------------------------------------------------===//

namespace {
/// Arithmetic on values of one type.
struct Numbers {
  Numbers(PatternRewriter &rewriter, Operation *op, Type type)
      : b(op->getLoc(), rewriter), type(type) {}

  Value constant(const APInt &value) {
    return arith::ConstantOp::create(b, b.getIntegerAttr(type, value));
  }
  Value constant(int64_t value) {
    return constant(APInt(getWidth(), value, /*isSigned=*/true,
                          /*implicitTrunc=*/true));
  }
  Value constant(const APFloat &value) {
    return arith::ConstantOp::create(b, b.getFloatAttr(type, value));
  }
  template <typename OpTy, typename... Args> Value make(Args &&...args) {
    return OpTy::create(b, std::forward<Args>(args)...);
  }
  Value compare(arith::CmpIPredicate predicate, Value x, Value y) {
    return make<arith::CmpIOp>(predicate, x, y);
  }
  Value compare(arith::CmpFPredicate predicate, Value x, Value y) {
    return make<arith::CmpFOp>(predicate, x, y);
  }
  /// An index has 64 bits on every target.
  unsigned getWidth() const {
    return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
  }
  const llvm::fltSemantics &getSemantics() const {
    return cast<FloatType>(type).getFloatSemantics();
  }

  ImplicitLocOpBuilder b;
  Type type;
};
} // namespace

//===----------------------------------------------------------------------===//
// Floats
//===----------------------------------------------------------------------===//

static LogicalResult expandSincos(math::SincosOp op,
                                  PatternRewriter &rewriter) {
  Value sin = math::SinOp::create(rewriter, op.getLoc(), op.getOperand());
  Value cos = math::CosOp::create(rewriter, op.getLoc(), op.getOperand());
  rewriter.replaceOp(op, {sin, cos});
  return success();
}

/// The expansion of upstream takes the ends one for the other.
static LogicalResult expandClamp(math::ClampFOp op, PatternRewriter &rewriter) {
  Value raised = arith::MaximumFOp::create(rewriter, op.getLoc(), op.getValue(),
                                           op.getMin());
  rewriter.replaceOpWithNewOp<arith::MinimumFOp>(op, raised, op.getMax());
  return success();
}

namespace {
/// A question about what kind of number a float is, as comparisons.
template <typename OpTy> struct ExpandClass : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Value x = op.getOperand();
    if (!isa<FloatType>(x.getType()))
      return rewriter.notifyMatchFailure(op, "it is not on a number");
    Numbers n(rewriter, op, x.getType());
    using P = arith::CmpFPredicate;
    if (std::is_same_v<OpTy, math::IsNaNOp>) {
      rewriter.replaceOp(op, n.compare(P::UNO, x, x));
      return success();
    }
    Value magnitude = n.make<math::AbsFOp>(x);
    Value infinity = n.constant(APFloat::getInf(n.getSemantics()));
    bool isInf = std::is_same_v<OpTy, math::IsInfOp>;
    Value result = n.compare(isInf ? P::OEQ : P::OLT, magnitude, infinity);
    if (std::is_same_v<OpTy, math::IsNormalOp>) {
      Value least =
          n.constant(APFloat::getSmallestNormalized(n.getSemantics()));
      result =
          n.make<arith::AndIOp>(result, n.compare(P::OGE, magnitude, least));
    }
    rewriter.replaceOp(op, result);
    return success();
  }
};
} // namespace

/// x^n with n from 0 to 4, by products that are as exact as a function.
static Value emitSmallPower(Numbers &n, Value x, uint64_t power) {
  if (power == 0)
    return n.constant(APFloat::getOne(n.getSemantics()));
  Value result = x;
  if (power >= 2)
    result = n.make<arith::MulFOp>(x, x);
  if (power == 3)
    return n.make<arith::MulFOp>(result, x);
  return power == 4 ? n.make<arith::MulFOp>(result, result) : result;
}

/// A float to the power of an integer: products, or the function on floats,
/// which knows no odd powers beyond the integers that a float can tell apart.
static LogicalResult expandFPowI(math::FPowIOp op, PatternRewriter &rewriter) {
  Value x = op.getLhs(), power = op.getRhs();
  auto type = dyn_cast<FloatType>(x.getType());
  if (!type)
    return rewriter.notifyMatchFailure(op, "it is not on numbers");
  // Rounded once.
  if (type.getWidth() < 32) {
    Type wide = rewriter.getF32Type();
    Value extended = arith::ExtFOp::create(rewriter, op.getLoc(), wide, x);
    Value result =
        math::FPowIOp::create(rewriter, op.getLoc(), extended, power);
    rewriter.replaceOpWithNewOp<arith::TruncFOp>(op, type, result);
    return success();
  }
  Numbers n(rewriter, op, type);
  APInt constant;
  if (matchPattern(power, m_ConstantInt(&constant)) && constant.abs().ule(4)) {
    Value result = emitSmallPower(n, x, constant.abs().getZExtValue());
    if (constant.isNegative()) {
      Value one = n.constant(APFloat::getOne(n.getSemantics()));
      result = n.make<arith::DivFOp>(one, result);
    }
    rewriter.replaceOp(op, result);
    return success();
  }
  Numbers integers(rewriter, op, power.getType());
  Value result = n.make<math::PowFOp>(n.make<math::AbsFOp>(x),
                                      n.make<arith::SIToFPOp>(type, power));
  Value bit = n.make<arith::AndIOp>(power, integers.constant(1));
  Value isOdd =
      n.compare(arith::CmpIPredicate::ne, bit, integers.constant(int64_t(0)));
  Value withSign = n.make<math::CopySignOp>(result, x);
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, isOdd, withSign, result);
  return success();
}

//===----------------------------------------------------------------------===//
// Integers
//===----------------------------------------------------------------------===//

static LogicalResult expandAddExtended(arith::AddUIExtendedOp op,
                                       PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  Value sum = arith::AddIOp::create(rewriter, loc, op.getLhs(), op.getRhs());
  Value carry = arith::CmpIOp::create(rewriter, loc, arith::CmpIPredicate::ult,
                                      sum, op.getLhs());
  rewriter.replaceOp(op, {sum, carry});
  return success();
}

/// The upper half of a product of 64-bit numbers, from products of their
/// halves.
static Value emitHighOf64(Numbers &n, Value x, Value y, bool isSigned) {
  Value mask = n.constant(APInt::getLowBitsSet(64, 32));
  Value half = n.constant(32);
  auto low = [&](Value a) { return n.make<arith::AndIOp>(a, mask); };
  auto high = [&](Value a) { return n.make<arith::ShRUIOp>(a, half); };
  auto mul = [&](Value a, Value b) { return n.make<arith::MulIOp>(a, b); };
  auto add = [&](Value a, Value b) { return n.make<arith::AddIOp>(a, b); };
  Value carry = high(mul(low(x), low(y)));
  Value middle = add(mul(high(x), low(y)), carry);
  Value other = add(mul(low(x), high(y)), low(middle));
  Value result = add(add(mul(high(x), high(y)), high(middle)), high(other));
  if (!isSigned)
    return result;
  // A negative number is 2^64 less than the bits say.
  Value sign = n.constant(63);
  for (auto [a, b] : {std::pair{x, y}, {y, x}}) {
    Value excess = n.make<arith::AndIOp>(n.make<arith::ShRSIOp>(a, sign), b);
    result = n.make<arith::SubIOp>(result, excess);
  }
  return result;
}

namespace {
template <typename OpTy, typename ExtendOp>
struct ExpandMulExtended : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    Type type = op.getLhs().getType();
    if (!type.isIntOrIndex())
      return rewriter.notifyMatchFailure(op, "it is not on numbers");
    Numbers n(rewriter, op, type);
    unsigned width = n.getWidth();
    Value low = n.make<arith::MulIOp>(op.getLhs(), op.getRhs());
    Value high;
    if (width == 64) {
      high = emitHighOf64(n, op.getLhs(), op.getRhs(),
                          std::is_same_v<ExtendOp, arith::ExtSIOp>);
    } else if (width <= 32) {
      Numbers wide(rewriter, op, rewriter.getI64Type());
      Value product =
          wide.make<arith::MulIOp>(wide.make<ExtendOp>(wide.type, op.getLhs()),
                                   wide.make<ExtendOp>(wide.type, op.getRhs()));
      high = n.make<arith::TruncIOp>(
          type, wide.make<arith::ShRUIOp>(product, wide.constant(width)));
    } else {
      return rewriter.notifyMatchFailure(op, "no such width");
    }
    rewriter.replaceOp(op, {low, high});
    return success();
  }
};
} // namespace

/// An integer to the power of another one, of which a negative one gives the
/// quotient of 1 by a power, rounded to 0.
static LogicalResult expandIPowI(math::IPowIOp op, PatternRewriter &rewriter) {
  Value x = op.getLhs(), power = op.getRhs();
  if (!power.getType().isIntOrIndex())
    return rewriter.notifyMatchFailure(op, "it is not on numbers");
  Numbers n(rewriter, op, power.getType());
  APInt constant;
  bool isConstant = matchPattern(power, m_ConstantInt(&constant));
  unsigned width = n.getWidth();
  Value one = n.constant(1), zero = n.constant(int64_t(0));
  auto hasBit = [&](unsigned bit) {
    Value own = n.make<arith::AndIOp>(
        power, n.constant(APInt::getOneBitSet(width, bit)));
    return n.compare(arith::CmpIPredicate::ne, own, zero);
  };
  Value result = one, square = x;
  // The highest bit is the sign.
  unsigned numBits = isConstant
                         ? constant.isNegative() ? 0 : constant.getActiveBits()
                         : width - 1;
  for (unsigned bit = 0; bit < numBits; ++bit) {
    if (bit != 0)
      square = n.make<arith::MulIOp>(square, square);
    if (isConstant && !constant[bit])
      continue;
    Value product = n.make<arith::MulIOp>(result, square);
    result = isConstant ? product
                        : n.make<arith::SelectOp>(hasBit(bit), product, result);
  }
  if (!isConstant || constant.isNegative()) {
    Value isOne = n.compare(arith::CmpIPredicate::eq, x, one);
    Value minusOne = n.constant(-1);
    Value isMinusOne = n.compare(arith::CmpIPredicate::eq, x, minusOne);
    Value ofMinusOne = n.make<arith::SelectOp>(hasBit(0), minusOne, one);
    Value inverse = n.make<arith::SelectOp>(isMinusOne, ofMinusOne, zero);
    inverse = n.make<arith::SelectOp>(isOne, one, inverse);
    Value isNegative = n.compare(arith::CmpIPredicate::slt, power, zero);
    result = n.make<arith::SelectOp>(isNegative, inverse, result);
  }
  rewriter.replaceOp(op, result);
  return success();
}

/// Whether an index is a batch, a head or a position.
static bool isPosition(Value index) {
  auto argument = dyn_cast<BlockArgument>(index);
  if (!argument)
    return false;
  auto op =
      dyn_cast<AttentionLikeOpInterface>(argument.getOwner()->getParentOp());
  if (!op)
    return false;
  bool isOfMask = argument.getParentRegion() == &op.getMask();
  unsigned first = isOfMask ? 0 : 1, number = argument.getArgNumber();
  return number >= first && number < first + kNumMaskArgs;
}

/// What an integer that is computed of positions may be; what is found is kept.
static ConstantIntRanges getRange(Value value,
                                  DenseMap<Value, ConstantIntRanges> &known) {
  if (auto found = known.find(value); found != known.end())
    return found->second;
  unsigned width = ConstantIntRanges::getStorageBitwidth(value.getType());
  if (isPosition(value))
    return ConstantIntRanges::fromSigned(APInt::getZero(width),
                                         APInt(width, kMaxLength - 1));
  std::optional<ConstantIntRanges> inferred;
  if (auto of = dyn_cast<OpResult>(value))
    inferred =
        inferRange(of, [&](Value operand) { return getRange(operand, known); });
  ConstantIntRanges result =
      inferred.value_or(ConstantIntRanges::maxRange(width));
  known.try_emplace(value, result);
  return result;
}

/// An index that is cast to fewer bits and back is what these bits say, but
/// upstream takes it for the index itself once the casts meet. What may be lost
/// is cut off by an operation that stays, also where nothing casts it back yet:
/// comparisons of masks are of indices later.
static void cutOffBits(Operation *root) {
  SmallVector<Operation *> narrowings;
  DenseMap<Value, ConstantIntRanges> known;
  root->walk([&](Operation *op) {
    if (!isa<arith::IndexCastOp, arith::IndexCastUIOp, index::CastSOp,
             index::CastUOp>(op) ||
        !op->getOperand(0).getType().isIndex())
      return;
    unsigned width = op->getResult(0).getType().getIntOrFloatBitWidth();
    ConstantIntRanges range = getRange(op->getOperand(0), known);
    if (range.smin().getSignificantBits() > width ||
        range.smax().getSignificantBits() > width)
      narrowings.push_back(op);
  });
  for (Operation *op : narrowings) {
    OpBuilder builder(op);
    Value all = arith::IndexCastOp::create(
        builder, op->getLoc(), builder.getI64Type(), op->getOperand(0));
    Value low = arith::TruncIOp::create(builder, op->getLoc(),
                                        op->getResult(0).getType(), all);
    op->getResult(0).replaceAllUsesWith(low);
    op->erase();
  }
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

namespace {
struct ExpandScalarOps
    : public attn::impl::AttnExpandScalarOpsPassBase<ExpandScalarOps> {
  void runOnOperation() override {
    cutOffBits(getOperation());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<math::SincosOp, math::ClampFOp, math::IsNaNOp, math::IsInfOp,
              math::IsFiniteOp, math::IsNormalOp, math::FPowIOp, math::IPowIOp,
              arith::AddUIExtendedOp, arith::MulSIExtendedOp,
              arith::MulUIExtendedOp>(op))
        ops.push_back(op);
    });
    if (ops.empty())
      return;
    RewritePatternSet patterns(&getContext());
    patterns.add(expandSincos);
    patterns.add(expandClamp);
    patterns.add(expandFPowI);
    patterns.add(expandIPowI);
    patterns.add(expandAddExtended);
    patterns.add<ExpandClass<math::IsNaNOp>, ExpandClass<math::IsInfOp>,
                 ExpandClass<math::IsFiniteOp>, ExpandClass<math::IsNormalOp>,
                 ExpandMulExtended<arith::MulSIExtendedOp, arith::ExtSIOp>,
                 ExpandMulExtended<arith::MulUIExtendedOp, arith::ExtUIOp>>(
        &getContext());
    // All else stays as it is written.
    GreedyRewriteConfig config;
    config.setStrictness(GreedyRewriteStrictness::ExistingAndNewOps);
    if (failed(applyOpPatternsGreedily(ops, std::move(patterns), config)))
      signalPassFailure();
  }
};
} // namespace
