//===- ExprScope.cpp - The function that expressions belong to ------------===//

#include "ExprScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace attn;
using mlir::Value;
namespace arith = mlir::arith;
namespace tensor = mlir::tensor;

static llvm::StringRef getName(ExprScope::Type type) {
  switch (type) {
  case ExprScope::Type::Float:
    return "float";
  case ExprScope::Type::Int:
    return "int";
  case ExprScope::Type::Bool:
    return "bool";
  }
  llvm_unreachable("unknown type");
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Expr ExprScope::fail(const llvm::Twine &message) {
  if (error.empty())
    error = message.str();
  return makeInvalid();
}

Expr ExprScope::fail(const Expr &where, const llvm::Twine &message) {
  return where.scope ? where.scope->fail(message) : makeInvalid();
}

Expr ExprScope::add(Value value) {
  Expr expr(Expr::Kind::Value);
  expr.scope = shared_from_this();
  expr.number = values.size();
  values.push_back(value);
  return expr;
}

Expr ExprScope::wrap(Value value) {
  mlir::Type type = value.getType();
  mlir::Type index = builder.getIndexType();
  if (auto from = mlir::dyn_cast<mlir::FloatType>(type)) {
    if (from.getWidth() < floatType.getWidth())
      value = arith::ExtFOp::create(builder, loc, floatType, value);
    else if (from.getWidth() > floatType.getWidth())
      value = arith::TruncFOp::create(builder, loc, floatType, value);
  } else if (!type.isInteger(1) && type != index) {
    value = arith::IndexCastOp::create(builder, loc, index, value);
  }
  return add(value);
}

bool ExprScope::isFloat(const Expr &x) {
  if (x.kind != Expr::Kind::Value)
    return x.kind == Expr::Kind::Float;
  return x.scope->getType(x) == Type::Float;
}

ExprScope::Type ExprScope::getType(const Expr &expr) const {
  switch (expr.kind) {
  case Expr::Kind::Float:
    return Type::Float;
  case Expr::Kind::Int:
    return Type::Int;
  case Expr::Kind::Bool:
    return Type::Bool;
  case Expr::Kind::Value:
  case Expr::Kind::Invalid:
    break;
  }
  mlir::Type type = values[expr.number].getType();
  return type == floatType   ? Type::Float
         : type.isInteger(1) ? Type::Bool
                             : Type::Int;
}

Value ExprScope::getValue(const Expr &expr, Type type) {
  if (expr.kind == Expr::Kind::Value)
    return values[expr.number];
  if (type == Type::Bool)
    return arith::ConstantOp::create(builder, loc,
                                     builder.getBoolAttr(expr.intLiteral != 0));
  if (type == Type::Int)
    return arith::ConstantIndexOp::create(builder, loc, expr.intLiteral);
  double number = expr.kind == Expr::Kind::Float
                      ? expr.floatLiteral
                      : static_cast<double>(expr.intLiteral);
  return arith::ConstantOp::create(builder, loc,
                                   builder.getFloatAttr(floatType, number));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool ExprScope::checkOperands(llvm::StringRef name,
                              llvm::ArrayRef<Expr> operands) {
  if (!isOpen) {
    fail("expects '" + name +
         "' inside of the function that its operands "
         "belong to");
    return false;
  }
  for (const Expr &operand : operands) {
    if (operand.kind == Expr::Kind::Invalid) {
      // Mostly something that was reported before.
      fail("expects operands of '" + name +
           "' with a value, which what is made of literals alone has not, nor "
           "the element of a capture of another specification");
      return false;
    }
    if (operand.kind == Expr::Kind::Value && operand.scope.get() != this) {
      fail("expects operands of '" + name + "' to belong to one function");
      return false;
    }
  }
  return true;
}

std::optional<ExprScope::Type>
ExprScope::getCommonType(llvm::StringRef name, llvm::ArrayRef<Expr> operands) {
  if (!checkOperands(name, operands))
    return std::nullopt;
  Type type = getType(operands[0]);
  bool isLiteral = operands[0].kind != Expr::Kind::Value;
  for (const Expr &operand : operands.drop_front()) {
    Type other = getType(operand);
    bool isOtherLiteral = operand.kind != Expr::Kind::Value;
    if (other != type) {
      bool canBeFloat = isLiteral && type == Type::Int;
      bool canOtherBeFloat = isOtherLiteral && other == Type::Int;
      if (canBeFloat && other == Type::Float) {
        type = Type::Float;
      } else if (!(canOtherBeFloat && type == Type::Float)) {
        fail("expects operands of '" + name +
             "' to have the same type, but got " + ::getName(type) + " and " +
             ::getName(other));
        return std::nullopt;
      }
    }
    isLiteral &= isOtherLiteral;
  }
  return type;
}

/// The scope of the first operand that has one.
static const Expr *findValue(llvm::ArrayRef<Expr> operands,
                             llvm::function_ref<bool(const Expr &)> isValue) {
  const Expr *found = llvm::find_if(operands, isValue);
  return found == operands.end() ? nullptr : found;
}

Expr ExprScope::apply(const Operation &operation,
                      llvm::ArrayRef<Expr> operands) {
  const Expr *value = findValue(
      operands, [](const Expr &e) { return e.kind == Expr::Kind::Value; });
  // Operations on literals belong nowhere: C++ can do them.
  if (!value)
    return makeInvalid();
  ExprScope &scope = *value->scope;
  std::optional<Type> type = scope.getCommonType(operation.name, operands);
  if (!type)
    return makeInvalid();
  Emit emit = *type == Type::Float ? operation.onFloat
              : *type == Type::Int ? operation.onInt
                                   : operation.onBool;
  if (!emit)
    return scope.fail("expects operands of '" + operation.name +
                      "' of another type than " + ::getName(*type));
  llvm::SmallVector<Value> inputs;
  for (const Expr &operand : operands)
    inputs.push_back(scope.getValue(operand, *type));
  return scope.add(emit(scope.builder, scope.loc, inputs));
}

Expr ExprScope::select(const Expr &condition, const Expr &a, const Expr &b) {
  const Expr operands[] = {condition, a, b};
  const Expr *value = findValue(
      operands, [](const Expr &e) { return e.kind == Expr::Kind::Value; });
  if (!value)
    return makeInvalid();
  ExprScope &scope = *value->scope;
  if (!scope.checkOperands("select", operands))
    return makeInvalid();
  if (scope.getType(condition) != Type::Bool)
    return scope.fail("expects the condition of 'select' to be bool, but got " +
                      ::getName(scope.getType(condition)));
  std::optional<Type> type = scope.getCommonType("select", {a, b});
  if (!type)
    return makeInvalid();
  Value isTrue = scope.getValue(condition, Type::Bool);
  Value first = scope.getValue(a, *type), second = scope.getValue(b, *type);
  return scope.add(
      arith::SelectOp::create(scope.builder, scope.loc, isTrue, first, second));
}

Expr ExprScope::toFloat(const Expr &x) {
  if (x.kind != Expr::Kind::Value)
    return x.kind == Expr::Kind::Int ? Expr(static_cast<double>(x.intLiteral))
                                     : x;
  ExprScope &scope = *x.scope;
  if (!scope.checkOperands("toFloat", x))
    return makeInvalid();
  if (scope.getType(x) == Type::Float)
    return x;
  if (scope.getType(x) == Type::Bool)
    return scope.fail("expects the operand of 'toFloat' to be int, but got "
                      "bool");
  Value wide = arith::IndexCastOp::create(scope.builder, scope.loc,
                                          scope.builder.getI64Type(),
                                          scope.getValue(x, Type::Int));
  return scope.add(
      arith::SIToFPOp::create(scope.builder, scope.loc, scope.floatType, wide));
}

Value ExprScope::unwrapResult(const Expr &expr, Type type) {
  // What failed may be a value that nobody uses.
  if (!error.empty() || !checkOperands("return", expr))
    return {};
  Type got = getType(expr);
  bool isLiteral = expr.kind != Expr::Kind::Value;
  if (got != type && !(isLiteral && got == Type::Int && type == Type::Float)) {
    fail("expects a result that is " + ::getName(type) + ", but got " +
         ::getName(got));
    return {};
  }
  return getValue(expr, type);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

Expr ExprScope::element(unsigned capture, llvm::ArrayRef<Expr> indices) {
  if (!checkOperands("[]", indices))
    return makeInvalid();
  Value value = captures[capture];
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  int64_t rank = type ? type.getRank() : 0;
  if (static_cast<int64_t>(indices.size()) != rank)
    return fail("expects an index for each of " + llvm::Twine(rank) +
                " dimensions, but got " + llvm::Twine(indices.size()));
  llvm::SmallVector<Value> positions;
  for (const Expr &index : indices) {
    if (getType(index) != Type::Int)
      return fail("expects indices that are int, but got " +
                  ::getName(getType(index)));
    positions.push_back(getValue(index, Type::Int));
  }
  if (type)
    value = tensor::ExtractOp::create(builder, loc, value, positions);
  return wrap(value);
}

Expr ExprScope::extent(unsigned capture, unsigned dim) {
  if (!checkOperands("extent", {}))
    return makeInvalid();
  auto type =
      mlir::dyn_cast<mlir::RankedTensorType>(captures[capture].getType());
  if (!type || dim >= type.getRank())
    return fail("expects a dimension of the capture, but got " +
                llvm::Twine(dim));
  return add(tensor::DimOp::create(builder, loc, captures[capture], dim));
}

Expr Capture::operator[](std::initializer_list<Expr> indices) const {
  return *current ? (*current)->element(number, indices)
                  : ExprScope::makeInvalid();
}

Expr Capture::extent(unsigned dim) const {
  return *current ? (*current)->extent(number, dim) : ExprScope::makeInvalid();
}
