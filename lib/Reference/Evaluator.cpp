//===- Evaluator.cpp - Reference evaluation of functions ------------------===//

#include "attn/Reference/Evaluator.h"
#include "FunctionEvaluator.h"
#include "attn/Support/Half.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;

//===----------------------------------------------------------------------===//
// Conversions
//===----------------------------------------------------------------------===//

/// The type in memory of an element type, unless memory has none.
static std::optional<DType> getDType(ElementType type) {
  switch (type.kind) {
  case ElementType::F64:
    return DType::F64;
  case ElementType::F32:
    return DType::F32;
  case ElementType::F16:
    return DType::F16;
  case ElementType::BF16:
    return DType::BF16;
  case ElementType::Int:
    switch (type.width) {
    case 1:
      return DType::I1;
    case 8:
      return DType::I8;
    case 16:
      return DType::I16;
    case 32:
      return DType::I32;
    case 64:
      return DType::I64;
    default:
      return std::nullopt;
    }
  }
  llvm_unreachable("unknown kind of element type");
}

/// Without elements if only the shape is of use.
static ArrayPtr toArray(const Tensor &tensor, bool shapeOnly) {
  if (shapeOnly)
    return std::make_shared<Array>(
        Array::ofShape(getElementType(tensor.getDType()), tensor.getShape()));
  auto array = std::make_shared<Array>(getElementType(tensor.getDType()),
                                       tensor.getShape());
  int64_t size = tensor.getNumElements();
  if (array->type.isFloat())
    for (int64_t index = 0; index < size; ++index)
      array->floats[index] = tensor.getAsDouble(index);
  else
    for (int64_t index = 0; index < size; ++index)
      array->ints[index] = tensor.getAsInt(index);
  return array;
}

static std::string toString(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

Expected<Tensor> EvaluatedTensor::toTensor() const {
  Expected<Tensor> tensor = Tensor::create(dtype, shape);
  if (!tensor)
    return tensor.takeError();
  for (int64_t index = 0, size = getNumElements(); index < size; ++index)
    if (isFloat(dtype))
      tensor->setFromDouble(index, floats[index]);
    else
      tensor->setFromInt(index, ints[index]);
  return std::move(*tensor);
}

//===----------------------------------------------------------------------===//
// Evaluation
//===----------------------------------------------------------------------===//

/// Checks that a tensor can be an argument of this type.
static Error checkInput(mlir::func::FuncOp function, unsigned number,
                        const Tensor &input) {
  mlir::Type type = function.getArgumentTypes()[number];
  std::optional<ElementType> element = convertType(type);
  std::optional<DType> dtype = element ? getDType(*element) : std::nullopt;
  auto tensor = mlir::dyn_cast<mlir::RankedTensorType>(type);
  bool isScalar = type.isIntOrIndexOrFloat();
  if (dtype != input.getDType() || !(tensor || isScalar) ||
      failed(mlir::verifyCompatibleShape(tensor ? tensor.getShape()
                                                : llvm::ArrayRef<int64_t>(),
                                         input.getShape())))
    return makeError(function,
                     "expects input " + llvm::Twine(number) + " of type " +
                         toString(type) + ", but got " +
                         formatTensorType(input.getShape(), input.getDType()));
  return Error::success();
}

static Expected<FunctionEvaluator::Values>
evaluateFunction(mlir::func::FuncOp function,
                 llvm::ArrayRef<const Tensor *> inputs,
                 const EvaluatorOptions &options, AttentionObserver *observer) {
  if (inputs.size() != function.getNumArguments())
    return makeError(function,
                     "expects " + llvm::Twine(function.getNumArguments()) +
                         " inputs, but got " + llvm::Twine(inputs.size()));
  FunctionEvaluator::Values arguments;
  for (auto [number, input] : llvm::enumerate(inputs)) {
    if (Error error = checkInput(function, number, *input))
      return std::move(error);
    mlir::Value argument =
        function.isExternal() ? nullptr : function.getArgument(number);
    bool shapeOnly =
        observer && argument && isOnlyShapeUsed(argument, /*isEntry=*/true);
    arguments.push_back(toArray(*input, shapeOnly));
  }
  FunctionEvaluator evaluator(options, /*depth=*/0, observer);
  return evaluator.call(function, arguments);
}

Error attn::reference::observeAttentions(mlir::func::FuncOp function,
                                         llvm::ArrayRef<const Tensor *> inputs,
                                         const EvaluatorOptions &options,
                                         AttentionObserver &observer) {
  Expected<FunctionEvaluator::Values> results =
      evaluateFunction(function, inputs, options, &observer);
  return results ? Error::success() : results.takeError();
}

Expected<std::vector<EvaluatedTensor>>
Evaluator::evaluate(mlir::func::FuncOp function,
                    llvm::ArrayRef<const Tensor *> inputs) const {
  Expected<FunctionEvaluator::Values> results =
      evaluateFunction(function, inputs, options, /*observer=*/nullptr);
  if (!results)
    return results.takeError();

  std::vector<EvaluatedTensor> evaluated;
  for (auto [number, result] : llvm::enumerate(*results)) {
    std::optional<DType> dtype = getDType(result->type);
    if (!dtype)
      return makeError(function,
                       "expects results of an element type that tensors in "
                       "memory have, but got " +
                           toString(function.getResultTypes()[number]));
    evaluated.push_back({*dtype, result->shape, result->floats, result->ints,
                         result->evaluated, result->noise});
  }
  return evaluated;
}
