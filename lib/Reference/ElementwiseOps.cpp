//===- ElementwiseOps.cpp - Scalars and elementwise operations ------------===//
//
// An operation of arith, math or index at the level of a function, on scalars
// or on tensors, is a region of one operation with a lane for each element.
//
//===----------------------------------------------------------------------===//

#include "FunctionEvaluator.h"
#include "mlir/Dialect/Arith/IR/Arith.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

Error FunctionEvaluator::evaluateConstant(mlir::arith::ConstantOp op) {
  Expected<ElementType> type = convertType(op.getType(), op);
  if (!type)
    return type.takeError();
  auto toInt = [&](const llvm::APInt &value) {
    return wrapInteger(value.zextOrTrunc(64).getZExtValue(), type->width);
  };
  mlir::Attribute value = op.getValue();
  if (auto number = mlir::dyn_cast<mlir::FloatAttr>(value)) {
    Array array(*type, {});
    array.floats[0] = number.getValueAsDouble();
    set(op, std::move(array));
    return Error::success();
  }
  if (auto number = mlir::dyn_cast<mlir::IntegerAttr>(value)) {
    Array array(*type, {});
    array.ints[0] = toInt(number.getValue());
    set(op, std::move(array));
    return Error::success();
  }
  auto elements = mlir::dyn_cast<mlir::DenseElementsAttr>(value);
  if (!elements)
    return makeError(op, "expects a number or dense elements");
  Expected<Array> array =
      makeArray(op, Shape(elements.getType().getShape().begin(),
                          elements.getType().getShape().end()));
  if (!array)
    return array.takeError();
  if (type->isFloat()) {
    auto toDouble = [](llvm::APFloat value) {
      bool losesInfo;
      value.convert(llvm::APFloat::IEEEdouble(),
                    llvm::APFloat::rmNearestTiesToEven, &losesInfo);
      return value.convertToDouble();
    };
    for (auto [index, element] :
         llvm::enumerate(elements.getValues<llvm::APFloat>()))
      array->floats[index] = toDouble(element);
  } else {
    for (auto [index, element] :
         llvm::enumerate(elements.getValues<llvm::APInt>()))
      array->ints[index] = toInt(element);
  }
  set(op, std::move(*array));
  return Error::success();
}

/// Whether an operation has the noise of its operands: a sum or a difference,
/// or a conversion, whose rounding comes on top.
static bool addsNoise(mlir::Operation *op) {
  return mlir::isa<mlir::arith::AddFOp, mlir::arith::SubFOp,
                   mlir::arith::NegFOp, mlir::arith::TruncFOp,
                   mlir::arith::ExtFOp>(op);
}

static RoundingNoise addNoise(mlir::Operation *op,
                              llvm::ArrayRef<const Array *> operands) {
  RoundingNoise sum;
  if (addsNoise(op))
    for (const Array *operand : operands) {
      sum.max += operand->noise.max;
      sum.mean += operand->noise.mean;
      sum.chanceMax += operand->noise.chanceMax;
      sum.chanceMean += operand->noise.chanceMean;
    }
  return sum;
}

Error FunctionEvaluator::evaluateElementwise(mlir::Operation *op) {
  Program program;
  RegionCompiler compiler(options.mode, program);
  struct Operand {
    const Array *array;
    uint32_t reg;
  };
  llvm::SmallVector<Operand> operands;
  llvm::SmallVector<const Array *> arrays;
  Shape shape;
  bool isTensor =
      llvm::any_of(op->getResultTypes(), llvm::IsaPred<mlir::RankedTensorType>);
  for (mlir::Value operand : op->getOperands()) {
    Expected<ElementType> type = convertType(operand.getType(), op);
    if (!type)
      return type.takeError();
    const Array &array = *get(operand);
    // The condition of a selection between tensors may be a scalar.
    if (isTensor && !mlir::isa<mlir::RankedTensorType>(operand.getType())) {
      compiler.bindArray(operand, array);
      continue;
    }
    if (!operands.empty() && shape != array.shape)
      return makeError(op, "expects operands of one shape, but got " +
                               formatShape(shape) + " and " +
                               formatShape(array.shape));
    shape = array.shape;
    arrays.push_back(&array);
    operands.push_back({&array, compiler.bindLane(operand)});
  }
  if (Error error = compiler.compileOp(op))
    return error;

  llvm::SmallVector<uint32_t> registers;
  llvm::SmallVector<Array> results;
  for (mlir::Value result : op->getResults()) {
    Expected<uint32_t> reg = compiler.getLane(result, op);
    if (!reg)
      return reg.takeError();
    registers.push_back(*reg);
    results.emplace_back(*convertType(result.getType()), shape);
    results.back().noise = addNoise(op, arrays);
  }
  Frame frame(program);
  frame.runRow();
  int64_t size = 1;
  for (int64_t extent : shape)
    size *= extent;
  auto run = [&](llvm::MutableArrayRef<Array> outs) {
    for (int64_t begin = 0; begin < size; begin += kLanes) {
      int64_t count = std::min<int64_t>(kLanes, size - begin);
      for (const Operand &operand : operands)
        if (operand.array->type.isFloat())
          std::copy_n(operand.array->floats.data() + begin, count,
                      frame.laneFloats(operand.reg));
        else
          std::copy_n(operand.array->ints.data() + begin, count,
                      frame.laneInts(operand.reg));
      // Operations on elements read no arrays, so they cannot fail.
      frame.runLanes(count);
      for (auto [result, reg] : llvm::zip(outs, registers))
        if (result.type.isFloat())
          std::copy_n(frame.laneFloats(reg), count,
                      result.floats.data() + begin);
        else
          std::copy_n(frame.laneInts(reg), count, result.ints.data() + begin);
    }
  };
  run(results);
  if (!addsNoise(op) && llvm::any_of(arrays, [](const Array *array) {
        return hasNoise(*array);
      })) {
    std::vector<Array> disturbed;
    disturbed.reserve(operands.size());
    for (Operand &operand : operands)
      if (hasNoise(*operand.array)) {
        disturbed.push_back(disturb(*operand.array));
        operand.array = &disturbed.back();
      }
    llvm::SmallVector<Array> others(results);
    run(others);
    for (auto [result, other] : llvm::zip(results, others))
      if (result.type.isFloat())
        result.noise = measureNoise(result, other, arrays);
  }
  for (auto [result, array] : llvm::zip(op->getResults(), results))
    set(result, std::move(array));
  return Error::success();
}
