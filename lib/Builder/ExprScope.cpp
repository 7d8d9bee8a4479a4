//===- ExprScope.cpp - The function that expressions belong to ------------===//

#include "ExprScope.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace attn;
using mlir::Value;
namespace arith = mlir::arith;
namespace tensor = mlir::tensor;

llvm::StringRef ExprScope::getName(Type type) {
  switch (type) {
  case Type::Float:
    return "float";
  case Type::Int:
    return "int";
  case Type::Bool:
    return "bool";
  }
  llvm_unreachable("unknown type");
}

//===----------------------------------------------------------------------===//
// The current scope
//===----------------------------------------------------------------------===//

/// One for each thread, as several may call the functions of one specification.
static thread_local ExprScope *current = nullptr;

ExprScope *ExprScope::getCurrent() { return current; }

ExprScope::Entry::Entry(ExprScope &scope) : scope(scope), outer(current) {
  current = &scope;
}

ExprScope::Entry::~Entry() {
  scope.isOpen = false;
  current = outer;
}

ExprScope::MaskName::MaskName(llvm::StringRef name) : scope(current) {
  if (scope)
    outer = std::exchange(scope->maskName, name);
}

ExprScope::MaskName::~MaskName() {
  if (scope)
    scope->maskName = outer;
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Expr ExprScope::makeInvalid(const char *obstacle) {
  Expr expr(Expr::Kind::Invalid);
  expr.obstacle = obstacle;
  return expr;
}

Expr ExprScope::fail(const llvm::Twine &message) {
  if (error.empty()) {
    error = message.str();
    if (!maskName.empty())
      error += " in '" + maskName.str() + "'";
  }
  return makeInvalid();
}

Expr ExprScope::failIn(ExprScope *scope, const llvm::Twine &message) {
  return scope ? scope->fail(message)
               : makeInvalid("literals that do not fit their operation");
}

Expr ExprScope::makeInvalidOf(ExprScope *scope, llvm::ArrayRef<Expr> operands) {
  for (const Expr &operand : operands)
    if (operand.kind == Expr::Kind::Invalid)
      return operand;
  return failIn(scope, "expects operands that fit");
}

ExprScope *ExprScope::findScope(llvm::ArrayRef<Expr> operands) {
  if (current)
    return current;
  for (const Expr &operand : operands)
    if (operand.scope)
      return operand.scope.get();
  return nullptr;
}

Expr ExprScope::fail(const Expr &where, const llvm::Twine &message) {
  return failIn(findScope(where), message);
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

std::optional<ExprScope::Type> ExprScope::findType(const Expr &expr) {
  if (expr.kind == Expr::Kind::Invalid)
    return std::nullopt;
  return getType(expr);
}

ExprScope::Type ExprScope::getType(const Expr &expr) {
  switch (expr.kind) {
  case Expr::Kind::Float:
    return Type::Float;
  case Expr::Kind::Int:
    return Type::Int;
  case Expr::Kind::Bool:
    return Type::Bool;
  case Expr::Kind::Value:
    break;
  case Expr::Kind::Invalid:
    llvm_unreachable("an invalid expression has no type");
  }
  const ExprScope &scope = *expr.scope;
  mlir::Type type = scope.values[expr.number].getType();
  return type == scope.floatType ? Type::Float
         : type.isInteger(1)     ? Type::Bool
                                 : Type::Int;
}

double ExprScope::getFloatLiteral(const Expr &expr) {
  return expr.kind == Expr::Kind::Float ? expr.floatLiteral
                                        : static_cast<double>(expr.intLiteral);
}

Value ExprScope::getValue(const Expr &expr, Type type) {
  if (expr.kind == Expr::Kind::Value)
    return values[expr.number];
  if (type == Type::Bool)
    return arith::ConstantOp::create(builder, loc,
                                     builder.getBoolAttr(expr.intLiteral != 0));
  if (type == Type::Int)
    return arith::ConstantIndexOp::create(builder, loc, expr.intLiteral);
  return arith::ConstantOp::create(
      builder, loc, builder.getFloatAttr(floatType, getFloatLiteral(expr)));
}

//===----------------------------------------------------------------------===//
// Operands
//===----------------------------------------------------------------------===//

bool ExprScope::checkOperands(ExprScope *scope, llvm::StringRef name,
                              llvm::ArrayRef<Expr> operands) {
  if (scope && !scope->isOpen) {
    scope->fail("expects '" + name +
                "' inside of the function that its operands belong to");
    return false;
  }
  for (const Expr &operand : operands) {
    if (operand.kind == Expr::Kind::Invalid) {
      // Mostly something that was reported before.
      failIn(scope, "expects operands of '" + name +
                        "' with a value, but got " +
                        (operand.obstacle ? operand.obstacle
                                          : "what another error is in"));
      return false;
    }
    if (operand.kind == Expr::Kind::Value && operand.scope.get() != scope) {
      failIn(scope,
             "expects operands of '" + name + "' to belong to one function");
      return false;
    }
  }
  return true;
}

std::optional<ExprScope::Type>
ExprScope::getCommonType(ExprScope *scope, llvm::StringRef name,
                         llvm::ArrayRef<Expr> operands) {
  if (!checkOperands(scope, name, operands))
    return std::nullopt;
  Type type = getType(operands[0]);
  bool areLiterals = isLiteral(operands[0]);
  for (const Expr &operand : operands.drop_front()) {
    Type other = getType(operand);
    if (other != type) {
      bool canBeFloat = areLiterals && type == Type::Int;
      bool canOtherBeFloat = isLiteral(operand) && other == Type::Int;
      if (canBeFloat && other == Type::Float) {
        type = Type::Float;
      } else if (!(canOtherBeFloat && type == Type::Float)) {
        failIn(scope, "expects operands of '" + name +
                          "' to have the same type, but got " + getName(type) +
                          " and " + getName(other));
        return std::nullopt;
      }
    }
    areLiterals &= isLiteral(operand);
  }
  return type;
}

/// Operands that are all literals.
Expr ExprScope::fold(const Operation &operation, Type type,
                     llvm::ArrayRef<Expr> operands) {
  const Expr &a = operands.front(), &b = operands.back();
  if (type == Type::Float)
    return operation.foldFloat(getFloatLiteral(a), getFloatLiteral(b));
  if (type == Type::Int)
    return operation.foldInt(a.intLiteral, b.intLiteral);
  return operation.foldBool(a.intLiteral != 0, b.intLiteral != 0);
}

Expr ExprScope::apply(const Operation &operation,
                      llvm::ArrayRef<Expr> operands) {
  ExprScope *scope = findScope(operands);
  std::optional<Type> type = getCommonType(scope, operation.name, operands);
  if (!type)
    return makeInvalidOf(scope, operands);
  bool areLiterals = llvm::all_of(operands, isLiteral);
  if (areLiterals && type == Type::Int && !operation.onInt)
    type = Type::Float;
  Emit emit = *type == Type::Float ? operation.onFloat
              : *type == Type::Int ? operation.onInt
                                   : operation.onBool;
  if (!emit)
    return failIn(scope, "expects operands of '" + operation.name +
                             "' of another type than " + getName(*type));
  if (areLiterals)
    return fold(operation, *type, operands);
  llvm::SmallVector<Value> inputs;
  for (const Expr &operand : operands)
    inputs.push_back(scope->getValue(operand, *type));
  return scope->add(emit(scope->builder, scope->loc, inputs));
}

Expr ExprScope::select(const Expr &condition, const Expr &a, const Expr &b) {
  const Expr operands[] = {condition, a, b};
  ExprScope *scope = findScope(operands);
  if (!checkOperands(scope, "select", operands))
    return makeInvalidOf(scope, operands);
  if (getType(condition) != Type::Bool)
    return failIn(scope,
                  "expects the condition of 'select' to be bool, but got " +
                      getName(getType(condition)));
  std::optional<Type> type = getCommonType(scope, "select", {a, b});
  if (!type)
    return makeInvalidOf(scope, operands);
  if (isLiteral(condition)) {
    const Expr &chosen = condition.intLiteral ? a : b;
    return isLiteral(chosen) && *type == Type::Float
               ? Expr(getFloatLiteral(chosen))
               : chosen;
  }
  Value isTrue = scope->getValue(condition, Type::Bool);
  Value first = scope->getValue(a, *type), second = scope->getValue(b, *type);
  return scope->add(arith::SelectOp::create(scope->builder, scope->loc, isTrue,
                                            first, second));
}

Expr ExprScope::toFloat(const Expr &x) {
  ExprScope *scope = findScope(x);
  if (!checkOperands(scope, "toFloat", x))
    return makeInvalidOf(scope, x);
  if (getType(x) == Type::Float)
    return x;
  if (getType(x) == Type::Bool)
    return failIn(scope, "expects the operand of 'toFloat' to be int, but got "
                         "bool");
  if (isLiteral(x))
    return Expr(getFloatLiteral(x));
  Value wide = arith::IndexCastOp::create(scope->builder, scope->loc,
                                          scope->builder.getI64Type(),
                                          scope->getValue(x, Type::Int));
  return scope->add(arith::SIToFPOp::create(scope->builder, scope->loc,
                                            scope->floatType, wide));
}

Value ExprScope::unwrapResult(const Expr &expr, Type type) {
  // What failed may be a value that nobody uses.
  if (!error.empty() || !checkOperands(this, "return", expr))
    return {};
  Type got = getType(expr);
  if (got != type &&
      !(isLiteral(expr) && got == Type::Int && type == Type::Float)) {
    fail("expects a result that is " + getName(type) + ", but got " +
         getName(got));
    return {};
  }
  return getValue(expr, type);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

const ExprScope::CaptureValue *ExprScope::find(const Capture &capture) {
  unsigned number = capture.number;
  if (number < captures.size() && captures[number].id == capture.id)
    return &captures[number];
  fail("expects captures of its specification, but reads the element of a "
       "capture of another specification");
  return nullptr;
}

std::string ExprScope::getName(const Capture &capture) {
  const CaptureValue *value = current ? current->find(capture) : nullptr;
  return value ? value->name : "";
}

Expr ExprScope::element(const CaptureValue &capture,
                        llvm::ArrayRef<Expr> indices) {
  if (!checkOperands(this, "[]", indices))
    return makeInvalid();
  Value value = capture.value;
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(value.getType());
  int64_t rank = type ? type.getRank() : 0;
  if (static_cast<int64_t>(indices.size()) != rank)
    return fail("expects an index for each of " + llvm::Twine(rank) +
                " dimensions of '" + capture.name + "', but got " +
                llvm::Twine(indices.size()));
  llvm::SmallVector<Value> positions;
  for (const Expr &index : indices) {
    if (getType(index) != Type::Int)
      return fail("expects indices of '" + capture.name +
                  "' that are int, but got " + getName(getType(index)));
    positions.push_back(getValue(index, Type::Int));
  }
  if (type)
    value = tensor::ExtractOp::create(builder, loc, value, positions);
  return wrap(value);
}

Expr ExprScope::extent(const CaptureValue &capture, unsigned dim) {
  if (!checkOperands(this, "extent", {}))
    return makeInvalid();
  auto type = mlir::dyn_cast<mlir::RankedTensorType>(capture.value.getType());
  if (!type || dim >= type.getRank())
    return fail("expects a dimension of '" + capture.name + "', but got " +
                llvm::Twine(dim));
  return add(tensor::DimOp::create(builder, loc, capture.value, dim));
}

/// What a capture has where no function is built.
static constexpr char kNoElement[] =
    "the element of a capture outside of a function";

Expr Capture::operator[](std::initializer_list<Expr> indices) const {
  ExprScope *scope = ExprScope::getCurrent();
  if (!scope)
    return ExprScope::makeInvalid(kNoElement);
  const ExprScope::CaptureValue *value = scope->find(*this);
  return value ? scope->element(*value, indices) : ExprScope::makeInvalid();
}

Expr Capture::extent(unsigned dim) const {
  ExprScope *scope = ExprScope::getCurrent();
  if (!scope)
    return ExprScope::makeInvalid(kNoElement);
  const ExprScope::CaptureValue *value = scope->find(*this);
  return value ? scope->extent(*value, dim) : ExprScope::makeInvalid();
}
