//===- DifferentiateScore.cpp - The adjoint of a score region -------------===//
//
// The adjoint region computes what the score does once more and then goes
// through it in reverse. A branch is taken in reverse as it was: the reverse of
// a branch computes it again.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Differentiate.h"
#include "RegionLoops.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace mlir::attn;

/// Finds the values that gradients flow through.
static void propagateThrough(Block &block, DenseSet<Value> &active) {
  for (Operation &op : block.without_terminator()) {
    auto branch = dyn_cast<scf::IfOp>(op);
    if (!branch) {
      propagateActivity(op, active);
      continue;
    }
    for (Region &region : branch->getRegions()) {
      if (region.empty())
        continue;
      propagateThrough(region.front(), active);
      for (auto [result, yielded] :
           llvm::zip(branch.getResults(),
                     region.front().getTerminator()->getOperands()))
        if (active.contains(yielded))
          active.insert(result);
    }
  }
}

static LogicalResult reverseBlock(Block &block, Cotangents &cotangents,
                                  IRMapping &primals, AttentionGradOp op,
                                  DenseSet<Value> &active);

/// The values from outside of a branch, other than tensors, whose gradients its
/// blocks add to.
static SetVector<Value> getFreeValues(scf::IfOp branch,
                                      const DenseSet<Value> &active) {
  SetVector<Value> result;
  branch->walk([&](Operation *inner) {
    for (Value operand : inner->getOperands())
      if (inner != branch && active.contains(operand) &&
          !isa<TensorType>(operand.getType()) &&
          !branch->isAncestor(operand.getParentBlock()->getParentOp()))
        result.insert(operand);
  });
  return result;
}

static LogicalResult reverseIf(scf::IfOp branch, Cotangents &cotangents,
                               IRMapping &primals, AttentionGradOp op,
                               DenseSet<Value> &active) {
  OpBuilder &builder = cotangents.builder;
  Location loc = branch.getLoc();
  FloatType accType =
      cast<AttentionLikeOpInterface>(op.getOperation()).getAccumulatorType();
  SetVector<Value> values = getFreeValues(branch, active);
  SmallVector<Type> types;
  for (Value value : values)
    types.push_back(cotangents.getType(value.getType()));
  auto reversed = scf::IfOp::create(builder, loc, types,
                                    primals.lookup(branch.getCondition()),
                                    /*withElseRegion=*/true);
  for (auto [from, to] :
       llvm::zip_equal(branch->getRegions(), reversed->getRegions())) {
    OpBuilder::InsertionGuard guard(builder);
    Block &block = to.front();
    if (!block.empty())
      block.getTerminator()->erase();
    builder.setInsertionPointToEnd(&block);
    IRMapping inner = primals;
    Cotangents gradients(builder, inner, accType, active);
    if (!from.empty()) {
      for (Operation &primal : from.front().without_terminator())
        builder.clone(primal, inner);
      for (auto [result, yielded] :
           llvm::zip(branch.getResults(),
                     from.front().getTerminator()->getOperands()))
        if (Cotangent cotangent = cotangents.get(result); cotangent.value)
          gradients.add(loc, yielded, cotangent);
      if (failed(reverseBlock(from.front(), gradients, inner, op, active)))
        return failure();
    }
    SmallVector<Value> yielded;
    for (auto [value, type] : llvm::zip_equal(values, types)) {
      Value gradient = gradients.get(value).value;
      yielded.push_back(gradient ? gradient
                                 : arith::ConstantOp::create(
                                       builder, loc, builder.getZeroAttr(type))
                                       .getResult());
    }
    scf::YieldOp::create(builder, loc, yielded);
  }
  for (auto [value, result] : llvm::zip_equal(values, reversed.getResults()))
    cotangents.add(loc, value, {result, /*mayBeDead=*/true});
  return success();
}

/// Adds the gradient with respect to an element of a capture.
static void contribute(OpBuilder &builder, Location loc, AttentionGradOp op,
                       Value gradient, Value capture, ValueRange indices) {
  FloatType accType =
      cast<AttentionLikeOpInterface>(op.getOperation()).getAccumulatorType();
  ContributeOp::create(builder, loc,
                       convertFloats(builder, loc, gradient, accType), capture,
                       indices);
}

static LogicalResult reverseBlock(Block &block, Cotangents &cotangents,
                                  IRMapping &primals, AttentionGradOp op,
                                  DenseSet<Value> &active) {
  for (Operation &primal : llvm::reverse(block.without_terminator())) {
    if (!cotangents.has(primal))
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(primal)) {
      if (failed(reverseIf(branch, cotangents, primals, op, active)))
        return failure();
      continue;
    }
    auto extract = dyn_cast<tensor::ExtractOp>(primal);
    if (!extract) {
      if (failed(cotangents.reverseElementwise(primal)))
        return failure();
      continue;
    }
    SmallVector<Value> indices;
    for (Value index : extract.getIndices())
      indices.push_back(primals.lookup(index));
    contribute(cotangents.builder, extract.getLoc(), op,
               cotangents.get(extract).value,
               primals.lookup(extract.getTensor()), indices);
  }
  return success();
}

/// Loops that run more operations have no derivative.
static constexpr int64_t kLongestReversed = 4096;

LogicalResult mlir::attn::differentiateScore(AttentionGradOp op) {
  if (op.getScore().empty())
    return success();
  AttentionLikeOpInterface attention = op;
  FloatType accType = attention.getAccumulatorType();
  Location loc = op.getLoc();
  // Loops are reversed as what they run.
  OwningOpRef<AttentionGradOp> copy(cast<AttentionGradOp>(op->clone()));
  Region &unrolled = copy->getScore();
  unrollLoops(unrolled, kLongestReversed);
  WalkResult longLoop = unrolled.walk([&](scf::ForOp loop) {
    InFlightDiagnostic diagnostic =
        loop.emitError("expects a loop that is differentiated to run ")
        << kLongestReversed << " operations at most, but got "
        << getTripCount(loop) << " iterations";
    diagnostic.attachNote(loc) << "in this attention";
    return WalkResult::interrupt();
  });
  if (longLoop.wasInterrupted())
    return failure();
  Block &score = unrolled.front();
  SmallVector<Type> types(score.getArgumentTypes());
  types.insert(types.begin() + 1, accType);
  OpBuilder builder(op.getContext());
  builder.createBlock(&op.getAdjoint(), {}, types,
                      SmallVector<Location>(types.size(), loc));
  Block &adjoint = op.getAdjoint().front();

  IRMapping primals;
  for (BlockArgument argument : score.getArguments()) {
    unsigned number = argument.getArgNumber();
    primals.map(argument, adjoint.getArgument(number + (number != 0)));
  }
  for (Operation &primal : score.without_terminator())
    builder.clone(primal, primals);

  DenseSet<Value> active;
  if (op.getOutOf(kGradQuery) || op.getOutOf(kGradKey))
    active.insert(score.getArgument(0));
  for (int64_t input : op.getWrt())
    if (input >= kGradCapture)
      active.insert(score.getArgument(kNumScoreArgs + input - kGradCapture));
  propagateThrough(score, active);

  Operation *yield = score.getTerminator();
  if (yield->getNumOperands() > 1 && active.contains(yield->getOperand(1))) {
    Value weight = yield->getOperand(1);
    InFlightDiagnostic diagnostic =
        mlir::emitError(weight.getLoc())
        << "the weight of a probability has no gradient";
    diagnostic.attachNote(loc) << "in this attention";
    return diagnostic;
  }
  Cotangents cotangents(builder, primals, accType, active);
  cotangents.add(loc, score.getTerminator()->getOperand(0),
                 {adjoint.getArgument(1)});
  if (failed(reverseBlock(score, cotangents, primals, op, active)))
    return failure();
  for (BlockArgument argument :
       score.getArguments().drop_front(kNumScoreArgs)) {
    Value gradient = cotangents.get(argument).value;
    if (gradient)
      contribute(builder, loc, op, gradient, primals.lookup(argument), {});
  }
  Value dx = cotangents.get(score.getArgument(0)).value;
  if (!dx)
    dx = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(accType));
  YieldOp::create(builder, loc, dx);
  cleanUpRegions(attention);
  return success();
}
