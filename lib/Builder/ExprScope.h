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

  /// Emits where `builder` stands. `floatType` is the type of floats,
  /// `captures` are the values of captures in the region.
  ExprScope(const mlir::OpBuilder &builder, mlir::Location loc,
            mlir::FloatType floatType, mlir::ValueRange captures)
      : builder(builder), loc(loc), floatType(floatType),
        captures(captures.begin(), captures.end()) {}

  /// The region is complete: what is emitted from now on is invalid.
  void close() { isOpen = false; }
  /// The first error, or "".
  const std::string &getError() const { return error; }

  /// A value of the region as an expression; a number is converted to float or
  /// int.
  Expr wrap(mlir::Value value);
  /// What the function of the region returned; null after an error.
  mlir::Value unwrapResult(const Expr &expr, Type type);

  Expr element(unsigned capture, llvm::ArrayRef<Expr> indices);
  Expr extent(unsigned capture, unsigned dim);

  /// Emits an operation on operands of one type.
  using Emit = mlir::Value (*)(mlir::OpBuilder &, mlir::Location,
                               llvm::ArrayRef<mlir::Value>);
  /// An operation with one implementation for each type that it has; null
  /// where there is none.
  struct Operation {
    llvm::StringRef name;
    Emit onFloat, onInt, onBool;
  };
  static Expr apply(const Operation &operation, llvm::ArrayRef<Expr> operands);
  static Expr select(const Expr &condition, const Expr &a, const Expr &b);
  static Expr toFloat(const Expr &x);

  /// Keeps an error of the function that an expression belongs to.
  static Expr fail(const Expr &where, const llvm::Twine &message);
  static bool isFloat(const Expr &x);

  /// An expression with no use but to make others invalid.
  static Expr makeInvalid() { return Expr(Expr::Kind::Invalid); }

private:
  Expr fail(const llvm::Twine &message);
  /// The type of a valid expression.
  Type getType(const Expr &expr) const;
  /// Checks that expressions are valid and belong here.
  bool checkOperands(llvm::StringRef name, llvm::ArrayRef<Expr> operands);
  /// The type that operands have in common; nullopt after an error.
  std::optional<Type> getCommonType(llvm::StringRef name,
                                    llvm::ArrayRef<Expr> operands);
  /// The value of a valid expression as `type`, which is that of the
  /// expression, or float for a literal.
  mlir::Value getValue(const Expr &expr, Type type);
  Expr add(mlir::Value value);

  mlir::OpBuilder builder;
  mlir::Location loc;
  mlir::FloatType floatType;
  llvm::SmallVector<mlir::Value> captures;
  /// The values of expressions, by number.
  llvm::SmallVector<mlir::Value> values;
  std::string error;
  bool isOpen = true;
};

} // namespace attn

#endif // ATTN_LIB_BUILDER_EXPRSCOPE_H
