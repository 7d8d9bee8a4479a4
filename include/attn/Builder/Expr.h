//===- Expr.h - Expressions of score and mask functions ---------*- C++ -*-===//
//
// The functions that AttentionSpec takes compute with expressions instead of
// numbers: an operator on expressions emits an operation. There are three
// types:
//
//   float   the score, elements of captured floats; f32, or f64 for f64 inputs
//   int     positions and lengths, elements of captured integers
//   bool    comparisons, elements of captured i1
//
// Both operands have the same type; toFloat and toInt convert. An integer
// literal is a float if the other operand is one. Operands that do not fit are
// not found by the C++ compiler: the specification keeps the error, and
// AttentionSpec::build returns it. Expressions that are made after an error are
// invalid and harmless.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_EXPR_H
#define ATTN_BUILDER_EXPR_H

#include <cstdint>
#include <initializer_list>
#include <memory>

namespace attn {

class ExprScope;

class Expr {
public:
  /// Literals.
  Expr(int number) : Expr(static_cast<int64_t>(number)) {}
  Expr(int64_t number) : kind(Kind::Int), intLiteral(number) {}
  Expr(double number) : kind(Kind::Float), floatLiteral(number) {}
  Expr(float number) : Expr(static_cast<double>(number)) {}
  Expr(bool value) : kind(Kind::Bool), intLiteral(value) {}
  /// Not for other types that C++ would convert, such as a pointer to bool.
  template <typename T> Expr(T) = delete;

  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  /// Rounds towards zero for ints, as in C++; division by 0 gives 0.
  friend Expr operator/(const Expr &a, const Expr &b);
  /// For ints, with the sign of `a`, as in C++.
  friend Expr operator%(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a);

  friend Expr operator==(const Expr &a, const Expr &b);
  friend Expr operator!=(const Expr &a, const Expr &b);
  friend Expr operator<(const Expr &a, const Expr &b);
  friend Expr operator<=(const Expr &a, const Expr &b);
  friend Expr operator>(const Expr &a, const Expr &b);
  friend Expr operator>=(const Expr &a, const Expr &b);

  /// Both operands are always computed.
  friend Expr operator&&(const Expr &a, const Expr &b);
  friend Expr operator||(const Expr &a, const Expr &b);
  friend Expr operator!(const Expr &a);

private:
  friend class ExprScope;
  enum class Kind { Value, Int, Float, Bool, Invalid };
  explicit Expr(Kind kind) : kind(kind) {}

  /// The scope of a value. It ends with the function that is built, but stays
  /// in memory as long as there are expressions of it.
  std::shared_ptr<ExprScope> scope;
  /// The number of the value in the scope.
  size_t number = 0;
  Kind kind;
  int64_t intLiteral = 0;
  double floatLiteral = 0;
};

/// On floats.
Expr abs(const Expr &x);
Expr ceil(const Expr &x);
Expr cos(const Expr &x);
Expr erf(const Expr &x);
Expr exp(const Expr &x);
Expr exp2(const Expr &x);
Expr floor(const Expr &x);
Expr log(const Expr &x);
Expr log1p(const Expr &x);
Expr log2(const Expr &x);
Expr pow(const Expr &x, const Expr &y);
Expr rsqrt(const Expr &x);
Expr sin(const Expr &x);
Expr sqrt(const Expr &x);
Expr tanh(const Expr &x);

/// On floats or ints. A float that is NaN makes the result NaN.
Expr max(const Expr &a, const Expr &b);
Expr min(const Expr &a, const Expr &b);

/// On ints, rounding down, with the sign of `b`.
Expr floorDiv(const Expr &a, const Expr &b);
Expr floorMod(const Expr &a, const Expr &b);

/// `a` where the condition holds, otherwise `b`.
Expr select(const Expr &condition, const Expr &a, const Expr &b);

/// From int.
Expr toFloat(const Expr &x);
/// From float, rounding towards zero.
Expr toInt(const Expr &x);

/// A captured tensor or scalar of an AttentionSpec.
class Capture {
public:
  /// The element at a position: as many ints as there are dimensions.
  Expr operator[](std::initializer_list<Expr> indices) const;
  /// The element of a scalar or a tensor of rank 0.
  Expr operator()() const { return (*this)[{}]; }
  /// The extent of a dimension.
  Expr extent(unsigned dim) const;
  /// The number of dimensions.
  unsigned rank() const { return numDims; }

private:
  friend class AttentionSpec;
  Capture(std::shared_ptr<ExprScope *> current, unsigned number,
          unsigned numDims)
      : current(std::move(current)), number(number), numDims(numDims) {}

  /// The scope of the function that is built now, or null.
  std::shared_ptr<ExprScope *> current;
  unsigned number;
  unsigned numDims;
};

} // namespace attn

#endif // ATTN_BUILDER_EXPR_H
