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
// literal is a float if the other operand is one, or if only a float will do.
// Operands that do not fit are not found by the C++ compiler: the specification
// keeps the error, and AttentionSpec::build returns it. Expressions that are
// made after an error are invalid and harmless.
//
// What is made of literals alone is a literal again, computed by C++ as a
// double, an int64_t, where integers wrap, or a bool.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_BUILDER_EXPR_H
#define ATTN_BUILDER_EXPR_H

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <type_traits>

namespace attn {

class ExprScope;

class Expr {
  /// The integers of C++, without its characters.
  template <typename T>
  static constexpr bool isInteger =
      std::is_integral_v<T> && sizeof(T) <= sizeof(int64_t) &&
      !std::is_same_v<T, bool> && !std::is_same_v<T, char> &&
      !std::is_same_v<T, wchar_t> && !std::is_same_v<T, char16_t> &&
      !std::is_same_v<T, char32_t>;

public:
  /// Literals. An integer beyond the largest int64_t is invalid.
  template <typename T, std::enable_if_t<isInteger<T>, int> = 0>
  Expr(T number)
      : Expr(static_cast<int64_t>(number),
             /*isValid=*/std::is_signed_v<T> ||
                 static_cast<uint64_t>(number) <= uint64_t(INT64_MAX)) {}
  Expr(double number) : kind(Kind::Float), floatLiteral(number) {}
  Expr(float number) : Expr(static_cast<double>(number)) {}
  Expr(bool value) : kind(Kind::Bool), intLiteral(value) {}
  /// Not for other types that C++ would convert, such as a pointer to bool.
  template <typename T, std::enable_if_t<!isInteger<T>, int> = 0>
  Expr(T) = delete;

  // Moving copies, so that what was moved from can still be used.
  Expr(const Expr &) = default;
  Expr &operator=(const Expr &) = default;

  friend Expr operator+(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a, const Expr &b);
  friend Expr operator*(const Expr &a, const Expr &b);
  /// Rounds towards zero for ints, as in C++; division by 0 gives 0.
  friend Expr operator/(const Expr &a, const Expr &b);
  /// For ints, with the sign of `a`, as in C++; by 0 it is 0.
  friend Expr operator%(const Expr &a, const Expr &b);
  friend Expr operator-(const Expr &a);
  friend Expr operator+(const Expr &a);

  Expr &operator+=(const Expr &b) { return *this = *this + b; }
  Expr &operator-=(const Expr &b) { return *this = *this - b; }
  Expr &operator*=(const Expr &b) { return *this = *this * b; }
  Expr &operator/=(const Expr &b) { return *this = *this / b; }
  Expr &operator%=(const Expr &b) { return *this = *this % b; }

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
  Expr(int64_t number, bool isValid)
      : kind(isValid ? Kind::Int : Kind::Invalid), intLiteral(number),
        obstacle(isValid ? nullptr : "an integer literal beyond 64 bits") {}

  /// The scope of a value. It ends with the function that is built, but stays
  /// in memory as long as there are expressions of it.
  std::shared_ptr<ExprScope> scope;
  /// The number of the value in the scope.
  size_t number = 0;
  Kind kind;
  int64_t intLiteral = 0;
  double floatLiteral = 0;
  /// What an invalid expression is, where no function has kept its error.
  const char *obstacle = nullptr;
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

/// On ints, rounding down, with the sign of `b`; by 0 both are 0.
Expr floorDiv(const Expr &a, const Expr &b);
Expr floorMod(const Expr &a, const Expr &b);

/// `a` where the condition holds, otherwise `b`.
Expr select(const Expr &condition, const Expr &a, const Expr &b);

/// From int.
Expr toFloat(const Expr &x);
/// From float, rounding towards zero. An int stays as it is.
Expr toInt(const Expr &x);

/// A captured tensor or scalar of an AttentionSpec, and of copies of it that
/// are made later. In the functions of another one its elements are an error.
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
  friend class ExprScope;
  Capture(uint64_t id, unsigned number, unsigned numDims)
      : id(id), number(number), numDims(numDims) {}

  /// No two captures of a process have the same.
  uint64_t id;
  /// Which capture of its specification it is.
  unsigned number;
  unsigned numDims;
};

} // namespace attn

#endif // ATTN_BUILDER_EXPR_H
