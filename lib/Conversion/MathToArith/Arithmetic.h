//===- Arithmetic.h - Short forms of arithmetic -----------------*- C++ -*-===//

#ifndef ATTN_LIB_CONVERSION_MATHTOARITH_ARITHMETIC_H
#define ATTN_LIB_CONVERSION_MATHTOARITH_ARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/LLVMIR/LLVMDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {

/// Emits arithmetic on f32 or f64, or on vectors of a shape.
class Arithmetic {
public:
  Arithmetic(OpBuilder &builder, Location loc, Type type)
      : builder(builder), loc(loc), type(type),
        intType(withElement(builder.getIntegerType(
            getElementTypeOrSelf(type).getIntOrFloatBitWidth()))) {}

  /// The same on f64.
  Arithmetic onDouble() {
    return Arithmetic(builder, loc, withElement(builder.getF64Type()));
  }

  Value constant(double value) {
    return splat(type, builder.getFloatAttr(getElementTypeOrSelf(type), value));
  }
  Value intConstant(int64_t value) {
    return splat(intType,
                 builder.getIntegerAttr(getElementTypeOrSelf(intType), value));
  }
  /// An operation of the math dialect.
  template <typename OpTy, typename... Values> Value call(Values... values) {
    return OpTy::create(builder, loc, type, ValueRange{values...});
  }
  Value add(Value a, Value b) {
    return arith::AddFOp::create(builder, loc, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  Value mul(Value a, Value b) {
    return arith::MulFOp::create(builder, loc, a, b);
  }
  /// a * b + c, rounded once where that is faster.
  Value mulAdd(Value a, Value b, Value c) {
    return LLVM::FMulAddOp::create(builder, loc, type, a, b, c);
  }
  /// a * b + c, rounded once.
  Value fma(Value a, Value b, Value c) { return call<math::FmaOp>(a, b, c); }
  Value div(Value a, Value b) {
    return arith::DivFOp::create(builder, loc, a, b);
  }
  Value abs(Value a) { return call<math::AbsFOp>(a); }
  Value negate(Value a) { return arith::NegFOp::create(builder, loc, a); }
  /// The polynomial with these coefficients, the highest power first.
  Value polynomial(Value x, ArrayRef<double> coefficients) {
    Value sum = constant(coefficients[0]);
    for (double coefficient : coefficients.drop_front())
      sum = mulAdd(sum, x, constant(coefficient));
    return sum;
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value compareInt(arith::CmpIPredicate predicate, Value a, Value b) {
    return arith::CmpIOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  /// `x` brought into [low, high]; NaN stays NaN.
  Value clamp(Value x, double low, double high) {
    Value lowest = constant(low), highest = constant(high);
    Value isLow = compare(arith::CmpFPredicate::OLT, x, lowest);
    Value isHigh = compare(arith::CmpFPredicate::OGT, x, highest);
    return select(isLow, lowest, select(isHigh, highest, x));
  }

  Value bits(Value x) {
    return arith::BitcastOp::create(builder, loc, intType, x);
  }
  Value fromBits(Value x) {
    return arith::BitcastOp::create(builder, loc, type, x);
  }
  /// The lower 32 bits of an f64.
  Value lowBits(Value wide) {
    return arith::TruncIOp::create(builder, loc, intType,
                                   onDouble().bits(wide));
  }
  Value addInt(Value a, Value b) {
    return arith::AddIOp::create(builder, loc, a, b);
  }
  Value subInt(Value a, Value b) {
    return arith::SubIOp::create(builder, loc, a, b);
  }
  /// Of integers or conditions.
  Value bitAnd(Value a, Value b) {
    return arith::AndIOp::create(builder, loc, a, b);
  }
  Value bitOr(Value a, Value b) {
    return arith::OrIOp::create(builder, loc, a, b);
  }
  Value shiftLeft(Value a, int64_t by) {
    return arith::ShLIOp::create(builder, loc, a, intConstant(by));
  }
  Value shiftRight(Value a, int64_t by) {
    return arith::ShRSIOp::create(builder, loc, a, intConstant(by));
  }
  Value toFloat(Value a) {
    return arith::SIToFPOp::create(builder, loc, type, a);
  }
  Value toInt(Value a) {
    return arith::FPToSIOp::create(builder, loc, intType, a);
  }
  /// From f32 to f64, or back.
  Value extend(Value a) { return arith::ExtFOp::create(builder, loc, type, a); }
  Value round(Value a) {
    return arith::TruncFOp::create(builder, loc, type, a);
  }

  /// x * 2^n for |n| < 252, rounded once. Two factors, as one would overflow
  /// or lose denormal results.
  Value scale(Value x, Value n) {
    Value half = shiftRight(n, 1);
    return mul(mul(x, power(half)), power(subInt(n, half)));
  }

private:
  Type withElement(Type element) {
    auto vector = dyn_cast<VectorType>(type);
    return vector ? Type(vector.clone(element)) : element;
  }
  Value splat(Type type, TypedAttr attribute) {
    if (auto vector = dyn_cast<VectorType>(type))
      attribute = DenseElementsAttr::get(vector, Attribute(attribute));
    return arith::ConstantOp::create(builder, loc, attribute);
  }
  /// 2^n by its exponent bits.
  Value power(Value n) {
    return fromBits(shiftLeft(addInt(n, intConstant(127)), 23));
  }

  OpBuilder &builder;
  Location loc;
  Type type, intType;
};

/// 1 / x to 2^-44 for an f64 whose inverse an f32 can hold: one of f32, from
/// `a`, that is refined once in f64, by `d`.
inline Value emitRefinedInverse(Arithmetic &a, Arithmetic &d, Value x) {
  Value inverse = d.extend(a.div(a.constant(1), a.round(x)));
  Value error = d.fma(d.negate(x), inverse, d.constant(1));
  return d.fma(inverse, error, inverse);
}

/// Replaces a function of one f32, or of a vector of them.
template <typename OpTy, Value (*emit)(Arithmetic &, Value)>
struct LowerFloatFunction : public OpRewritePattern<OpTy> {
  using OpRewritePattern<OpTy>::OpRewritePattern;

  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const final {
    if (!getElementTypeOrSelf(op.getType()).isF32() ||
        !(isa<Float32Type>(op.getType()) || isa<VectorType>(op.getType())))
      return rewriter.notifyMatchFailure(op, "it is not on f32");
    Arithmetic arithmetic(rewriter, op.getLoc(), op.getType());
    rewriter.replaceOp(op, emit(arithmetic, op.getOperand()));
    return success();
  }
};

} // namespace mlir::attn

#endif // ATTN_LIB_CONVERSION_MATHTOARITH_ARITHMETIC_H
