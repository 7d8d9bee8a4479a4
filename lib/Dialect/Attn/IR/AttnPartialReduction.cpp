//===- AttnPartialReduction.cpp - Split the keys of an attention ----------===//
//
// PartialReductionOpInterface of attn.online_attention: parts of the keys give
// partial states, which are merged with the state that the operation started
// from. Partial states of n parts are tensors with a leading dimension n.
//
// Where the parts run in parallel, each writes the state of its number. Where
// they run one after the other, upstream asks for a state for each position in
// a part; a part of an attention has but one state, so that the first is
// carried from part to part and the others stay neutral.
//
//===----------------------------------------------------------------------===//

#include "AttnTileUtils.h"
#include "mlir/Dialect/Affine/IR/AffineOps.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/Utils/StaticValueUtils.h"

using namespace mlir;
using namespace mlir::attn;

using utils::IteratorType;

//===----------------------------------------------------------------------===//
// Merging
//===----------------------------------------------------------------------===//

namespace {
/// A tensor of the shape of acc, or of rows, which serve all of d; of one state
/// or with a leading dimension of parts.
struct StateTensor {
  static StateTensor one(Value value) { return {value, /*hasParts=*/false}; }
  static StateTensor parts(Value value) { return {value, /*hasParts=*/true}; }

  bool hasD() const {
    auto type = cast<RankedTensorType>(value.getType());
    return type.getRank() - (hasParts ? 1 : 0) == 4;
  }

  Value value;
  bool hasParts;
};

/// Emits element-wise operations on, and reductions over parts of, states.
class StateBuilder {
public:
  using Body = function_ref<Value(OpBuilder &, Location, ValueRange)>;

  StateBuilder(OpBuilder &builder, Location loc, unsigned accDim)
      : builder(builder), loc(loc), accDim(accDim) {}

  /// Updates each element of `out` by `body` of the elements of `ins` and the
  /// element itself, for one part after the other if only `ins` have parts.
  Value update(ArrayRef<StateTensor> ins, StateTensor out, Body body) {
    bool hasParts = out.hasParts, hasD = out.hasD();
    SmallVector<Value> inputs;
    for (StateTensor in : ins) {
      hasParts |= in.hasParts;
      hasD |= in.hasD();
      inputs.push_back(in.value);
    }
    SmallVector<AffineMap> maps;
    for (StateTensor in : ins)
      maps.push_back(getMap(in, hasParts, hasD));
    maps.push_back(getMap(out, hasParts, hasD));
    SmallVector<IteratorType> iterators(maps.front().getNumDims(),
                                        IteratorType::parallel);
    if (hasParts && !out.hasParts)
      iterators.front() = IteratorType::reduction;
    auto generic = linalg::GenericOp::create(
        builder, loc, out.value.getType(), inputs, out.value, maps, iterators,
        [&](OpBuilder &inner, Location innerLoc, ValueRange arguments) {
          linalg::YieldOp::create(inner, innerLoc,
                                  body(inner, innerLoc, arguments));
        });
    return generic.getResult(0);
  }

private:
  /// The dimensions of a tensor among loops over parts, rows and d.
  AffineMap getMap(StateTensor tensor, bool hasParts, bool hasD) {
    unsigned firstRow = hasParts ? 1 : 0;
    unsigned numLoops = firstRow + (hasD ? 4 : 3);
    SmallVector<unsigned> targets;
    if (tensor.hasParts)
      targets.push_back(0);
    for (unsigned loop = firstRow; loop < numLoops; ++loop)
      if (!hasD || tensor.hasD() || loop != firstRow + accDim)
        targets.push_back(loop);
    return AffineMap::getMultiDimMapWithTargets(numLoops, targets,
                                                builder.getContext());
  }

  OpBuilder &builder;
  Location loc;
  /// Where d lies in the layout of o.
  unsigned accDim;
};
} // namespace

/// w(m) = 2^(m - max), for m that is at most max; 0 where both are -inf.
static Value emitWeight(OpBuilder &builder, Location loc, ValueRange args) {
  Value max = args[0], m = args[1];
  auto type = cast<FloatType>(max.getType());
  Value lowest = arith::ConstantOp::create(
      builder, loc,
      builder.getFloatAttr(type, APFloat::getInf(type.getFloatSemantics(),
                                                 /*Negative=*/true)));
  Value zero =
      arith::ConstantOp::create(builder, loc, builder.getFloatAttr(type, 0.0));
  Value isLowest = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OEQ, max, lowest);
  Value shift = arith::SelectOp::create(builder, loc, isLowest, zero, max);
  Value difference = arith::SubFOp::create(builder, loc, m, shift);
  return math::Exp2Op::create(builder, loc, difference);
}

static Value emitMaximum(OpBuilder &builder, Location loc, ValueRange args) {
  return arith::MaximumFOp::create(builder, loc, args[0], args[1]);
}

static Value emitScale(OpBuilder &builder, Location loc, ValueRange args) {
  return arith::MulFOp::create(builder, loc, args[1], args[0]);
}

static Value emitAddScaled(OpBuilder &builder, Location loc, ValueRange args) {
  Value scaled = arith::MulFOp::create(builder, loc, args[0], args[1]);
  return arith::AddFOp::create(builder, loc, args[2], scaled);
}

/// Merges the states of parts, with a leading dimension, into the state that
/// `op` starts from:
///
///   max'  = maximum(max, max_n m[n])
///   sum'  = sum * w(max) + sum_n sums[n] * w(m[n])
///   acc'  = acc * w(max) + sum_n accs[n] * w(m[n])
static MergeResult mergeStates(OpBuilder &builder, OnlineAttentionOp op,
                               ValueRange parts) {
  auto attention = cast<AttentionLikeOpInterface>(op.getOperation());
  StateBuilder states(builder, op.getLoc(), attention.getLayout(3).d);
  auto one = StateTensor::one;
  auto all = StateTensor::parts;
  Value accs = parts[0], maxima = parts[1], sums = parts[2];

  Value max = states.update(all(maxima), one(op.getMaxInit()), emitMaximum);
  Value weights = states.update(one(max), all(maxima), emitWeight);
  Value weight = states.update(one(max), one(op.getMaxInit()), emitWeight);
  Value sum = states.update(one(weight), one(op.getSumInit()), emitScale);
  sum = states.update({all(sums), all(weights)}, one(sum), emitAddScaled);
  Value acc = states.update(one(weight), one(op.getAccInit()), emitScale);
  acc = states.update({all(accs), all(weights)}, one(acc), emitAddScaled);
  return {{acc.getDefiningOp()}, {acc, max, sum}};
}

//===----------------------------------------------------------------------===//
// Parts
//===----------------------------------------------------------------------===//

/// Where a tile lies in a partial state, with the number of its part first.
/// The destinations of `op` are not looked at: while upstream tiles it, they
/// are the partial states.
static void getPartialPosition(OpBuilder &builder, AttentionLikeOpInterface op,
                               unsigned number,
                               ReductionTilingStrategy strategy,
                               ArrayRef<OpFoldResult> offsets,
                               ArrayRef<OpFoldResult> sizes,
                               ArrayRef<OpFoldResult> splitReductionIvs,
                               SmallVector<OpFoldResult> &partialOffsets,
                               SmallVector<OpFoldResult> &partialSizes) {
  OpFoldResult zero = builder.getIndexAttr(0);
  OpFoldResult d = builder.getIndexAttr(op.getValueDim());
  Layout layout = op.getLayout(3);
  auto arrange = [&](ArrayRef<OpFoldResult> loops, OpFoldResult ofD) {
    return number == 0 ? layout.arrange(loops[kLoopB], loops[kLoopH],
                                        loops[kLoopI], ofD)
                       : layout.arrangeRows(loops[kLoopB], loops[kLoopH],
                                            loops[kLoopI]);
  };
  bool isParallel =
      strategy == ReductionTilingStrategy::PartialReductionOuterParallel;
  partialOffsets = {isParallel ? splitReductionIvs.front() : zero};
  partialSizes = {builder.getIndexAttr(1)};
  llvm::append_range(partialOffsets, arrange(offsets, zero));
  llvm::append_range(partialSizes, arrange(sizes, d));
}

namespace {
struct PartialReduction
    : public PartialReductionOpInterface::ExternalModel<PartialReduction,
                                                        OnlineAttentionOp> {
  using Fold = OpFoldResult;
  using Folds = ArrayRef<OpFoldResult>;

  /// The neutral state of each part: acc = 0, max = -inf, sum = 0.
  FailureOr<SmallVector<Value>> generateInitialTensorForPartialReduction(
      Operation *op, OpBuilder &builder, Location loc, Folds sizes,
      const SetVector<unsigned> &reductionDims) const {
    auto online = cast<OnlineAttentionOp>(op);
    SmallVector<Value> result;
    for (auto [number, init] : llvm::enumerate(online.getOuts())) {
      SmallVector<Fold> shape = tensor::getMixedSizes(builder, loc, init);
      shape.insert(shape.begin(), sizes[kLoopJ]);
      auto type = cast<FloatType>(getElementTypeOrSelf(init.getType()));
      APFloat neutral =
          number == 1
              ? APFloat::getInf(type.getFloatSemantics(), /*Negative=*/true)
              : APFloat::getZero(type.getFloatSemantics());
      Value value = arith::ConstantOp::create(
          builder, loc, builder.getFloatAttr(type, neutral));
      Value empty = tensor::EmptyOp::create(builder, loc, shape, type);
      result.push_back(
          linalg::FillOp::create(builder, loc, value, empty).getResult(0));
    }
    return result;
  }

  FailureOr<TilingResult>
  tileToPartialReduction(Operation *op, OpBuilder &builder, Location loc,
                         ReductionTilingStrategy strategy, ValueRange init,
                         Folds offsets, Folds sizes,
                         const SetVector<unsigned> &reductionDims,
                         Folds splitReductionIvs) const {
    auto online = cast<OnlineAttentionOp>(op);
    SmallVector<DimTile> tile = getTile(getLoopDims(online), offsets, sizes);
    FailureOr<AttentionInputs> inputs = extractInputs(builder, online, tile);
    if (failed(inputs))
      return failure();
    SmallVector<Value> outs;
    for (auto [number, partial] : llvm::enumerate(init)) {
      SmallVector<Fold> from, extent;
      getPartialPosition(builder, online, number, strategy, offsets, sizes,
                         splitReductionIvs, from, extent);
      SmallVector<Fold> strides(from.size(), builder.getIndexAttr(1));
      SmallVector<int64_t> shape =
          decomposeMixedValues(SmallVector<Fold>(llvm::drop_begin(extent)))
              .first;
      auto type =
          RankedTensorType::get(shape, getElementTypeOrSelf(partial.getType()));
      auto slice = tensor::ExtractSliceOp::create(builder, loc, type, partial,
                                                  from, extent, strides);
      inputs->slices.push_back(slice);
      outs.push_back(slice);
    }
    OnlineAttentionOp tiled = cloneWithInputs(builder, online, *inputs, outs);
    // A part starts from the neutral state, not from a bound.
    if (tiled.getRescale() == Rescale::Never)
      tiled.setRescale(Rescale::Lazy);
    return TilingResult{
        {tiled}, SmallVector<Value>(tiled->getResults()), inputs->slices};
  }

  FailureOr<MergeResult>
  mergeReductions(Operation *op, OpBuilder &builder, Location loc,
                  ValueRange partialReduce,
                  const SetVector<unsigned> &reductionDims) const {
    return mergeStates(builder, cast<OnlineAttentionOp>(op), partialReduce);
  }

  LogicalResult getPartialResultTilePosition(
      Operation *op, OpBuilder &builder, unsigned number,
      ReductionTilingStrategy strategy, Folds offsets, Folds sizes,
      const SetVector<unsigned> &reductionDims, Folds splitReductionIvs,
      SmallVector<Fold> &resultOffsets, SmallVector<Fold> &resultSizes) const {
    getPartialPosition(builder, cast<OnlineAttentionOp>(op), number, strategy,
                       offsets, sizes, splitReductionIvs, resultOffsets,
                       resultSizes);
    return success();
  }
};
} // namespace

void mlir::attn::attachPartialReductionInterface(MLIRContext *context) {
  OnlineAttentionOp::attachInterface<PartialReduction>(*context);
}
