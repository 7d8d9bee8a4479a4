//===- ShapeFunction.cpp - Evaluation of extents --------------------------===//

#include "attn/Runtime/ShapeFunction.h"
#include "ShapeOps.h"
#include "attn/Runtime/KernelPackage.h"
#include "llvm/ADT/Twine.h"
#include "llvm/Support/MathExtras.h"
#include <algorithm>
#include <limits>
#include <optional>

using namespace attn;

static llvm::Error makeError(const llvm::Twine &text) {
  return llvm::createStringError(
      std::make_error_code(std::errc::invalid_argument), text);
}

//===----------------------------------------------------------------------===//
// Instructions
//===----------------------------------------------------------------------===//

/// a / b rounded towards negative or positive infinity.
static int64_t divideDown(int64_t a, int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0));
}
static int64_t divideUp(int64_t a, int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0));
}

static bool isShift(int64_t count) { return count >= 0 && count < 64; }

/// The value of an operation on values; nullopt if it has none.
static std::optional<int64_t> compute(ShapeOp op, int64_t a, int64_t b,
                                      int64_t c) {
  auto ua = static_cast<uint64_t>(a), ub = static_cast<uint64_t>(b);
  int64_t result = 0;
  // The quotient of the least number and -1 is one too large.
  bool canDivide =
      b != 0 && !(a == std::numeric_limits<int64_t>::min() && b == -1);
  switch (op) {
  case ShapeOp::Constant:
  case ShapeOp::Extent:
    break;
  case ShapeOp::Add:
    if (!llvm::AddOverflow(a, b, result))
      return result;
    break;
  case ShapeOp::Sub:
    if (!llvm::SubOverflow(a, b, result))
      return result;
    break;
  case ShapeOp::Mul:
    if (!llvm::MulOverflow(a, b, result))
      return result;
    break;
  case ShapeOp::DivS:
    if (canDivide)
      return a / b;
    break;
  case ShapeOp::CeilDivS:
    if (canDivide)
      return divideUp(a, b);
    break;
  case ShapeOp::FloorDivS:
    if (canDivide)
      return divideDown(a, b);
    break;
  case ShapeOp::RemS:
    if (canDivide)
      return a % b;
    break;
  case ShapeOp::DivU:
    if (b != 0)
      return ua / ub;
    break;
  case ShapeOp::CeilDivU:
    if (b != 0)
      return ua / ub + (ua % ub != 0);
    break;
  case ShapeOp::RemU:
    if (b != 0)
      return ua % ub;
    break;
  case ShapeOp::And:
    return a & b;
  case ShapeOp::Or:
    return a | b;
  case ShapeOp::Xor:
    return a ^ b;
  case ShapeOp::Shl:
    result = isShift(b) ? static_cast<int64_t>(ua << b) : 0;
    if (isShift(b) && result >> b == a)
      return result;
    break;
  case ShapeOp::ShrS:
    if (isShift(b))
      return a >> b;
    break;
  case ShapeOp::ShrU:
    if (isShift(b))
      return ua >> b;
    break;
  case ShapeOp::MinS:
    return std::min(a, b);
  case ShapeOp::MaxS:
    return std::max(a, b);
  case ShapeOp::MinU:
    return std::min(ua, ub);
  case ShapeOp::MaxU:
    return std::max(ua, ub);
  case ShapeOp::Eq:
    return a == b;
  case ShapeOp::Ne:
    return a != b;
  case ShapeOp::LtS:
    return a < b;
  case ShapeOp::LeS:
    return a <= b;
  case ShapeOp::LtU:
    return ua < ub;
  case ShapeOp::LeU:
    return ua <= ub;
  case ShapeOp::Select:
    return a != 0 ? b : c;
  case ShapeOp::SignExtend:
    return llvm::SignExtend64(ua, b);
  case ShapeOp::ZeroExtend:
    return ua & llvm::maskTrailingOnes<uint64_t>(b);
  }
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

std::string attn::fillInNumbers(llvm::StringRef text,
                                llvm::ArrayRef<int64_t> numbers) {
  std::string result;
  for (size_t i = 0; i < text.size(); ++i) {
    size_t number = i + 1 < text.size() ? text[i + 1] - '0' : numbers.size();
    if (text[i] == '%' && number < numbers.size()) {
      result += std::to_string(numbers[number]);
      ++i;
    } else {
      result += text[i];
    }
  }
  return result;
}

namespace {
/// The values of a function for some inputs.
class Evaluation {
public:
  Evaluation(const ShapeFunction &function, llvm::ArrayRef<TensorView> inputs)
      : function(function), inputs(inputs) {}

  /// Computes all values.
  llvm::Error run();

  /// A value that is needed.
  llvm::Expected<int64_t> get(int64_t value) const;

private:
  llvm::Error add(const ShapeInstruction &instruction);
  llvm::Expected<int64_t> getExtent(int64_t input, int64_t dim) const;
  bool isValue(int64_t value) const {
    return value >= 0 && value < static_cast<int64_t>(values.size());
  }

  const ShapeFunction &function;
  llvm::ArrayRef<TensorView> inputs;
  llvm::SmallVector<int64_t, 96> values;
  /// For each value the instruction that had none, whose result it is or that
  /// it depends on; -1 if it has one.
  llvm::SmallVector<int32_t, 96> failures;
};
} // namespace

/// Of a value that does not exist.
static llvm::Error makeNoValueError(int64_t value, size_t count) {
  return makeError("expects the shape function to name one of " +
                   llvm::Twine(count) + " values before, but got " +
                   llvm::Twine(value));
}

llvm::Expected<int64_t> Evaluation::getExtent(int64_t input,
                                              int64_t dim) const {
  if (input < 0 || input >= static_cast<int64_t>(inputs.size()))
    return makeError("expects the shape function to name one of " +
                     llvm::Twine(inputs.size()) + " inputs, but got " +
                     llvm::Twine(input));
  const TensorView &view = inputs[input];
  if (dim < 0 || dim >= view.rank || !view.shape)
    return makeError("expects input " + llvm::Twine(input) +
                     " to have the dimension " + llvm::Twine(dim) +
                     " of the shape function, but got rank " +
                     llvm::Twine(view.rank));
  return view.shape[dim];
}

llvm::Error Evaluation::add(const ShapeInstruction &instruction) {
  const int64_t *operands = instruction.operands;
  if (instruction.op == ShapeOp::Constant) {
    values.push_back(operands[0]);
    failures.push_back(-1);
    return llvm::Error::success();
  }
  if (instruction.op == ShapeOp::Extent) {
    llvm::Expected<int64_t> extent = getExtent(operands[0], operands[1]);
    if (!extent)
      return extent.takeError();
    values.push_back(*extent);
    failures.push_back(-1);
    return llvm::Error::success();
  }
  const ShapeOpInfo *info = getInfo(instruction.op);
  if (!info || (info->hasBits && !isBitCount(operands[1])))
    return makeError("expects the shape function to have operations it knows");
  int64_t numbers[kMaxShapeOperands] = {0, operands[1], 0};
  int32_t failure = -1;
  for (size_t i = 0; i < info->numValues; ++i) {
    if (!isValue(operands[i]))
      return makeNoValueError(operands[i], values.size());
    numbers[i] = values[operands[i]];
    // What is not selected need not have a value.
    bool isNeeded = instruction.op != ShapeOp::Select || i == 0 ||
                    (i == 1) == (numbers[0] != 0);
    if (isNeeded && failure < 0)
      failure = failures[operands[i]];
  }
  std::optional<int64_t> result;
  if (failure < 0) {
    result = compute(instruction.op, numbers[0], numbers[1], numbers[2]);
    if (!result)
      failure = static_cast<int32_t>(values.size());
  }
  values.push_back(result.value_or(0));
  failures.push_back(failure);
  return llvm::Error::success();
}

llvm::Error Evaluation::run() {
  for (const ShapeInstruction &instruction : function.instructions)
    if (llvm::Error error = add(instruction))
      return error;
  return llvm::Error::success();
}

llvm::Expected<int64_t> Evaluation::get(int64_t value) const {
  if (!isValue(value))
    return makeNoValueError(value, values.size());
  int32_t failure = failures[value];
  if (failure < 0)
    return values[value];
  // Its operands had values, or the failure would be theirs.
  const ShapeInstruction &culprit = function.instructions[failure];
  const ShapeOpInfo &info = *getInfo(culprit.op);
  std::string numbers;
  for (size_t i = 0; i < info.numValues; ++i)
    numbers += (i == 0 ? " of " : " and ") +
               std::to_string(values[culprit.operands[i]]);
  return makeError("expects extents whose results 64 bits can hold, but " +
                   info.name + numbers + " has no value");
}

llvm::Expected<llvm::SmallVector<int64_t, 16>>
ShapeFunction::evaluate(llvm::ArrayRef<TensorView> inputs) const {
  Evaluation evaluation(*this, inputs);
  if (llvm::Error error = evaluation.run())
    return error;
  for (const ShapeConstraint &constraint : constraints) {
    llvm::Expected<int64_t> isMet = evaluation.get(constraint.isMet);
    if (!isMet)
      return isMet.takeError();
    if (*isMet)
      continue;
    llvm::SmallVector<int64_t, 2> numbers;
    for (int64_t value : constraint.numbers) {
      llvm::Expected<int64_t> number = evaluation.get(value);
      if (!number)
        return number.takeError();
      numbers.push_back(*number);
    }
    return makeError(fillInNumbers(constraint.text, numbers));
  }
  llvm::SmallVector<int64_t, 16> extents;
  for (int64_t value : results) {
    llvm::Expected<int64_t> extent = evaluation.get(value);
    if (!extent)
      return extent.takeError();
    if (*extent < 0)
      return makeError("expects no negative extent of a result, but got " +
                       llvm::Twine(*extent));
    extents.push_back(*extent);
  }
  return extents;
}

//===----------------------------------------------------------------------===//
// Checks
//===----------------------------------------------------------------------===//

static size_t countRanks(llvm::ArrayRef<TensorInfo> infos) {
  size_t count = 0;
  for (const TensorInfo &info : infos)
    count += info.shape.size();
  return count;
}

llvm::Error ShapeFunction::validate(llvm::ArrayRef<TensorInfo> inputs,
                                    llvm::ArrayRef<TensorInfo> results) const {
  // Numbers of instructions have 32 bits.
  constexpr size_t kMaxInstructions = size_t(1) << 24;
  if (instructions.size() > kMaxInstructions)
    return makeError("expects a shape function of at most " +
                     llvm::Twine(kMaxInstructions) + " instructions, but got " +
                     llvm::Twine(instructions.size()));
  auto checkValue = [](int64_t value, size_t count) -> llvm::Error {
    if (value >= 0 && value < static_cast<int64_t>(count))
      return llvm::Error::success();
    return makeNoValueError(value, count);
  };
  for (size_t number = 0; number < instructions.size(); ++number) {
    const ShapeInstruction &instruction = instructions[number];
    const int64_t *operands = instruction.operands;
    const ShapeOpInfo *info = getInfo(instruction.op);
    if (!info)
      return makeError("expects an operation of a shape function, but got " +
                       llvm::Twine(static_cast<int32_t>(instruction.op)));
    for (size_t i = 0; i < info->numValues; ++i)
      if (llvm::Error error = checkValue(operands[i], number))
        return error;
    if (info->hasBits && !isBitCount(operands[1]))
      return makeError("expects " + info->name +
                       " to have from 1 to 63 bits, but got " +
                       llvm::Twine(operands[1]));
    if (instruction.op != ShapeOp::Extent)
      continue;
    if (operands[0] < 0 || operands[0] >= static_cast<int64_t>(inputs.size()))
      return makeError("expects the shape function to name one of " +
                       llvm::Twine(inputs.size()) + " inputs, but got " +
                       llvm::Twine(operands[0]));
    size_t rank = inputs[operands[0]].shape.size();
    if (operands[1] < 0 || operands[1] >= static_cast<int64_t>(rank))
      return makeError("expects the shape function to name one of " +
                       llvm::Twine(rank) + " dimensions, but got " +
                       llvm::Twine(operands[1]));
  }
  for (const ShapeConstraint &constraint : constraints)
    for (int64_t value :
         {constraint.isMet, constraint.numbers[0], constraint.numbers[1]})
      if (llvm::Error error = checkValue(value, instructions.size()))
        return error;
  for (int64_t value : this->results)
    if (llvm::Error error = checkValue(value, instructions.size()))
      return error;
  size_t count = countRanks(results);
  if (this->results.size() != count)
    return makeError("expects a shape function of " + llvm::Twine(count) +
                     " extents of results, but got " +
                     llvm::Twine(this->results.size()));
  return llvm::Error::success();
}
