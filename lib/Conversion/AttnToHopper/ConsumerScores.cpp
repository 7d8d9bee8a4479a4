//===- ConsumerScores.cpp - Scores and their softmax ----------------------===//

#include "Consumer.h"
#include "KeyLimits.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include <limits>

using namespace mlir;
using namespace mlir::attn;

/// The shift of a row that has no key yet: any finite maximum grows from it,
/// and with it a score of -inf has the probability 0.
static constexpr double kNoKeyShift = std::numeric_limits<float>::max();

//===----------------------------------------------------------------------===//
// Scores
//===----------------------------------------------------------------------===//

Value Consumer::startScores(Value keys) {
  auto type = cast<hopper::TileType>(keys.getType());
  auto result = hopper::PendingType::get(
      builder.getContext(),
      getVectorType(type.getRows(), builder.getF32Type()));
  Value product =
      hopper::MmaOp::create(builder, loc, result, queries, keys,
                            /*acc=*/Value(), /*rhs_transposed=*/false);
  if (!program.bias)
    return product;
  // Last, as sums of large numbers lose more.
  return hopper::MmaOp::create(builder, loc, result, slopes, resources.ramp,
                               product, /*rhs_transposed=*/false);
}

/// The scores of a tile without their factor, or `biased`, if it has a value;
/// under their predicate if `isMasked`. Entries that are replaced by -inf,
/// which a positive factor keeps, are replaced after it. `key` is the first of
/// the tile.
FailureOr<Scores> Consumer::getScores(bool isMasked, Scores biased, Value key) {
  Scores split = biased;
  if (!biased.value) {
    FactoredScores scores = splitScoreFactor(program.getScores());
    split.factor = scores.factor;
    FailureOr<Value> value = cloner.getVector(scores.value, VectorKind::Both);
    if (failed(value))
      return failure();
    split.value = *value;
  }
  if (!isMasked)
    return split;
  PredicateParts predicate =
      splitPredicate(program.mask.getPredicate(),
                     /*areKeysGathered=*/program.key.gather != nullptr);
  FailureOr<Value> condition = computeCondition(builder, cloner, predicate);
  if (failed(condition))
    return failure();
  auto replace = [&](Value condition) -> Value {
    return arith::SelectOp::create(builder, loc, condition, split.value,
                                   splat(split.value.getType(), -INFINITY));
  };
  split.value = replace(*condition);
  if (!predicate.length)
    return split;
  FailureOr<Value> keyEnd = cloner.getScalar(predicate.end);
  if (failed(keyEnd))
    return failure();
  // Only the last tile has keys that there are not.
  Value isLast = arith::CmpIOp::create(
      builder, loc, arith::CmpIPredicate::sgt,
      add(key, index(program.schedule.getTileN())), *keyEnd);
  auto branch = scf::IfOp::create(builder, loc, split.value.getType(), isLast,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, split.value);
  builder.setInsertionPointToStart(branch.thenBlock());
  WorkerCloner::State saved = cloner.save();
  FailureOr<Value> isKey = cloner.getVector(predicate.length, VectorKind::Both);
  cloner.restore(std::move(saved));
  if (failed(isKey))
    return failure();
  scf::YieldOp::create(builder, loc, replace(*isKey));
  split.value = branch.getResult(0);
  return split;
}

/// Whether a value of the tile level depends on the product of keys and
/// queries; `seen` are values that are known not to.
bool mlir::attn::dependsOn(Value value, Value product, DenseSet<Value> &seen) {
  if (value == product)
    return true;
  Operation *op = value.getDefiningOp();
  return op && seen.insert(value).second &&
         llvm::any_of(op->getOperands(), [&](Value operand) {
           return dependsOn(operand, product, seen);
         });
}

/// Holds use `number` of the captures that come as tiles in registers: of those
/// of 16 bits, which are packed, or of the others.
void Consumer::emitCaptures(Value number, bool arePacked) {
  for (auto [capture, channel] :
       llvm::zip_equal(program.captures, resources.captureChannels)) {
    const TileAccess &access = capture.access;
    if ((hopper::getElementBytes(access.elementType) == 2) != arePacked)
      continue;
    Value vector = hopper::LoadFragmentOp::create(
        builder, loc, getVectorType(access.columns, access.elementType),
        getRows(get(channel, number)));
    release(channel, number);
    for (Value read : capture.reads)
      cloner.map(read, vector);
  }
}

/// The elements of captures by key that the body of the loop over tiles reads,
/// or the predicate, and that are not known yet. Along the queries alone
/// nothing changes from tile to tile, and what comes in tiles is read
/// elsewhere.
SmallVector<GatherOp> Consumer::getReads(Block &block) {
  SmallVector<GatherOp> reads;
  for (auto gather : block.getOps<GatherOp>()) {
    DenseSet<Value> seen;
    bool isInTile =
        llvm::any_of(program.captures, [&](const TileCapture &capture) {
          return llvm::is_contained(capture.reads, gather.getResult());
        });
    // Rows of keys and values are for products.
    bool isOperand =
        gather == program.key.gather || gather == program.value.gather;
    if (isa<VectorType>(gather.getType()) && !isInTile && !isOperand &&
        !cloner.isMapped(gather.getResult()) &&
        !cloner.isInvariant(gather.getResult()) &&
        !dependsOn(gather.getResult(), program.product, seen))
      reads.push_back(gather);
  }
  return reads;
}

/// Reads what tiles without a predicate need, so that it is under way while the
/// product is computed.
LogicalResult Consumer::emitReads(Value key) {
  cloner.map(program.keys.getInductionVar(), key);
  for (GatherOp gather : getReads(program.keys.getBody().front()))
    if (failed(cloner.getVector(gather.getResult(), VectorKind::Key)))
      return failure();
  return success();
}

/// Reads what the predicate of the first tile needs for each key, which becomes
/// a column. That of later tiles is read where it is needed: beside the product
/// of each tile it was 6 to 8 % slower for documents with D = 64.
LogicalResult Consumer::emitFirstReads(Value key) {
  if (!program.isFull)
    return success();
  cloner.map(program.keys.getInductionVar(), key);
  for (Region *region : {&program.mask.getAllowed(), &program.keys.getBody()})
    for (GatherOp gather : getReads(region->front()))
      if (llvm::all_of(gather->getUsers(),
                       llvm::IsaPred<vector::ShapeCastOp>) &&
          failed(cloner.getVector(gather.getResult(), VectorKind::Key)))
        return failure();
  return success();
}

/// Whether a tile needs no predicate, as far as the rows of this warpgroup go.
FailureOr<Value> Consumer::getIsFull(Value key) {
  own->map(program.keys.getInductionVar(), key);
  WorkerCloner::State saved = own->save();
  FailureOr<Value> isFull = own->getScalar(program.isFull);
  own->restore(std::move(saved));
  return isFull;
}

/// `isFull` is null if it is to be computed.
FailureOr<Scores> Consumer::emitScores(Value product, Value key, bool isFirst,
                                       Value isFull) {
  cloner.map(program.product, product);
  cloner.map(program.keys.getInductionVar(), key);
  Scores biased;
  if (program.bias) {
    FailureOr<Scores> sum = emitBias(product);
    if (failed(sum))
      return failure();
    biased = *sum;
  }
  // The predicate is right for tiles of any class.
  if (!program.isFull || isFirst)
    return getScores(/*isMasked=*/true, biased, key);
  if (program.isOnlyLastPartial)
    return getScores(/*isMasked=*/false, biased, key);
  if (!isFull) {
    FailureOr<Value> computed = getIsFull(key);
    if (failed(computed))
      return failure();
    isFull = *computed;
  }
  auto result = scf::IfOp::create(builder, loc, product.getType(), isFull,
                                  /*withElseRegion=*/true);
  double factor = 1;
  for (bool isMasked : {false, true}) {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(isMasked ? result.elseBlock()
                                              : result.thenBlock());
    WorkerCloner::State saved = cloner.save();
    cloner.setRarelyRun(isMasked);
    FailureOr<Scores> side = getScores(isMasked, biased, key);
    cloner.setRarelyRun(false);
    cloner.restore(std::move(saved));
    if (failed(side))
      return failure();
    factor = side->factor;
    scf::YieldOp::create(builder, loc, side->value);
  }
  return Scores{result.getResult(0), factor, biased.offset};
}

//===----------------------------------------------------------------------===//
// Softmax
//===----------------------------------------------------------------------===//

/// What the values of scores are shifted by, times their factor.
Value Consumer::addOffset(Scores scores, Value shift) {
  return scores.offset ? add(shift, scores.offset) : shift;
}

/// 2^(scores + shift).
Value Consumer::emitProbabilities(Scores scores, Value shift) {
  Type type = scores.value.getType();
  Value exponent = fma(scores.value, splat(type, scores.factor),
                       broadcast(addOffset(scores, shift), type));
  return math::Exp2Op::create(builder, loc, exponent);
}

/// The shift that brings scores with a maximum of values to 0.
Value Consumer::emitShift(Scores scores, Value max, Value most) {
  Value factor = splat(max.getType(), -scores.factor);
  Value shift =
      scores.offset
          ? fma(max, factor, arith::NegFOp::create(builder, loc, scores.offset))
          : mul(max, factor);
  return arith::MinNumFOp::create(builder, loc, shift, most);
}

SoftmaxState Consumer::emitFirstSoftmax(Scores scores) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  Value max =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  SoftmaxState state;
  state.shift = emitShift(scores, max, splat(rowType, kNoKeyShift));
  state.probabilities = emitProbabilities(scores, state.shift);
  state.sum = hopper::ReduceOp::create(builder, loc, sumType, "add",
                                       state.probabilities);
  return state;
}

/// All that depends on whether a maximum has grown is under a branch that is
/// rarely taken.
SoftmaxState Consumer::emitSoftmax(Scores scores, Value &pendingAcc,
                                   SoftmaxState state) {
  Type rowType = getVectorType(1, builder.getF32Type());
  Type sumType = getVectorType(4, builder.getF32Type());
  Value max =
      hopper::ReduceOp::create(builder, loc, rowType, "max", scores.value);
  bool isLazy = program.step.getRescale() == Rescale::Lazy;
  Value growth =
      fma(max, splat(rowType, scores.factor), addOffset(scores, state.shift));
  Value grows = arith::CmpFOp::create(
      builder, loc, arith::CmpFPredicate::OGT, growth,
      splat(rowType, isLazy ? hopper::kRescaleThreshold : 0));
  Value isNeeded = hopper::AnyOp::create(builder, loc, grows);
  Type types[] = {pendingAcc.getType(), rowType, sumType};
  auto branch = scf::IfOp::create(builder, loc, types, isNeeded,
                                  /*withElseRegion=*/true);
  {
    OpBuilder::InsertionGuard guard(builder);
    builder.setInsertionPointToStart(branch.thenBlock());
    Value shift = emitShift(scores, max, state.shift);
    // Exactly 1 where the shift is the same, so that no error adds up; 0 where
    // there was no key before.
    Value rescale = math::Exp2Op::create(
        builder, loc, arith::SubFOp::create(builder, loc, shift, state.shift));
    Value acc = wait(pendingAcc, 0);
    Value scaled = mul(acc, broadcast(rescale, acc.getType()));
    Value sum = mul(state.sum, broadcast(rescale, sumType));
    Value pending =
        hopper::InFlightOp::create(builder, loc, pendingAcc.getType(), scaled);
    scf::YieldOp::create(builder, loc, ValueRange{pending, shift, sum});
    builder.setInsertionPointToStart(branch.elseBlock());
    scf::YieldOp::create(builder, loc,
                         ValueRange{pendingAcc, state.shift, state.sum});
  }
  pendingAcc = branch.getResult(0);
  SoftmaxState next;
  next.shift = branch.getResult(1);
  next.probabilities = emitProbabilities(scores, next.shift);
  next.sum = add(branch.getResult(2),
                 hopper::ReduceOp::create(builder, loc, sumType, "add",
                                          next.probabilities));
  return next;
}
