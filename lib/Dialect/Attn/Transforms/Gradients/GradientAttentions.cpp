//===- GradientAttentions.cpp - Gradients as attentions -------------------===//
//
// An adjoint is linear in the gradient of a score, which is a multiple of the
// probability. So with what it makes of the factor, g = w dp - delta,
//
//   dq[i] = scale sum_j softmax(s[i, :])[j] adjoint(g[i, j]) k[j]
//
// is an attention, of the values k with the weights `scale adjoint(g)`. Those
// of keys and values are attentions with the keys as queries. Their softmax is
// over queries, and of s - lse, so that a row of it is the probabilities of a
// key but for their sum, which the log-sum-exp l of that row has:
//
//   dk[j] = exp(l[j]) scale sum_i softmax((s - lse)[:, j])[i] adjoint(g[i, j])
//   q[i] dv[j] = exp(l[j])       sum_i softmax((s - lse)[:, j])[i] w[i, j]
//   do[i]
//
// Each reads rows of two tensors for a pair, and sums up dp in its score. There
// is memory for dk and dv of each query head, in f32.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "GradientPairs.h"
#include "Products/SharedKeys.h"
#include "RegionLoops.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
class GradientAttentions {
public:
  /// `op` has no sparsity but `ofQueries`, which is the same otherwise, may
  /// have.
  GradientAttentions(RewriterBase &builder, AttentionGradOp op,
                     AttentionGradOp ofQueries)
      : builder(builder), op(op), attention(op), ofQueries(ofQueries),
        loc(op.getLoc()), accType(attention.getAccumulatorType()),
        shared(builder, op, /*ofBatches=*/true, /*ofHeads=*/true),
        delta(emitDelta(builder, op)), value(shared.spread(op.getValue(), 2)) {}

  Value emitQueryGradient();
  /// That of keys, or of values.
  Value emitKeyGradient(int64_t input);
  Value emitCaptureGradient(int64_t capture) {
    return emitCapturePairs(builder, op, capture, delta);
  }

private:
  /// What an attention captures behind what `op` does.
  enum Capture { kLse, kDelta, kOutputGrad, kValue, kOffsets };
  Value toAccumulators(Value tensor) {
    return convertFloats(
        builder, loc, tensor,
        cast<RankedTensorType>(tensor.getType()).clone(accType));
  }
  AttentionOp create(AttentionGradOp of, ValueRange inputs, ValueRange outs,
                     ArrayRef<unsigned> layouts, bool ofKeys, bool ofValues);
  void emitScore(AttentionGradOp of, AttentionOp to, bool ofKeys,
                 bool ofValues);
  void emitMask(AttentionGradOp of, AttentionOp to, bool ofKeys);
  GradientPair getPair(AttentionGradOp of, Block *block, unsigned numLeading,
                       bool ofKeys);
  Block *createBlock(Region &region, ArrayRef<Type> leading, AttentionOp to);
  Value emitEmpty(unsigned which, bool isLse);

  RewriterBase &builder;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  AttentionGradOp ofQueries;
  Location loc;
  FloatType accType;
  SharedKeys shared;
  Value delta;
  /// The values of each query head.
  Value value;
};
} // namespace

//===----------------------------------------------------------------------===//
// Regions
//===----------------------------------------------------------------------===//

/// The pair of a region whose arguments behind the leading ones are (b, h, i,
/// j), or (b, h, j, i) where keys are queries, and captures.
GradientPair GradientAttentions::getPair(AttentionGradOp of, Block *block,
                                         unsigned numLeading, bool ofKeys) {
  ValueRange arguments =
      ValueRange(block->getArguments()).drop_front(numLeading);
  SmallVector<Value> seen(arguments.take_front(4));
  if (ofKeys)
    std::swap(seen[2], seen[3]);
  ValueRange captures = arguments.drop_front(4);
  ValueRange others = captures.drop_front(of.getCaptures().size());
  SmallVector<Value> place(seen);
  if (!of.getOffsets().empty())
    for (auto [position, offset] :
         llvm::zip_equal(place, others.drop_front(kOffsets)))
      position = arith::SubIOp::create(builder, loc, position, offset);
  return GradientPair(
      builder, of,
      {SmallVector<Value>(captures.take_front(of.getCaptures().size())),
       others[kLse], others[kDelta], others[kOutputGrad], others[kValue]},
      place, seen, /*keyBatch=*/place[0], /*keyHead=*/place[1]);
}

Block *GradientAttentions::createBlock(Region &region, ArrayRef<Type> leading,
                                       AttentionOp to) {
  SmallVector<Type> types(leading);
  llvm::append_range(types, to.getCaptures().getTypes());
  return builder.createBlock(&region, {}, types,
                             SmallVector<Location>(types.size(), loc));
}

void GradientAttentions::emitScore(AttentionGradOp of, AttentionOp to,
                                   bool ofKeys, bool ofValues) {
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> leading(kNumScoreArgs, builder.getIndexType());
  leading[0] = accType;
  Block *block = createBlock(to.getScore(), leading, to);
  GradientPair pair = getPair(of, block, /*numLeading=*/1, ofKeys);
  Value x = block->getArgument(0);
  auto [score, exponent, weight] = pair.emitScore(x);
  SmallVector<Value> results = {ofKeys ? exponent : score};
  if (!ofValues) {
    Value gradient = pair.emitAdjoint(x, pair.emitFactor(weight));
    Value scale = createFloat(builder, loc, accType, op.getEffectiveScale());
    gradient = arith::MulFOp::create(builder, loc, gradient, scale);
    results.push_back(pair.unlessNone(gradient, exponent));
  } else if (weight) {
    results.push_back(weight);
  }
  YieldOp::create(builder, loc, results);
  beginWithLoopsAround(to.getScore());
}

void GradientAttentions::emitMask(AttentionGradOp of, AttentionOp to,
                                  bool ofKeys) {
  if (of.getMask().empty())
    return;
  OpBuilder::InsertionGuard guard(builder);
  SmallVector<Type> leading(kNumMaskArgs, builder.getIndexType());
  Block *block = createBlock(to.getMask(), leading, to);
  Value allowed = getPair(of, block, /*numLeading=*/0, ofKeys).emitMask();
  YieldOp::create(builder, loc, allowed);
}

//===----------------------------------------------------------------------===//
// Attentions
//===----------------------------------------------------------------------===//

/// An attention with these queries, keys and values, which have these layouts
/// of `op`, as its result has the last one.
AttentionOp GradientAttentions::create(AttentionGradOp of, ValueRange inputs,
                                       ValueRange outs,
                                       ArrayRef<unsigned> layouts, bool ofKeys,
                                       bool ofValues) {
  SmallVector<Value> captures(of.getCaptures());
  captures.append({of.getLse(), delta, of.getOutputGrad(), value});
  SmallVector<Value> offsets(of.getOffsets());
  llvm::append_range(captures, offsets);
  if (ofKeys && !offsets.empty())
    std::swap(offsets[2], offsets[3]);
  SmallVector<AffineMap> maps;
  for (unsigned layout : layouts)
    maps.push_back(attention.getLayout(layout).getMap(builder.getContext()));
  auto result = AttentionOp::create(
      builder, loc, outs.getTypes(), inputs[0], inputs[1], inputs[2], captures,
      ofKeys ? ValueRange() : ValueRange(of.getSparsityOperands()), offsets,
      outs, builder.getF64FloatAttr(op.getEffectiveScale()),
      builder.getAffineMapArrayAttr(maps), /*schedule=*/nullptr,
      ofKeys ? SparsityAttr() : of.getSparsityAttr());
  emitScore(of, result, ofKeys, ofValues);
  emitMask(of, result, ofKeys);
  cleanUpRegions(result);
  return result;
}

Value GradientAttentions::emitQueryGradient() {
  Value out = op.getOutOf(kGradQuery);
  Value keys = toAccumulators(op.getKey());
  Value sums =
      getElementTypeOrSelf(out.getType()) == accType
          ? out
          : tensor::EmptyOp::create(
                builder, loc, tensor::getMixedSizes(builder, loc, out), accType)
                .getResult();
  AttentionOp result =
      create(ofQueries, {toAccumulators(op.getQuery()), keys, keys}, sums,
             {0, 1, 1, 0}, /*ofKeys=*/false, /*ofValues=*/false);
  return convertFloats(builder, loc, result.getResult(0), out.getType());
}

/// What an attention of the keys writes: sums for k or v of each query head, or
/// their log-sum-exps.
Value GradientAttentions::emitEmpty(unsigned which, bool isLse) {
  SmallVector<OpFoldResult> sizes =
      shared.getSizes(which == kGradKey ? op.getKey() : op.getValue(), which);
  if (isLse)
    sizes.erase(sizes.begin() + attention.getLayout(which).d);
  return tensor::EmptyOp::create(builder, loc, sizes, accType);
}

Value GradientAttentions::emitKeyGradient(int64_t input) {
  bool ofValues = input == kGradValue;
  unsigned which = input;
  Value queries = toAccumulators(op.getQuery());
  Value values = ofValues ? toAccumulators(op.getOutputGrad()) : queries;
  Value keys = shared.spread(toAccumulators(op.getKey()), 1);
  AttentionOp result =
      create(op, {keys, queries, values},
             {emitEmpty(which, false), emitEmpty(which, true)},
             {1, 0, ofValues ? 3u : 0u, which}, /*ofKeys=*/true, ofValues);
  auto emitPart = [&](OpBuilder &inner, ValueRange place) -> Value {
    Value sum =
        tensor::ExtractOp::create(inner, loc, result.getResult(0), place);
    SmallVector<Value> row(place);
    row.erase(row.begin() + attention.getLayout(which).d);
    Value lse = tensor::ExtractOp::create(inner, loc, result.getResult(1), row);
    return arith::MulFOp::create(inner, loc, sum,
                                 math::ExpOp::create(inner, loc, lse));
  };
  auto type = cast<FloatType>(getElementTypeOrSelf(op.getInput(input)));
  return shared.sum(which, type, emitPart);
}

FailureOr<SmallVector<Value>>
mlir::attn::lowerToAttentions(RewriterBase &rewriter, AttentionGradOp op) {
  OpBuilder::InsertionGuard guard(rewriter);
  rewriter.setInsertionPoint(op);
  // The queries of a key have no list.
  auto masked = cast<AttentionGradOp>(rewriter.clone(*op));
  SmallVector<Attribute> sites;
  if (failed(expandSparsity(rewriter, masked, sites, /*byElement=*/true,
                            /*ofKeys=*/true)))
    return failure();
  rewriter.setInsertionPoint(masked);
  GradientAttentions gradients(rewriter, masked, op);
  SmallVector<Value> results;
  for (auto [input, old] : llvm::zip_equal(op.getWrt(), op.getResults())) {
    Value result = input == kGradQuery ? gradients.emitQueryGradient()
                   : input < kGradCapture
                       ? gradients.emitKeyGradient(input)
                       : gradients.emitCaptureGradient(input - kGradCapture);
    if (result.getType() != old.getType())
      result =
          tensor::CastOp::create(rewriter, op.getLoc(), old.getType(), result);
    results.push_back(result);
  }
  rewriter.eraseOp(masked);
  return results;
}
