//===- Exponentials.cpp - exp and log on f32 as arithmetic ----------------===//
//
// Ranges are reduced to a power of two and a rest; the polynomials on the rest
// are those of the Cephes library (S. Moshier).
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "attn/Conversion/MathToArith/FloatFunctions.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// Adding this to a small number rounds it to an integer, held in the low bits
/// of the sum.
static constexpr float kRound = 12582912.0f; // 1.5 * 2^23

static Value emitExp(Arithmetic &a, Value x) {
  // Beyond these the result is 0 or infinity.
  x = a.clamp(x, -104.0f, 89.0f);
  Value shifted =
      a.mulAdd(x, a.constant(llvm::numbers::log2ef), a.constant(kRound));
  Value n = a.sub(shifted, a.constant(kRound));
  // The first part of ln 2 has few bits, so that its product with n is exact.
  Value rest = a.mulAdd(n, a.constant(-0.693359375f), x);
  rest = a.mulAdd(n, a.constant(2.12194440e-4f), rest);
  Value tail = a.polynomial(rest, {1.9875691500e-4f, 1.3981999507e-3f,
                                   8.3334519073e-3f, 4.1665795894e-2f,
                                   1.6666665459e-1f, 5.0000001201e-1f});
  Value power =
      a.add(a.mulAdd(a.mul(rest, rest), tail, rest), a.constant(1.0f));
  return a.scale(power, a.subInt(a.bits(shifted), a.bits(a.constant(kRound))));
}

/// 2^x as a power of two, whose exponent is in the low bits of the first, times
/// the second.
static std::pair<Value, Value> splitPower(Arithmetic &a, Value x) {
  Value shifted = a.add(x, a.constant(kRound));
  Value rest = a.sub(x, a.sub(shifted, a.constant(kRound)));
  return {
      a.bits(shifted),
      a.polynomial(rest, {1.535336188319500e-4f, 1.339887440266574e-3f,
                          9.618437357674640e-3f, 5.550332471162809e-2f,
                          2.402264791363012e-1f, 6.931472028550421e-1f, 1.0f})};
}

static Value emitExp2(Arithmetic &a, Value x) {
  auto [bits, power] = splitPower(a, a.clamp(x, -151.0f, 129.0f));
  return a.scale(power, a.subInt(bits, a.bits(a.constant(kRound))));
}

/// A power of two that may be 0 where it is no normal number, and infinite from
/// 2^127.5 on. So its exponent needs no second factor.
static Value emitApproximateExp2(Arithmetic &a, Value x) {
  auto [bits, power] = splitPower(a, a.clamp(x, -127.0f, 128.0f));
  Value exponent = a.addInt(a.shiftLeft(bits, 23), a.intConstant(127 << 23));
  return a.mul(power, a.fromBits(exponent));
}

namespace {
/// x = (1 + rest) * 2^exponent with sqrt(1/2) <= 1 + rest < sqrt(2), and
/// ln(1 + rest) = rest + tail.
struct Logarithm {
  Value rest, tail, exponent;
};
} // namespace

static Logarithm emitLogarithm(Arithmetic &a, Value x) {
  // Denormal numbers are made normal.
  Value isDenormal =
      a.compare(arith::CmpFPredicate::OLT, x, a.constant(1.17549435e-38f));
  Value normal = a.select(isDenormal, a.mul(x, a.constant(8388608.0f)), x);
  Value bias =
      a.select(isDenormal, a.intConstant(126 + 23), a.intConstant(126));
  Value bits = a.bits(normal);
  Value exponent = a.toFloat(a.subInt(a.shiftRight(bits, 23), bias));
  Value mantissa = a.fromBits(a.bitOr(a.bitAnd(bits, a.intConstant(0x007fffff)),
                                      a.intConstant(0x3f000000)));
  Value isLow = a.compare(arith::CmpFPredicate::OLT, mantissa,
                          a.constant(0.707106781186547524f));
  exponent =
      a.sub(exponent, a.select(isLow, a.constant(1.0f), a.constant(0.0f)));
  Value rest = a.sub(mantissa, a.constant(1.0f));
  rest = a.add(rest, a.select(isLow, mantissa, a.constant(0.0f)));

  Value square = a.mul(rest, rest);
  Value tail = a.polynomial(
      rest, {7.0376836292e-2f, -1.1514610310e-1f, 1.1676998740e-1f,
             -1.2420140846e-1f, 1.4249322787e-1f, -1.6668057665e-1f,
             2.0000714765e-1f, -2.4999993993e-1f, 3.3333331174e-1f});
  tail = a.mul(a.mul(tail, rest), square);
  return {rest, a.mulAdd(square, a.constant(-0.5f), tail), exponent};
}

/// The logarithm where `x` is positive and finite, otherwise what the C library
/// gives.
static Value selectLogarithm(Arithmetic &a, Value x, Value logarithm) {
  Value infinity = a.constant(INFINITY);
  // Also true for NaN.
  Value isSpecial = a.compare(arith::CmpFPredicate::UGE, x, infinity);
  Value isZero = a.compare(arith::CmpFPredicate::OEQ, x, a.constant(0.0f));
  Value isNegative = a.compare(arith::CmpFPredicate::OLT, x, a.constant(0.0f));
  Value result = a.select(isSpecial, x, logarithm);
  result = a.select(isZero, a.constant(-INFINITY), result);
  return a.select(isNegative, a.constant(NAN), result);
}

static Value emitLog(Arithmetic &a, Value x) {
  Logarithm log = emitLogarithm(a, x);
  Value sum = a.mulAdd(log.exponent, a.constant(-2.12194440e-4f), log.tail);
  sum = a.add(log.rest, sum);
  sum = a.mulAdd(log.exponent, a.constant(0.693359375f), sum);
  return selectLogarithm(a, x, sum);
}

static Value emitLog2(Arithmetic &a, Value x) {
  Logarithm log = emitLogarithm(a, x);
  // log2(e) - 1, so that the larger part is added without a product.
  Value factor = a.constant(0.44269504088896340735992f);
  Value sum = a.mul(log.tail, factor);
  sum = a.mulAdd(log.rest, factor, sum);
  sum = a.add(sum, log.tail);
  sum = a.add(sum, log.rest);
  return selectLogarithm(a, x, a.add(sum, log.exponent));
}

static LogicalResult lowerApproximateExp2(math::Exp2Op op,
                                          PatternRewriter &rewriter) {
  if (!bitEnumContainsAll(op.getFastmath(), arith::FastMathFlags::afn))
    return rewriter.notifyMatchFailure(op, "it is to be exact");
  return LowerFloatFunction<math::Exp2Op, emitApproximateExp2>(op.getContext())
      .matchAndRewrite(op, rewriter);
}

void mlir::attn::populateFloatFunctionPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerFloatFunction<math::ExpOp, emitExp>,
               LowerFloatFunction<math::Exp2Op, emitExp2>,
               LowerFloatFunction<math::LogOp, emitLog>,
               LowerFloatFunction<math::Log2Op, emitLog2>>(
      patterns.getContext());
  patterns.add(lowerApproximateExp2, /*benefit=*/2);
}
