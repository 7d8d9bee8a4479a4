//===- ConsumerBias.cpp - A bias that is part of the product --------------===//

#include "Consumer.h"
#include "KeyBiasValues.h"

using namespace mlir;
using namespace mlir::attn;

static KeyBiasValues getBias(OpBuilder &builder, TileProgram &program,
                             WorkerCloner &cloner) {
  return KeyBiasValues(builder, program.step.getLoc(), cloner,
                       KeyForm(program.product, program.keys.getInductionVar()),
                       *program.bias);
}

/// Computes the slopes for a tile of queries, whose indices are mapped.
LogicalResult Consumer::holdSlopes() {
  if (!program.bias)
    return success();
  WorkerCloner::State saved = cloner.save();
  cloner.map(program.keys.getInductionVar(), index(0));
  FailureOr<HeldSlopes> held =
      getBias(builder, program, cloner)
          .emitSlopes(program.schedule.getTileN(), program.key.elementType);
  cloner.restore(std::move(saved));
  if (failed(held))
    return failure();
  slopes = held->slopes;
  isBiasPlain = held->isPlain;
  return success();
}

/// Computes what the first key of a tile gets.
LogicalResult Consumer::emitStarts(Value key) {
  if (!program.bias)
    return success();
  cloner.map(program.keys.getInductionVar(), key);
  FailureOr<Value> start =
      getBias(builder, program, cloner).emitOffset(isBiasPlain);
  if (failed(start))
    return failure();
  starts = *start;
  return success();
}

/// The scores of a tile, whose first key is mapped, without a predicate.
FailureOr<Scores> Consumer::emitBias(Value product) {
  double factor = program.bias->factor;
  Type type = product.getType();
  auto branch = scf::IfOp::create(builder, loc, type, isBiasPlain,
                                  /*withElseRegion=*/true);
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPointToStart(branch.thenBlock());
  WorkerCloner::State saved = cloner.save();
  bool wasRarelyRun = cloner.setRarelyRun(true);
  FactoredScores plain = splitScoreFactor(program.getScores());
  FailureOr<Value> value = cloner.getVector(plain.value, VectorKind::Both);
  cloner.setRarelyRun(wasRarelyRun);
  cloner.restore(std::move(saved));
  if (failed(value))
    return failure();
  scf::YieldOp::create(builder, loc,
                       mul(*value, splat(type, plain.factor / factor)));
  builder.setInsertionPointToStart(branch.elseBlock());
  scf::YieldOp::create(builder, loc, product);
  return Scores{branch.getResult(0), factor, starts};
}
