//===- Hyperbolic.cpp - Hyperbolic functions on f32 as arithmetic ---------===//
//
// Of expm1 and log1p, which lose no digits near 0.
//
//===----------------------------------------------------------------------===//

#include "Arithmetic.h"
#include "Functions.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// e^|x| / 2 for large x, as a square, which overflows no earlier than it.
static Value emitHalfPower(Arithmetic &a, Value magnitude) {
  Value root = a.call<math::ExpOp>(a.mul(magnitude, a.constant(0.5)));
  return a.mul(a.mul(root, a.constant(0.5)), root);
}

/// From here on, e^-|x| is less than half a unit in the last place of e^|x|.
static Value isLarge(Arithmetic &a, Value magnitude) {
  return a.compare(arith::CmpFPredicate::OGT, magnitude, a.constant(9));
}

static Value emitSinh(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value power = a.call<math::ExpM1Op>(magnitude);
  Value small = a.add(power, a.div(power, a.add(power, a.constant(1))));
  Value result = a.select(isLarge(a, magnitude), emitHalfPower(a, magnitude),
                          a.mul(small, a.constant(0.5)));
  return a.call<math::CopySignOp>(result, x);
}

static Value emitCosh(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value power = a.call<math::ExpOp>(magnitude);
  Value small = a.add(power, a.div(a.constant(1), power));
  return a.select(isLarge(a, magnitude), emitHalfPower(a, magnitude),
                  a.mul(small, a.constant(0.5)));
}

/// log(2 x), where x is so large that its square is not needed.
static Value emitLogOfTwice(Arithmetic &a, Value x) {
  return a.add(a.call<math::LogOp>(x), a.constant(llvm::numbers::ln2));
}

static Value isHuge(Arithmetic &a, Value magnitude) {
  return a.compare(arith::CmpFPredicate::OGT, magnitude, a.constant(0x1p28));
}

static Value emitAsinh(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value square = a.mul(magnitude, magnitude);
  Value root = a.call<math::SqrtOp>(a.add(square, a.constant(1)));
  Value more = a.div(square, a.add(root, a.constant(1)));
  Value result = a.call<math::Log1pOp>(a.add(magnitude, more));
  result = a.select(isHuge(a, magnitude), emitLogOfTwice(a, magnitude), result);
  return a.call<math::CopySignOp>(result, x);
}

/// NaN below 1, from the square root.
static Value emitAcosh(Arithmetic &a, Value x) {
  Value more = a.sub(x, a.constant(1));
  Value root = a.call<math::SqrtOp>(a.mul(more, a.add(more, a.constant(2))));
  Value result = a.call<math::Log1pOp>(a.add(more, root));
  return a.select(isHuge(a, x), emitLogOfTwice(a, x), result);
}

static Value emitAtanh(Arithmetic &a, Value x) {
  Value magnitude = a.abs(x);
  Value ratio =
      a.div(a.add(magnitude, magnitude), a.sub(a.constant(1), magnitude));
  Value result = a.mul(a.call<math::Log1pOp>(ratio), a.constant(0.5));
  return a.call<math::CopySignOp>(result, x);
}

void mlir::attn::populateHyperbolicPatterns(RewritePatternSet &patterns) {
  patterns.add<LowerFloatFunction<math::SinhOp, emitSinh>,
               LowerFloatFunction<math::CoshOp, emitCosh>,
               LowerFloatFunction<math::AsinhOp, emitAsinh>,
               LowerFloatFunction<math::AcoshOp, emitAcosh>,
               LowerFloatFunction<math::AtanhOp, emitAtanh>>(
      patterns.getContext());
}
