//===- HopperOutlineBias.cpp - A bias that a product takes along ----------===//
//
// Scores `factor * product + bias` with a bias that is affine in the key, see
// KeyBiasValues.cpp. A step computes the slopes once for a work tile; the step
// of the product adds a second product, of the slopes and the numbers of the
// keys; and the step of the softmax is told what the first key of a block gets.
//
//===----------------------------------------------------------------------===//

#include "HopperOutliner.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

/// What the steps of a loop name the result of a product of one of them, if it
/// is used once and adds to nothing.
static Value getUsedAs(vector::ContractionOp product) {
  Value result = product.getResult();
  if (!matchPattern(product.getAcc(), m_AnyZeroFloat()) || !result.hasOneUse())
    return {};
  auto step = dyn_cast<StepOp>(product->getParentOp());
  Operation *user = *result.user_begin();
  if (!step || user != step.getBody().front().getTerminator())
    return result;
  Value output = step.getOutputs()[result.use_begin()->getOperandNumber()];
  return output.hasOneUse() ? output : Value();
}

void Outliner::matchBias() {
  if (!schedule.getBiasInProduct() || !softmax)
    return;
  auto mask = softmax.getScores().getDefiningOp<MaskTileOp>();
  Value scores = mask ? mask.getScores() : softmax.getScores();
  Type element = blocks.begin()->second.elementType;
  loop.getBody().walk([&](vector::ContractionOp product) {
    Value name = getUsedAs(product);
    if (!name || bias)
      return;
    std::optional<KeyBias> found =
        KeyForm(name, loop.getInductionVar()).match(scores);
    if (!found || !fitsProduct(*found, element))
      return;
    bias = std::move(found);
    biased = product;
  });
}

KeyBiasValues Outliner::getBias() {
  return KeyBiasValues(builder, loc, *values,
                       KeyForm(getUsedAs(biased), loop.getInductionVar()),
                       *bias);
}

LogicalResult Outliner::emitSlopes() {
  if (!bias)
    return success();
  Type element = blocks.begin()->second.elementType;
  int64_t tileN = loop.getStep();
  {
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.getInsertionBlock();
    builder.setInsertionPointToStart(&block->getParentOp()
                                          ->getParentOfType<gpu::GPUFuncOp>()
                                          .getBody()
                                          .front());
    ramp = hopper::CreateRampOp::create(
        builder, loc,
        hopper::TileType::get(builder.getContext(), tileN, /*columns=*/8,
                              element, tileN));
  }
  Type types[] = {VectorType::get({8, hopper::kWarpgroupRows}, element),
                  builder.getI1Type()};
  hopper::StepOp step = createStep("hold_slopes", getQueryPartition(), types);
  KernelValues::State saved = values->save();
  values->map(loop.getInductionVar(),
              arith::ConstantIndexOp::create(builder, loc, 0));
  FailureOr<HeldSlopes> own = getBias().emitSlopes(tileN, element);
  values->restore(std::move(saved));
  if (failed(own))
    return failure();
  hopper::EndOp::create(builder, loc, ValueRange{own->slopes, own->isPlain});
  builder.setInsertionPointAfter(step);
  held = {step.getResult(0), step.getResult(1)};
  return success();
}

/// Last, as sums of large numbers lose more.
Value Outliner::addBias(Value product) {
  return hopper::DotOp::create(builder, loc, product.getType(), held.slopes,
                               ramp, product, /*rhs_transposed=*/false);
}

/// The scores without their factor and what the first key gets, whose bias is
/// in their product or, where slopes are too large for that, computed.
FailureOr<Value> Outliner::emitBias(Value scores) {
  FailureOr<Value> product =
      values->getVector(getUsedAs(biased), VectorKind::Both);
  if (failed(product))
    return failure();
  Type type = product->getType();
  auto branch = scf::IfOp::create(builder, loc, type, held.isPlain,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  KernelValues::State saved = values->save();
  bool wasRarelyRun = values->setRarelyRun(true);
  FactoredScores plain = splitScoreFactor(scores);
  FailureOr<Value> value = values->getVector(plain.value, VectorKind::Both);
  values->setRarelyRun(wasRarelyRun);
  values->restore(std::move(saved));
  if (failed(value))
    return failure();
  Value scaled = arith::MulFOp::create(
      builder, loc, *value, splat(type, plain.factor / bias->factor));
  scf::YieldOp::create(builder, loc, scaled);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, *product);
  return branch.getResult(0);
}
