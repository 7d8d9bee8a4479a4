//===- Expr.cpp - Expressions of score and mask functions -----------------===//

#include "attn/Builder/Expr.h"
#include "ExprScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <cmath>
#include <functional>
#include <limits>

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
// Literals
//===----------------------------------------------------------------------===//

// As the compiled code computes them: integers wrap, and a division by 0 gives
// 0.

template <typename Function>
static int64_t wrap(int64_t a, int64_t b, Function function) {
  return static_cast<int64_t>(
      function(static_cast<uint64_t>(a), static_cast<uint64_t>(b)));
}

static int64_t negate(int64_t a) {
  return static_cast<int64_t>(-static_cast<uint64_t>(a));
}

static int64_t divide(int64_t a, int64_t b) {
  return b == 0 ? 0 : b == -1 ? negate(a) : a / b;
}

static int64_t getRest(int64_t a, int64_t b) {
  return b == 0 || b == -1 ? 0 : a % b;
}

static int64_t divideDown(int64_t a, int64_t b) {
  int64_t rest = getRest(a, b);
  return divide(a, b) - (rest != 0 && (rest < 0) != (b < 0));
}

/// The lesser one, or NaN; -0 is less than 0.
static double getMinimum(double a, double b) {
  if (std::isnan(a) || std::isnan(b))
    return std::numeric_limits<double>::quiet_NaN();
  if (a == b)
    return std::signbit(a) ? a : b;
  return a < b ? a : b;
}

/// Numbers that int64_t cannot represent have no defined integer.
static int64_t truncate(double number) {
  return std::abs(number) < 0x1p63 ? static_cast<int64_t>(number) : INT64_MIN;
}

//===----------------------------------------------------------------------===//
// Arithmetic
//===----------------------------------------------------------------------===//

Expr attn::operator+(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"+", emitBinary<arith::AddFOp>, emitBinary<arith::AddIOp>, nullptr,
       [](double x, double y) { return Expr(x + y); },
       [](int64_t x, int64_t y) { return Expr(wrap(x, y, std::plus<>())); },
       nullptr},
      {a, b});
}

Expr attn::operator-(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"-", emitBinary<arith::SubFOp>, emitBinary<arith::SubIOp>, nullptr,
       [](double x, double y) { return Expr(x - y); },
       [](int64_t x, int64_t y) { return Expr(wrap(x, y, std::minus<>())); },
       nullptr},
      {a, b});
}

Expr attn::operator*(const Expr &a, const Expr &b) {
  return ExprScope::apply({"*", emitBinary<arith::MulFOp>,
                           emitBinary<arith::MulIOp>, nullptr,
                           [](double x, double y) { return Expr(x * y); },
                           [](int64_t x, int64_t y) {
                             return Expr(wrap(x, y, std::multiplies<>()));
                           },
                           nullptr},
                          {a, b});
}

Expr attn::operator/(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"/", emitBinary<arith::DivFOp>, emitBinary<arith::DivSIOp>, nullptr,
       [](double x, double y) { return Expr(x / y); },
       [](int64_t x, int64_t y) { return Expr(divide(x, y)); }, nullptr},
      {a, b});
}

Expr attn::operator%(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"%", nullptr, emitBinary<arith::RemSIOp>, nullptr, nullptr,
       [](int64_t x, int64_t y) { return Expr(getRest(x, y)); }, nullptr},
      {a, b});
}

Expr attn::operator-(const Expr &a) {
  return ExprScope::apply(
      {"-", emitUnary<arith::NegFOp>,
       [](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
         return arith::SubIOp::create(builder, loc, zero, operands[0]);
       },
       nullptr, [](double x, double) { return Expr(-x); },
       [](int64_t x, int64_t) { return Expr(negate(x)); }, nullptr},
      a);
}

static Value getOperand(OpBuilder &, Location, Values operands) {
  return operands[0];
}

Expr attn::operator+(const Expr &a) {
  return ExprScope::apply({"+", getOperand, getOperand, nullptr,
                           [](double x, double) { return Expr(x); },
                           [](int64_t x, int64_t) { return Expr(x); }, nullptr},
                          a);
}

Expr attn::floorDiv(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"floorDiv", nullptr, emitBinary<arith::FloorDivSIOp>, nullptr, nullptr,
       [](int64_t x, int64_t y) { return Expr(divideDown(x, y)); }, nullptr},
      {a, b});
}

Expr attn::floorMod(const Expr &a, const Expr &b) {
  // By 0 the quotient is 0, which would leave `a`.
  return select(b == 0, 0, a - floorDiv(a, b) * b);
}

Expr attn::max(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"max", emitBinary<arith::MaximumFOp>, emitBinary<arith::MaxSIOp>,
       nullptr, [](double x, double y) { return Expr(-getMinimum(-x, -y)); },
       [](int64_t x, int64_t y) { return Expr(std::max(x, y)); }, nullptr},
      {a, b});
}

Expr attn::min(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"min", emitBinary<arith::MinimumFOp>, emitBinary<arith::MinSIOp>,
       nullptr, [](double x, double y) { return Expr(getMinimum(x, y)); },
       [](int64_t x, int64_t y) { return Expr(std::min(x, y)); }, nullptr},
      {a, b});
}

//===----------------------------------------------------------------------===//
// Comparisons and logic
//===----------------------------------------------------------------------===//

/// Compares two literals of a type.
template <typename T, template <typename> class Compare>
static Expr foldCompare(T x, T y) {
  return Expr(Compare<T>()(x, y));
}

Expr attn::operator==(const Expr &a, const Expr &b) {
  return ExprScope::apply(
      {"==", compareFloat<arith::CmpFPredicate::OEQ>,
       compareInt<arith::CmpIPredicate::eq>,
       compareInt<arith::CmpIPredicate::eq>, foldCompare<double, std::equal_to>,
       foldCompare<int64_t, std::equal_to>, foldCompare<bool, std::equal_to>},
      {a, b});
}

Expr attn::operator!=(const Expr &a, const Expr &b) {
  return ExprScope::apply({"!=", compareFloat<arith::CmpFPredicate::UNE>,
                           compareInt<arith::CmpIPredicate::ne>,
                           compareInt<arith::CmpIPredicate::ne>,
                           foldCompare<double, std::not_equal_to>,
                           foldCompare<int64_t, std::not_equal_to>,
                           foldCompare<bool, std::not_equal_to>},
                          {a, b});
}

Expr attn::operator<(const Expr &a, const Expr &b) {
  return ExprScope::apply({"<", compareFloat<arith::CmpFPredicate::OLT>,
                           compareInt<arith::CmpIPredicate::slt>, nullptr,
                           foldCompare<double, std::less>,
                           foldCompare<int64_t, std::less>, nullptr},
                          {a, b});
}

Expr attn::operator<=(const Expr &a, const Expr &b) {
  return ExprScope::apply({"<=", compareFloat<arith::CmpFPredicate::OLE>,
                           compareInt<arith::CmpIPredicate::sle>, nullptr,
                           foldCompare<double, std::less_equal>,
                           foldCompare<int64_t, std::less_equal>, nullptr},
                          {a, b});
}

Expr attn::operator>(const Expr &a, const Expr &b) { return b < a; }

Expr attn::operator>=(const Expr &a, const Expr &b) { return b <= a; }

Expr attn::operator&&(const Expr &a, const Expr &b) {
  return ExprScope::apply({"&&", nullptr, nullptr, emitBinary<arith::AndIOp>,
                           nullptr, nullptr,
                           [](bool x, bool y) { return Expr(x && y); }},
                          {a, b});
}

Expr attn::operator||(const Expr &a, const Expr &b) {
  return ExprScope::apply({"||", nullptr, nullptr, emitBinary<arith::OrIOp>,
                           nullptr, nullptr,
                           [](bool x, bool y) { return Expr(x || y); }},
                          {a, b});
}

Expr attn::operator!(const Expr &a) {
  return ExprScope::apply(
      {"!", nullptr, nullptr,
       [](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value one =
             arith::ConstantOp::create(builder, loc, builder.getBoolAttr(true));
         return arith::XOrIOp::create(builder, loc, operands[0], one);
       },
       nullptr, nullptr, [](bool x, bool) { return Expr(!x); }},
      a);
}

Expr attn::select(const Expr &condition, const Expr &a, const Expr &b) {
  return ExprScope::select(condition, a, b);
}

//===----------------------------------------------------------------------===//
// Functions on floats
//===----------------------------------------------------------------------===//

template <typename OpTy, double (*function)(double)>
static Expr applyFunction(llvm::StringRef name, const Expr &x) {
  return ExprScope::apply(
      {name, emitUnary<OpTy>, nullptr, nullptr,
       [](double number, double) { return Expr(function(number)); }, nullptr,
       nullptr},
      x);
}

static double getReciprocalRoot(double x) { return 1 / std::sqrt(x); }

Expr attn::abs(const Expr &x) {
  return applyFunction<math::AbsFOp, std::abs>("abs", x);
}
Expr attn::ceil(const Expr &x) {
  return applyFunction<math::CeilOp, std::ceil>("ceil", x);
}
Expr attn::cos(const Expr &x) {
  return applyFunction<math::CosOp, std::cos>("cos", x);
}
Expr attn::erf(const Expr &x) {
  return applyFunction<math::ErfOp, std::erf>("erf", x);
}
Expr attn::exp(const Expr &x) {
  return applyFunction<math::ExpOp, std::exp>("exp", x);
}
Expr attn::exp2(const Expr &x) {
  return applyFunction<math::Exp2Op, std::exp2>("exp2", x);
}
Expr attn::floor(const Expr &x) {
  return applyFunction<math::FloorOp, std::floor>("floor", x);
}
Expr attn::log(const Expr &x) {
  return applyFunction<math::LogOp, std::log>("log", x);
}
Expr attn::log1p(const Expr &x) {
  return applyFunction<math::Log1pOp, std::log1p>("log1p", x);
}
Expr attn::log2(const Expr &x) {
  return applyFunction<math::Log2Op, std::log2>("log2", x);
}
Expr attn::rsqrt(const Expr &x) {
  return applyFunction<math::RsqrtOp, getReciprocalRoot>("rsqrt", x);
}
Expr attn::sin(const Expr &x) {
  return applyFunction<math::SinOp, std::sin>("sin", x);
}
Expr attn::sqrt(const Expr &x) {
  return applyFunction<math::SqrtOp, std::sqrt>("sqrt", x);
}
Expr attn::tanh(const Expr &x) {
  return applyFunction<math::TanhOp, std::tanh>("tanh", x);
}

Expr attn::pow(const Expr &x, const Expr &y) {
  return ExprScope::apply(
      {"pow", emitBinary<math::PowFOp>, nullptr, nullptr,
       [](double a, double b) { return Expr(std::pow(a, b)); }, nullptr,
       nullptr},
      {x, y});
}

Expr attn::toFloat(const Expr &x) { return ExprScope::toFloat(x); }

Expr attn::toInt(const Expr &x) {
  return ExprScope::apply(
      {"toInt",
       [](OpBuilder &builder, Location loc, Values operands) -> Value {
         Value wide = arith::FPToSIOp::create(
             builder, loc, builder.getI64Type(), operands[0]);
         return arith::IndexCastOp::create(builder, loc, builder.getIndexType(),
                                           wide);
       },
       getOperand, nullptr, [](double x, double) { return Expr(truncate(x)); },
       [](int64_t x, int64_t) { return Expr(x); }, nullptr},
      x);
}
