//===- Trigonometric.cpp - sin, atan and others on f32 as arithmetic ------===//
//
// The angle is brought into [-pi/4, pi/4] in f64, with pi/2 as two numbers, so
// that nothing is lost below 2^50. The polynomials are those of the Cephes
// library (S. Moshier).
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "Functions.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

namespace {
/// x = quadrant * pi/2 + an angle with this sine and cosine.
struct Angle {
  Value sine, cosine;
  /// Its lowest two bits are the number of the quadrant.
  Value quadrant;
};
} // namespace

static Angle emitAngle(Arithmetic &a, Value x) {
  Arithmetic d = a.onDouble();
  Value wide = d.extend(x);
  // A sum of this size is an integer, which its lower bits count. Rounding, and
  // conversions to integers, would take a GPU 8 cycles a warp each.
  Value large = d.constant(0x1.8p52);
  Value turns = d.fma(wide, d.constant(0.63661977236758134308), large);
  Value minus = d.sub(large, turns);
  Value rest = d.fma(minus, d.constant(1.57079632679489655800), wide);
  rest = d.fma(minus, d.constant(6.12323399573676603587e-17), rest);

  Value r = a.round(rest);
  Value square = a.mul(r, r);
  Value sine = a.polynomial(
      square, {-1.9515295891e-4, 8.3321608736e-3, -1.6666654611e-1});
  Value cosine =
      a.polynomial(square, {2.443315711809948e-5, -1.388731625493765e-3,
                            4.166664568298827e-2});
  Angle angle;
  angle.sine = a.mulAdd(a.mul(r, square), sine, r);
  angle.cosine = a.add(
      a.mulAdd(a.mul(square, square), cosine, a.mul(square, a.constant(-0.5))),
      a.constant(1));
  angle.quadrant = a.lowBits(turns);
  return angle;
}

/// NaN for infinities, whose angle is none.
static Value selectFinite(Arithmetic &a, Value x, Value result) {
  Value isFinite =
      a.compare(arith::CmpFPredicate::OLT, a.abs(x), a.constant(INFINITY));
  return a.select(isFinite, result, a.constant(NAN));
}

static Value isBitSet(Arithmetic &a, Value number, int64_t bit) {
  return a.compareInt(arith::CmpIPredicate::ne,
                      a.bitAnd(number, a.intConstant(bit)), a.intConstant(0));
}

/// The sine of a quadrant further on.
static Value emitSine(Arithmetic &a, const Angle &angle, Value quadrant) {
  Value result = a.select(isBitSet(a, quadrant, 1), angle.cosine, angle.sine);
  return a.select(isBitSet(a, quadrant, 2), a.negate(result), result);
}

static Value emitSin(Arithmetic &a, Value x) {
  Angle angle = emitAngle(a, x);
  return selectFinite(a, x, emitSine(a, angle, angle.quadrant));
}

static Value emitCos(Arithmetic &a, Value x) {
  Angle angle = emitAngle(a, x);
  Value next = a.addInt(angle.quadrant, a.intConstant(1));
  return selectFinite(a, x, emitSine(a, angle, next));
}

static Value emitTan(Arithmetic &a, Value x) {
  Angle angle = emitAngle(a, x);
  Value isOdd = isBitSet(a, angle.quadrant, 1);
  Value over = a.select(isOdd, a.negate(angle.cosine), angle.sine);
  Value under = a.select(isOdd, angle.sine, angle.cosine);
  return selectFinite(a, x, a.div(over, under));
}

/// The angle of the vector (x, y) in the first octants, for 0 <= x, y.
static Value emitOctants(Arithmetic &a, Value x, Value y) {
  constexpr double quarter = 0.78539816339744830962;
  Value isSteep = a.compare(arith::CmpFPredicate::OGT, y, x);
  Value low = a.select(isSteep, x, y), high = a.select(isSteep, y, x);
  // tan(t - pi/4) = (tan t - 1) / (tan t + 1) for angles that are not small.
  Value isLarge = a.compare(arith::CmpFPredicate::OGT, low,
                            a.mul(high, a.constant(0.41421356237309504880)));
  Value ratio = a.div(a.select(isLarge, a.sub(low, high), low),
                      a.select(isLarge, a.add(low, high), high));
  Value square = a.mul(ratio, ratio);
  Value series = a.polynomial(square, {8.05374449538e-2, -1.38776856032e-1,
                                       1.99777106478e-1, -3.33329491539e-1});
  Value angle = a.mulAdd(a.mul(square, ratio), series, ratio);
  angle = a.select(isLarge, a.add(angle, a.constant(quarter)), angle);
  return a.select(isSteep, a.sub(a.constant(2 * quarter), angle), angle);
}

static Value emitAtan(Arithmetic &a, Value x) {
  Value angle = emitOctants(a, a.constant(1), a.abs(x));
  return a.call<math::CopySignOp>(angle, x);
}

static Value emitAtan2(Arithmetic &a, Value y, Value x) {
  constexpr double pi = 3.14159265358979323846;
  Value width = a.abs(x), height = a.abs(y);
  auto are = [&](double value) {
    return a.bitAnd(
        a.compare(arith::CmpFPredicate::OEQ, width, a.constant(value)),
        a.compare(arith::CmpFPredicate::OEQ, height, a.constant(value)));
  };
  // Neither sums that overflow nor inverses that underflow.
  Value most = a.select(a.compare(arith::CmpFPredicate::OGT, height, width),
                        height, width);
  Value isHuge =
      a.compare(arith::CmpFPredicate::OGT, most, a.constant(0x1p100));
  Value isTiny =
      a.compare(arith::CmpFPredicate::OLT, most, a.constant(0x1p-50));
  Value factor = a.select(isHuge, a.constant(0x1p-50),
                          a.select(isTiny, a.constant(0x1p75), a.constant(1)));
  Value angle = emitOctants(a, a.mul(width, factor), a.mul(height, factor));
  // Of two zeros and two infinities.
  angle = a.select(are(0), a.constant(0), angle);
  angle = a.select(are(INFINITY), a.constant(pi / 4), angle);
  Value isLeft =
      a.compareInt(arith::CmpIPredicate::slt, a.bits(x), a.intConstant(0));
  angle = a.select(isLeft, a.sub(a.constant(pi), angle), angle);
  angle = a.call<math::CopySignOp>(angle, y);
  Value isNone = a.compare(arith::CmpFPredicate::UNO, x, y);
  return a.select(isNone, a.constant(NAN), angle);
}

namespace {
struct LowerAtan2 : public OpRewritePattern<math::Atan2Op> {
  using OpRewritePattern::OpRewritePattern;

  LogicalResult matchAndRewrite(math::Atan2Op op,
                                PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32())
      return rewriter.notifyMatchFailure(op, "it is not on f32");
    Arithmetic arithmetic(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, emitAtan2(arithmetic, op.getLhs(), op.getRhs()));
    return success();
  }
};
} // namespace

void mlir::attn::populateTrigonometricPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerAtan2, LowerFloatFunction<math::AtanOp, emitAtan>,
               LowerFloatFunction<math::SinOp, emitSin>,
               LowerFloatFunction<math::CosOp, emitCos>,
               LowerFloatFunction<math::TanOp, emitTan>>(patterns.getContext());
}
