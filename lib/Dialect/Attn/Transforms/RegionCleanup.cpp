//===- RegionCleanup.cpp - Simplify the regions of attentions -------------===//

#include "attn/Dialect/Attn/IR/AttnCanonicalize.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Index/IR/IndexAttrs.h"
#include "mlir/Dialect/Index/IR/IndexDialect.h"
#include "mlir/Dialect/Index/IR/IndexOps.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/Dominance.h"
#include "mlir/IR/Matchers.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"
#include "mlir/Transforms/CSE.h"
#include "mlir/Transforms/GreedyPatternRewriteDriver.h"

using namespace mlir;
using namespace mlir::attn;

StringRef mlir::attn::getFunctionName(Operation *op) {
  auto function = op->getParentOfType<FunctionOpInterface>();
  return function ? function.getName() : StringRef();
}

//===----------------------------------------------------------------------===//
// index to arith
//===----------------------------------------------------------------------===//

namespace {
/// An operation of the index dialect and its counterpart on index values.
template <typename FromOp, typename ToOp>
struct IndexToArith : public OpRewritePattern<FromOp> {
  using OpRewritePattern<FromOp>::OpRewritePattern;
  LogicalResult matchAndRewrite(FromOp op,
                                PatternRewriter &rewriter) const override {
    rewriter.replaceOpWithNewOp<ToOp>(op, op->getResultTypes(),
                                      op->getOperands());
    return success();
  }
};
} // namespace

template <typename FromOp>
static LogicalResult constantToArith(FromOp op, PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<arith::ConstantOp>(op, op.getValueAttr());
  return success();
}

static LogicalResult compareToArith(index::CmpOp op,
                                    PatternRewriter &rewriter) {
  static constexpr std::pair<index::IndexCmpPredicate, arith::CmpIPredicate>
      predicates[] = {
          {index::IndexCmpPredicate::EQ, arith::CmpIPredicate::eq},
          {index::IndexCmpPredicate::NE, arith::CmpIPredicate::ne},
          {index::IndexCmpPredicate::SLT, arith::CmpIPredicate::slt},
          {index::IndexCmpPredicate::SLE, arith::CmpIPredicate::sle},
          {index::IndexCmpPredicate::SGT, arith::CmpIPredicate::sgt},
          {index::IndexCmpPredicate::SGE, arith::CmpIPredicate::sge},
          {index::IndexCmpPredicate::ULT, arith::CmpIPredicate::ult},
          {index::IndexCmpPredicate::ULE, arith::CmpIPredicate::ule},
          {index::IndexCmpPredicate::UGT, arith::CmpIPredicate::ugt},
          {index::IndexCmpPredicate::UGE, arith::CmpIPredicate::uge}};
  for (auto [from, to] : predicates)
    if (op.getPred() == from) {
      rewriter.replaceOpWithNewOp<arith::CmpIOp>(op, to, op.getLhs(),
                                                 op.getRhs());
      return success();
    }
  return rewriter.notifyMatchFailure(op, "unknown predicate");
}

/// An index has 64 bits on every target.
static LogicalResult sizeOfToArith(index::SizeOfOp op,
                                   PatternRewriter &rewriter) {
  rewriter.replaceOpWithNewOp<arith::ConstantIndexOp>(op, 64);
  return success();
}

void mlir::attn::populateIndexToArithPatterns(RewritePatternSet &patterns) {
  patterns.add<IndexToArith<index::AddOp, arith::AddIOp>,
               IndexToArith<index::SubOp, arith::SubIOp>,
               IndexToArith<index::MulOp, arith::MulIOp>,
               IndexToArith<index::DivSOp, arith::DivSIOp>,
               IndexToArith<index::DivUOp, arith::DivUIOp>,
               IndexToArith<index::CeilDivSOp, arith::CeilDivSIOp>,
               IndexToArith<index::CeilDivUOp, arith::CeilDivUIOp>,
               IndexToArith<index::FloorDivSOp, arith::FloorDivSIOp>,
               IndexToArith<index::RemSOp, arith::RemSIOp>,
               IndexToArith<index::RemUOp, arith::RemUIOp>,
               IndexToArith<index::MaxSOp, arith::MaxSIOp>,
               IndexToArith<index::MaxUOp, arith::MaxUIOp>,
               IndexToArith<index::MinSOp, arith::MinSIOp>,
               IndexToArith<index::MinUOp, arith::MinUIOp>,
               IndexToArith<index::ShlOp, arith::ShLIOp>,
               IndexToArith<index::ShrSOp, arith::ShRSIOp>,
               IndexToArith<index::ShrUOp, arith::ShRUIOp>,
               IndexToArith<index::AndOp, arith::AndIOp>,
               IndexToArith<index::OrOp, arith::OrIOp>,
               IndexToArith<index::XOrOp, arith::XOrIOp>,
               IndexToArith<index::CastSOp, arith::IndexCastOp>,
               IndexToArith<index::CastUOp, arith::IndexCastUIOp>>(
      patterns.getContext());
  patterns.add(constantToArith<index::ConstantOp>);
  patterns.add(constantToArith<index::BoolConstantOp>);
  patterns.add(compareToArith);
  patterns.add(sizeOfToArith);
}

//===----------------------------------------------------------------------===//
// scf.if to arith.select
//===----------------------------------------------------------------------===//

/// Whether an operation of a branch may be computed where the branch is not
/// taken. A read of a capture may be out of range there, and a division by
/// anything but a constant may be by zero.
static bool canHoist(Operation &op) {
  return !isa<tensor::ExtractOp>(op) && op.getNumRegions() == 0 && isPure(&op);
}

/// Computes both sides of a branch and selects, which vectorizes.
static LogicalResult branchToSelect(scf::IfOp op, PatternRewriter &rewriter) {
  if (op.getNumResults() == 0)
    return rewriter.notifyMatchFailure(op, "has no results");
  for (Region &side : op->getRegions())
    if (!llvm::all_of(side.front().without_terminator(), canHoist))
      return rewriter.notifyMatchFailure(op, "a side only runs when taken");
  scf::YieldOp yes = op.thenYield(), no = op.elseYield();
  for (Region &side : op->getRegions())
    for (Operation &inner :
         llvm::make_early_inc_range(side.front().without_terminator()))
      rewriter.moveOpBefore(&inner, op);
  SmallVector<Value> results;
  for (auto [a, b] : llvm::zip_equal(yes.getOperands(), no.getOperands()))
    results.push_back(arith::SelectOp::create(rewriter, op.getLoc(),
                                              op.getCondition(), a, b));
  rewriter.replaceOp(op, results);
  return success();
}

void mlir::attn::populateBranchToSelectPatterns(RewritePatternSet &patterns) {
  patterns.add(branchToSelect);
}

//===----------------------------------------------------------------------===//
// Remainders
//===----------------------------------------------------------------------===//

/// What rounds a remainder down, r < 0 ? r + d : r, leaves it 0 if it is.
static LogicalResult compareRemainder(arith::CmpIOp op,
                                      PatternRewriter &rewriter) {
  auto select = op.getLhs().getDefiningOp<arith::SelectOp>();
  if (!select || !matchPattern(op.getRhs(), m_Zero()) ||
      (op.getPredicate() != arith::CmpIPredicate::eq &&
       op.getPredicate() != arith::CmpIPredicate::ne))
    return rewriter.notifyMatchFailure(op, "does not ask for a remainder of 0");
  auto rest = select.getFalseValue().getDefiningOp<arith::RemSIOp>();
  auto isNegative = select.getCondition().getDefiningOp<arith::CmpIOp>();
  auto sum = select.getTrueValue().getDefiningOp<arith::AddIOp>();
  bool isRoundedDown = rest && isNegative && sum &&
                       isNegative.getPredicate() == arith::CmpIPredicate::slt &&
                       isNegative.getLhs() == rest &&
                       matchPattern(isNegative.getRhs(), m_Zero());
  auto isSum = [&](Value x, Value y) {
    return x == rest.getResult() && y == rest.getRhs();
  };
  if (!isRoundedDown || (!isSum(sum.getLhs(), sum.getRhs()) &&
                         !isSum(sum.getRhs(), sum.getLhs())))
    return rewriter.notifyMatchFailure(op, "is not of a remainder");
  rewriter.modifyOpInPlace(op, [&] { op.getLhsMutable().assign(rest); });
  return success();
}

//===----------------------------------------------------------------------===//
// Scores of -inf
//===----------------------------------------------------------------------===//

/// Whether a float is finite for certain.
static bool isFinite(Value value) {
  APFloat constant(0.0);
  if (matchPattern(value, m_ConstantFloat(&constant)))
    return constant.isFinite();
  // The largest 64-bit integer is far within the range of f32.
  Operation *op = value.getDefiningOp();
  return isa_and_present<arith::SIToFPOp, arith::UIToFPOp>(op) &&
         op->getOperand(0).getType().getIntOrFloatBitWidth() <= 64 &&
         (value.getType().isF32() || value.getType().isF64());
}

static bool isPositiveConstant(Value value) {
  APFloat constant(0.0);
  return matchPattern(value, m_ConstantFloat(&constant)) &&
         constant.isFiniteNonZero() && !constant.isNegative();
}

/// Whether `op` yields -inf where operand `number` is -inf.
static bool keepsInfinity(Operation *op, unsigned number) {
  Value other = op->getOperand(1 - number);
  if (isa<arith::AddFOp>(op))
    return isFinite(other);
  if (isa<arith::SubFOp>(op))
    return number == 0 && isFinite(other);
  if (isa<arith::MulFOp>(op))
    return isPositiveConstant(other);
  return number == 0 && isa<arith::DivFOp>(op) && isPositiveConstant(other);
}

/// Moves a choice between a score and -inf behind arithmetic that keeps -inf.
template <typename OpTy>
static LogicalResult sinkInfinity(OpTy op, PatternRewriter &rewriter) {
  for (OpOperand &operand : op->getOpOperands()) {
    auto select = operand.get().template getDefiningOp<arith::SelectOp>();
    if (!select || !keepsInfinity(op, operand.getOperandNumber()))
      continue;
    bool isElse = matchPattern(select.getFalseValue(), m_NegInfFloat());
    if (!isElse && !matchPattern(select.getTrueValue(), m_NegInfFloat()))
      continue;
    Value kept = isElse ? select.getTrueValue() : select.getFalseValue();
    Value infinity = isElse ? select.getFalseValue() : select.getTrueValue();
    Operation *clone = rewriter.clone(*op);
    rewriter.modifyOpInPlace(
        clone, [&] { clone->setOperand(operand.getOperandNumber(), kept); });
    Value result = clone->getResult(0);
    rewriter.replaceOpWithNewOp<arith::SelectOp>(op, select.getCondition(),
                                                 isElse ? result : infinity,
                                                 isElse ? infinity : result);
    return success();
  }
  return rewriter.notifyMatchFailure(op, "has no operand that may be -inf");
}

void mlir::attn::populateSinkInfinityPatterns(RewritePatternSet &patterns) {
  patterns.add(sinkInfinity<arith::AddFOp>);
  patterns.add(sinkInfinity<arith::SubFOp>);
  patterns.add(sinkInfinity<arith::MulFOp>);
  patterns.add(sinkInfinity<arith::DivFOp>);
}

//===----------------------------------------------------------------------===//
// All of it
//===----------------------------------------------------------------------===//

/// Upstream's canonical forms of the operations that regions may hold.
static void addUpstreamPatterns(RewritePatternSet &patterns) {
  MLIRContext *context = patterns.getContext();
  for (StringRef name : {"arith", "math", "index", "scf", "tensor"})
    if (Dialect *dialect = context->getLoadedDialect(name))
      dialect->getCanonicalizationPatterns(patterns);
  for (RegisteredOperationName name : context->getRegisteredOperations()) {
    StringRef dialect = name.getDialectNamespace();
    bool isScalar = dialect == "arith" || dialect == "math" ||
                    dialect == index::IndexDialect::getDialectNamespace();
    if (isScalar || name.getStringRef() == scf::IfOp::getOperationName() ||
        name.getStringRef() == scf::ForOp::getOperationName() ||
        name.getStringRef() == tensor::ExtractOp::getOperationName() ||
        name.getStringRef() == tensor::DimOp::getOperationName())
      name.getCanonicalizationPatterns(patterns, context);
  }
}

void mlir::attn::cleanUpRegions(AttentionLikeOpInterface op) {
  RewritePatternSet patterns(op->getContext());
  addUpstreamPatterns(patterns);
  populateConstantComparisonPatterns(patterns);
  populateIndexToArithPatterns(patterns);
  populateBranchToSelectPatterns(patterns);
  populateSinkInfinityPatterns(patterns);
  patterns.add(compareRemainder);
  FrozenRewritePatternSet frozen(std::move(patterns));
  // Where no fixed point is reached the regions are right all the same.
  (void)applyPatternsGreedily(op, frozen);
  DominanceInfo dominance(op);
  IRRewriter rewriter(op->getContext());
  eliminateCommonSubExpressions(rewriter, dominance, op);
}
