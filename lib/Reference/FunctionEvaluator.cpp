//===- FunctionEvaluator.cpp - Evaluate the body of a function ------------===//

#include "FunctionEvaluator.h"
#include "AttentionGrad.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace attn;
using namespace attn::reference;
using llvm::Error;
using llvm::Expected;
using mlir::Operation;

/// Calls deeper than this are taken for a recursion without end.
static constexpr unsigned kMaxDepth = 64;

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

Shape FunctionEvaluator::getIndices(
    llvm::ArrayRef<mlir::OpFoldResult> mixed) const {
  Shape result;
  for (mlir::OpFoldResult value : mixed) {
    if (auto attribute = mlir::dyn_cast<mlir::Attribute>(value))
      result.push_back(mlir::cast<mlir::IntegerAttr>(attribute).getInt());
    else
      result.push_back(getIndex(mlir::cast<mlir::Value>(value)));
  }
  return result;
}

Shape FunctionEvaluator::getIndices(mlir::ValueRange range) const {
  Shape result;
  for (mlir::Value value : range)
    result.push_back(getIndex(value));
  return result;
}

Expected<Array> FunctionEvaluator::makeArray(mlir::Value value,
                                             const Shape &shape) const {
  Operation *op = value.getDefiningOp();
  Expected<ElementType> type = convertType(value.getType(), op);
  if (!type)
    return type.takeError();
  auto tensor = mlir::cast<mlir::RankedTensorType>(value.getType());
  if (failed(mlir::verifyCompatibleShape(tensor.getShape(), shape)))
    return makeError(op, "expects a result of shape " +
                             formatShape(tensor.getShape()) + ", but got " +
                             formatShape(shape));
  // Without exceptions, sizes that are negative or do not fit memory must be
  // found before a vector is made of them. Any element takes eight bytes.
  Expected<Tensor> probe = Tensor::create(DType::F64, shape);
  if (!probe)
    return makeError(op, llvm::toString(probe.takeError()));
  return Array(*type, shape);
}

RegionCompiler::OuterValues FunctionEvaluator::getOuterValues() const {
  return [this](mlir::Value value) { return values.lookup(value); };
}

Error attn::reference::checkIndices(Operation *op,
                                    llvm::ArrayRef<int64_t> indices,
                                    llvm::ArrayRef<int64_t> shape) {
  for (auto [dim, index] : llvm::enumerate(indices))
    if (index < 0 || index >= shape[dim])
      return makeError(op, "expects an index from 0 to " +
                               llvm::Twine(shape[dim] - 1) + " in dimension " +
                               llvm::Twine(dim) + " of the tensor, of extent " +
                               llvm::Twine(shape[dim]) + ", but got " +
                               llvm::Twine(index));
  return Error::success();
}

//===----------------------------------------------------------------------===//
// Control flow
//===----------------------------------------------------------------------===//

Expected<FunctionEvaluator::Values>
FunctionEvaluator::call(mlir::func::FuncOp function,
                        llvm::ArrayRef<ArrayPtr> arguments) {
  if (function.isExternal())
    return makeError(function, "expects a function with a body, but got the "
                               "declaration of '" +
                                   function.getName() + "'");
  if (depth > kMaxDepth)
    return makeError(function, "expects calls to be at most " +
                                   llvm::Twine(kMaxDepth) +
                                   " deep, but got more");
  if (!function.getBody().hasOneBlock())
    return makeError(function,
                     "expects a function of one block, but got " +
                         llvm::Twine(function.getBody().getBlocks().size()));
  for (auto [argument, value] :
       llvm::zip_equal(function.getArguments(), arguments))
    values[argument] = value;
  return evaluateBlock(function.getBody().front());
}

Expected<FunctionEvaluator::Values>
FunctionEvaluator::evaluateBlock(mlir::Block &block) {
  for (Operation &op : block.without_terminator())
    if (Error error = evaluateOp(&op))
      return std::move(error);
  Values results;
  for (mlir::Value operand : block.getTerminator()->getOperands())
    results.push_back(get(operand));
  return results;
}

Error FunctionEvaluator::evaluateOp(Operation *op) {
  if (auto constant = mlir::dyn_cast<mlir::arith::ConstantOp>(op))
    return evaluateConstant(constant);
  if (mlir::isa<mlir::arith::ArithDialect, mlir::math::MathDialect,
                mlir::index::IndexDialect>(op->getDialect()))
    return evaluateElementwise(op);
  if (mlir::isa<mlir::tensor::TensorDialect>(op->getDialect()))
    return evaluateTensorOp(op);
  if (auto linalg = mlir::dyn_cast<mlir::linalg::LinalgOp>(op))
    return evaluateLinalg(linalg);
  return llvm::TypeSwitch<Operation *, Error>(op)
      .Case([&](mlir::func::CallOp op) { return evaluateCall(op); })
      .Case([&](mlir::scf::IfOp op) { return evaluateIf(op); })
      .Case([&](mlir::scf::ForOp op) { return evaluateFor(op); })
      .Case([&](mlir::scf::ForallOp op) { return evaluateForall(op); })
      .Case([&](mlir::attn::ReportOp op) { return evaluateReport(op); })
      .Case<mlir::attn::AttentionOp, mlir::attn::AttentionGradOp,
            mlir::attn::OnlineAttentionOp, mlir::attn::FinalizeOp>(
          [&](auto op) { return evaluateAttn(op); })
      .Default([](Operation *op) { return makeUnsupportedError(op); });
}

Error FunctionEvaluator::evaluateCall(mlir::func::CallOp op) {
  auto function =
      mlir::SymbolTable::lookupNearestSymbolFrom<mlir::func::FuncOp>(
          op, op.getCalleeAttr());
  if (!function)
    return makeUnsupportedError(op);
  Values arguments;
  for (mlir::Value operand : op.getOperands())
    arguments.push_back(get(operand));
  // What is returned to a caller may be used there, so all rows are needed.
  EvaluatorOptions calleeOptions = options;
  calleeOptions.maxRows = 0;
  FunctionEvaluator callee(calleeOptions, depth + 1, observer);
  Expected<Values> results = callee.call(function, arguments);
  if (!results)
    return results.takeError();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results))
    values[result] = value;
  return Error::success();
}

Error FunctionEvaluator::evaluateIf(mlir::scf::IfOp op) {
  mlir::Block *block =
      getIndex(op.getCondition()) ? op.thenBlock() : op.elseBlock();
  if (!block)
    return Error::success();
  Expected<Values> results = evaluateBlock(*block);
  if (!results)
    return results.takeError();
  for (auto [result, value] : llvm::zip_equal(op.getResults(), *results))
    values[result] = value;
  return Error::success();
}

Error FunctionEvaluator::evaluateFor(mlir::scf::ForOp op) {
  int64_t step = getIndex(op.getStep()), lower = getIndex(op.getLowerBound()),
          upper = getIndex(op.getUpperBound());
  if (step <= 0)
    return makeError(op,
                     "expects a positive step, but got " + llvm::Twine(step));
  ElementType type = *convertType(op.getInductionVar().getType());
  auto isBelow = [&](int64_t a, int64_t b) {
    return op.getUnsignedCmp() ? uint64_t(a) < uint64_t(b) : a < b;
  };
  Values carried;
  for (mlir::Value init : op.getInitArgs())
    carried.push_back(get(init));
  for (int64_t i = lower; isBelow(i, upper);) {
    Array induction(i);
    induction.type = type;
    set(op.getInductionVar(), std::move(induction));
    for (auto [argument, value] :
         llvm::zip_equal(op.getRegionIterArgs(), carried))
      values[argument] = value;
    Expected<Values> results = evaluateBlock(*op.getBody());
    if (!results)
      return results.takeError();
    carried = std::move(*results);
    // The last step may leave the range of the type.
    int64_t next = static_cast<int64_t>(uint64_t(i) + uint64_t(step));
    if (!isBelow(i, next))
      break;
    i = next;
  }
  for (auto [result, value] : llvm::zip_equal(op.getResults(), carried))
    values[result] = value;
  return Error::success();
}

Error FunctionEvaluator::evaluateReport(mlir::attn::ReportOp op) {
  if (!getIndex(op.getCondition()))
    return Error::success();
  return makeError(op, "reports error " + llvm::Twine(op.getSite()) + ", of " +
                           llvm::Twine(getIndex(op.getFirst())) + " and " +
                           llvm::Twine(getIndex(op.getSecond())));
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

/// Whether results are only returned by the function that is evaluated.
static bool isOnlyReturned(Operation *op) {
  return llvm::all_of(op->getUsers(), [](Operation *user) {
    return mlir::isa<mlir::func::ReturnOp>(user);
  });
}

Expected<bool> FunctionEvaluator::observe(Operation *op,
                                          const AttentionInputs &inputs,
                                          llvm::ArrayRef<const Array *> outs) {
  if (auto like = mlir::dyn_cast<mlir::attn::AttentionLikeOpInterface>(op))
    if (Error error = observer->observe(like, inputs))
      return std::move(error);
  bool isEntry = depth == 0;
  if (llvm::any_of(op->getResults(), [&](mlir::Value result) {
        return isObservable(result, isEntry);
      }))
    return false;
  for (auto [result, out] : llvm::zip_equal(op->getResults(), outs)) {
    set(result, isOnlyShapeUsed(result, isEntry)
                    ? Array::ofShape(out->type, out->shape)
                    : Array(out->type, out->shape));
  }
  return true;
}

Error FunctionEvaluator::evaluateAttn(Operation *op) {
  llvm::SmallVector<const Array *> outs;
  for (mlir::Value out :
       mlir::cast<mlir::DestinationStyleOpInterface>(op).getDpsInits())
    outs.push_back(get(out).get());

  AttentionInputs inputs;
  if (auto like = mlir::dyn_cast<mlir::attn::AttentionLikeOpInterface>(op)) {
    inputs.query = get(like.getQuery()).get();
    inputs.key = get(like.getKey()).get();
    inputs.value = get(like.getValue()).get();
    for (mlir::Value capture : like.getCaptures())
      inputs.captures.push_back(get(capture).get());
    for (mlir::Value operand : like.getSparsityOperands())
      inputs.sparsity.push_back(get(operand).get());
    for (auto [number, offset] : llvm::enumerate(like.getOffsets()))
      inputs.offsets[number] = getIndex(offset);
  }
  if (observer) {
    Expected<bool> isDone = observe(op, inputs, outs);
    if (!isDone)
      return isDone.takeError();
    if (*isDone)
      return Error::success();
  }
  EvaluatorOptions opOptions = options;
  if (!isOnlyReturned(op))
    opOptions.maxRows = 0;
  Expected<Arrays> results =
      llvm::TypeSwitch<Operation *, Expected<Arrays>>(op)
          .Case([&](mlir::attn::AttentionOp op) {
            return evaluateAttention(op, inputs, outs, opOptions);
          })
          .Case([&](mlir::attn::AttentionGradOp op) {
            GradientInputs gradient;
            gradient.attention = inputs;
            gradient.output = get(op.getOutput()).get();
            gradient.lse = get(op.getLse()).get();
            gradient.outputGrad = get(op.getOutputGrad()).get();
            if (op.getLseGrad())
              gradient.lseGrad = get(op.getLseGrad()).get();
            return evaluateAttentionGrad(op, gradient, outs, opOptions);
          })
          .Case([&](mlir::attn::OnlineAttentionOp op) {
            return evaluateOnlineAttention(op, inputs, outs, opOptions);
          })
          .Default([&](Operation *op) {
            auto finalize = mlir::cast<mlir::attn::FinalizeOp>(op);
            return evaluateFinalize(finalize, *get(finalize.getAcc()),
                                    *get(finalize.getMax()),
                                    *get(finalize.getSum()), outs, opOptions);
          });
  if (!results)
    return results.takeError();
  for (auto [result, value] : llvm::zip_equal(op->getResults(), *results))
    values[result] = value;
  return Error::success();
}
