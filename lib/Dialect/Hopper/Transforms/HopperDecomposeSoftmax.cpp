//===- HopperDecomposeSoftmax.cpp - The online softmax as arithmetic ------===//

#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Hopper/Transforms/Passes.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/RegionUtils.h"

namespace mlir::attn {
#define GEN_PASS_DEF_HOPPERDECOMPOSESOFTMAXPASS
#include "attn/Dialect/Hopper/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;
using namespace mlir::attn::hopper;

namespace {
/// Emits one step of the softmax.
struct SoftmaxEmitter {
  IRRewriter &rewriter;
  SoftmaxStepOp step;
  Location loc = step.getLoc();
  double factor = step.getFactor().convertToDouble();

  Value splat(Type type, double value) {
    return createSplat(rewriter, loc, type, value);
  }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(rewriter, loc, type, value);
  }
  /// Of each row, or of all, for what has `type`.
  Value emitFactor(Type type) {
    Value factors = step.getFactors();
    if (!factors)
      return splat(type, factor);
    if (factor != 1)
      factors = arith::MulFOp::create(rewriter, loc, factors,
                                      splat(factors.getType(), factor));
    return type == factors.getType() ? factors : broadcast(factors, type);
  }
  Value fma(Value a, Value b, Value c) {
    return math::FmaOp::create(rewriter, loc, a, b, c);
  }
  /// What scores times their factor are shifted by.
  Value addOffset(Value negMax) {
    if (Value offset = step.getOffset())
      return arith::AddFOp::create(rewriter, loc, negMax, offset);
    return negMax;
  }
  Value emitNegMax(Value most, Value least) {
    Value minus = splat(most.getType(), -factor);
    if (step.getFactors())
      minus = arith::NegFOp::create(rewriter, loc, emitFactor(most.getType()));
    Value negMax =
        step.getOffset()
            ? fma(most, minus,
                  arith::NegFOp::create(rewriter, loc, step.getOffset()))
            : arith::MulFOp::create(rewriter, loc, most, minus).getResult();
    return arith::MinNumFOp::create(rewriter, loc, negMax, least);
  }
  Value emitMost() {
    return ReduceOp::create(rewriter, loc, step.getNegMax().getType(), "max",
                            step.getScores());
  }
  /// 2^(factor * scores + offset + negMax), and the parts of its sum.
  std::pair<Value, Value> emitProbabilities(Value negMax) {
    Type type = step.getScores().getType();
    Value p = math::Exp2Op::create(rewriter, loc,
                                   fma(step.getScores(), emitFactor(type),
                                       broadcast(addOffset(negMax), type)));
    return {p,
            ReduceOp::create(rewriter, loc, step.getSum().getType(), "add", p)};
  }
  /// Exactly 1 where the negMax is the same, so that no error adds up; 0 where
  /// there was no key before.
  Value emitRescale(Value negMax) {
    return math::Exp2Op::create(
        rewriter, loc,
        arith::SubFOp::create(rewriter, loc, negMax, step.getNegMax()));
  }
  std::pair<Value, Value> emitRescaled(Value rescale) {
    auto scale = [&](Value value) -> Value {
      return arith::MulFOp::create(rewriter, loc, value,
                                   broadcast(rescale, value.getType()));
    };
    return {scale(step.getAcc()), scale(step.getSum())};
  }

  bool isFirst();
  SmallVector<Value> emitBounded();
  SmallVector<Value> emitFirst();
  SmallVector<Value> emitNext();
};
} // namespace

static bool isSplat(Value value, double expected) {
  DenseFPElementsAttr elements;
  return matchPattern(value, m_Constant(&elements)) && elements.isSplat() &&
         elements.getSplatValue<APFloat>().convertToDouble() == expected;
}

/// Whether the state is known to be that of no keys.
bool SoftmaxEmitter::isFirst() {
  return isSplat(step.getAcc(), 0) && isSplat(step.getSum(), 0) &&
         (step.getRescale() == "never" ||
          isSplat(step.getNegMax(), std::numeric_limits<float>::max()));
}

/// No maximum is looked for beyond that of the first block, with which the
/// probability of a single key is exactly 1.
SmallVector<Value> SoftmaxEmitter::emitBounded() {
  auto [p, sum] = emitProbabilities(step.getNegMax());
  return {p, step.getAcc(), step.getNegMax(),
          arith::AddFOp::create(rewriter, loc, step.getSum(), sum)};
}

SmallVector<Value> SoftmaxEmitter::emitFirst() {
  Value negMax = emitNegMax(emitMost(), step.getNegMax());
  auto [p, sum] = emitProbabilities(negMax);
  return {p, step.getAcc(), negMax, sum};
}

/// All that depends on whether a maximum has grown is under a branch that is
/// rarely taken.
SmallVector<Value> SoftmaxEmitter::emitNext() {
  Value most = emitMost();
  Type rowType = most.getType();
  Value growth = fma(most, emitFactor(rowType), addOffset(step.getNegMax()));
  double threshold = step.getRescale() == "lazy" ? kRescaleThreshold : 0;
  Value grows = arith::CmpFOp::create(rewriter, loc, arith::CmpFPredicate::OGT,
                                      growth, splat(rowType, threshold));
  Value isNeeded = AnyOp::create(rewriter, loc, grows);
  Value kept[] = {step.getAcc(), step.getNegMax(), step.getSum()};
  auto branch =
      scf::IfOp::create(rewriter, loc, ValueRange(kept).getTypes(), isNeeded,
                        /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(rewriter);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    Value negMax = emitNegMax(most, step.getNegMax());
    auto [acc, sum] = emitRescaled(emitRescale(negMax));
    scf::YieldOp::create(rewriter, loc, ValueRange{acc, negMax, sum});
    rewriter.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(rewriter, loc, kept);
  }
  auto [p, sum] = emitProbabilities(branch.getResult(1));
  return {p, branch.getResult(0), branch.getResult(1),
          arith::AddFOp::create(rewriter, loc, branch.getResult(2), sum)};
}

static void decompose(IRRewriter &rewriter, SoftmaxStepOp step) {
  rewriter.setInsertionPoint(step);
  SoftmaxEmitter emitter{rewriter, step};
  rewriter.replaceOp(step, emitter.isFirst() ? emitter.emitFirst()
                           : step.getRescale() == "never"
                               ? emitter.emitBounded()
                               : emitter.emitNext());
}

/// What the predicate of the first block reads by key, between a product and
/// the mask, is read while the product is computed: nothing else runs beside
/// that one. In other blocks it is read where it is needed, under a branch.
static void startReads(IRRewriter &rewriter, ArrayRef<Operation *> reads,
                       Operation *mask) {
  Operation *product = mask;
  while (product && !isa<DotOp>(product))
    product = product->getPrevNode();
  if (!product)
    return;
  Operation *point = product->getNextNode();
  for (Operation *read : reads)
    // Stays where it is if it depends on the product.
    if (read != point &&
        succeeded(moveOperationDependencies(rewriter, read, point)))
      rewriter.moveOpBefore(read, point);
}

/// The predicate of a block, where it has one.
static void decompose(IRRewriter &rewriter, MaskOp mask) {
  Location loc = mask.getLoc();
  Value scores = mask.getScores();
  if (mask.getWhen() == "never" || matchPattern(mask.getFull(), m_One())) {
    rewriter.replaceOp(mask, scores);
    return;
  }
  rewriter.setInsertionPoint(mask);
  // A region, so that the scores are waited for before the predicate is
  // computed: beside a product there are no registers for it.
  scf::IfOp branch;
  scf::ExecuteRegionOp region;
  if (mask.getWhen() == "by_block" && !matchPattern(mask.getFull(), m_Zero())) {
    branch = scf::IfOp::create(rewriter, loc, scores.getType(), mask.getFull(),
                               /*withElseRegion=*/true);
    rewriter.setInsertionPointToStart(branch.thenBlock());
    scf::YieldOp::create(rewriter, loc, scores);
    rewriter.setInsertionPointToStart(branch.elseBlock());
  } else if (mask.getWhen() == "by_block") {
    region = scf::ExecuteRegionOp::create(rewriter, loc, scores.getType());
    rewriter.createBlock(&region.getRegion());
  }
  Block &predicate = mask.getPredicate().front();
  auto end = cast<EndOp>(predicate.getTerminator());
  Value allowed = end.getValues()[0];
  rewriter.eraseOp(end);
  SmallVector<Operation *> reads;
  for (auto gather : predicate.getOps<GatherOp>())
    if (auto type = dyn_cast<VectorType>(gather.getType());
        type && type.getDimSize(1) == 1)
      reads.push_back(gather);
  rewriter.inlineBlockBefore(&predicate, rewriter.getInsertionBlock(),
                             rewriter.getInsertionPoint());
  if (mask.getWhen() == "always")
    startReads(rewriter, reads, mask);
  auto type = cast<VectorType>(scores.getType());
  Value masked = arith::ConstantOp::create(
      rewriter, loc,
      DenseElementsAttr::get(
          type, rewriter.getFloatAttr(type.getElementType(), -INFINITY)));
  Value result =
      arith::SelectOp::create(rewriter, loc, allowed, scores, masked);
  if (branch || region) {
    scf::YieldOp::create(rewriter, loc, result);
    result = branch ? branch.getResult(0) : region.getResult(0);
  }
  rewriter.replaceOp(mask, result);
}

namespace {
struct HopperDecomposeSoftmax
    : public mlir::attn::impl::HopperDecomposeSoftmaxPassBase<
          HopperDecomposeSoftmax> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<Operation *> ops;
    getOperation()->walk([&](Operation *op) {
      if (isa<SoftmaxStepOp, MaskOp>(op))
        ops.push_back(op);
    });
    for (Operation *op : ops) {
      if (auto mask = dyn_cast<MaskOp>(op))
        decompose(rewriter, mask);
      else
        decompose(rewriter, cast<SoftmaxStepOp>(op));
    }
  }
};
} // namespace
