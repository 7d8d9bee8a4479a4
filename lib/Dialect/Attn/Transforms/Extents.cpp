//===- Extents.cpp - Extents of tensors from those of arguments -----------===//

#include "Extents.h"
#include "TotalDivision.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/DestinationStyleOpInterface.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"

using namespace mlir;
using namespace mlir::attn;

OpOperand *mlir::attn::getDestination(Value value) {
  auto result = dyn_cast<OpResult>(value);
  if (!result)
    return nullptr;
  if (auto op = dyn_cast<DestinationStyleOpInterface>(result.getOwner()))
    return op.getTiedOpOperand(result);
  if (auto loop = dyn_cast<scf::ForOp>(result.getOwner()))
    return &loop.getInitArgsMutable()[result.getResultNumber()];
  if (auto loop = dyn_cast<scf::ForallOp>(result.getOwner()))
    return loop.getTiedOpOperand(result);
  if (auto cast = dyn_cast<tensor::CastOp>(result.getOwner()))
    return &cast.getSourceMutable();
  return nullptr;
}

/// The operand that must not be 0, or null.
static OpOperand *getDivisor(Operation *op) {
  if (isIntegerDivision(op) ||
      isa<index::DivUOp, index::DivSOp, index::CeilDivUOp, index::CeilDivSOp,
          index::FloorDivSOp, index::RemUOp, index::RemSOp>(op))
    return &op->getOpOperand(1);
  return nullptr;
}

Extents::Extents(func::FuncOp source, func::FuncOp target)
    : source(source), target(target),
      builder(OpBuilder::atBlockEnd(&target.getFunctionBody().front())),
      culprit(source.getLoc()) {}

Value Extents::emit(OpFoldResult value) {
  if (std::optional<int64_t> constant = getConstantIntValue(value)) {
    auto dynamic = dyn_cast<Value>(value);
    if (!dynamic || dynamic.getType().isIndex()) {
      Value &result = constants[*constant];
      if (!result)
        result =
            arith::ConstantIndexOp::create(builder, target.getLoc(), *constant);
      return result;
    }
  }
  auto scalar = cast<Value>(value);
  if (Value result = mapping.lookupOrNull(scalar))
    return result;
  if (auto argument = dyn_cast<BlockArgument>(scalar))
    return fail(argument.getLoc());
  Operation *op = scalar.getDefiningOp();
  if (auto dim = dyn_cast<tensor::DimOp>(op)) {
    std::optional<int64_t> number = dim.getConstantIndex();
    return number ? emitExtent(dim.getSource(), *number) : fail(op->getLoc());
  }
  return emitOperation(op) ? mapping.lookup(scalar) : Value();
}

/// Clones an operation on integers, and what it depends on.
Value Extents::emitOperation(Operation *op) {
  auto isInteger = [](Type type) { return type.isIntOrIndex(); };
  OpOperand *divisor = getDivisor(op);
  if (op->getNumRegions() != 0 || !isMemoryEffectFree(op) ||
      (!divisor && !isSpeculatable(op)) ||
      !llvm::all_of(op->getOperandTypes(), isInteger) ||
      !llvm::all_of(op->getResultTypes(), isInteger))
    return fail(op->getLoc());
  for (Value operand : op->getOperands()) {
    Value value = emit(operand);
    if (!value)
      return {};
    mapping.map(operand, value);
  }
  Operation *clone = builder.clone(*op, mapping);
  if (divisor && !isSpeculatable(op)) {
    Value value = mapping.lookup(divisor->get());
    divisors.push_back({value, op});
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPoint(clone);
    Location loc = op->getLoc();
    auto constant = [&](int64_t number) -> Value {
      return arith::ConstantOp::create(
          builder, loc, builder.getIntegerAttr(value.getType(), number));
    };
    Value isZero = arith::CmpIOp::create(builder, loc, arith::CmpIPredicate::eq,
                                         value, constant(0));
    clone->setOperand(
        divisor->getOperandNumber(),
        arith::SelectOp::create(builder, loc, isZero, constant(1), value));
  }
  return clone->getResult(0);
}

Value Extents::emitExtent(Value tensor, int64_t dim) {
  auto type = dyn_cast<RankedTensorType>(tensor.getType());
  if (!type || dim < 0 || dim >= type.getRank())
    return fail(tensor.getLoc());
  if (!type.isDynamicDim(dim))
    return emit(builder.getIndexAttr(type.getDimSize(dim)));
  if (Value result = known.lookup({tensor, dim}))
    return result;
  Value result;
  if (auto opResult = dyn_cast<OpResult>(tensor)) {
    result = emitResultExtent(opResult, dim);
  } else {
    auto argument = cast<BlockArgument>(tensor);
    Block &entry = source.getFunctionBody().front();
    if (argument.getOwner() != &entry)
      return emitArgumentExtent(argument, dim);
    Value number = emit(builder.getIndexAttr(dim));
    result = tensor::DimOp::create(builder, target.getLoc(),
                                   target.getArgument(argument.getArgNumber()),
                                   number);
  }
  if (result)
    known[{tensor, dim}] = result;
  return result;
}

/// What a loop carries has the same extents in all iterations: those that it
/// starts with, if an iteration that gets them gives them.
Value Extents::emitCarriedExtent(LoopLikeOpInterface loop, unsigned number,
                                 int64_t dim) {
  Value first = emitExtent(loop.getInits()[number], dim);
  if (!first)
    return {};
  Value carried = loop.getRegionIterArgs()[number];
  if (known.contains({carried, dim}))
    return first;
  // What an iteration gives is asked as if it were so, and forgotten with all
  // that follows from it if it is not.
  auto knownBefore = known;
  IRMapping mappingBefore = mapping;
  size_t numEqualities = equalities.size(), numDivisors = divisors.size();
  known[{carried, dim}] = first;
  if (emitSame(loop, first, emitExtent(loop.getYieldedValues()[number], dim)))
    return first;
  known = std::move(knownBefore);
  mapping = std::move(mappingBefore);
  equalities.truncate(numEqualities);
  divisors.truncate(numDivisors);
  return {};
}

/// Of an argument of a block in the function.
Value Extents::emitArgumentExtent(BlockArgument argument, int64_t dim) {
  Operation *parent = argument.getOwner()->getParentOp();
  unsigned number = argument.getArgNumber();
  if (auto loop = dyn_cast<scf::ForOp>(parent))
    return emitCarriedExtent(loop, number - loop.getNumInductionVars(), dim);
  auto loop = dyn_cast<scf::WhileOp>(parent);
  if (!loop)
    return fail(argument.getLoc());
  return argument.getOwner() == loop.getBeforeBody()
             ? emitCarriedExtent(loop, number, dim)
             : emitExtent(loop.getConditionOp().getArgs()[number], dim);
}

Value Extents::emitSame(Operation *op, Value a, Value b) {
  if (a && b && a != b)
    equalities.push_back({a, b, op});
  return b ? a : Value();
}

Value Extents::emitResultExtent(OpResult result, int64_t dim) {
  Operation *op = result.getOwner();
  unsigned number = result.getResultNumber();
  if (auto loop = dyn_cast<scf::ForOp>(op))
    return emitCarriedExtent(loop, number, dim);
  if (auto loop = dyn_cast<scf::WhileOp>(op))
    return emitExtent(loop.getConditionOp().getArgs()[number], dim);
  if (auto branch = dyn_cast<scf::IfOp>(op)) {
    Value first = emitExtent(branch.thenYield().getOperand(number), dim);
    return first ? emitSame(
                       op, first,
                       emitExtent(branch.elseYield().getOperand(number), dim))
                 : Value();
  }
  if (OpOperand *destination = getDestination(result))
    return emitExtent(destination->get(), dim);
  // Sums of gradients, say; a condition may be a scalar.
  if (OpTrait::hasElementwiseMappableTraits(op))
    return emitExtent(op->getOperands().back(), dim);
  if (!isa<ReifyRankedShapedTypeOpInterface>(op))
    return fail(op->getLoc());
  OpBuilder scratch(op);
  FailureOr<OpFoldResult> size = reifyDimOfResult(scratch, op, number, dim);
  if (failed(size))
    return fail(op->getLoc());
  return emit(*size);
}
