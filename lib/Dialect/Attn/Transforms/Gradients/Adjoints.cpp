//===- Adjoints.cpp - Gradients through operations on numbers -------------===//

#include "Adjoints.h"
#include "Filled.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

//===----------------------------------------------------------------------===//
// Numbers
//===----------------------------------------------------------------------===//

Value mlir::attn::createConstantLike(OpBuilder &builder, Location loc,
                                     Value like, double value) {
  Type type = like.getType();
  FloatAttr number =
      FloatAttr::get(cast<FloatType>(getElementTypeOrSelf(type)), value);
  auto tensor = dyn_cast<RankedTensorType>(type);
  if (tensor && tensor.hasStaticShape())
    return arith::ConstantOp::create(
        builder, loc, DenseElementsAttr::get(tensor, Attribute(number)));
  if (!tensor)
    return arith::ConstantOp::create(builder, loc, number);
  return createFilled(builder, loc, tensor::getMixedSizes(builder, loc, like),
                      tensor.getElementType(), value);
}

Value mlir::attn::convertFloats(OpBuilder &builder, Location loc, Value value,
                                Type type) {
  unsigned from = getElementTypeOrSelf(value.getType()).getIntOrFloatBitWidth();
  unsigned to = getElementTypeOrSelf(type).getIntOrFloatBitWidth();
  if (value.getType() == type)
    return value;
  if (from < to)
    return arith::ExtFOp::create(builder, loc, type, value);
  // Between f16 and bf16 there is no way but by f32.
  if (from == to) {
    Type wide = Float32Type::get(type.getContext());
    if (auto tensor = dyn_cast<RankedTensorType>(type))
      wide = tensor.clone(wide);
    value = arith::ExtFOp::create(builder, loc, wide, value);
  }
  return arith::TruncFOp::create(builder, loc, type, value);
}

namespace {
/// A float to compute with.
struct Num {
  OpBuilder *builder;
  Location loc;
  Value value;

  template <typename OpTy, typename... Args> Num make(Args... args) const {
    return {builder, loc, OpTy::create(*builder, loc, args...)};
  }
  Num constant(double number) const {
    return {builder, loc, createConstantLike(*builder, loc, value, number)};
  }
};

Num operator+(Num a, Num b) { return a.make<arith::AddFOp>(a.value, b.value); }
Num operator-(Num a, Num b) { return a.make<arith::SubFOp>(a.value, b.value); }
Num operator*(Num a, Num b) { return a.make<arith::MulFOp>(a.value, b.value); }
Num operator/(Num a, Num b) { return a.make<arith::DivFOp>(a.value, b.value); }
Num operator-(Num a) { return a.make<arith::NegFOp>(a.value); }
Num operator*(double a, Num b) { return b.constant(a) * b; }
Num operator+(double a, Num b) { return b.constant(a) + b; }
Num operator-(double a, Num b) { return b.constant(a) - b; }
Num operator/(double a, Num b) { return b.constant(a) / b; }
Num operator-(Num a, double b) { return a - a.constant(b); }

Value compare(arith::CmpFPredicate predicate, Num a, Num b) {
  return arith::CmpFOp::create(*a.builder, a.loc, predicate, a.value, b.value);
}
Num select(Value condition, Num a, Num b) {
  return a.make<arith::SelectOp>(condition, a.value, b.value);
}
template <typename OpTy> Num call(Num x) { return x.make<OpTy>(x.value); }
Num square(Num x) { return x * x; }

/// One operation while its results' gradients become those of its operands.
class Reversed {
public:
  Reversed(Cotangents &cotangents, Operation &op)
      : cotangents(cotangents), op(op) {}

  /// An operand and a result, in the type of gradients.
  Num x(unsigned number) { return getPrimal(op.getOperand(number)); }
  Num y(unsigned number = 0) { return getPrimal(op.getResult(number)); }
  /// An operand that is no float.
  Value raw(unsigned number) {
    return cotangents.getPrimal(op.getOperand(number));
  }
  /// The gradient with respect to a result; 0 where there is none.
  Num g(unsigned number = 0) {
    if (Value value = cotangents.get(op.getResult(number)).value)
      return num(value);
    return y(number).constant(0);
  }
  /// The gradient times a derivative.
  Num times(Num derivative, unsigned number = 0) {
    Num gradient = g(number), product = gradient * derivative;
    if (!cotangents.get(op.getResult(number)).mayBeDead)
      return product;
    Num zero = gradient.constant(0);
    return select(compare(arith::CmpFPredicate::OEQ, gradient, zero), zero,
                  product);
  }
  Num zero() { return g().constant(0); }
  Num getFloat(Value integer) {
    Num like = g();
    return like.make<arith::SIToFPOp>(like.value.getType(), integer);
  }

private:
  Num num(Value value) { return {&cotangents.builder, op.getLoc(), value}; }
  Num getPrimal(Value value) {
    return num(convertFloats(cotangents.builder, op.getLoc(),
                             cotangents.getPrimal(value),
                             cotangents.getType(value.getType())));
  }

  Cotangents &cotangents;
  Operation &op;
};

//===----------------------------------------------------------------------===//
// Choices
//===----------------------------------------------------------------------===//

/// Which part of a gradient goes to `a`, which is chosen before `b` where the
/// predicate holds. Both get half where they are equal.
Num getShare(arith::CmpFPredicate predicate, Num a, Num b) {
  Value isEqual = compare(arith::CmpFPredicate::OEQ, a, b);
  return select(compare(predicate, a, b), a.constant(1),
                select(isEqual, a.constant(0.5), a.constant(0)));
}

/// The same where a NaN is never chosen before a number.
Num getNumberShare(arith::CmpFPredicate predicate, Num a, Num b) {
  return select(compare(arith::CmpFPredicate::UNO, b, b), a.constant(1),
                getShare(predicate, a, b));
}

constexpr auto above = arith::CmpFPredicate::OGT;
constexpr auto below = arith::CmpFPredicate::OLT;

Num reverseAbs(Reversed &e) {
  Num x = e.x(0), zero = e.zero();
  return select(compare(above, x, zero), e.g(),
                select(compare(below, x, zero), -e.g(), zero));
}

/// clampf is the minimum of `high` and the maximum of x and `low`.
Num getRaised(Reversed &e) {
  return e.x(0).make<arith::MaximumFOp>(e.x(0).value, e.x(1).value);
}
Num reverseClamped(Reversed &e, unsigned number) {
  return e.g() * getShare(below, getRaised(e), e.x(2)) *
         getShare(above, e.x(number), e.x(1 - number));
}

//===----------------------------------------------------------------------===//
// Powers
//===----------------------------------------------------------------------===//

Num getPower(Num base, Num exponent) {
  return base.make<math::PowFOp>(base.value, exponent.value);
}

/// Nothing where `x` is 0, whatever `derivative` is.
Num timesUnlessZero(Reversed &e, Num x, Num derivative) {
  Num zero = e.zero();
  return select(compare(arith::CmpFPredicate::OEQ, x, zero), zero,
                e.times(derivative));
}

Num reverseIntegerPower(Reversed &e) {
  Num power = e.getFloat(e.raw(1));
  return timesUnlessZero(e, power, power * getPower(e.x(0), power - 1));
}

//===----------------------------------------------------------------------===//
// All of them
//===----------------------------------------------------------------------===//

constexpr double kTwoOverRootPi = 2 * llvm::numbers::inv_sqrtpi;

/// What the gradient of the results adds to that of one operand.
using Partial = Num (*)(Reversed &);

struct Rule {
  /// By operand; null where there is none.
  SmallVector<Partial, 3> partials;
  /// Whether one of the operands is chosen, which leaves the others dead.
  bool isChoice = false;
};
} // namespace

#define D(expression) [](Reversed &e) -> Num { return expression; }

/// The derivatives. The argument of the functions is `e`; what is constant
/// almost everywhere has none.
static const llvm::StringMap<Rule> &getRules() {
  static const Partial none = nullptr, same = D(e.g());
  static const llvm::StringMap<Rule> rules = {
      {"arith.addf", {{same, same}}},
      {"arith.subf", {{same, D(-e.g())}}},
      {"arith.mulf", {{D(e.times(e.x(1))), D(e.times(e.x(0)))}}},
      {"arith.divf", {{D(e.times(1.0 / e.x(1))), D(e.times(-e.y() / e.x(1)))}}},
      {"arith.remf",
       {{same, D(e.times(-call<math::TruncOp>(e.x(0) / e.x(1))))}}},
      {"arith.negf", {{D(-e.g())}}},
      {"arith.extf", {{same}}},
      {"arith.truncf", {{same}}},
      {"arith.sitofp", {{none}}},
      {"arith.uitofp", {{none}}},
      {"arith.select",
       {{none, D(select(e.raw(0), e.g(), e.zero())),
         D(select(e.raw(0), e.zero(), e.g()))},
        true}},
      {"arith.maximumf",
       {{D(e.g() * getShare(above, e.x(0), e.x(1))),
         D(e.g() * getShare(above, e.x(1), e.x(0)))},
        true}},
      {"arith.minimumf",
       {{D(e.g() * getShare(below, e.x(0), e.x(1))),
         D(e.g() * getShare(below, e.x(1), e.x(0)))},
        true}},
      {"arith.maxnumf",
       {{D(e.g() * getNumberShare(above, e.x(0), e.x(1))),
         D(e.g() * getNumberShare(above, e.x(1), e.x(0)))},
        true}},
      {"arith.minnumf",
       {{D(e.g() * getNumberShare(below, e.x(0), e.x(1))),
         D(e.g() * getNumberShare(below, e.x(1), e.x(0)))},
        true}},
      {"math.absf", {{reverseAbs}, true}},
      {"math.clampf",
       {{D(reverseClamped(e, 0)), D(reverseClamped(e, 1)),
         D(e.g() * getShare(below, e.x(2), getRaised(e)))},
        true}},
      {"math.acos", {{D(e.times(-call<math::RsqrtOp>(1.0 - square(e.x(0)))))}}},
      {"math.acosh", {{D(e.times(call<math::RsqrtOp>(square(e.x(0)) - 1.0)))}}},
      {"math.asin", {{D(e.times(call<math::RsqrtOp>(1.0 - square(e.x(0)))))}}},
      {"math.asinh", {{D(e.times(call<math::RsqrtOp>(1.0 + square(e.x(0)))))}}},
      {"math.atan", {{D(e.times(1.0 / (1.0 + square(e.x(0)))))}}},
      {"math.atan2",
       {{D(e.times(e.x(1) / (square(e.x(0)) + square(e.x(1))))),
         D(e.times(-e.x(0) / (square(e.x(0)) + square(e.x(1)))))}}},
      {"math.atanh", {{D(e.times(1.0 / (1.0 - square(e.x(0)))))}}},
      {"math.cbrt", {{D(e.times(1.0 / (3.0 * square(e.y()))))}}},
      {"math.ceil", {{none}}},
      {"math.copysign",
       {{D(e.g() *
           e.x(0).make<math::CopySignOp>(e.x(0).constant(1).value,
                                         e.x(0).value) *
           e.x(0).make<math::CopySignOp>(e.x(0).constant(1).value,
                                         e.x(1).value)),
         none}}},
      {"math.cos", {{D(e.times(-call<math::SinOp>(e.x(0))))}}},
      {"math.cosh", {{D(e.times(call<math::SinhOp>(e.x(0))))}}},
      {"math.erf",
       {{D(e.times(kTwoOverRootPi * call<math::ExpOp>(-square(e.x(0)))))}}},
      {"math.erfc",
       {{D(e.times(-kTwoOverRootPi * call<math::ExpOp>(-square(e.x(0)))))}}},
      {"math.exp", {{D(e.times(e.y()))}}},
      {"math.exp2", {{D(e.times(llvm::numbers::ln2 * e.y()))}}},
      {"math.expm1", {{D(e.times(call<math::ExpOp>(e.x(0))))}}},
      {"math.floor", {{none}}},
      {"math.fma", {{D(e.times(e.x(1))), D(e.times(e.x(0))), same}}},
      {"math.fpowi", {{reverseIntegerPower, none}}},
      {"math.log", {{D(e.times(1.0 / e.x(0)))}}},
      {"math.log10", {{D(e.times(1.0 / (llvm::numbers::ln10 * e.x(0))))}}},
      {"math.log1p", {{D(e.times(1.0 / (1.0 + e.x(0))))}}},
      {"math.log2", {{D(e.times(1.0 / (llvm::numbers::ln2 * e.x(0))))}}},
      {"math.powf",
       {{D(timesUnlessZero(e, e.x(1), e.x(1) * getPower(e.x(0), e.x(1) - 1.0))),
         D(timesUnlessZero(e, e.x(0), e.y() * call<math::LogOp>(e.x(0))))}}},
      {"math.round", {{none}}},
      {"math.roundeven", {{none}}},
      {"math.rsqrt", {{D(e.times(-0.5 * (e.y() * square(e.y()))))}}},
      {"math.sin", {{D(e.times(call<math::CosOp>(e.x(0))))}}},
      {"math.sincos", {{D(e.times(e.y(1)) - e.times(e.y(0), 1))}}},
      {"math.sinh", {{D(e.times(call<math::CoshOp>(e.x(0))))}}},
      {"math.sqrt", {{D(timesUnlessZero(e, e.y(), 0.5 / e.y()))}}},
      {"math.tan", {{D(e.times(1.0 + square(e.y())))}}},
      {"math.tanh", {{D(e.times(1.0 - square(e.y())))}}},
      {"math.trunc", {{none}}},
  };
  return rules;
}

#undef D

//===----------------------------------------------------------------------===//
// Cotangents
//===----------------------------------------------------------------------===//

Type Cotangents::getType(Type type) const {
  auto element = cast<FloatType>(getElementTypeOrSelf(type));
  if (!least ||
      element.getIntOrFloatBitWidth() >= least.getIntOrFloatBitWidth())
    return type;
  if (auto tensor = dyn_cast<RankedTensorType>(type))
    return tensor.clone(least);
  return least;
}

void Cotangents::add(Location loc, Value value, Cotangent cotangent) {
  if (!isActive(value))
    return;
  cotangent.value =
      convertFloats(builder, loc, cotangent.value, getType(value.getType()));
  Cotangent &sum = values[value];
  if (sum.value)
    cotangent.value =
        arith::AddFOp::create(builder, loc, sum.value, cotangent.value);
  sum = {cotangent.value, sum.mayBeDead || cotangent.mayBeDead};
}

bool Cotangents::has(Operation &op) const {
  return llvm::any_of(op.getResults(),
                      [&](Value result) { return values.contains(result); });
}

LogicalResult Cotangents::reverseElementwise(Operation &op) {
  auto found = getRules().find(op.getName().getStringRef());
  if (found == getRules().end() ||
      found->second.partials.size() != op.getNumOperands())
    return op.emitError("'") << op.getName() << "' has no derivative";
  const Rule &rule = found->second;
  bool mayBeDead = rule.isChoice;
  for (Value result : op.getResults())
    mayBeDead |= get(result).mayBeDead;
  Reversed reversed(*this, op);
  for (auto [operand, partial] :
       llvm::zip_equal(op.getOperands(), rule.partials))
    if (partial && isActive(operand))
      add(op.getLoc(), operand, {partial(reversed).value, mayBeDead});
  return success();
}

bool mlir::attn::isChoice(Operation &op) {
  auto found = getRules().find(op.getName().getStringRef());
  return isa<scf::IfOp>(op) ||
         (found != getRules().end() && found->second.isChoice);
}

SetVector<Value> mlir::attn::getReadValues(Operation &op) {
  SetVector<Value> read(op.operand_begin(), op.operand_end());
  getUsedValuesDefinedAbove(op.getRegions(), read);
  return read;
}

void mlir::attn::propagateActivity(Operation &op, DenseSet<Value> &active) {
  if (llvm::none_of(getReadValues(op),
                    [&](Value value) { return active.contains(value); }))
    return;
  for (Value result : op.getResults())
    if (isa<FloatType>(getElementTypeOrSelf(result.getType())))
      active.insert(result);
}
