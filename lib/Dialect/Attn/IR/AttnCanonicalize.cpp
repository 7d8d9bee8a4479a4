//===- AttnCanonicalize.cpp - Canonical forms of attention ----------------===//
//
// Local clean-ups that hold at any level: regions and layouts that say nothing
// disappear, captures that are unused, repeated or constant leave the operand
// list.
//
//===----------------------------------------------------------------------===//

#include "attn/Dialect/Attn/IR/AttnCanonicalize.h"
#include "attn/Dialect/Attn/IR/AttnDropout.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

using namespace mlir;
using namespace mlir::attn;

static YieldOp getYield(Region &region) {
  return cast<YieldOp>(region.front().getTerminator());
}

/// Empties a region in place; an empty region means identity or all true.
static void dropRegion(PatternRewriter &rewriter, Operation *op,
                       Region &region) {
  rewriter.modifyOpInPlace(op, [&] { rewriter.eraseBlock(&region.front()); });
}

/// A score region that yields its own score is absent.
static LogicalResult dropIdentityScore(AttentionLikeOpInterface op,
                                       PatternRewriter &rewriter) {
  Region &score = op.getScore();
  if (score.empty() || changesScores(op) || getWeight(op))
    return rewriter.notifyMatchFailure(op, "score is absent or not identity");
  // The derivative of an identity is one; with no read of a capture there is
  // nothing that it could contribute to.
  if (auto gradient = dyn_cast<AttentionGradOp>(op.getOperation()))
    if (!gradient.getAdjoint().empty())
      dropRegion(rewriter, op, gradient.getAdjoint());
  dropRegion(rewriter, op, score);
  return success();
}

/// A weight of 1 is absent.
static LogicalResult dropUnitWeight(AttentionLikeOpInterface op,
                                    PatternRewriter &rewriter) {
  Value weight = getWeight(op);
  auto dropout = weight ? weight.getDefiningOp<DropoutOp>() : DropoutOp();
  bool isOne = dropout ? dropout.getProbability().isZero()
                       : weight && matchPattern(weight, m_OneFloat());
  if (!isOne)
    return rewriter.notifyMatchFailure(op, "weight is absent or not 1");
  YieldOp yield = getYield(op.getScore());
  rewriter.modifyOpInPlace(yield, [&] { yield->eraseOperand(1); });
  return success();
}

/// A mask that is constant true is absent, and so is what is known of its
/// tiles.
static LogicalResult dropTrueMask(AttentionLikeOpInterface op,
                                  PatternRewriter &rewriter) {
  Region &mask = op.getMask();
  if (mask.empty() ||
      !matchPattern(getYield(mask).getValues().front(), m_One()))
    return rewriter.notifyMatchFailure(op, "mask is absent or not all true");
  dropRegion(rewriter, op, mask);
  SmallVector<Region *, 2> known;
  // Those of rows that are left out altogether are known, too.
  if (auto online = dyn_cast<OnlineAttentionOp>(op.getOperation());
      online && online.getRows().empty())
    known = {&online.getBlocks(), &online.getTiles()};
  if (auto gradient = dyn_cast<AttentionGradOp>(op.getOperation()))
    known = {&gradient.getTiles()};
  for (Region *region : known)
    if (!region->empty())
      dropRegion(rewriter, op, *region);
  return success();
}

/// Layouts that all are the default are absent.
static LogicalResult dropDefaultLayouts(AttentionLikeOpInterface op,
                                        PatternRewriter &rewriter) {
  ArrayAttr layouts = op.getLayoutsAttr();
  if (!layouts || !llvm::all_of(layouts, [](Attribute layout) {
        return cast<AffineMapAttr>(layout).getValue().isIdentity();
      }))
    return rewriter.notifyMatchFailure(op, "layouts are absent or say more");
  rewriter.modifyOpInPlace(op, [&] { op->removeAttr("layouts"); });
  return success();
}

/// The argument for capture `number` in a region.
static BlockArgument getCaptureArgument(AttentionLikeOpInterface op,
                                        Region &region, unsigned number) {
  unsigned leading = region.getNumArguments() - op.getCaptures().size();
  return region.getArgument(leading + number);
}

static void eraseCapture(AttentionLikeOpInterface op, PatternRewriter &rewriter,
                         unsigned number) {
  rewriter.modifyOpInPlace(op, [&] {
    for (Region *region : op.getCaptureRegions()) {
      unsigned leading = region->getNumArguments() - op.getCaptures().size();
      region->eraseArgument(leading + number);
    }
    op.getCapturesMutable().erase(number);
  });
}

/// Replaces scalar captures that are constants by the constant, makes repeated
/// captures one, and drops those that no region uses.
static LogicalResult simplifyCaptures(AttentionLikeOpInterface op,
                                      PatternRewriter &rewriter) {
  for (unsigned number = 0; number < op.getCaptures().size(); ++number) {
    Value capture = op.getCaptures()[number];
    TypedAttr constant;
    if (!isa<TensorType>(capture.getType()) &&
        matchPattern(capture, m_Constant(&constant)) &&
        !arith::ConstantOp::isBuildableWith(constant, capture.getType()))
      constant = {};
    auto first = llvm::find(op.getCaptures(), capture);
    unsigned firstNumber = first - op.getCaptures().begin();
    bool changed = false;
    for (Region *region : op.getCaptureRegions()) {
      BlockArgument argument = getCaptureArgument(op, *region, number);
      if (argument.use_empty())
        continue;
      if (constant) {
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPointToStart(&region->front());
        Value value =
            arith::ConstantOp::create(rewriter, op->getLoc(), constant);
        rewriter.replaceAllUsesWith(argument, value);
        changed = true;
      } else if (firstNumber != number) {
        rewriter.replaceAllUsesWith(
            argument, getCaptureArgument(op, *region, firstNumber));
        changed = true;
      }
    }
    bool unused = llvm::all_of(op.getCaptureRegions(), [&](Region *region) {
      return getCaptureArgument(op, *region, number).use_empty();
    });
    if (unused) {
      eraseCapture(op, rewriter, number);
      return success();
    }
    if (changed)
      return success();
  }
  return rewriter.notifyMatchFailure(op, "captures are in canonical form");
}

/// Changes the type of a result to that of its destination; users get a cast.
static void refineResult(PatternRewriter &rewriter, OpResult result,
                         Type type) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPointAfter(result.getOwner());
  Type oldType = result.getType();
  result.setType(type);
  auto cast =
      tensor::CastOp::create(rewriter, result.getLoc(), oldType, result);
  rewriter.replaceAllUsesExcept(result, cast, cast);
}

/// Takes tensors rather than casts of them that hide some of their shapes.
static LogicalResult foldCasts(AttentionLikeOpInterface op,
                               PatternRewriter &rewriter) {
  auto destinations = cast<DestinationStyleOpInterface>(op.getOperation());
  OperandRange captures = op.getCaptures();
  bool changed = false;
  for (OpOperand &operand : op->getOpOperands()) {
    auto cast = operand.get().getDefiningOp<tensor::CastOp>();
    if (!tensor::canFoldIntoConsumerOp(cast))
      continue;
    rewriter.startOpModification(op);
    operand.set(cast.getSource());
    unsigned capture =
        operand.getOperandNumber() - captures.getBeginOperandIndex();
    if (capture < captures.size())
      for (Region *region : op.getCaptureRegions())
        getCaptureArgument(op, *region, capture)
            .setType(cast.getSource().getType());
    if (destinations.isDpsInit(&operand))
      refineResult(rewriter, destinations.getTiedOpResult(&operand),
                   cast.getSource().getType());
    rewriter.finalizeOpModification(op);
    changed = true;
  }
  return success(changed);
}

/// What has no elements has no gradient to compute.
static LogicalResult dropEmptyGradients(AttentionGradOp op,
                                        PatternRewriter &rewriter) {
  SmallVector<Value> values(op.getOuts());
  SmallVector<unsigned> kept;
  for (auto [number, out] : llvm::enumerate(op.getOuts()))
    if (!llvm::is_contained(cast<ShapedType>(out.getType()).getShape(), 0))
      kept.push_back(number);
  if (kept.size() == values.size())
    return rewriter.notifyMatchFailure(op, "all gradients may have elements");
  if (!kept.empty()) {
    AttentionGradOp smaller = cloneGradients(rewriter, op, kept);
    for (auto [number, result] : llvm::zip_equal(kept, smaller.getResults()))
      values[number] = result;
  }
  rewriter.replaceOp(op, values);
  return success();
}

namespace {
/// A free function on the common interface as a pattern for one operation.
template <typename OpTy> struct OnAttention : public OpRewritePattern<OpTy> {
  using Function = LogicalResult (*)(AttentionLikeOpInterface,
                                     PatternRewriter &);
  OnAttention(MLIRContext *context, Function function,
              PatternBenefit benefit = 1)
      : OpRewritePattern<OpTy>(context, benefit), function(function) {}
  LogicalResult matchAndRewrite(OpTy op,
                                PatternRewriter &rewriter) const override {
    return function(op, rewriter);
  }
  Function function;
};
} // namespace

template <typename OpTy>
static void addPatterns(RewritePatternSet &patterns, MLIRContext *context) {
  for (typename OnAttention<OpTy>::Function function :
       {dropUnitWeight, dropIdentityScore, dropTrueMask, dropDefaultLayouts,
        simplifyCaptures})
    patterns.add<OnAttention<OpTy>>(context, function);
  // Before the pattern of the tensor dialect that folds casts into any
  // operation with destinations: that one keeps the types of our regions'
  // arguments, and does not copy absent regions.
  patterns.add<OnAttention<OpTy>>(context, foldCasts,
                                  /*benefit=*/PatternBenefit(2));
}

static LogicalResult foldConstantComparison(arith::CmpFOp op,
                                            PatternRewriter &rewriter) {
  auto predicate = op.getPredicate();
  bool isTrue = predicate == arith::CmpFPredicate::AlwaysTrue;
  if (!isTrue && predicate != arith::CmpFPredicate::AlwaysFalse)
    return failure();
  Attribute value = rewriter.getBoolAttr(isTrue);
  if (auto type = dyn_cast<ShapedType>(op.getType())) {
    if (!type.hasStaticShape())
      return failure();
    value = DenseElementsAttr::get(type, value);
  }
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, cast<TypedAttr>(value));
  return success();
}

void mlir::attn::populateConstantComparisonPatterns(
    RewritePatternSet &patterns) {
  patterns.add(foldConstantComparison, /*benefit=*/PatternBenefit(10));
}

void AttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                              MLIRContext *context) {
  addPatterns<AttentionOp>(patterns, context);
  populateConstantComparisonPatterns(patterns);
}

void AttentionGradOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                  MLIRContext *context) {
  // Captures stay as they are: `wrt` numbers them, and what reads none in the
  // score may still have a gradient.
  for (OnAttention<AttentionGradOp>::Function function :
       {dropUnitWeight, dropIdentityScore, dropTrueMask, dropDefaultLayouts})
    patterns.add<OnAttention<AttentionGradOp>>(context, function);
  patterns.add(dropEmptyGradients);
  patterns.add<OnAttention<AttentionGradOp>>(context, foldCasts,
                                             /*benefit=*/PatternBenefit(2));
}

void OnlineAttentionOp::getCanonicalizationPatterns(RewritePatternSet &patterns,
                                                    MLIRContext *context) {
  addPatterns<OnlineAttentionOp>(patterns, context);
}
