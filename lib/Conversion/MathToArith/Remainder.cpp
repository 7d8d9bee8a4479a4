//===- Remainder.cpp - Remainders of quotients as arithmetic --------------===//
//
// LLVM expands a remainder for a GPU to x - trunc(x / y) * y, which loses the
// sign of zero, and is off by y where the quotient is rounded to the next
// integer. Here the quotient is of f64, and what it is off by is put right.
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "Functions.h"
#include <cmath>

using namespace mlir;
using namespace mlir::attn;

/// 1 / x to 2^-44 for a positive f64 that an f32 is.
static Value emitInverse(Arithmetic &a, Arithmetic &d, Value x) {
  // x = m * 2^e with 1 <= m < 2, as the inverse of m is one of f32, too.
  Value bits = d.bits(x);
  Value exponent = d.bitAnd(bits, d.intConstant(0x7ff0000000000000));
  Value one = d.intConstant(0x3ff0000000000000);
  Value mantissa = d.fromBits(d.addInt(d.subInt(bits, exponent), one));
  Value power =
      d.fromBits(d.subInt(d.intConstant(0x7fe0000000000000), exponent));
  return d.mul(emitRefinedInverse(a, d, mantissa), power);
}

/// x modulo y for positive f64. `quotient` may be off by one.
static Value emitPositive(Arithmetic &d, Value x, Value y, Value quotient) {
  Value whole = d.call<math::TruncOp>(quotient);
  // Exact, as the result is a multiple of the last place of y.
  Value rest = d.fma(d.negate(whole), y, x);
  Value isLow = d.compare(arith::CmpFPredicate::OLT, rest, d.constant(0));
  rest = d.select(isLow, d.add(rest, y), rest);
  Value isHigh = d.compare(arith::CmpFPredicate::OGE, rest, y);
  return d.select(isHigh, d.sub(rest, y), rest);
}

/// The result for any numbers from that for magnitudes, with the sign of x.
static Value emitSpecial(Arithmetic &a, Value x, Value y, Value result) {
  Value over = a.abs(x), under = a.abs(y);
  Value isSmall = a.compare(arith::CmpFPredicate::OLT, over, under);
  result = a.select(isSmall, x, a.call<math::CopySignOp>(result, x));
  Value isNumber =
      a.bitAnd(a.compare(arith::CmpFPredicate::OLT, over, a.constant(INFINITY)),
               a.compare(arith::CmpFPredicate::OGT, under, a.constant(0)));
  return a.select(isNumber, result, a.constant(NAN));
}

static LogicalResult lowerRemainder(arith::RemFOp op,
                                    PatternRewriter &rewriter) {
  Arithmetic a(rewriter, op.getLoc(), op.getType());
  Value x = op.getLhs(), y = op.getRhs();
  Type element = getElementTypeOrSelf(op.getType());
  Value result;
  if (element.isF32()) {
    Arithmetic d = a.onDouble();
    Value over = d.extend(a.abs(x)), under = d.extend(a.abs(y));
    Value quotient = d.mul(over, emitInverse(a, d, under));
    result = a.round(emitPositive(d, over, under, quotient));
  } else if (element.isF64()) {
    Value over = a.abs(x), under = a.abs(y);
    result = emitPositive(a, over, under, a.div(over, under));
  } else {
    return rewriter.notifyMatchFailure(op, "it is not on f32 or f64");
  }
  rewriter.replaceOp(op, emitSpecial(a, x, y, result));
  return success();
}

void mlir::attn::populateRemainderPatterns(RewritePatternSet &patterns) {
  patterns.add(lowerRemainder);
}
