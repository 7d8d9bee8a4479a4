//===- GradientPairs.cpp - Gradients of single pairs ----------------------===//

#include "GradientPairs.h"
#include "Adjoints.h"
#include "GradientLoop.h"
#include "RegionSlice.h"
#include "TotalDivision.h"
#include "attn/Dialect/ScalarBuilder.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

/// Below it, exp of a number is 0 or no normal f32.
static constexpr double kLeastExponent = -87.33;

void GradientPair::mapArguments(Region &region, ValueRange leading,
                                IRMapping &mapping) {
  SmallVector<Value> arguments(leading);
  llvm::append_range(arguments, seen);
  llvm::append_range(arguments, tensors.captures);
  mapping.map(region.getArguments(), arguments);
}

/// A copy of an operation of a region, without what it adds to gradients, and
/// with divisions that are total.
static void cloneWithoutSums(OpBuilder &builder, Operation &op,
                             IRMapping &mapping) {
  if (isa<ContributeOp>(op))
    return;
  Operation *copy = builder.clone(op, mapping);
  copy->walk([](ContributeOp contribution) { contribution->erase(); });
  mapping.map(op.getResults(), makeDivisionsTotal(copy)->getResults());
}

/// What a region yields, without what it adds to gradients.
SmallVector<Value> GradientPair::inlineRegion(Region &region,
                                              ValueRange leading,
                                              IRMapping &mapping) {
  mapArguments(region, leading, mapping);
  for (Operation &inner : region.front().without_terminator())
    cloneWithoutSums(builder, inner, mapping);
  SmallVector<Value> results;
  for (Value value : region.front().getTerminator()->getOperands())
    results.push_back(mapping.lookupOrDefault(value));
  return results;
}

Value GradientPair::extract(Value tensor, ArrayRef<Value> at) {
  return convertFloats(builder, loc,
                       tensor::ExtractOp::create(builder, loc, tensor, at),
                       accType);
}

Value GradientPair::emitProduct(Value queries, unsigned queryLayout, Value keys,
                                unsigned keyLayout) {
  ScalarBuilder b(loc, builder);
  Layout ofQuery = attention.getLayout(queryLayout),
         ofKey = attention.getLayout(keyLayout);
  int64_t length =
      cast<RankedTensorType>(queries.getType()).getDimSize(ofQuery.d);
  auto loop = scf::ForOp::create(b, b.index(0), b.index(length), b.index(1),
                                 ValueRange{constant(0)});
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  b.setInsertionPointToEnd(loop.getBody());
  Value column = loop.getInductionVar();
  Value left =
      extract(queries, ofQuery.arrange(place[0], place[1], place[2], column));
  Value right =
      extract(keys, ofKey.arrange(keyBatch, keyHead, place[3], column));
  scf::YieldOp::create(b, b.add(loop.getRegionIterArg(0), b.mul(left, right)));
  return loop.getResult(0);
}

Value GradientPair::emitMask() {
  IRMapping mapping;
  return inlineRegion(op.getMask(), {}, mapping)[0];
}

GradientPair::Score GradientPair::emitScore(Value x) {
  Score result = {x, {}, {}};
  if (!op.getScore().empty()) {
    IRMapping mapping;
    SmallVector<Value> yielded = inlineRegion(op.getScore(), x, mapping);
    result.score = yielded[0];
    if (yielded.size() > 1)
      result.weight = yielded[1];
  }
  ScalarBuilder b(loc, builder);
  result.exponent =
      b.sub(result.score, emitShift(builder, loc, extractOfRow(tensors.lse)));
  return result;
}

Value GradientPair::emitFactor(Value weight) {
  ScalarBuilder b(loc, builder);
  Value factor = emitProduct(tensors.outputGrad, 3, tensors.value, 2);
  if (weight)
    factor = b.mul(weight, factor);
  return b.sub(factor, extractOfRow(tensors.delta));
}

Value GradientPair::emitAdjoint(Value x, Value ds) {
  if (op.getAdjoint().empty())
    return ds;
  IRMapping mapping;
  return inlineRegion(op.getAdjoint(), {x, ds}, mapping)[0];
}

bool mlir::attn::haveIndicesOfPair(ContributeOp contribution) {
  auto op = dyn_cast<AttentionGradOp>(contribution->getParentOp());
  if (!op)
    return false;
  Region &adjoint = op.getAdjoint();
  return llvm::none_of(contribution.getIndices(), [&](Value index) {
    SmallVector<Operation *> needed = getRegionSlice(adjoint, index);
    return llvm::any_of(
        ArrayRef{kAdjointScore, kAdjointGradient}, [&](unsigned number) {
          return llvm::any_of(
              adjoint.getArgument(number).getUsers(), [&](Operation *user) {
                return llvm::is_contained(
                    needed, adjoint.findAncestorOpInRegion(*user));
              });
        });
  });
}

SmallVector<Value> GradientPair::emitIndices(ContributeOp contribution) {
  Region &adjoint = op.getAdjoint();
  IRMapping mapping;
  mapArguments(adjoint, {constant(0), constant(0)}, mapping);
  SmallVector<Value> indices;
  for (Value index : contribution.getIndices()) {
    for (Operation *needed : getRegionSlice(adjoint, index, [&](Value value) {
           return mapping.contains(value);
         }))
      cloneWithoutSums(builder, *needed, mapping);
    indices.push_back(mapping.lookup(index));
  }
  return indices;
}

/// Copies the operations of a block of the adjoint, with loops and branches
/// around the contribution that carry the sum. Returns what it becomes.
Value GradientPair::emitBlock(Block &block, IRMapping &mapping,
                              ContributeOp contribution, IsElement isElement,
                              Value sum) {
  auto getMapped = [&](Value value) { return mapping.lookupOrDefault(value); };
  auto emitInner = [&](Block &from, Block *to, Value before) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToEnd(to);
    Value after = emitBlock(from, mapping, contribution, isElement, before);
    SmallVector<Value> yielded =
        llvm::map_to_vector(from.getTerminator()->getOperands(), getMapped);
    yielded.push_back(after);
    scf::YieldOp::create(builder, loc, yielded);
  };
  for (Operation &inner : block.without_terminator()) {
    if (&inner == contribution) {
      Value value = getMapped(contribution.getValue());
      if (Value condition = isElement(
              llvm::map_to_vector(contribution.getIndices(), getMapped)))
        value = arith::SelectOp::create(builder, loc, condition, value,
                                        constant(0));
      sum = arith::AddFOp::create(builder, loc, sum, value);
      continue;
    }
    if (!inner.isProperAncestor(contribution)) {
      cloneWithoutSums(builder, inner, mapping);
      continue;
    }
    Operation *copy;
    if (auto loop = dyn_cast<scf::ForOp>(inner)) {
      SmallVector<Value> inits =
          llvm::map_to_vector(loop.getInitArgs(), getMapped);
      inits.push_back(sum);
      auto next = scf::ForOp::create(
          builder, loc, getMapped(loop.getLowerBound()),
          getMapped(loop.getUpperBound()), getMapped(loop.getStep()), inits);
      mapping.map(loop.getInductionVar(), next.getInductionVar());
      for (auto [from, to] : llvm::zip(loop.getRegionIterArgs(),
                                       next.getRegionIterArgs().drop_back()))
        mapping.map(from, to);
      emitInner(*loop.getBody(), next.getBody(),
                next.getRegionIterArgs().back());
      copy = next;
    } else {
      auto branch = cast<scf::IfOp>(inner);
      SmallVector<Type> types(branch.getResultTypes());
      types.push_back(accType);
      auto next = scf::IfOp::create(builder, loc, types,
                                    getMapped(branch.getCondition()),
                                    /*withElseRegion=*/true);
      emitInner(*branch.thenBlock(), next.thenBlock(), sum);
      if (Block *from = branch.elseBlock()) {
        emitInner(*from, next.elseBlock(), sum);
      } else {
        OpBuilder otherwise = next.getElseBodyBuilder();
        scf::YieldOp::create(otherwise, loc, sum);
      }
      copy = next;
    }
    for (auto [from, to] :
         llvm::zip(inner.getResults(), copy->getResults().drop_back()))
      mapping.map(from, to);
    sum = copy->getResults().back();
  }
  return sum;
}

Value GradientPair::emitContribution(ContributeOp contribution, Value x,
                                     Value ds, IsElement isElement) {
  IRMapping mapping;
  mapArguments(op.getAdjoint(), {x, ds}, mapping);
  return emitBlock(op.getAdjoint().front(), mapping, contribution, isElement,
                   constant(0));
}

Value GradientPair::unlessNone(Value value, Value exponent) {
  ScalarBuilder b(loc, builder);
  Value isNone =
      b.cmp(arith::CmpFPredicate::OLT, exponent, constant(kLeastExponent));
  return b.select(isNone, constant(0), value);
}
