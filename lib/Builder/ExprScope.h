//===- ExprScope.h - The function that expressions belong to ----*- C++ -*-===//

#ifndef ATTN_LIB_BUILDER_EXPRSCOPE_H
#define ATTN_LIB_BUILDER_EXPRSCOPE_H

#include "attn/Builder/Expr.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinTypes.h"
#include <optional>
#include <string>

namespace attn {

/// Emits the operations of one region.
class ExprScope : public std::enable_shared_from_this<ExprScope> {
public:
  enum class Type { Float, Int, Bool };

  /// What a Capture is in the region.
  struct CaptureValue {
    uint64_t id;
    std::string name;
    mlir::Value value;
  };

  /// Emits where `builder` stands. `floatType` is the type of floats.
  ExprScope(const mlir::OpBuilder &builder, mlir::Location loc,
            mlir::FloatType floatType, llvm::ArrayRef<CaptureValue> captures)
      : builder(builder), loc(loc), floatType(floatType),
        captures(captures.begin(), captures.end()) {}

  /// The scope of the function that this thread calls now, or null. Functions
  /// that build others nest.
  static ExprScope *getCurrent();

  /// Makes a scope the current one. At the end the region is complete: what is
  /// emitted from then on is invalid.
  class Entry {
  public:
    explicit Entry(ExprScope &scope);
    ~Entry();
    Entry(const Entry &) = delete;
    Entry &operator=(const Entry &) = delete;

  private:
    ExprScope &scope;
    ExprScope *outer;
  };

  /// Names the mask of the library that is evaluated, for errors.
  class MaskName {
  public:
    explicit MaskName(llvm::StringRef name);
    ~MaskName();
    MaskName(const MaskName &) = delete;
    MaskName &operator=(const MaskName &) = delete;

  private:
    ExprScope *scope;
    llvm::StringRef outer;
  };

  /// The first error, or "".
  const std::string &getError() const { return error; }

  /// A value of the region as an expression; a number is converted to float or
  /// int.
  Expr wrap(mlir::Value value);
  /// What the function of the region returned; null after an error.
  mlir::Value unwrapResult(const Expr &expr, Type type);

  /// What a capture is here; null after an error.
  const CaptureValue *find(const Capture &capture);
  /// The name of a capture in the current function, or "".
  static std::string getName(const Capture &capture);
  Expr element(const CaptureValue &capture, llvm::ArrayRef<Expr> indices);
  Expr extent(const CaptureValue &capture, unsigned dim);

  /// Emits an operation on operands of one type.
  using Emit = mlir::Value (*)(mlir::OpBuilder &, mlir::Location,
                               llvm::ArrayRef<mlir::Value>);
  /// An operation with one implementation for each type that it has; null
  /// where there is none.
  struct Operation {
    llvm::StringRef name;
    Emit onFloat, onInt, onBool;
    // The same of literals, as a literal. One operand is both.
    Expr (*foldFloat)(double, double);
    Expr (*foldInt)(int64_t, int64_t);
    Expr (*foldBool)(bool, bool);
  };
  static Expr apply(const Operation &operation, llvm::ArrayRef<Expr> operands);
  static Expr select(const Expr &condition, const Expr &a, const Expr &b);
  static Expr toFloat(const Expr &x);

  /// Keeps an error of the current function, or else of the one that an
  /// expression belongs to.
  static Expr fail(const Expr &where, const llvm::Twine &message);
  /// The type of an expression, or nothing for an invalid one.
  static std::optional<Type> findType(const Expr &expr);
  static llvm::StringRef getName(Type type);

  /// An expression with no use but to make others invalid. `obstacle` is what
  /// it is, where no scope keeps an error of it.
  static Expr makeInvalid(const char *obstacle = nullptr);

private:
  Expr fail(const llvm::Twine &message);
  /// Keeps an error of `scope`, which may be null.
  static Expr failIn(ExprScope *scope, const llvm::Twine &message);
  /// What is made of operands that checkOperands or getCommonType has refused.
  static Expr makeInvalidOf(ExprScope *scope, llvm::ArrayRef<Expr> operands);
  /// The current scope, or else that of the first operand that has one.
  static ExprScope *findScope(llvm::ArrayRef<Expr> operands);
  /// The type of a valid expression.
  static Type getType(const Expr &expr);
  static bool isLiteral(const Expr &expr) {
    return expr.kind != Expr::Kind::Value;
  }
  /// Checks that expressions are valid and belong to `scope`, which is null
  /// where there are only literals outside of a function.
  static bool checkOperands(ExprScope *scope, llvm::StringRef name,
                            llvm::ArrayRef<Expr> operands);
  /// The type that operands have in common; nullopt after an error.
  static std::optional<Type> getCommonType(ExprScope *scope,
                                           llvm::StringRef name,
                                           llvm::ArrayRef<Expr> operands);
  static double getFloatLiteral(const Expr &expr);
  static Expr fold(const Operation &operation, Type type,
                   llvm::ArrayRef<Expr> operands);
  /// The value of a valid expression as `type`, which is that of the
  /// expression, or float for a literal.
  mlir::Value getValue(const Expr &expr, Type type);
  Expr add(mlir::Value value);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::FloatType floatType;
  llvm::SmallVector<CaptureValue> captures;
  /// The values of expressions, by number.
  llvm::SmallVector<mlir::Value> values;
  std::string error;
  /// The innermost mask of the library that is evaluated now, or "".
  llvm::StringRef maskName;
  bool isOpen = true;
};

} // namespace attn

#endif // ATTN_LIB_BUILDER_EXPRSCOPE_H
