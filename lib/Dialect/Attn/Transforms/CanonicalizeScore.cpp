//===- CanonicalizeScore.cpp - Bring the regions to few forms -------------===//

#include "RegionLoops.h"
#include "RegionSlice.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/Remarks.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNCANONICALIZESCOREPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

static YieldOp getYield(Region &region) {
  return cast<YieldOp>(region.front().getTerminator());
}

//===----------------------------------------------------------------------===//
// Masks written as scores
//===----------------------------------------------------------------------===//

namespace {
/// One condition that a key must meet to be allowed.
struct Condition {
  Value value;
  bool negated;
};
} // namespace

/// Splits a condition into parts that must all hold.
static void splitCondition(Condition condition,
                           SmallVectorImpl<Condition> &parts) {
  SmallVector<Condition> worklist = {condition};
  while (!worklist.empty()) {
    Condition next = worklist.pop_back_val();
    Operation *op = next.value.getDefiningOp();
    bool isAll = next.negated ? isa_and_present<arith::OrIOp>(op)
                              : isa_and_present<arith::AndIOp>(op);
    if (isAll) {
      worklist.push_back({op->getOperand(1), next.negated});
      worklist.push_back({op->getOperand(0), next.negated});
    } else if (isa_and_present<arith::XOrIOp>(op) &&
               matchPattern(op->getOperand(1), m_One())) {
      worklist.push_back({op->getOperand(0), !next.negated});
    } else {
      parts.push_back(next);
    }
  }
}

static bool readsCapture(ArrayRef<Operation *> slice) {
  return llvm::any_of(slice, [](Operation *op) {
    return op->walk([](tensor::ExtractOp) { return WalkResult::interrupt(); })
        .wasInterrupted();
  });
}

/// The mask's block; an absent mask is made one that allows everything.
static Block &getOrCreateMask(RewriterBase &rewriter,
                              AttentionLikeOpInterface op) {
  Region &mask = op.getMask();
  if (mask.empty()) {
    SmallVector<Type> types(kNumMaskArgs, rewriter.getIndexType());
    llvm::append_range(types, op.getCaptures().getTypes());
    SmallVector<Location> locs(types.size(), op.getLoc());
    rewriter.createBlock(&mask, mask.end(), types, locs);
    Value isTrue = arith::ConstantIntOp::create(rewriter, op.getLoc(), 1, 1);
    YieldOp::create(rewriter, op.getLoc(), isTrue);
  }
  return mask.front();
}

/// Makes the mask require a condition of the score region too.
static void addToMask(RewriterBase &rewriter, AttentionLikeOpInterface op,
                      Condition condition) {
  OpBuilder::InsertionGuard guard(rewriter);
  Block &mask = getOrCreateMask(rewriter, op);
  Operation *yield = mask.getTerminator();
  rewriter.setInsertionPoint(yield);
  IRMapping mapping;
  mapping.map(op.getScore().getArguments().drop_front(), mask.getArguments());
  for (Operation *inner : getRegionSlice(op.getScore(), condition.value))
    rewriter.clone(*inner, mapping);
  Value allowed = mapping.lookup(condition.value);
  Location loc = condition.value.getLoc();
  if (condition.negated) {
    Value isTrue = arith::ConstantIntOp::create(rewriter, loc, 1, 1);
    allowed = arith::XOrIOp::create(rewriter, loc, allowed, isTrue);
  }
  Value both =
      arith::AndIOp::create(rewriter, loc, yield->getOperand(0), allowed);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, both); });
}

/// Moves conditions out of a score that is -inf where they do not hold. A
/// condition that reads captures stays where there was a mask to begin with,
/// because it may rely on that mask to keep its indices in range.
static bool extractMask(RewriterBase &rewriter, AttentionLikeOpInterface op,
                        bool hadMask) {
  if (op.getScore().empty())
    return false;
  YieldOp yield = getYield(op.getScore());
  auto select = yield.getValues().front().getDefiningOp<arith::SelectOp>();
  if (!select)
    return false;
  bool keepsIfTrue = matchPattern(select.getFalseValue(), m_NegInfFloat());
  if (!keepsIfTrue && !matchPattern(select.getTrueValue(), m_NegInfFloat()))
    return false;
  Value kept = keepsIfTrue ? select.getTrueValue() : select.getFalseValue();

  SmallVector<Condition> parts, stay;
  splitCondition({select.getCondition(), /*negated=*/!keepsIfTrue}, parts);
  for (Condition part : parts) {
    SmallVector<Operation *> slice = getRegionSlice(op.getScore(), part.value);
    // A mask has no score to read.
    if (dependsOn(op.getScore(), part.value, /*score*/ 0u) ||
        (hadMask && readsCapture(slice)))
      stay.push_back(part);
    else
      addToMask(rewriter, op, part);
  }
  if (stay.size() == parts.size())
    return false;

  // What stays is selected on as before.
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(yield);
  Location loc = select.getLoc();
  Value infinity = keepsIfTrue ? select.getFalseValue() : select.getTrueValue();
  for (Condition part : stay)
    kept = part.negated ? arith::SelectOp::create(rewriter, loc, part.value,
                                                  infinity, kept)
                        : arith::SelectOp::create(rewriter, loc, part.value,
                                                  kept, infinity);
  rewriter.modifyOpInPlace(yield, [&] { yield->setOperand(0, kept); });
  // Bounds of a weaker mask promise too many keys.
  if (auto online = dyn_cast<OnlineAttentionOp>(op.getOperation()))
    rewriter.modifyOpInPlace(op, [&] {
      for (Region *region : {&online.getBlocks(), &online.getTiles()}) {
        region->dropAllReferences();
        region->getBlocks().clear();
      }
    });
  remark::passed(loc, remark::RemarkOpts::name("mask-extracted")
                          .category(kRemarkCategory)
                          .function(getFunctionName(op)))
      << remark::add("a score of -inf became a mask")
      << remark::metric("Conditions", parts.size() - stay.size());
  return true;
}

//===----------------------------------------------------------------------===//
// Constant factors
//===----------------------------------------------------------------------===//

/// The constant that an operation multiplies `value` by, if it does.
static std::optional<double> getFactor(Operation *op, Value value) {
  if (isa<arith::NegFOp>(op))
    return -1.0;
  if (!isa<arith::MulFOp, arith::DivFOp>(op))
    return std::nullopt;
  bool isSecond = op->getOperand(1) == value;
  FloatAttr constant;
  if ((isSecond && isa<arith::DivFOp>(op)) ||
      !matchPattern(op->getOperand(isSecond ? 0 : 1), m_Constant(&constant)))
    return std::nullopt;
  double factor = constant.getValueAsDouble();
  return isa<arith::DivFOp>(op) ? 1 / factor : factor;
}

/// Folds constant factors of the score, which nothing else sees, into the
/// scale: it is multiplied, and rounded, once. The product has to be a normal
/// number of the type that scores have, so that nothing overflows that did not
/// before.
static void foldScale(RewriterBase &rewriter, AttentionLikeOpInterface op) {
  // The adjoint of a gradient belongs to the score as it is.
  if (op.getScore().empty() || isa<AttentionGradOp>(op.getOperation()))
    return;
  BlockArgument score = op.getScore().getArgument(0);
  Value value = score;
  double all = 1;
  while (value.hasOneUse()) {
    Operation *user = *value.user_begin();
    std::optional<double> next = getFactor(user, value);
    if (!next)
      break;
    all *= *next;
    value = user->getResult(0);
  }
  if (value == score)
    return;
  auto attention = dyn_cast<AttentionOp>(op.getOperation());
  auto online = dyn_cast<OnlineAttentionOp>(op.getOperation());
  double scale = attention ? attention.getEffectiveScale()
                           : online.getScale().convertToDouble();
  APFloat product(scale * all);
  APFloat rounded = product;
  bool losesInfo;
  rounded.convert(op.getAccumulatorType().getFloatSemantics(),
                  APFloat::rmNearestTiesToEven, &losesInfo);
  if (!rounded.isNormal())
    return;
  Location loc = value.getLoc();
  FloatAttr attribute = rewriter.getF64FloatAttr(product.convertToDouble());
  rewriter.modifyOpInPlace(op, [&] {
    if (attention)
      attention.setScaleAttr(attribute);
    else
      online.setScaleAttr(attribute);
  });
  rewriter.replaceAllUsesWith(value, score);
  remark::passed(loc, remark::RemarkOpts::name("scale-folded")
                          .category(kRemarkCategory)
                          .function(getFunctionName(op)))
      << remark::add("a constant factor of the score joined the scale")
      << remark::metric("Factor", all);
}

//===----------------------------------------------------------------------===//
// Captures
//===----------------------------------------------------------------------===//

/// Replaces reads of captured tensors that hold one constant by the constant.
static void foldSplatCaptures(RewriterBase &rewriter,
                              AttentionLikeOpInterface op) {
  for (auto [number, capture] : llvm::enumerate(op.getCaptures())) {
    SplatElementsAttr splat;
    if (!matchPattern(capture, m_Constant(&splat)))
      continue;
    for (Region *region : op.getCaptureRegions()) {
      unsigned leading = region->getNumArguments() - op.getCaptures().size();
      BlockArgument argument = region->getArgument(leading + number);
      for (Operation *user : llvm::make_early_inc_range(argument.getUsers())) {
        auto extract = dyn_cast<tensor::ExtractOp>(user);
        if (!extract)
          continue;
        OpBuilder::InsertionGuard guard(rewriter);
        rewriter.setInsertionPoint(extract);
        rewriter.replaceOpWithNewOp<arith::ConstantOp>(
            extract, cast<TypedAttr>(splat.getSplatValue<Attribute>()));
      }
    }
  }
}

/// Applies the canonical forms of the operation itself: an identity score, a
/// true mask and captures without use go.
static void canonicalizeOp(AttentionLikeOpInterface op) {
  RewritePatternSet patterns(op->getContext());
  op->getRegisteredInfo()->getCanonicalizationPatterns(patterns,
                                                       op->getContext());
  // Nothing but the operation, whose captures may come from another attention.
  GreedyRewriteConfig config;
  config.setStrictness(GreedyRewriteStrictness::ExistingOps);
  // Patterns that do not reach a fixed point have not broken anything.
  (void)applyOpPatternsGreedily(op.getOperation(), std::move(patterns), config);
}

//===----------------------------------------------------------------------===//
// Pass
//===----------------------------------------------------------------------===//

void mlir::attn::canonicalizeScore(RewriterBase &rewriter,
                                   AttentionLikeOpInterface op) {
  // The greedy driver would erase it on the way.
  if (isOpTriviallyDead(op))
    return rewriter.eraseOp(op);
  foldSplatCaptures(rewriter, op);
  for (Region &region : op->getRegions())
    unrollLoops(region, kShortLoop);
  canonicalizeOp(op);
  cleanUpRegions(op);
  bool changed = false, hadMask = !op.getMask().empty();
  while (extractMask(rewriter, op, hadMask))
    changed = true;
  if (changed)
    cleanUpRegions(op);
  substituteEqualTerms(rewriter, op);
  normalizeMask(rewriter, op);
  foldScale(rewriter, op);
  canonicalizeOp(op);
  cleanUpRegions(op);
}

namespace {
struct CanonicalizeScore
    : public attn::impl::AttnCanonicalizeScorePassBase<CanonicalizeScore> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    // Collected first, because those without use are erased.
    SmallVector<AttentionLikeOpInterface> attentions;
    getOperation()->walk(
        [&](AttentionLikeOpInterface op) { attentions.push_back(op); });
    for (AttentionLikeOpInterface op : attentions)
      canonicalizeScore(rewriter, op);
  }
};
} // namespace
