//===- SplitRowTerms.cpp - What all keys of a row share -------------------===//

#include "RegionSlice.h"
#include "attn/Analysis/MaskBounds.h"
#include "attn/Dialect/Attn/IR/Attn.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/IR/IRMapping.h"
#include "mlir/IR/Matchers.h"
#include "mlir/IR/PatternMatch.h"

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNSPLITROWTERMSPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Takes terms out of the regions of one attention.
class RowTerms {
public:
  RowTerms(RewriterBase &rewriter, OnlineAttentionOp op)
      : rewriter(rewriter), op(op) {}

  void split();

private:
  void takeAddends();
  void takeFactors();
  void takeConditions();
  /// An attention whose mask is the conditions alone, with its bounds.
  OnlineAttentionOp deriveOfRows();
  /// Bounds of what is left of the mask and of these rows. Whether keys are
  /// full is a matter of the former alone.
  void deriveBounds(OnlineAttentionOp ofRows);
  /// The value in the `rows` region.
  Value copy(Region &region, Value value, unsigned batch);

  RewriterBase &rewriter;
  OnlineAttentionOp op;
  struct Addend {
    Value value;
    bool isSubtracted;
  };
  SmallVector<Addend> addends;
  struct Factor {
    Value value;
    bool isDivisor;
  };
  SmallVector<Factor> factors;
  SmallVector<Value> conditions;
};
} // namespace

/// Terms of the sum that a score is. Those of a sum that is added as a whole
/// stay: they may be large, and cancel.
void RowTerms::takeAddends() {
  Region &score = op.getScore();
  if (score.empty() || op.getRescale() == Rescale::Never)
    return;
  constexpr unsigned product = 0, key = kNumScoreArgs - 1;
  Operation *yield = score.front().getTerminator();
  SmallVector<OpOperand *> worklist = {&yield->getOpOperand(0)};
  while (!worklist.empty()) {
    OpOperand *use = worklist.pop_back_val();
    Operation *sum = use->get().getDefiningOp();
    if (!isa_and_present<arith::AddFOp, arith::SubFOp>(sum) ||
        !sum->hasOneUse())
      continue;
    bool isDifference = isa<arith::SubFOp>(sum);
    Value lhs = sum->getOperand(0), rhs = sum->getOperand(1);
    auto isOfRow = [&](Value value) {
      return !dependsOn(score, value, {product, key});
    };
    if (isOfRow(rhs)) {
      addends.push_back({rhs, isDifference});
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(lhs); });
      rewriter.eraseOp(sum);
      worklist.push_back(use);
    } else if (!isDifference && isOfRow(lhs)) {
      addends.push_back({lhs, false});
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(rhs); });
      rewriter.eraseOp(sum);
      worklist.push_back(use);
    } else {
      if (dependsOn(score, lhs, product))
        worklist.push_back(&sum->getOpOperand(0));
      if (!isDifference && dependsOn(score, rhs, product))
        worklist.push_back(&sum->getOpOperand(1));
    }
  }
}

/// Factors of a score that is its argument times what depends on the row alone.
/// Constants stay: they are a part of the scale. Beside a factor of the key,
/// which is multiplied with each pair anyway, registers matter more.
void RowTerms::takeFactors() {
  Region &score = op.getScore();
  // With lists, each product would be multiplied as before.
  if (score.empty() || op.getRescale() == Rescale::Never || hasKeyLists(op))
    return;
  constexpr unsigned product = 0, key = kNumScoreArgs - 1;
  Operation *yield = score.front().getTerminator();
  struct Multiple {
    OpOperand *use, *rest, *factor;
  };
  SmallVector<Multiple> multiples;
  OpOperand *use = &yield->getOpOperand(0);
  while (use->get() != score.getArgument(product)) {
    Operation *op = use->get().getDefiningOp();
    if (!isa_and_present<arith::MulFOp, arith::DivFOp>(op) || !op->hasOneUse())
      return;
    OpOperand *rest = &op->getOpOperand(0), *factor = &op->getOpOperand(1);
    if (isa<arith::MulFOp>(op) && dependsOn(score, factor->get(), {product}))
      std::swap(rest, factor);
    if (dependsOn(score, factor->get(), {product, key}))
      return;
    multiples.push_back({use, rest, factor});
    use = rest;
  }
  if (!use->get().hasOneUse())
    return;
  for (Multiple &multiple : llvm::reverse(multiples)) {
    Value factor = multiple.factor->get();
    if (matchPattern(factor, m_Constant()))
      continue;
    Operation *op = multiple.factor->getOwner();
    factors.push_back({factor, isa<arith::DivFOp>(op)});
    Value rest = multiple.rest->get();
    rewriter.modifyOpInPlace(multiple.use->getOwner(),
                             [&] { multiple.use->set(rest); });
    rewriter.eraseOp(op);
  }
}

/// Conditions of the conjunction that a mask is.
void RowTerms::takeConditions() {
  Region &mask = op.getMask();
  if (mask.empty())
    return;
  constexpr unsigned key = kNumMaskArgs - 1;
  Operation *yield = mask.front().getTerminator();
  SmallVector<OpOperand *> worklist = {&yield->getOpOperand(0)};
  while (!worklist.empty()) {
    OpOperand *use = worklist.pop_back_val();
    Value condition = use->get();
    if (matchPattern(condition, m_Constant()))
      continue;
    if (!dependsOn(mask, condition, key)) {
      conditions.push_back(condition);
      rewriter.setInsertionPoint(use->getOwner());
      Value always = arith::ConstantOp::create(rewriter, condition.getLoc(),
                                               rewriter.getBoolAttr(true));
      rewriter.modifyOpInPlace(use->getOwner(), [&] { use->set(always); });
    } else if (auto both = condition.getDefiningOp<arith::AndIOp>();
               both && both->hasOneUse()) {
      worklist.push_back(&both->getOpOperand(0));
      worklist.push_back(&both->getOpOperand(1));
    }
  }
}

/// Copies the body of `from` to where the builder stands and gives what it
/// yields; nothing where it is empty.
static SmallVector<Value> copyBody(OpBuilder &builder, Region &from,
                                   ValueRange arguments) {
  if (from.empty())
    return {};
  IRMapping mapping;
  mapping.map(from.getArguments(), arguments);
  for (Operation &inner : from.front().without_terminator())
    builder.clone(inner, mapping);
  return llvm::map_to_vector(
      from.front().getTerminator()->getOperands(),
      [&](Value value) { return mapping.lookupOrDefault(value); });
}

/// Adds to a region of `op` what `body` makes of what both regions yield for
/// the same tile. The one of the keys may be empty.
static void join(OnlineAttentionOp op, Region &ofRows, Region &ofKeys,
                 function_ref<SmallVector<Value>(OpBuilder &, ValueRange ofRows,
                                                 ValueRange ofKeys)>
                     body) {
  OpBuilder builder(op.getContext());
  Location loc = op.getLoc();
  Region joined;
  Block *block =
      builder.createBlock(&joined, joined.end(), ofRows.getArgumentTypes(),
                          SmallVector<Location>(ofRows.getNumArguments(), loc));
  SmallVector<Value> rows = copyBody(builder, ofRows, block->getArguments()),
                     keys = copyBody(builder, ofKeys, block->getArguments());
  YieldOp::create(builder, loc, body(builder, rows, keys));
  ofKeys.takeBody(joined);
}

OnlineAttentionOp RowTerms::deriveOfRows() {
  IRMapping mapping;
  rewriter.setInsertionPoint(op);
  auto copy = cast<OnlineAttentionOp>(rewriter.clone(*op, mapping));
  for (Region *region :
       {&copy.getScore(), &copy.getBlocks(), &copy.getTiles(), &copy.getRows()})
    if (!region->empty())
      rewriter.eraseBlock(&region->front());
  Operation *yield = copy.getMask().front().getTerminator();
  rewriter.setInsertionPoint(yield);
  Value all;
  for (Value condition : conditions) {
    Value copied = mapping.lookup(condition);
    all = all ? arith::AndIOp::create(rewriter, op.getLoc(), all, copied)
              : copied;
  }
  yield->setOperand(0, all);
  cleanUpRegions(copy);
  classifyBlocks(rewriter, copy);
  liftMask(rewriter, copy);
  return copy;
}

void RowTerms::deriveBounds(OnlineAttentionOp ofRows) {
  for (Region *region : {&op.getBlocks(), &op.getTiles()})
    if (!region->empty())
      rewriter.eraseBlock(&region->front());
  cleanUpRegions(op);
  Region &mask = op.getMask();
  if (matchPattern(mask.front().getTerminator()->getOperand(0), m_One()))
    rewriter.eraseBlock(&mask.front());
  classifyBlocks(rewriter, op);
  // The region `tiles` alone says of a tile whether it is full, if there is
  // one.
  bool isAlways = mask.empty(),
       areIntervals = !isAlways && MaskBounds(op).areIntervals();
  liftMask(rewriter, op, /*evenIntervals=*/!ofRows.getTiles().empty());

  Location loc = op.getLoc();
  if (!ofRows.getBlocks().empty())
    join(op, ofRows.getBlocks(), op.getBlocks(),
         [&](OpBuilder &builder, ValueRange rows,
             ValueRange keys) -> SmallVector<Value> {
           // All keys, or none: what is said of rows says nothing of keys.
           Value hi = rows[3];
           auto limit = [&](Value value) -> Value {
             if (matchPattern(value, m_Zero()) || value == hi)
               return value;
             return arith::MinSIOp::create(builder, loc, value, hi);
           };
           if (!keys.empty())
             return llvm::map_to_vector(keys, limit);
           Value zero = arith::ConstantIndexOp::create(builder, loc, 0);
           return {zero, zero, isAlways ? hi : zero, hi};
         });
  if (!ofRows.getTiles().empty())
    join(op, ofRows.getTiles(), op.getTiles(),
         [&](OpBuilder &builder, ValueRange rows,
             ValueRange keys) -> SmallVector<Value> {
           if (keys.empty())
             return {rows[0], arith::ConstantOp::create(
                                  builder, loc, builder.getBoolAttr(isAlways))};
           // Bounds say more of intervals.
           if (areIntervals)
             return {rows[0], keys[1]};
           return {arith::AndIOp::create(builder, loc, rows[0], keys[0]),
                   keys[1]};
         });
  cleanUpRegions(op);
}

Value RowTerms::copy(Region &region, Value value, unsigned batch) {
  Region &rows = op.getRows();
  IRMapping mapping;
  for (unsigned number = 0; number < kNumRowsArgs; ++number)
    mapping.map(region.getArgument(batch + number), rows.getArgument(number));
  unsigned numCaptures = op.getCaptures().size();
  mapping.map(region.getArguments().take_back(numCaptures),
              rows.getArguments().take_back(numCaptures));
  for (Operation *needed : getRegionSlice(region, value))
    rewriter.clone(*needed, mapping);
  return mapping.lookup(value);
}

void RowTerms::split() {
  if (!op.getRows().empty() || !llvm::all_of(op.getOuts(), [](Value init) {
        return init.getDefiningOp<linalg::FillOp>();
      }))
    return;
  takeAddends();
  takeFactors();
  takeConditions();
  if (addends.empty() && factors.empty() && conditions.empty())
    return;
  Location loc = op.getLoc();
  SmallVector<Type> types(kNumRowsArgs, rewriter.getIndexType());
  llvm::append_range(types, op.getCaptures().getTypes());
  rewriter.createBlock(&op.getRows(), {}, types,
                       SmallVector<Location>(types.size(), loc));
  Type type =
      cast<AttentionLikeOpInterface>(op.getOperation()).getAccumulatorType();
  auto createNumber = [&](double value) -> Value {
    return arith::ConstantOp::create(rewriter, loc,
                                     rewriter.getFloatAttr(type, value));
  };
  Value added, allowed, factor;
  for (Addend &addend : addends) {
    Value term = copy(op.getScore(), addend.value, /*batch=*/1);
    if (addend.isSubtracted)
      term = arith::NegFOp::create(rewriter, loc, term);
    added = added ? arith::AddFOp::create(rewriter, loc, added, term) : term;
  }
  for (Value condition : conditions) {
    Value copied = copy(op.getMask(), condition, /*batch=*/0);
    allowed = allowed ? arith::AndIOp::create(rewriter, loc, allowed, copied)
                      : copied;
  }
  for (Factor &one : factors) {
    Value next = copy(op.getScore(), one.value, /*batch=*/1);
    if (one.isDivisor)
      next = arith::DivFOp::create(rewriter, loc, createNumber(1), next);
    factor = factor ? arith::MulFOp::create(rewriter, loc, factor, next) : next;
  }
  if (!added)
    added = createNumber(0);
  if (!factor)
    factor = createNumber(1);
  if (!allowed)
    allowed =
        arith::ConstantOp::create(rewriter, loc, rewriter.getBoolAttr(true));
  YieldOp::create(rewriter, loc, ValueRange{added, allowed, factor});
  if (conditions.empty()) {
    cleanUpRegions(op);
  } else {
    OnlineAttentionOp ofRows = deriveOfRows();
    deriveBounds(ofRows);
    rewriter.eraseOp(ofRows);
  }
  // What is left may be what the attention does without a region.
  Region &score = op.getScore();
  if (!score.empty()) {
    Operation *yield = score.front().getTerminator();
    if (yield->getNumOperands() == 1 &&
        yield->getOperand(0) == score.getArgument(0))
      rewriter.eraseBlock(&score.front());
  }
}

namespace {
struct AttnSplitRowTerms
    : public mlir::attn::impl::AttnSplitRowTermsPassBase<AttnSplitRowTerms> {
  void runOnOperation() override {
    IRRewriter rewriter(&getContext());
    SmallVector<OnlineAttentionOp> ops;
    getOperation()->walk([&](OnlineAttentionOp op) { ops.push_back(op); });
    for (OnlineAttentionOp op : ops)
      RowTerms(rewriter, op).split();
  }
};
} // namespace
