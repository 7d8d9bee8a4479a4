//===- DifferentiateStructured.cpp - Operations of linalg in reverse ------===//
//
// What the body adds to the gradient of an input is summed over the loops that
// the input does not have: by an operation of linalg for each input, whose body
// computes once more what the body did and goes through it in reverse.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Differentiate.h"
#include "Filled.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Transforms/RegionUtils.h"

using namespace mlir;
using namespace mlir::attn;

static bool isOfFloats(Value value) {
  return isa<FloatType>(getElementTypeOrSelf(value.getType()));
}

/// The sum that a body yields, if it adds something to what the result has.
static arith::AddFOp matchSum(linalg::LinalgOp op, OpOperand &init) {
  BlockArgument sum = op.getMatchingBlockArgument(&init);
  Value yielded = op.getBlock()->getTerminator()->getOperand(
      op.getTiedOpResult(&init).getResultNumber());
  auto add = yielded.getDefiningOp<arith::AddFOp>();
  if (!add || !sum.hasOneUse() ||
      (add.getLhs() == sum) == (add.getRhs() == sum))
    return {};
  return add;
}

namespace {
/// The gradients of the inputs of one operation.
class StructuredAdjoint {
public:
  StructuredAdjoint(linalg::LinalgOp op, Cotangents &cotangents)
      : op(op), cotangents(cotangents), builder(cotangents.builder),
        loc(op.getLoc()) {}

  LogicalResult run();

private:
  LogicalResult check();
  LogicalResult emitInput(OpOperand &input);
  FailureOr<Value> emitBody(Block &body, OpOperand &input);

  linalg::LinalgOp op;
  Cotangents &cotangents;
  OpBuilder &builder;
  Location loc;
  /// Operands that the body reads, and gradients of results, with their maps.
  SmallVector<OpOperand *> read;
  SmallVector<OpResult> results;
  bool mayBeDead = false;
};
} // namespace

LogicalResult StructuredAdjoint::check() {
  auto fail = [&] {
    return op->emitError("'") << op->getName() << "' has no derivative";
  };
  if (!op.hasPureTensorSemantics())
    return fail();
  for (OpOperand &init : op.getDpsInitsMutable()) {
    AffineMap map = op.getMatchingIndexingMap(&init);
    bool hasSums = op.getNumReductionLoops() != 0;
    if (!map.isProjectedPermutation() ||
        map.getNumResults() != op.getNumParallelLoops() ||
        (hasSums && !matchSum(op, init)))
      return fail();
  }
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  if (llvm::any_of(outside,
                   [&](Value value) { return cotangents.isActive(value); }))
    return op->emitError("'")
           << op->getName()
           << "' has no derivative where its body reads a tensor from outside "
              "that a gradient is wanted of; make that an input";
  return success();
}

/// What the body of `op` adds to the gradient of an input.
FailureOr<Value> StructuredAdjoint::emitBody(Block &body, OpOperand &input) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(&body);
  IRMapping primals;
  DenseSet<Value> active;
  for (auto [number, operand] : llvm::enumerate(read)) {
    BlockArgument argument = op.getMatchingBlockArgument(operand);
    primals.map(argument, body.getArgument(number));
    if (operand == &input)
      active.insert(argument);
  }
  Block &primal = *op.getBlock();
  for (Operation &inner : primal.without_terminator())
    propagateActivity(inner, active);
  // What is added to has the gradient of the result, whatever it is.
  for (OpOperand &init : op.getDpsInitsMutable()) {
    BlockArgument sum = op.getMatchingBlockArgument(&init);
    if (primals.contains(sum) || sum.use_empty())
      continue;
    primals.map(sum, arith::ConstantOp::create(
                         builder, loc, builder.getZeroAttr(sum.getType())));
  }
  for (Operation &inner : primal.without_terminator())
    builder.clone(inner, primals);
  Cotangents gradients(builder, primals, builder.getF32Type(), active);
  for (auto [number, result] : llvm::enumerate(results))
    gradients.add(loc,
                  primal.getTerminator()->getOperand(result.getResultNumber()),
                  {body.getArgument(read.size() + number),
                   cotangents.get(result).mayBeDead});
  for (Operation &inner : llvm::reverse(primal.without_terminator()))
    if (gradients.has(inner) && failed(gradients.reverseElementwise(inner)))
      return failure();
  Cotangent gradient = gradients.get(op.getMatchingBlockArgument(&input));
  mayBeDead |= gradient.mayBeDead;
  Type type = body.getArguments().back().getType();
  if (!gradient.value)
    return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type))
        .getResult();
  return convertFloats(builder, loc, gradient.value, type);
}

LogicalResult StructuredAdjoint::emitInput(OpOperand &input) {
  AffineMap map = op.getMatchingIndexingMap(&input);
  if (!map.isProjectedPermutation())
    return op->emitError("'") << op->getName() << "' has no derivative";
  // Sums have the elements that they are computed with.
  bool hasSums = map.getNumResults() != op.getNumLoops();
  Type element = getElementTypeOrSelf(input.get().getType());
  if (hasSums && element.getIntOrFloatBitWidth() < 32)
    element = builder.getF32Type();
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  for (OpOperand *operand : read) {
    inputs.push_back(cotangents.getPrimal(operand->get()));
    maps.push_back(op.getMatchingIndexingMap(operand));
  }
  for (OpResult result : results) {
    inputs.push_back(cotangents.get(result).value);
    maps.push_back(op.getIndexingMapMatchingResult(result));
  }
  maps.push_back(map);
  SmallVector<utils::IteratorType> iterators(op.getNumLoops(),
                                             utils::IteratorType::reduction);
  for (AffineExpr expr : map.getResults())
    iterators[cast<AffineDimExpr>(expr).getPosition()] =
        utils::IteratorType::parallel;
  SmallVector<OpFoldResult> sizes;
  if (isa<RankedTensorType>(input.get().getType()))
    sizes = tensor::getMixedSizes(builder, loc, input.get());
  Value out = hasSums ? createFilled(builder, loc, sizes, element, 0)
                      : tensor::EmptyOp::create(builder, loc, sizes, element);
  bool hasFailed = false;
  auto gradient = linalg::GenericOp::create(
      builder, loc, TypeRange(out.getType()), inputs, out, maps, iterators,
      [&](OpBuilder &inner, Location, ValueRange arguments) {
        Block &body = *inner.getInsertionBlock();
        FailureOr<Value> value = emitBody(body, input);
        hasFailed = failed(value);
        if (hasFailed)
          return;
        OpBuilder::InsertionGuard guard(inner);
        inner.setInsertionPointToEnd(&body);
        if (hasSums)
          value = arith::AddFOp::create(inner, loc, arguments.back(), *value)
                      .getResult();
        linalg::YieldOp::create(inner, loc, *value);
      });
  if (hasFailed)
    return failure();
  Value value = gradient.getResult(0);
  if (!isa<TensorType>(input.get().getType()))
    value = tensor::ExtractOp::create(builder, loc, value, ValueRange());
  cotangents.add(loc, input.get(), {value, mayBeDead});
  return success();
}

LogicalResult StructuredAdjoint::run() {
  if (failed(check()))
    return failure();
  for (OpResult result : op->getResults())
    if (cotangents.get(result).value)
      results.push_back(result);
  bool hasSums = op.getNumReductionLoops() != 0;
  for (OpOperand &operand : op->getOpOperands()) {
    bool isInit = op.isDpsInit(&operand);
    // A sum is not asked for what it was.
    if (!op.getMatchingBlockArgument(&operand).use_empty() &&
        !(isInit && hasSums))
      read.push_back(&operand);
    if (isInit && hasSums)
      if (Cotangent gradient = cotangents.get(op.getTiedOpResult(&operand));
          gradient.value)
        cotangents.add(loc, operand.get(), gradient);
  }
  for (OpOperand *operand : SmallVector<OpOperand *>(read))
    if (isOfFloats(operand->get()) && cotangents.isActive(operand->get()) &&
        failed(emitInput(*operand)))
      return failure();
  return success();
}

static void addScalarOperands(linalg::GenericOp op) {
  SetVector<Value> outside;
  getUsedValuesDefinedAbove(op->getRegions(), outside);
  outside.remove_if([](Value value) {
    return !isa<FloatType>(value.getType()) ||
           matchPattern(value, m_Constant());
  });
  if (outside.empty())
    return;
  OpBuilder builder(op);
  SmallVector<Value> inputs(op.getInputs());
  SmallVector<AffineMap> maps = op.getIndexingMapsArray();
  unsigned first = inputs.size();
  auto ofNoLoop = AffineMap::get(op.getNumLoops(), 0, op.getContext());
  maps.insert(maps.begin() + first, outside.size(), ofNoLoop);
  llvm::append_range(inputs, outside);
  auto result = linalg::GenericOp::create(
      builder, op.getLoc(), op.getResultTypes(), inputs, op.getOutputs(), maps,
      op.getIteratorTypesArray());
  result.getRegion().takeBody(op.getRegion());
  Block &body = result.getRegion().front();
  for (auto [number, known] : llvm::enumerate(outside)) {
    Value value = known;
    Value argument = body.insertArgument(static_cast<unsigned>(first + number),
                                         value.getType(), value.getLoc());
    value.replaceUsesWithIf(argument, [&](OpOperand &use) {
      return result.getRegion().isAncestor(use.getOwner()->getParentRegion());
    });
  }
  op->replaceAllUsesWith(result->getResults());
  op->erase();
}

void mlir::attn::addScalarOperands(Operation *root) {
  SmallVector<linalg::GenericOp> ops;
  root->walk([&](linalg::GenericOp op) { ops.push_back(op); });
  for (linalg::GenericOp op : ops)
    ::addScalarOperands(op);
}

LogicalResult mlir::attn::reverseStructured(linalg::LinalgOp op,
                                            Cotangents &cotangents) {
  return StructuredAdjoint(op, cotangents).run();
}
