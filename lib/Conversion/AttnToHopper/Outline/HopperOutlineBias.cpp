//===- HopperOutlineBias.cpp - A bias that a product takes along ----------===//
//
// Scores with a bias that is affine in the key (attn.affine_scores), in base 2:
//
//   factor * (product + slope * n + (key[n] - most) / factor) + start + most
//                                                n: number of the key in a
//                                                block
//
// `product + slope * n` is a product of matrices: one more step of that of
// queries and keys, with the slopes in registers, which are the same for all
// blocks, and the numbers in shared memory. What the first key of the block
// gets, `start`, is one number for each query, which goes where maxima do. So
// nothing is left to do for each score.
//
// Terms of keys go the same way: who loads blocks computes them, and puts them
// into shared memory beside the numbers, where they meet ones. They are
// measured from the largest one in the block, `most`, so that no digit is lost
// of terms that are large, but alike.
//
// A slope that is so large that the sum loses digits, or no number, is left out
// of the product, and the bias is computed for each score; so is a bias that is
// not affine in a block, and one whose terms of keys are too large.
//
// A step computes the slopes once for a work tile, unless they differ between
// blocks; the step of the product adds the second product; and that of the
// softmax is told what the first key gets.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"
#include "mlir/Analysis/SliceAnalysis.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// What a bias may differ by within a tile, in base 2. Sums in the product err
/// by 2^-23 of that, 2^-13 here, which is far below what f16 rounds scores by.
static constexpr double kMostInTile = 1024;

/// What the first key may get, so that no shift is rounded by so much that what
/// is left overflows.
static constexpr double kMostStart = 0x1p30;

/// What f16 has with room for the sum of a product.
static constexpr double kMostInF16 = 0x1p14;

/// What scores of f16 may be multiplied by: parts of slopes in f16 are too
/// small for more.
static constexpr double kMostFactorInF16 = 2;

/// How many blocks may have terms of keys at a time.
static constexpr int64_t kKeyTermsStages = 4;

/// Erases an operation that nothing uses, and so on up.
static void eraseDead(IRRewriter &rewriter, Operation *op) {
  if (!isOpTriviallyDead(op))
    return;
  SmallVector<Value> operands(op->getOperands());
  rewriter.eraseOp(op);
  for (Value operand : operands)
    if (Operation *source = operand.getDefiningOp())
      eraseDead(rewriter, source);
}

/// A bias joins the product that another step gives. Other scores are computed
/// as the program says it.
void Outliner::takeBias() {
  IRRewriter rewriter(function.getContext());
  loop.getBody().walk([&](AffineScoresOp scores) {
    bool isF16 = query.elementType.isF16();
    double factor = scores.getFactor().convertToDouble();
    if (softmax)
      factor *= softmax.getFactor().convertToDouble();
    // Parts of terms of keys have the range of bf16.
    bool fits = !isF16 || (factor <= kMostFactorInF16 && !scores.getKeys());
    if (!schedule.getBiasInProduct() || !softmax || affine || !fits ||
        !scores.getProduct().getDefiningOp<StepOp>()) {
      Operation *terms =
          scores.getKeys() ? scores.getKeys().getDefiningOp() : nullptr;
      scores.expand(rewriter);
      if (terms)
        eraseDead(rewriter, terms);
      return;
    }
    affine = scores;
  });
}

/// What terms of keys read is for who computes them, and nothing that scores
/// read is needed for each block then.
void Outliner::findReadsOfKeys() {
  readsOfKeys.clear();
  if (!affine || !affine.getKeys())
    return;
  SetVector<Operation *> slice;
  BackwardSliceOptions options;
  options.inclusive = true;
  options.omitBlockArguments = true;
  (void)getBackwardSlice(affine.getKeys(), &slice, options);
  affine.getPlain().walk([&](GatherOp read) { slice.insert(read); });
  readsOfKeys.insert_range(slice);
}

/// A step that computes the terms of the keys of a block, and one that gives
/// them and the largest one.
LogicalResult Outliner::emitKeyTerms() {
  if (!affine || !affine.getKeys())
    return success();
  int64_t tileN = loop.getStep();
  hopper::StepOp read =
      createStep(kReadTermsStep, kLoadPartition,
                 VectorType::get({tileN, 1}, builder.getF32Type()));
  KernelValues::State saved = values->save();
  FailureOr<Value> terms = values->getVector(affine.getKeys(), VectorKind::Key);
  values->restore(std::move(saved));
  if (failed(terms))
    return failure();
  hopper::EndOp::create(builder, loc, *terms);
  builder.setInsertionPointAfter(read);
  auto type = hopper::TileType::get(builder.getContext(), tileN, /*columns=*/8,
                                    query.elementType, tileN);
  hopper::StepOp step =
      createStep(kKeyTermsStep, kLoadPartition, {type, builder.getF32Type()});
  double factor = affine.getFactor().convertToDouble();
  auto split = hopper::PublishBF16x3Op::create(
      builder, loc, type, builder.getF32Type(), read.getResult(0),
      builder.getF32FloatAttr(1 / factor),
      builder.getF32FloatAttr(kMostStart /
                              softmax.getFactor().convertToDouble()),
      builder.getI64IntegerAttr(kKeyTermsStages));
  hopper::EndOp::create(builder, loc, split.getResults());
  builder.setInsertionPointAfter(step);
  biasTile = step.getResult(0);
  keysBase = step.getResult(1);
  return success();
}

/// What the first key of a block gets, in base 2, without its own terms. With
/// the key mapped.
FailureOr<Value> Outliner::emitBiasOfFirstKey() {
  FailureOr<Value> offset =
      values->getVector(affine.getOffset(), VectorKind::Query);
  if (failed(offset))
    return failure();
  return arith::MulFOp::create(
             builder, loc, *offset,
             splat(offset->getType(), softmax.getFactor().convertToDouble()))
      .getResult();
}

/// What all keys of a block get, in base 2, and whether the bias is computed
/// for each score instead.
FailureOr<std::pair<Value, Value>> Outliner::emitBiasOfBlock() {
  FailureOr<Value> offset = emitBiasOfFirstKey();
  if (failed(offset))
    return failure();
  Value isPlain = held.isPlain;
  if (keysBase) {
    Value isMore = arith::CmpFOp::create(
        builder, loc, arith::CmpFPredicate::UNO, keysBase, keysBase);
    isPlain = arith::OrIOp::create(builder, loc, isPlain, isMore);
    Value factor = arith::ConstantOp::create(
        builder, loc,
        builder.getF32FloatAttr(softmax.getFactor().convertToDouble()));
    Value base = vector::BroadcastOp::create(
        builder, loc, offset->getType(),
        arith::MulFOp::create(builder, loc, keysBase, factor));
    offset = arith::AddFOp::create(builder, loc, *offset, base).getResult();
  }
  Value own = arith::SelectOp::create(builder, loc, isPlain,
                                      splat(offset->getType(), 0), *offset);
  return std::pair(own, isPlain);
}

/// The slopes of the 64 rows of a warpgroup, for the block whose key is mapped
/// or, if they are the same for all, the first one.
FailureOr<HeldSlopes> Outliner::computeSlopes() {
  Type element = blocks.begin()->second.elementType;
  double factor = affine.getFactor().convertToDouble() *
                  softmax.getFactor().convertToDouble();
  FailureOr<Value> slope =
      values->getVector(affine.getSlope(), VectorKind::Query);
  if (!affine.getWhere())
    values->map(loop.getInductionVar(),
                arith::ConstantIndexOp::create(builder, loc, 0));
  FailureOr<Value> start = emitBiasOfFirstKey(), where = Value();
  if (affine.getWhere())
    where = values->getVector(affine.getWhere(), VectorKind::Query);
  if (failed(slope) || failed(start) || failed(where))
    return failure();
  Type type = slope->getType();
  double most = kMostInTile / (loop.getStep() * factor);
  if (element.isF16())
    most = std::min(most, kMostInF16);
  // Also of what is no number.
  auto isMore = [&](Value value, double most) -> Value {
    return arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::UGT,
                                 math::AbsFOp::create(builder, loc, value),
                                 splat(type, most));
  };
  Value isAny = arith::OrIOp::create(builder, loc, isMore(*slope, most),
                                     isMore(*start, kMostStart));
  if (*where) {
    auto ofRows = cast<ShapedType>(where->getType());
    Value all = arith::ConstantOp::create(builder, loc,
                                          DenseElementsAttr::get(ofRows, true));
    isAny = arith::OrIOp::create(
        builder, loc, isAny, arith::XOrIOp::create(builder, loc, *where, all));
  }
  Value isPlain = hopper::AnyOp::create(builder, loc, isAny);
  Value inProduct =
      arith::SelectOp::create(builder, loc, isPlain, splat(type, 0), *slope);
  auto type8 = VectorType::get({8, hopper::kWarpgroupRows}, element);
  bool meetsTerms = affine.getKeys() != nullptr;
  Value parts = hopper::SplitBF16x3Op::create(builder, loc, type8, inProduct,
                                              /*behindOnes=*/meetsTerms);
  if (meetsTerms)
    parts = arith::SelectOp::create(
        builder, loc, isPlain,
        arith::ConstantOp::create(builder, loc, builder.getZeroAttr(type8)),
        parts);
  return HeldSlopes{parts, isPlain};
}

LogicalResult Outliner::emitSlopes() {
  if (!affine)
    return success();
  // A bias that is the same for all keys of a block needs no product.
  if (affine.getWhere() && !affine.getKeys() &&
      matchPattern(affine.getSlope(), m_AnyZeroFloat()))
    return success();
  Type element = blocks.begin()->second.elementType;
  int64_t tileN = loop.getStep();
  if (!affine.getKeys())
    biasTile = createAtStart<hopper::CreateIotaTileOp>(hopper::TileType::get(
        builder.getContext(), tileN, /*columns=*/8, element, tileN));
  if (affine.getWhere())
    return success();
  Type types[] = {VectorType::get({8, hopper::kWarpgroupRows}, element),
                  builder.getI1Type()};
  auto compute = [&]() -> FailureOr<SmallVector<Value>> {
    FailureOr<HeldSlopes> own = computeSlopes();
    if (failed(own))
      return failure();
    return SmallVector<Value>{own->slopes, own->isPlain};
  };
  FailureOr<ValueRange> all = emitRowsStep("hold_slopes", types, compute);
  if (failed(all))
    return failure();
  held = {(*all)[0], (*all)[1]};
  return success();
}

/// In a step: those of its block.
LogicalResult Outliner::takeSlopes() {
  if (!affine.getWhere())
    return success();
  FailureOr<HeldSlopes> own = computeSlopes();
  if (failed(own))
    return failure();
  held = *own;
  return success();
}

/// Last, as sums of large numbers lose more.
Value Outliner::addBias(Value product) {
  if (!biasTile)
    return product;
  return hopper::DotOp::create(builder, loc, product.getType(), held.slopes,
                               biasTile, product, /*rhs_transposed=*/false);
}

/// Scores of a block whose product has terms of keys that meet zeros: of those
/// that are -inf it is NaN.
FailureOr<Value> Outliner::emitWithoutKeys(Value scores) {
  FailureOr<Value> terms = values->getVector(affine.getKeys(), VectorKind::Key);
  if (failed(terms))
    return failure();
  double infinity = std::numeric_limits<double>::infinity();
  Value isNone =
      arith::CmpFOp::create(builder, loc, arith::CmpFPredicate::OEQ, *terms,
                            splat(terms->getType(), -infinity));
  auto type = cast<VectorType>(scores.getType());
  return arith::SelectOp::create(
             builder, loc,
             vector::BroadcastOp::create(
                 builder, loc, type.clone(builder.getI1Type()), isNone),
             splat(type, -infinity), scores)
      .getResult();
}

/// The scores without their factor and what the first key gets, whose bias is
/// in their product or, where slopes are too large for that, computed.
FailureOr<Value> Outliner::emitBias(Value isPlain) {
  FailureOr<Value> product =
      values->getVector(affine.getProduct(), VectorKind::Both);
  if (failed(product))
    return failure();
  Type type = product->getType();
  auto branch = scf::IfOp::create(builder, loc, type, isPlain,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelValues::State saved = values->save();
  bool wasRarelyRun = values->setRarelyRun(true);
  FailureOr<Value> value =
      values->getVector(affine.getPlainScores(), VectorKind::Both);
  if (succeeded(value) && affine.getKeys())
    value = emitWithoutKeys(*value);
  values->setRarelyRun(wasRarelyRun);
  values->restore(std::move(saved));
  if (failed(value))
    return failure();
  Value scaled = arith::MulFOp::create(
      builder, loc, *value,
      splat(type, 1 / affine.getFactor().convertToDouble()));
  scf::YieldOp::create(builder, loc, scaled);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, *product);
  return branch.getResult(0);
}
