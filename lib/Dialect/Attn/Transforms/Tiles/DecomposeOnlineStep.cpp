//===- DecomposeOnlineStep.cpp - The online softmax as arithmetic ---------===//

#include "TileOps.h"
#include "attn/Dialect/Attn/Transforms/Passes.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include "mlir/IR/PatternMatch.h"
#include "mlir/Transforms/WalkPatternRewriteDriver.h"
#include "llvm/Support/MathExtras.h"
#include <cmath>

namespace mlir::attn {
#define GEN_PASS_DEF_ATTNDECOMPOSEONLINESTEPPASS
#include "attn/Dialect/Attn/Transforms/Passes.h.inc"
} // namespace mlir::attn

using namespace mlir;
using namespace mlir::attn;

namespace {
/// Emits one step on vectors.
struct StepEmitter {
  OpBuilder &builder;
  OnlineStepOp op;
  Location loc = op.getLoc();
  Type tileType = op.getScores().getType(), rowType = op.getMax().getType();
  double factor = op.getFactor().convertToDouble();

  Value splat(Type type, double value) {
    return createFloat(builder, loc, type, value);
  }
  Value broadcast(Value value, Type type) {
    return vector::BroadcastOp::create(builder, loc, type, value);
  }
  Value compare(arith::CmpFPredicate predicate, Value a, Value b) {
    return arith::CmpFOp::create(builder, loc, predicate, a, b);
  }
  Value select(Value condition, Value a, Value b) {
    return arith::SelectOp::create(builder, loc, condition, a, b);
  }
  Value sub(Value a, Value b) {
    return arith::SubFOp::create(builder, loc, a, b);
  }
  bool hasFactor() { return factor != 1 || op.getFactors(); }
  /// Of each query, as a row or a tile.
  Value getFactor(Type type) {
    Value factors = op.getFactors();
    if (!factors)
      return splat(type, factor);
    if (factor != 1)
      factors =
          arith::MulFOp::create(builder, loc, factors, splat(rowType, factor));
    return type == rowType ? factors : broadcast(factors, type);
  }
  /// Over the keys.
  Value reduce(vector::CombiningKind kind, Value tile, double neutral) {
    return vector::MultiDimReductionOp::create(
        builder, loc, kind, tile, splat(rowType, neutral),
        builder.getDenseI64ArrayAttr({0}));
  }
  /// Powers below the normal numbers may be 0.
  Value exp2(Value exponent) {
    return math::Exp2Op::create(builder, loc, exponent,
                                arith::FastMathFlags::afn);
  }

  Value emitMax();
  Value emitProbabilities(Value shift);
  SmallVector<Value> emit();
};
} // namespace

/// The new maximum of each query.
Value StepEmitter::emitMax() {
  if (op.getRescale() == Rescale::Never)
    return op.getMax();
  Value most =
      reduce(vector::CombiningKind::MAXNUMF, op.getScores(), -INFINITY);
  if (hasFactor())
    most = arith::MulFOp::create(builder, loc, most, getFactor(rowType));
  Value limit = op.getMax();
  if (op.getRescale() == Rescale::Lazy)
    limit = arith::AddFOp::create(builder, loc, limit,
                                  splat(rowType, kRescaleThreshold));
  return select(compare(arith::CmpFPredicate::OGT, most, limit), most,
                op.getMax());
}

Value StepEmitter::emitProbabilities(Value shift) {
  if (!hasFactor())
    return exp2(sub(op.getScores(), broadcast(shift, tileType)));
  Value negated = arith::NegFOp::create(builder, loc, shift);
  Value exponent =
      math::FmaOp::create(builder, loc, op.getScores(), getFactor(tileType),
                          broadcast(negated, tileType));
  if (op.getRescale() == Rescale::Never)
    return exp2(exponent);
  // Of a large score, rounding the maximum may leave more than 2^0; never so
  // much that a factor matters, but for scores beyond 2^28, which are then so
  // far apart that it does not either. NaN stays NaN.
  Value most = splat(tileType, 16);
  return exp2(select(compare(arith::CmpFPredicate::OGT, exponent, most), most,
                     exponent));
}

/// In the order of the results.
SmallVector<Value> StepEmitter::emit() {
  Value max = emitMax();
  // Without a key so far, differences of infinities do not occur.
  Value isEmpty =
      compare(arith::CmpFPredicate::OEQ, max, splat(rowType, -INFINITY));
  Value shift = select(isEmpty, splat(rowType, 0), max);
  Value p = emitProbabilities(shift);
  Value added = reduce(vector::CombiningKind::ADD, p, 0);
  if (op.getRescale() == Rescale::Never)
    return {p, op.getAcc(), max,
            arith::AddFOp::create(builder, loc, op.getSum(), added)};
  Value rescale = exp2(sub(op.getMax(), shift));
  Value acc = arith::MulFOp::create(builder, loc, op.getAcc(),
                                    broadcast(rescale, op.getAcc().getType()));
  return {p, acc, max,
          math::FmaOp::create(builder, loc, op.getSum(), rescale, added)};
}

static LogicalResult decomposeOnlineStep(OnlineStepOp op,
                                         PatternRewriter &rewriter) {
  rewriter.replaceOp(op, StepEmitter{rewriter, op}.emit());
  return success();
}

//===----------------------------------------------------------------------===//
// The ends
//===----------------------------------------------------------------------===//

static LogicalResult decomposeNegateQueries(NegateQueriesOp op,
                                            PatternRewriter &rewriter) {
  Location loc = op.getLoc();
  auto type = cast<VectorType>(op.getResult().getType());
  Value where = vector::BroadcastOp::create(
      rewriter, loc, type.clone(rewriter.getI1Type()), op.getWhere());
  Value negated = arith::NegFOp::create(rewriter, loc, op.getQueries());
  rewriter.replaceOpWithNewOp<arith::SelectOp>(op, where, negated,
                                               op.getQueries());
  return success();
}

static LogicalResult decomposeOnlineStart(OnlineStartOp op,
                                          PatternRewriter &rewriter) {
  SmallVector<Value> state;
  for (OpResult result : op->getResults())
    state.push_back(createFloat(rewriter, op.getLoc(), result.getType(),
                                op.getFirst(result)));
  rewriter.replaceOp(op, state);
  return success();
}

NormalizedTile mlir::attn::expandNormalize(RewriterBase &builder,
                                           NormalizeOp op) {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(op);
  Location loc = op.getLoc();
  Type rowType = op.getSum().getType();
  Value zero = createFloat(builder, loc, rowType, 0.0);
  Value one = createFloat(builder, loc, rowType, 1.0);
  Value isEmpty = arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ,
                                        op.getSum(), zero);
  // Rows without an allowed key: acc is 0, so any finite factor gives 0.
  Value divisor =
      arith::SelectOp::create(builder, loc, isEmpty, one, op.getSum());
  Value factor = arith::DivFOp::create(builder, loc, one, divisor);
  Value factors =
      vector::BroadcastOp::create(builder, loc, op.getAcc().getType(), factor);
  NormalizedTile tile;
  tile.unrounded = arith::MulFOp::create(builder, loc, op.getAcc(), factors);
  tile.o = convertTile(builder, loc, tile.unrounded,
                       getElementTypeOrSelf(op.getO().getType()));
  builder.replaceAllUsesWith(op.getO(), tile.o);
  if (!op.getLse().use_empty()) {
    Value log = math::Log2Op::create(builder, loc, divisor);
    Value lse = arith::MulFOp::create(
        builder, loc, arith::AddFOp::create(builder, loc, op.getMax(), log),
        createFloat(builder, loc, rowType, llvm::numbers::ln2));
    tile.lse = arith::SelectOp::create(
        builder, loc, isEmpty, createFloat(builder, loc, rowType, -INFINITY),
        lse);
    builder.replaceAllUsesWith(op.getLse(), tile.lse);
  }
  builder.eraseOp(op);
  return tile;
}

static LogicalResult decomposeNormalize(NormalizeOp op,
                                        PatternRewriter &rewriter) {
  expandNormalize(rewriter, op);
  return success();
}

void mlir::attn::populateDecomposeOnlineStepPatterns(
    RewritePatternSet &patterns) {
  patterns.add(decomposeOnlineStep);
  patterns.add(decomposeNegateQueries);
  patterns.add(decomposeOnlineStart);
  patterns.add(decomposeNormalize);
}

namespace {
struct AttnDecomposeOnlineStep
    : public mlir::attn::impl::AttnDecomposeOnlineStepPassBase<
          AttnDecomposeOnlineStep> {
  void runOnOperation() override {
    RewritePatternSet patterns(&getContext());
    populateDecomposeOnlineStepPatterns(patterns);
    walkAndApplyPatterns(getOperation(), std::move(patterns));
  }
};
} // namespace
