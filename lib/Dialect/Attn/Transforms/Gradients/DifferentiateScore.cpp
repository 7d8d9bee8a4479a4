//===- DifferentiateScore.cpp - The adjoint of a score region -------------===//
//
// The adjoint region computes what the score does once more and then goes
// through it in reverse.
//
//===----------------------------------------------------------------------===//

#include "Adjoints.h"
#include "Differentiate.h"
#include "RegionAdjoint.h"
#include "RegionLoops.h"
#include "attn/Dialect/Attn/Transforms/Transforms.h"

using namespace mlir;
using namespace mlir::attn;

/// Emits the adjoint of `score`, which is that of `op` or does the same. Adds
/// to `repeated` the loops of `score` that are to be unrolled before.
static LogicalResult emitAdjoint(AttentionGradOp op, Block &score,
                                 SmallVectorImpl<scf::ForOp> &repeated) {
  FloatType accType =
      cast<AttentionLikeOpInterface>(op.getOperation()).getAccumulatorType();
  Location loc = op.getLoc();
  SmallVector<Type> types(score.getArgumentTypes());
  types.insert(types.begin() + 1, accType);
  OpBuilder builder(op.getContext());
  builder.createBlock(&op.getAdjoint(), {}, types,
                      SmallVector<Location>(types.size(), loc));
  Block &adjoint = op.getAdjoint().front();

  IRMapping primals;
  for (BlockArgument argument : score.getArguments()) {
    unsigned number = argument.getArgNumber();
    primals.map(argument, adjoint.getArgument(number + (number != 0)));
  }
  for (Operation &primal : score.without_terminator())
    builder.clone(primal, primals);

  DenseSet<Value> active;
  if (op.getOutOf(kGradQuery) || op.getOutOf(kGradKey))
    active.insert(score.getArgument(0));
  for (int64_t input : op.getWrt())
    if (input >= kGradCapture)
      active.insert(score.getArgument(kNumScoreArgs + input - kGradCapture));
  RegionAdjoint reverse(op, score, active);

  Operation *yield = score.getTerminator();
  if (yield->getNumOperands() > 1 &&
      reverse.getActive().contains(yield->getOperand(1))) {
    Value weight = yield->getOperand(1);
    InFlightDiagnostic diagnostic =
        mlir::emitError(weight.getLoc())
        << "the weight of a probability has no gradient";
    diagnostic.attachNote(loc) << "in this attention";
    return diagnostic;
  }
  Cotangents cotangents(builder, primals, accType, reverse.getActive());
  cotangents.add(loc, yield->getOperand(0), {adjoint.getArgument(1)});
  if (failed(reverse.reverseBlock(score, cotangents, primals)))
    return failure();
  for (BlockArgument argument :
       score.getArguments().drop_front(kNumScoreArgs)) {
    Value gradient = cotangents.get(argument).value;
    if (gradient)
      reverse.contribute(builder, loc, gradient, primals.lookup(argument), {});
  }
  Value dx = cotangents.get(score.getArgument(0)).value;
  if (!dx)
    dx = arith::ConstantOp::create(builder, loc, builder.getZeroAttr(accType));
  YieldOp::create(builder, loc, dx);
  llvm::append_range(repeated, reverse.getRepeated());
  return success();
}

LogicalResult mlir::attn::differentiateScore(AttentionGradOp op) {
  if (op.getScore().empty())
    return success();
  OwningOpRef<AttentionGradOp> copy(cast<AttentionGradOp>(op->clone()));
  Region &score = copy->getScore();
  // Not those without an iteration either.
  unrollLoops(score, kShortLoop);
  SmallVector<scf::ForOp> repeated;
  do {
    llvm::for_each(repeated, unrollLoop);
    repeated.clear();
    if (!op.getAdjoint().empty())
      op.getAdjoint().front().erase();
    if (failed(emitAdjoint(op, score.front(), repeated)))
      return failure();
  } while (!repeated.empty());
  cleanUpRegions(op);
  return success();
}
