//===- Power.cpp - Powers, roots and log10 on f32 as arithmetic -----------===//

#include "Arithmetic.h"
#include "Functions.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// log2 of a positive f64 that an f32 is, to 2^-36. An error of it is an error
/// of the power that is larger by the exponent.
static Value emitWideLog2(Arithmetic &a, Arithmetic &d, Value x) {
  // x = m * 2^e with sqrt(1/2) <= m < sqrt(2).
  Value bits = d.subInt(d.bits(x), d.intConstant(0x3fe6a09e667f3bcd));
  Value exponent = d.shiftRight(bits, 52);
  Value mantissa = d.fromBits(d.subInt(d.bits(x), d.shiftLeft(exponent, 52)));
  // log m = 2 atanh((m - 1) / (m + 1))
  Value under = d.add(mantissa, d.constant(1));
  Value inverse = emitRefinedInverse(a, d, under);
  Value ratio = d.mul(d.sub(mantissa, d.constant(1)), inverse);
  Value square = d.mul(ratio, ratio);
  constexpr double factor = 2 * llvm::numbers::log2e;
  Value series =
      d.polynomial(square, {factor / 13, factor / 11, factor / 9, factor / 7,
                            factor / 5, factor / 3, factor});
  return d.fma(ratio, series, d.toFloat(exponent));
}

/// |x|^exponent, where the exponent is an f64 and neither is NaN.
static Value emitPowerOfMagnitude(Arithmetic &a, Arithmetic &d, Value magnitude,
                                  Value by) {
  auto is = [&](double number) {
    return a.compare(arith::CmpFPredicate::OEQ, magnitude, a.constant(number));
  };
  Value log = emitWideLog2(a, d, d.extend(magnitude));
  log = d.select(is(0), d.constant(-INFINITY), log);
  log = d.select(is(INFINITY), d.constant(INFINITY), log);
  // 0 where x is 1, also if the exponent is infinite.
  Value exponent = d.mul(log, by);
  exponent = d.select(is(1), d.constant(0), exponent);
  exponent = d.clamp(exponent, -200, 200);
  Value number = d.call<math::RoundEvenOp>(exponent);
  Value rest = a.round(d.sub(exponent, number));
  Value power =
      a.polynomial(rest, {1.535336188319500e-4, 1.339887440266574e-3,
                          9.618437357674640e-3, 5.550332471162809e-2,
                          2.402264791363012e-1, 6.931472028550421e-1, 1.0});
  return a.scale(power, a.toInt(a.round(number)));
}

static Value emitPower(Arithmetic &a, Value x, Value y) {
  Arithmetic d = a.onDouble();
  auto is = [&](Value value, double number) {
    return a.compare(arith::CmpFPredicate::OEQ, value, a.constant(number));
  };
  Value result = emitPowerOfMagnitude(a, d, a.abs(x), d.extend(y));
  // A negative number has powers by integers only, with the sign if it is odd.
  Value whole = a.call<math::FloorOp>(y);
  Value isInteger = a.compare(arith::CmpFPredicate::OEQ, whole, y);
  Value half = a.mul(y, a.constant(0.5));
  Value isOdd =
      a.bitAnd(isInteger, a.compare(arith::CmpFPredicate::UNE,
                                    a.call<math::FloorOp>(half), half));
  result = a.select(isOdd, a.call<math::CopySignOp>(result, x), result);
  Value isNegative =
      a.bitAnd(a.compare(arith::CmpFPredicate::OLT, x, a.constant(0)),
               a.compare(arith::CmpFPredicate::OGT, x, a.constant(-INFINITY)));
  Value isFraction = a.compare(arith::CmpFPredicate::UNE, whole, y);
  Value isNone = a.bitAnd(isNegative, isFraction);
  isNone = a.bitOr(isNone, a.compare(arith::CmpFPredicate::UNO, x, y));
  result = a.select(isNone, a.constant(NAN), result);
  return a.select(a.bitOr(is(x, 1), is(y, 0)), a.constant(1), result);
}

namespace {
struct LowerPower : public OpRewritePattern<math::PowFOp> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::PowFOp op,
                                PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "it is not on f32");
    Arithmetic arithmetic(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, emitPower(arithmetic, op.getLhs(), op.getRhs()));
    return success();
  }
};
} // namespace

static Value emitCbrt(Arithmetic &a, Value x) {
  Arithmetic d = a.onDouble();
  Value root =
      emitPowerOfMagnitude(a, d, a.abs(x), d.constant(0.33333333333333333333));
  root = a.call<math::CopySignOp>(root, x);
  Value isNone = a.compare(arith::CmpFPredicate::UNO, x, x);
  return a.select(isNone, a.constant(NAN), root);
}

static Value emitLog10(Arithmetic &a, Value x) {
  return a.mul(a.call<math::LogOp>(x), a.constant(0.43429448190325182765));
}

void mlir::attn::populatePowerPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerPower, LowerFloatFunction<math::CbrtOp, emitCbrt>,
               LowerFloatFunction<math::Log10Op, emitLog10>>(
      patterns.getContext());
}
