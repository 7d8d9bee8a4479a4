//===- Expr.cpp - Expressions of score and mask functions -----------------===//

#include "attn/Builder/Expr.h"
#include "ExprScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"

using namespace attn;
using mlir::Location;
using mlir::OpBuilder;
using mlir::Value;
namespace arith = mlir::arith;
namespace math = mlir::math;

namespace {
using Values = llvm::ArrayRef<Value>;
using Operation = ExprScope::Operation;
} // namespace

template <typename OpTy>
static Value emitUnary(OpBuilder &builder, Location loc, Values operands) {
  return OpTy::create(builder, loc, operands[0]);
}

template <typename OpTy>
static Value emitBinary(OpBuilder &builder, Location loc, Values operands) {
  return OpTy::create(builder, loc, operands[0], operands[1]);
}

template <arith::CmpFPredicate predicate>
static Value compareFloat(OpBuilder &builder, Location loc, Values operands) {
  return arith::CmpFOp::create(builder, loc, predicate, operands[0],
                               operands[1]);
}

template <arith::CmpIPredicate predicate>
static Value compareInt(OpBuilder &builder, Location loc, Values operands) {
  return arith::CmpIOp::create(builder, loc, predicate, operands[0],
                               operands[1]);
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Expr attn::operator+(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"+", emitBinary<arith::AddFOp>, emitBinary<arith::AddIOp>, nullptr},
      {a, b});
}

Expr attn::operator-(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"-", emitBinary<arith::SubFOp>, emitBinary<arith::SubIOp>, nullptr},
      {a, b});
}

Expr attn::operator*(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"*", emitBinary<arith::MulFOp>, emitBinary<arith::MulIOp>, nullptr},
      {a, b});
}

Expr attn::operator/(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"/", emitBinary<arith::DivFOp>, emitBinary<arith::DivSIOp>, nullptr},
      {a, b});
}

Expr attn::operator%(const Expr &a, const Expr &b) {
  return ExprScope::apply({"%", nullptr, emitBinary<arith::RemSIOp>, nullptr},
                          {a, b});
}

Expr attn::operator-(const Expr &a) {
  return ExprScope::apply(
      {"-", emitUnary<arith::NegFOp>,
       +[](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
         return arith::SubIOp::create(builder, loc, zero, operands[0]);
       },
       nullptr},
      a);
}

Expr attn::floorDiv(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"floorDiv", nullptr, emitBinary<arith::FloorDivSIOp>, nullptr}, {a, b});
}

Expr attn::floorMod(const Expr &a, const Expr &b) {
  return a - floorDiv(a, b) * b;
}

Expr attn::max(const Expr &a, const Expr &b) {
  return ExprScope::apply({"max", emitBinary<arith::MaximumFOp>,
                           emitBinary<arith::MaxSIOp>, nullptr},
                          {a, b});
}

Expr attn::min(const Expr &a, const Expr &b) {
  return ExprScope::apply({"min", emitBinary<arith::MinimumFOp>,
                           emitBinary<arith::MinSIOp>, nullptr},
                          {a, b});
}

//===----------------------------------------------------------------------===//
// Comparisons and logic
//===----------------------------------------------------------------------===//

Expr attn::operator==(const Expr &a, const Expr &b) {
  constexpr auto predicate = arith::CmpIPredicate::eq;
  return ExprScope::apply({"==", compareFloat<arith::CmpFPredicate::OEQ>,
                           compareInt<predicate>, compareInt<predicate>},
                          {a, b});
}

Expr attn::operator!=(const Expr &a, const Expr &b) {
  constexpr auto predicate = arith::CmpIPredicate::ne;
  return ExprScope::apply({"!=", compareFloat<arith::CmpFPredicate::UNE>,
                           compareInt<predicate>, compareInt<predicate>},
                          {a, b});
}

Expr attn::operator<(const Expr &a, const Expr &b) {
  return ExprScope::apply({"<", compareFloat<arith::CmpFPredicate::OLT>,
                           compareInt<arith::CmpIPredicate::slt>, nullptr},
                          {a, b});
}

Expr attn::operator<=(const Expr &a, const Expr &b) {
  return ExprScope::apply({"<=", compareFloat<arith::CmpFPredicate::OLE>,
                           compareInt<arith::CmpIPredicate::sle>, nullptr},
                          {a, b});
}

Expr attn::operator>(const Expr &a, const Expr &b) { return b < a; }

Expr attn::operator>=(const Expr &a, const Expr &b) { return b <= a; }

Expr attn::operator&&(const Expr &a, const Expr &b) {
  return ExprScope::apply({"&&", nullptr, nullptr, emitBinary<arith::AndIOp>},
                          {a, b});
}

Expr attn::operator||(const Expr &a, const Expr &b) {
  return ExprScope::apply({"||", nullptr, nullptr, emitBinary<arith::OrIOp>},
                          {a, b});
}

Expr attn::operator!(const Expr &a) {
  return ExprScope::apply(
      {"!", nullptr, nullptr,
       +[](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value one =
             arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
         return arith::XOrIOp::create(builder, loc, operands[0], one);
       }},
      a);
}

Expr attn::select(const Expr &condition, const Expr &a, const Expr &b) {
  return ExprScope::select(condition, a, b);
}

//===----------------------------------------------------------------------===//
// Functions on floats
//===----------------------------------------------------------------------===//

template <typename OpTy>
static Expr applyFunction(llvm::StringRef name, const Expr &x) {
  return ExprScope::apply({name, emitUnary<OpTy>, nullptr, nullptr}, x);
}

Expr attn::abs(const Expr &x) { return applyFunction<math::AbsFOp>("abs", x); }
Expr attn::ceil(const Expr &x) {
  return applyFunction<math::CeilOp>("ceil", x);
}
Expr attn::cos(const Expr &x) { return applyFunction<math::CosOp>("cos", x); }
Expr attn::erf(const Expr &x) { return applyFunction<math::ErfOp>("erf", x); }
Expr attn::exp(const Expr &x) { return applyFunction<math::ExpOp>("exp", x); }
Expr attn::exp2(const Expr &x) {
  return applyFunction<math::Exp2Op>("exp2", x);
}
Expr attn::floor(const Expr &x) {
  return applyFunction<math::FloorOp>("floor", x);
}
Expr attn::log(const Expr &x) { return applyFunction<math::LogOp>("log", x); }
Expr attn::log1p(const Expr &x) {
  return applyFunction<math::Log1pOp>("log1p", x);
}
Expr attn::log2(const Expr &x) {
  return applyFunction<math::Log2Op>("log2", x);
}
Expr attn::rsqrt(const Expr &x) {
  return applyFunction<math::RsqrtOp>("rsqrt", x);
}
Expr attn::sin(const Expr &x) { return applyFunction<math::SinOp>("sin", x); }
Expr attn::sqrt(const Expr &x) {
  return applyFunction<math::SqrtOp>("sqrt", x);
}
Expr attn::tanh(const Expr &x) {
  return applyFunction<math::TanhOp>("tanh", x);
}

Expr attn::pow(const Expr &x, const Expr &y) {
  return ExprScope::apply({"pow", emitBinary<math::PowFOp>, nullptr, nullptr},
                          {x, y});
}

Expr attn::toFloat(const Expr &x) { return ExprScope::toFloat(x); }

Expr attn::toInt(const Expr &x) {
  return ExprScope::apply(
      {"toInt",
       +[](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value wide = arith::FPToSIOp::create(
             builder, loc, builder.getI64Type(), operands[0]);
         return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           wide);
       },
       +[](OpBuilder &, Location, Values operands) -> Value {
         return operands[0];
       },
       nullptr},
      x);
}
