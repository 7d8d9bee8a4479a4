//===- RegionAdjoint.cpp - Regions in reverse -----------------------------===//

#include "RegionAdjoint.h"
#include "RegionLoops.h"
#include "RegionSlice.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace mlir::attn;

/// Loops that run so many operations at most are unrolled where their reverse
/// would compute iterations again, which then is more work. Not those that add
/// to gradients of captures: each iteration would have sums of its own over the
/// pairs of a tile, which takes longer to compile and to run.
static constexpr int64_t kMostUnrolled = 256;

//===----------------------------------------------------------------------===//
// Activity
//===----------------------------------------------------------------------===//

/// Finds the values that gradients flow through.
static void propagateThrough(Block &block, DenseSet<Value> &active);

static void propagateThrough(scf::IfOp branch, DenseSet<Value> &active) {
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

static void propagateThrough(scf::ForOp loop, DenseSet<Value> &active) {
  for (bool changed = true; changed;) {
    changed = false;
    for (auto [init, argument, yielded, result] :
         llvm::zip_equal(loop.getInitArgs(), loop.getRegionIterArgs(),
                         loop.getYieldedValues(), loop.getResults()))
      if (active.contains(init) || active.contains(yielded)) {
        changed |= active.insert(argument).second;
        active.insert(result);
      }
    size_t before = active.size();
    propagateThrough(*loop.getBody(), active);
    changed |= active.size() != before;
  }
}

static void propagateThrough(Block &block, DenseSet<Value> &active) {
  for (Operation &op : block.without_terminator()) {
    if (auto branch = dyn_cast<scf::IfOp>(op))
      propagateThrough(branch, active);
    else if (auto loop = dyn_cast<scf::ForOp>(op))
      propagateThrough(loop, active);
    else
      propagateActivity(op, active);
  }
}

RegionAdjoint::RegionAdjoint(AttentionGradOp op, Block &score,
                             DenseSet<Value> active)
    : op(op), accType(cast<AttentionLikeOpInterface>(op.getOperation())
                          .getAccumulatorType()),
      active(std::move(active)) {
  propagateThrough(score, this->active);
}

SetVector<Value> RegionAdjoint::getFreeValues(Operation *op) {
  SetVector<Value> result;
  op->walk([&](Operation *inner) {
    // What is compared alone has no gradient.
    bool isActive = inner->hasTrait<OpTrait::IsTerminator>() ||
                    llvm::any_of(inner->getResults(), [&](Value result) {
                      return active.contains(result);
                    });
    for (Value operand : inner->getOperands())
      if (inner != op && isActive && active.contains(operand) &&
          !isa<TensorType>(operand.getType()) &&
          !op->isAncestor(operand.getParentBlock()->getParentOp()))
        result.insert(operand);
  });
  return result;
}

//===----------------------------------------------------------------------===//
// Blocks
//===----------------------------------------------------------------------===//

Value RegionAdjoint::createZero(OpBuilder &builder, Location loc, Type type) {
  return arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type));
}

void RegionAdjoint::contribute(OpBuilder &builder, Location loc, Value gradient,
                               Value capture, ValueRange indices) {
  ContributeOp::create(builder, loc,
                       convertFloats(builder, loc, gradient, accType), capture,
                       indices);
}

/// Computes once more what `block` does.
static void cloneBody(OpBuilder &builder, Block &block, IRMapping &primals) {
  for (Operation &primal : block.without_terminator()) {
    // An argument that has a value already would not be one of the clone.
    primal.walk([&](Block *inner) {
      for (BlockArgument argument : inner->getArguments())
        primals.erase(argument);
    });
    builder.clone(primal, primals);
  }
}

LogicalResult RegionAdjoint::reverseBlock(Block &block, Cotangents &cotangents,
                                          const IRMapping &primals) {
  for (Operation &primal : llvm::reverse(block.without_terminator())) {
    if (!cotangents.has(primal))
      continue;
    if (auto branch = dyn_cast<scf::IfOp>(primal)) {
      if (failed(reverseIf(branch, cotangents, primals)))
        return failure();
      continue;
    }
    if (auto loop = dyn_cast<scf::ForOp>(primal)) {
      if (failed(reverseFor(loop, cotangents, primals)))
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
    contribute(cotangents.builder, extract.getLoc(),
               cotangents.get(extract).value,
               primals.lookup(extract.getTensor()), indices);
  }
  return success();
}

//===----------------------------------------------------------------------===//
// Branches
//===----------------------------------------------------------------------===//

/// A branch is taken in reverse as it was, and computes once more what it did.
LogicalResult RegionAdjoint::reverseIf(scf::IfOp branch, Cotangents &cotangents,
                                       const IRMapping &primals) {
  OpBuilder &builder = cotangents.builder;
  Location loc = branch.getLoc();
  SetVector<Value> values = getFreeValues(branch);
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
      cloneBody(builder, from.front(), inner);
      for (auto [result, yielded] :
           llvm::zip(branch.getResults(),
                     from.front().getTerminator()->getOperands()))
        if (Cotangent cotangent = cotangents.get(result); cotangent.value)
          gradients.add(loc, yielded, cotangent);
      if (failed(reverseBlock(from.front(), gradients, inner)))
        return failure();
    }
    SmallVector<Value> yielded;
    for (auto [value, type] : llvm::zip_equal(values, types)) {
      Value gradient = gradients.get(value).value;
      yielded.push_back(gradient ? gradient : createZero(builder, loc, type));
    }
    scf::YieldOp::create(builder, loc, yielded);
  }
  for (auto [value, result] : llvm::zip_equal(values, reversed.getResults()))
    cotangents.add(loc, value, {result, /*mayBeDead=*/true});
  return success();
}

//===----------------------------------------------------------------------===//
// Loops
//===----------------------------------------------------------------------===//

static Value createLast(OpBuilder &builder, scf::ForOp loop) {
  return arith::ConstantOp::create(
      builder, loop.getLoc(),
      builder.getIntegerAttr(loop.getInductionVar().getType(),
                             getLastIteration(loop)));
}

/// The numbers of the carried values that the values of `placeholder` which are
/// used need from one iteration to the next.
static SmallVector<unsigned> getNeeded(scf::ForOp loop,
                                       Operation *placeholder) {
  SetVector<unsigned> needed;
  for (OpResult result : placeholder->getResults())
    if (!result.use_empty())
      needed.insert(result.getResultNumber());
  auto addIfCarried = [&](Value value) {
    auto argument = dyn_cast<BlockArgument>(value);
    if (argument && argument.getOwner() == loop.getBody() &&
        argument != loop.getInductionVar())
      needed.insert(argument.getArgNumber() - loop.getNumInductionVars());
  };
  for (unsigned next = 0; next < needed.size(); ++next) {
    Value yielded = loop.getYieldedValues()[needed[next]];
    addIfCarried(yielded);
    for (Operation *op : getRegionSlice(loop.getRegion(), yielded))
      op->walk([&](Operation *inner) {
        llvm::for_each(inner->getOperands(), addIfCarried);
      });
  }
  return needed.takeVector();
}

/// Computes what the iteration at `position` makes of carried values, which are
/// `values` for the numbers in `needed`.
static SmallVector<Value> emitNext(OpBuilder &builder, scf::ForOp loop,
                                   Value position, ArrayRef<unsigned> needed,
                                   ValueRange values, Operation *placeholder,
                                   IRMapping primals) {
  primals.map(loop.getInductionVar(), position);
  // Those that are not needed have no use in the end.
  primals.map(loop.getRegionIterArgs(), placeholder->getResults());
  for (auto [number, value] : llvm::zip_equal(needed, values))
    primals.map(loop.getRegionIterArgs()[number], value);
  cloneBody(builder, *loop.getBody(), primals);
  return llvm::map_to_vector(needed, [&](unsigned number) {
    return primals.lookup(loop.getYieldedValues()[number]);
  });
}

static void replace(Operation *placeholder, ArrayRef<unsigned> needed,
                    ValueRange values, scf::ForOp around) {
  IRRewriter rewriter(placeholder);
  (void)runRegionDCE(rewriter, around->getRegions());
  for (auto [number, value] : llvm::zip_equal(needed, values))
    placeholder->getResult(number).replaceAllUsesWith(value);
  placeholder->erase();
}

/// Lets `inOrder`, which does the iterations of `loop` in their order, carry
/// the values that `placeholder` stands for.
static scf::ForOp carryAlong(scf::ForOp loop, scf::ForOp inOrder,
                             Operation *placeholder, const IRMapping &primals) {
  SmallVector<unsigned> needed = getNeeded(loop, placeholder);
  SmallVector<Value> inits = llvm::map_to_vector(needed, [&](unsigned number) {
    return primals.lookup(loop.getInitArgs()[number]);
  });
  IRRewriter rewriter(inOrder);
  auto emit = [&](OpBuilder &builder, Location,
                  ArrayRef<BlockArgument> values) {
    Value position =
        cast<scf::ForOp>(values[0].getOwner()->getParentOp()).getInductionVar();
    return emitNext(builder, loop, position, needed, SmallVector<Value>(values),
                    placeholder, primals);
  };
  auto result = cast<scf::ForOp>(*inOrder.replaceWithAdditionalYields(
      rewriter, inits, /*replaceInitOperandUsesInLoop=*/false, emit));
  replace(placeholder, needed,
          result.getRegionIterArgs().take_back(needed.size()), result);
  return result;
}

/// Computes, in place of `placeholder`, the values that are carried into the
/// iteration which the body of `reversed` takes in reverse, by a loop over all
/// iterations before it: as many as there are behind the induction variable of
/// `reversed`.
static void repeatBefore(scf::ForOp loop, scf::ForOp reversed,
                         Operation *placeholder, const IRMapping &primals) {
  OpBuilder builder(placeholder);
  Location loc = loop.getLoc();
  SmallVector<unsigned> needed = getNeeded(loop, placeholder);
  SmallVector<Value> inits = llvm::map_to_vector(needed, [&](unsigned number) {
    return primals.lookup(loop.getInitArgs()[number]);
  });
  Value begin = reversed.getInductionVar();
  Value offset =
      arith::SubIOp::create(builder, loc, begin, reversed.getLowerBound());
  auto again =
      scf::ForOp::create(builder, loc, begin, createLast(builder, loop),
                         reversed.getStep(), inits);
  builder.setInsertionPointToStart(again.getBody());
  Value position =
      arith::SubIOp::create(builder, loc, again.getInductionVar(), offset);
  SmallVector<Value> next =
      emitNext(builder, loop, position, needed, again.getRegionIterArgs(),
               placeholder, primals);
  scf::YieldOp::create(builder, loc, next);
  replace(placeholder, needed, again.getResults(), again);
}

/// Whether a loop reads captures that have gradients.
bool RegionAdjoint::readsActive(scf::ForOp loop) {
  return loop
      ->walk([&](tensor::ExtractOp read) {
        return active.contains(read.getTensor()) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
      })
      .wasInterrupted();
}

/// A loop in reverse begins with the last iteration. Each computes once more
/// what the iteration did. What was carried into it, if that is needed, is
/// computed from the first iteration on, so that nothing is kept. Where no
/// iteration changes the gradients of what is carried, as in sums, they are
/// taken in their order, and carry what is needed along.
LogicalResult RegionAdjoint::reverseFor(scf::ForOp loop, Cotangents &cotangents,
                                        const IRMapping &primals) {
  OpBuilder &builder = cotangents.builder;
  Location loc = loop.getLoc();
  bool mayBeDead = loop->walk([](Operation *inner) {
                         return isChoice(*inner) ? WalkResult::interrupt()
                                                 : WalkResult::advance();
                       })
                       .wasInterrupted();
  SmallVector<unsigned> carried;
  SmallVector<Value> inits;
  for (auto [number, argument] : llvm::enumerate(loop.getRegionIterArgs())) {
    if (!active.contains(argument))
      continue;
    carried.push_back(number);
    Cotangent gradient = cotangents.get(loop.getResult(number));
    mayBeDead |= gradient.mayBeDead;
    inits.push_back(
        gradient.value
            ? gradient.value
            : createZero(builder, loc, cotangents.getType(argument.getType())));
  }
  SetVector<Value> values = getFreeValues(loop);
  for (Value value : values)
    inits.push_back(
        createZero(builder, loc, cotangents.getType(value.getType())));

  auto reversed =
      scf::ForOp::create(builder, loc, primals.lookup(loop.getLowerBound()),
                         primals.lookup(loop.getUpperBound()),
                         primals.lookup(loop.getStep()), inits);
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *body = reversed.getBody();
    if (!body->empty())
      body->getTerminator()->erase();
    builder.setInsertionPointToEnd(body);
    Value offset = arith::SubIOp::create(
        builder, loc, reversed.getInductionVar(), reversed.getLowerBound());
    Value position =
        arith::SubIOp::create(builder, loc, createLast(builder, loop), offset);
    IRMapping inner = primals;
    inner.map(loop.getInductionVar(), position);
    inner.map(loop.getRegionIterArgs(),
              UnrealizedConversionCastOp::create(
                  builder, loc, loop.getResultTypes(), ValueRange())
                  .getResults());
    cloneBody(builder, *loop.getBody(), inner);

    Cotangents gradients(builder, inner, accType, active);
    for (auto [number, argument] :
         llvm::zip(carried, reversed.getRegionIterArgs()))
      gradients.add(loc, loop.getYieldedValues()[number],
                    {argument, mayBeDead});
    if (failed(reverseBlock(*loop.getBody(), gradients, inner)))
      return failure();
    SmallVector<Value> next;
    for (unsigned number : carried) {
      BlockArgument argument = loop.getRegionIterArgs()[number];
      Value gradient = gradients.get(argument).value;
      next.push_back(gradient
                         ? gradient
                         : createZero(builder, loc,
                                      cotangents.getType(argument.getType())));
    }
    for (auto [value, sum] : llvm::zip_equal(
             values, reversed.getRegionIterArgs().drop_front(carried.size()))) {
      Value gradient = gradients.get(value).value;
      next.push_back(
          gradient
              ? arith::AddFOp::create(builder, loc, sum, gradient).getResult()
              : sum);
    }
    bool isSum =
        llvm::equal(ArrayRef(next).take_front(carried.size()),
                    reversed.getRegionIterArgs().take_front(carried.size()));
    if (isSum)
      position.replaceAllUsesWith(reversed.getInductionVar());
    scf::YieldOp::create(builder, loc, next);
    // What is left shows which carried values are needed.
    IRRewriter rewriter(builder);
    (void)runRegionDCE(rewriter, reversed->getRegions());
    auto placeholders = body->getOps<UnrealizedConversionCastOp>();
    if (!placeholders.empty()) {
      Operation *placeholder = *placeholders.begin();
      if (isSum) {
        reversed = carryAlong(loop, reversed, placeholder, primals);
      } else {
        repeatBefore(loop, reversed, placeholder, primals);
        if (getNumRuns(loop) <= kMostUnrolled && !readsActive(loop))
          repeated.push_back(loop);
      }
    }
  }
  for (auto [number, result] : llvm::zip(carried, reversed.getResults()))
    cotangents.add(loc, loop.getInitArgs()[number], {result, mayBeDead});
  for (auto [value, result] :
       llvm::zip(values, reversed.getResults().drop_front(carried.size())))
    cotangents.add(loc, value, {result, mayBeDead});
  return success();
}
