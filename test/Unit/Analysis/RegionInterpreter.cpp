//===- RegionInterpreter.cpp - Evaluate a region of an attention ----------===//

#include "RegionInterpreter.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/bit.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <functional>
#include <limits>

using namespace mlir;
using namespace mlir::attn::test;

namespace {
class Interpreter {
public:
  std::vector<Scalar> run(Block &block);
  llvm::DenseMap<Value, Scalar> values;

private:
  void evaluate(Operation &op);
  void evaluateRangeOver(attn::RangeOverOp range);
  int64_t evaluateInteger(Operation &op, int64_t a, int64_t b, unsigned width);
  bool compare(arith::CmpIPredicate predicate, int64_t a, int64_t b,
               unsigned width);
};
} // namespace

static unsigned getWidth(Type type) {
  return type.isIndex() ? 64 : type.getIntOrFloatBitWidth();
}

/// The low `width` bits of `value`, sign-extended.
static int64_t wrap(int64_t value, unsigned width) {
  unsigned drop = 64 - width;
  return static_cast<int64_t>(static_cast<uint64_t>(value) << drop) >> drop;
}

/// The low `width` bits of `value`, zero-extended.
static uint64_t asUnsigned(int64_t value, unsigned width) {
  return static_cast<uint64_t>(value) << (64 - width) >> (64 - width);
}

static int64_t floorDivide(int64_t a, int64_t b) {
  int64_t quotient = a / b;
  return a % b != 0 && (a < 0) != (b < 0) ? quotient - 1 : quotient;
}

bool Interpreter::compare(arith::CmpIPredicate predicate, int64_t a, int64_t b,
                          unsigned width) {
  uint64_t ua = asUnsigned(a, width), ub = asUnsigned(b, width);
  switch (predicate) {
  case arith::CmpIPredicate::eq:
    return a == b;
  case arith::CmpIPredicate::ne:
    return a != b;
  case arith::CmpIPredicate::slt:
    return a < b;
  case arith::CmpIPredicate::sle:
    return a <= b;
  case arith::CmpIPredicate::sgt:
    return a > b;
  case arith::CmpIPredicate::sge:
    return a >= b;
  case arith::CmpIPredicate::ult:
    return ua < ub;
  case arith::CmpIPredicate::ule:
    return ua <= ub;
  case arith::CmpIPredicate::ugt:
    return ua > ub;
  case arith::CmpIPredicate::uge:
    return ua >= ub;
  }
  return false;
}

int64_t Interpreter::evaluateInteger(Operation &op, int64_t a, int64_t b,
                                     unsigned width) {
  uint64_t ua = asUnsigned(a, width), ub = asUnsigned(b, width);
  auto sum = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) +
                                static_cast<uint64_t>(y));
  };
  bool isDivision = isa<arith::DivSIOp, arith::DivUIOp, arith::FloorDivSIOp,
                        arith::CeilDivSIOp, arith::CeilDivUIOp, arith::RemSIOp,
                        arith::RemUIOp>(op);
  // The rule of attention for a division by zero.
  if (isDivision && b == 0)
    return 0;
  if (isa<arith::AddIOp>(op))
    return sum(a, b);
  if (isa<arith::SubIOp>(op))
    return sum(a, sum(~b, 1));
  if (isa<arith::MulIOp>(op))
    return static_cast<int64_t>(static_cast<uint64_t>(a) *
                                static_cast<uint64_t>(b));
  if (isa<arith::DivSIOp>(op))
    return a / b;
  if (isa<arith::RemSIOp>(op))
    return a % b;
  if (isa<arith::DivUIOp>(op))
    return ua / ub;
  if (isa<arith::RemUIOp>(op))
    return ua % ub;
  if (isa<arith::FloorDivSIOp>(op))
    return floorDivide(a, b);
  if (isa<arith::CeilDivSIOp>(op))
    return -floorDivide(-a, b);
  if (isa<arith::CeilDivUIOp>(op))
    return ua / ub + (ua % ub != 0);
  if (isa<arith::MaxSIOp>(op))
    return std::max(a, b);
  if (isa<arith::MinSIOp>(op))
    return std::min(a, b);
  if (isa<arith::MaxUIOp>(op))
    return std::max(ua, ub);
  if (isa<arith::MinUIOp>(op))
    return std::min(ua, ub);
  if (isa<arith::AndIOp>(op))
    return a & b;
  if (isa<arith::OrIOp>(op))
    return a | b;
  if (isa<arith::XOrIOp>(op))
    return a ^ b;
  if (isa<arith::ShLIOp>(op))
    return static_cast<int64_t>(static_cast<uint64_t>(a) << b);
  if (isa<arith::ShRSIOp>(op))
    return a >> b;
  if (isa<arith::ShRUIOp>(op))
    return ua >> b;
  ADD_FAILURE() << "unknown operation " << op.getName().getStringRef().str();
  return 0;
}

void Interpreter::evaluateRangeOver(attn::RangeOverOp range) {
  Type type = range.getMin().getType();
  // True is -1 here.
  bool isBoolean = type.isInteger(1);
  int64_t most = std::numeric_limits<int64_t>::max() >> (64 - getWidth(type));
  int64_t min = isBoolean ? -1 : most, max = isBoolean ? 0 : -most - 1;
  Block &body = range.getBody().front();
  std::function<void(unsigned)> visit = [&](unsigned position) {
    if (position == body.getNumArguments()) {
      int64_t value = run(body)[0].integer;
      min = isBoolean ? min & value : std::min(min, value);
      max = isBoolean ? max | value : std::max(max, value);
      return;
    }
    int64_t high = values[range.getHighs()[position]].integer;
    for (int64_t x = values[range.getLows()[position]].integer; x < high; ++x) {
      values[body.getArgument(position)] = Scalar::of(x);
      visit(position + 1);
    }
  };
  visit(0);
  values[range.getMin()] = Scalar::of(min);
  values[range.getMax()] = Scalar::of(max);
}

void Interpreter::evaluate(Operation &op) {
  auto operand = [&](unsigned number) -> const Scalar & {
    return values[op.getOperand(number)];
  };
  auto set = [&](Scalar value) { values[op.getResult(0)] = value; };
  auto setInteger = [&](int64_t value) {
    set(Scalar::of(wrap(value, getWidth(op.getResult(0).getType()))));
  };

  if (auto constant = dyn_cast<arith::ConstantOp>(op)) {
    if (auto real = dyn_cast<FloatAttr>(constant.getValue()))
      return set(Scalar::ofReal(real.getValueAsDouble()));
    return setInteger(
        cast<IntegerAttr>(constant.getValue()).getValue().getSExtValue());
  }
  if (auto cmp = dyn_cast<arith::CmpIOp>(op))
    return setInteger(compare(cmp.getPredicate(), operand(0).integer,
                              operand(1).integer,
                              getWidth(cmp.getLhs().getType())));
  if (isa<arith::SelectOp>(op))
    return set(operand(0).integer ? operand(1) : operand(2));
  if (isa<arith::IndexCastOp, arith::ExtSIOp, arith::TruncIOp>(op))
    return setInteger(operand(0).integer);
  if (isa<arith::IndexCastUIOp, arith::ExtUIOp>(op))
    return setInteger(
        asUnsigned(operand(0).integer, getWidth(op.getOperand(0).getType())));
  if (isa<math::AbsIOp>(op))
    return setInteger(operand(0).integer < 0 ? -operand(0).integer
                                             : operand(0).integer);
  if (auto extract = dyn_cast<tensor::ExtractOp>(op)) {
    const std::vector<int64_t> &tensor = *operand(0).tensor;
    int64_t index = operand(1).integer;
    if (index < 0 || index >= static_cast<int64_t>(tensor.size())) {
      ADD_FAILURE() << "reads element " << index << " of " << tensor.size();
      index = 0;
    }
    return setInteger(tensor[index]);
  }
  if (auto range = dyn_cast<attn::RangeOp>(op)) {
    const std::vector<int64_t> &tensor = *operand(0).tensor;
    int64_t low = operand(1).integer, high = operand(2).integer;
    Type type = range.getMin().getType();
    // True is -1 here.
    bool isBoolean = type.isInteger(1);
    int64_t min = std::numeric_limits<int64_t>::min() >> (64 - getWidth(type));
    int64_t max = -(min + 1);
    if (isBoolean)
      std::swap(min, max);
    bool isInside =
        low >= 0 && low < high && high <= static_cast<int64_t>(tensor.size());
    if (isInside) {
      auto first = tensor.begin() + low, end = tensor.begin() + high;
      min = *std::min_element(first, end), max = *std::max_element(first, end);
      if (isBoolean)
        std::swap(min, max);
    }
    values[range.getMin()] = Scalar::of(min);
    values[range.getMax()] = Scalar::of(max);
    return;
  }
  if (auto range = dyn_cast<attn::RangeOverOp>(op))
    return evaluateRangeOver(range);
  if (isa<math::CountLeadingZerosOp>(op)) {
    unsigned width = getWidth(op.getOperand(0).getType());
    uint64_t bits = asUnsigned(operand(0).integer, width);
    return setInteger(llvm::countl_zero(bits) - (64 - width));
  }
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Region &taken =
        operand(0).integer ? branch.getThenRegion() : branch.getElseRegion();
    std::vector<Scalar> results = run(taken.front());
    for (auto [result, value] : llvm::zip(branch.getResults(), results))
      values[result] = value;
    return;
  }
  if (isa<arith::AddFOp>(op))
    return set(Scalar::ofReal(operand(0).real + operand(1).real));
  if (isa<arith::SubFOp>(op))
    return set(Scalar::ofReal(operand(0).real - operand(1).real));
  if (isa<arith::MulFOp>(op))
    return set(Scalar::ofReal(operand(0).real * operand(1).real));
  if (isa<arith::DivFOp>(op))
    return set(Scalar::ofReal(operand(0).real / operand(1).real));
  if (isa<arith::NegFOp>(op))
    return set(Scalar::ofReal(-operand(0).real));
  if (isa<arith::SIToFPOp>(op))
    return set(Scalar::ofReal(operand(0).integer));
  if (op.getNumOperands() == 2)
    return setInteger(evaluateInteger(op, operand(0).integer,
                                      operand(1).integer,
                                      getWidth(op.getOperand(0).getType())));
  ADD_FAILURE() << "unknown operation " << op.getName().getStringRef().str();
  set(Scalar());
}

std::vector<Scalar> Interpreter::run(Block &block) {
  for (Operation &op : block.without_terminator())
    evaluate(op);
  std::vector<Scalar> results;
  for (Value value : block.getTerminator()->getOperands())
    results.push_back(values[value]);
  return results;
}

std::vector<Scalar>
mlir::attn::test::interpret(Region &region, const std::vector<Scalar> &given) {
  Interpreter interpreter;
  for (auto [argument, value] : llvm::zip(region.getArguments(), given))
    interpreter.values[argument] = value;
  return interpreter.run(region.front());
}
