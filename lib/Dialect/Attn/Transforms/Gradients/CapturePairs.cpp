//===- CapturePairs.cpp - Gradients of captures, pair by pair -------------===//
//
// Each element of the gradient of a capture is a sum of its own, over the pairs
// that its indices may belong to: where an index is a position itself, those
// with this position, else all of which the index function says so. So sums
// have one order, and there is no memory for all pairs but that of the result.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "CaptureSums.h"
#include "Filled.h"
#include "GradientPairs.h"
#include "mlir/Dialect/Linalg/IR/Linalg.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Tensor/IR/Tensor.h"

using namespace mlir;
using namespace mlir::attn;

namespace {
/// The sums of one contribution.
class CapturePairs {
public:
  CapturePairs(OpBuilder &builder, AttentionGradOp op,
               ContributeOp contribution, Value delta);

  /// What `sums` become with it.
  Value emit(Value sums);

private:
  /// (b, h, i, j).
  static constexpr unsigned kNumPositions = 4;

  Value emitOver(ArrayRef<unsigned> loops, Value sum);
  Value emitPair();
  Value emitIf(Value condition, function_ref<Value()> emitThen);
  Value emitIsElement(ValueRange indices);
  Value emitContribution(GradientPair &pair, bool isKnown);
  Value getOffset(unsigned position) {
    return op.getOffsets().empty() ? Value() : op.getOffsets()[position];
  }

  OpBuilder &builder;
  AttentionGradOp op;
  AttentionLikeOpInterface attention;
  ContributeOp contribution;
  Location loc;
  FloatType accType;
  GradientPair::Tensors tensors;
  std::array<Value, kNumPositions> extents;
  /// The index that each position is itself, or -1, and other indices.
  std::array<int64_t, kNumPositions> own;
  SmallVector<int64_t> others;
  // In the body of the sum.
  SmallVector<Value> element;
  std::array<Value, kNumPositions> place;
};
} // namespace

CapturePairs::CapturePairs(OpBuilder &builder, AttentionGradOp op,
                           ContributeOp contribution, Value delta)
    : builder(builder), op(op), attention(op), contribution(contribution),
      loc(contribution.getLoc()), accType(attention.getAccumulatorType()),
      tensors{SmallVector<Value>(op.getCaptures()), op.getLse(), delta,
              op.getOutputGrad(), op.getValue()} {
  own.fill(-1);
  for (auto [dim, value] : llvm::enumerate(contribution.getIndices())) {
    auto argument = dyn_cast<BlockArgument>(value);
    unsigned position =
        argument ? argument.getArgNumber() - kAdjointBatch : kNumPositions;
    bool isOwn = position < kNumPositions && own[position] < 0 &&
                 argument.getOwner() == &op.getAdjoint().front();
    if (isOwn)
      own[position] = dim;
    else
      others.push_back(dim);
  }
  Layout ofQuery = attention.getLayout(0);
  extents = {tensor::DimOp::create(builder, loc, op.getQuery(), ofQuery.b),
             tensor::DimOp::create(builder, loc, op.getQuery(), ofQuery.h),
             tensor::DimOp::create(builder, loc, op.getQuery(), ofQuery.s),
             tensor::DimOp::create(builder, loc, op.getKey(),
                                   attention.getLayout(1).s)};
}

Value CapturePairs::emitIf(Value condition, function_ref<Value()> emitThen) {
  auto branch = scf::IfOp::create(builder, loc, TypeRange(accType), condition,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  scf::YieldOp::create(builder, loc, emitThen());
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, createFloat(builder, loc, accType, 0));
  return branch.getResult(0);
}

/// What the pair adds to the element, to which it belongs if that is known.
Value CapturePairs::emitContribution(GradientPair &pair, bool isKnown) {
  Value x = pair.emitProduct(op.getQuery(), 0, op.getKey(), 1);
  x = arith::MulFOp::create(
      builder, loc, x,
      createFloat(builder, loc, accType, op.getEffectiveScale()));
  auto [score, exponent, weight] = pair.emitScore(x);
  Value p = math::ExpOp::create(builder, loc, exponent);
  Value ds = arith::MulFOp::create(builder, loc, p, pair.emitFactor(weight));
  auto isElement = [&](ValueRange indices) {
    return isKnown ? Value() : emitIsElement(indices);
  };
  return pair.unlessNone(pair.emitContribution(contribution, x, ds, isElement),
                         exponent);
}

/// Whether the indices that are no positions are those of the element; null if
/// there are none.
Value CapturePairs::emitIsElement(ValueRange indices) {
  Value isElement;
  for (int64_t dim : others) {
    Value isEqual = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::eq, indices[dim], element[dim]);
    isElement = isElement
                    ? arith::AndIOp::create(builder, loc, isElement, isEqual)
                          .getResult()
                    : isEqual;
  }
  return isElement;
}

/// What the pair at `place` adds to the element of the sum.
Value CapturePairs::emitPair() {
  Value isThere;
  SmallVector<Value> seen;
  for (unsigned position = 0; position < kNumPositions; ++position) {
    Value offset = getOffset(position);
    Value &at = place[position];
    if (own[position] < 0) {
      seen.push_back(
          offset ? arith::AddIOp::create(builder, loc, at, offset).getResult()
                 : at);
      continue;
    }
    seen.push_back(element[own[position]]);
    at = offset ? arith::SubIOp::create(builder, loc, seen.back(), offset)
                      .getResult()
                : seen.back();
    Value isBelow = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::ult, at, extents[position]);
    isThere =
        isThere
            ? arith::AndIOp::create(builder, loc, isThere, isBelow).getResult()
            : isBelow;
  }
  KeyPlace keys = emitKeyPlace(builder, op, place[0], place[1]);
  GradientPair pair(builder, op, tensors, place, seen, keys.batch, keys.head);
  // What has no part in the element is found out before anything is computed.
  auto ofElement = [&]() -> Value {
    if (others.empty() || !haveIndicesOfPair(contribution))
      return emitContribution(pair, /*isKnown=*/others.empty());
    Value isElement = emitIsElement(pair.emitIndices(contribution));
    return emitIf(isElement,
                  [&] { return emitContribution(pair, /*isKnown=*/true); });
  };
  auto allowed = [&]() -> Value {
    if (op.getMask().empty())
      return ofElement();
    return emitIf(pair.emitMask(), ofElement);
  };
  return isThere ? emitIf(isThere, allowed) : allowed();
}

/// Adds the pairs of these loops, the first one outermost.
Value CapturePairs::emitOver(ArrayRef<unsigned> loops, Value sum) {
  if (loops.empty())
    return arith::AddFOp::create(builder, loc, sum, emitPair());
  auto loop = scf::ForOp::create(builder, loc, createIndex(builder, loc, 0),
                                 extents[loops.front()],
                                 createIndex(builder, loc, 1), sum);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToEnd(loop.getBody());
  place[loops.front()] = loop.getInductionVar();
  scf::YieldOp::create(builder, loc,
                       emitOver(loops.drop_front(), loop.getRegionIterArg(0)));
  return loop.getResult(0);
}

Value CapturePairs::emit(Value sums) {
  auto type = cast<RankedTensorType>(sums.getType());
  int64_t rank = type.getRank();
  // Loops of the operation itself are those that workers share: over queries
  // and keys, or one of them where each pair is compared with each element.
  SmallVector<unsigned> shared, inner;
  for (unsigned position : {0, 1})
    if (own[position] < 0)
      inner.push_back(position);
  for (unsigned position : {2, 3})
    if (own[position] < 0)
      (others.empty() || shared.empty() ? shared : inner).push_back(position);
  int64_t numLoops = rank + shared.size();
  SmallVector<utils::IteratorType> iterators(rank,
                                             utils::IteratorType::parallel);
  iterators.append(shared.size(), utils::IteratorType::reduction);
  // Queries and keys say how far the loops over them go.
  SmallVector<Value> inputs;
  SmallVector<AffineMap> maps;
  AffineExpr zero = builder.getAffineConstantExpr(0);
  for (auto [number, position] : llvm::enumerate(shared)) {
    bool isKey = position == 3;
    inputs.push_back(isKey ? op.getKey() : op.getQuery());
    SmallVector<AffineExpr> exprs =
        attention.getLayout(isKey).arrange<AffineExpr>(
            zero, zero, builder.getAffineDimExpr(rank + number), zero);
    maps.push_back(AffineMap::get(numLoops, 0, exprs, builder.getContext()));
  }
  maps.push_back(AffineMap::getMultiDimMapWithTargets(
      numLoops, llvm::to_vector(llvm::seq<unsigned>(0, rank)),
      builder.getContext()));
  auto emitBody = [&](OpBuilder &, Location, ValueRange arguments) {
    for (int64_t dim = 0; dim < rank; ++dim)
      element.push_back(linalg::IndexOp::create(builder, loc, dim));
    for (auto [number, position] : llvm::enumerate(shared))
      place[position] = linalg::IndexOp::create(builder, loc, rank + number);
    // A sum of its own, as those of workers are added up.
    Value part = inner.empty()
                     ? emitPair()
                     : emitOver(inner, createFloat(builder, loc, accType, 0));
    Value sum = arith::AddFOp::create(builder, loc, arguments.back(), part);
    linalg::YieldOp::create(builder, loc, sum);
  };
  return linalg::GenericOp::create(builder, loc, TypeRange(type), inputs, sums,
                                   maps, iterators, emitBody)
      .getResult(0);
}

Value mlir::attn::emitCapturePairs(OpBuilder &builder, AttentionGradOp op,
                                   int64_t capture, Value delta) {
  Location loc = op.getLoc();
  AttentionLikeOpInterface attention = op;
  FloatType accType = attention.getAccumulatorType();
  Value out = op.getOutOf(kGradCapture + capture);
  Value sums = createFilled(
      builder, loc, tensor::getMixedSizes(builder, loc, out), accType, 0);
  for (ContributeOp contribution : getContributions(op, capture)) {
    remarkCaptureGradient(contribution, capture, "by element, pair by pair");
    sums = CapturePairs(builder, op, contribution, delta).emit(sums);
  }
  return convertFloats(builder, loc, sums, out.getType());
}
