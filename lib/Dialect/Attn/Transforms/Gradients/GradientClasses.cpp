//===- GradientClasses.cpp - Which tiles work tiles need, from data -------===//

#include "GradientClasses.h"
#include "Tiles/TileClasses.h"
#include "mlir/IR/Matchers.h"

using namespace mlir;
using namespace mlir::attn;

GradientClasses::GradientClasses(AttentionGradOp op, bool isOverKeys)
    : questions(op), isOverKeys(isOverKeys) {
  if (!isOverKeys)
    return;
  std::swap(questions.numQueries, questions.numKeys);
  questions.partRows = questions.numQueries;
}

FailureOr<std::optional<GradientClasses>>
GradientClasses::create(RewriterBase &rewriter, AttentionGradOp op,
                        bool isOverKeys) {
  if (op.getTiles().empty())
    return std::optional<GradientClasses>();
  GradientClasses classes(op, isOverKeys);
  if (failed(emitRangeTables(rewriter, classes.questions, classes.metadata)))
    return failure();
  return std::optional(std::move(classes));
}

LogicalResult GradientClasses::emit(OpBuilder &builder, TileLoopOp loop,
                                    const TileRows &own, const Others &others,
                                    Value isWhole) const {
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(loop);
  Location loc = loop.getLoc();
  Value size = arith::ConstantIndexOp::create(
      builder, loc, isOverKeys ? questions.numKeys : questions.numQueries);
  auto emitEnd = [&](Value first) -> Value {
    return arith::AddIOp::create(builder, loc, first, size);
  };
  auto createClasses = [&](const TileRows &queries) {
    return TileClasses(builder, questions, queries, metadata,
                       questions.numQueries);
  };
  // What belongs to own queries is found once.
  std::optional<TileClasses> ofOwn;
  if (isOverKeys) {
    ofOwn.emplace(createClasses(own));
    if (failed(ofOwn->emitRows()))
      return failure();
  }
  auto emitClass = [&](Value first) -> FailureOr<TileClasses::TileClass> {
    Value end =
        arith::MinSIOp::create(builder, loc, emitEnd(first), others.end);
    if (isOverKeys)
      return ofOwn->emit(first, end);
    TileRows queries = {others.batch, others.head, first, end};
    TileClasses classes = createClasses(queries);
    if (failed(classes.emitRows()))
      return failure();
    return classes.emit(own.row, own.rowEnd);
  };
  auto emitNeeded = [&](Value first) -> FailureOr<Value> {
    FailureOr<TileClasses::TileClass> tile = emitClass(first);
    if (failed(tile))
      return failure();
    return tile->may;
  };
  auto emitFull = [&](Value first) -> FailureOr<Value> {
    FailureOr<TileClasses::TileClass> tile = emitClass(first);
    if (failed(tile))
      return failure();
    // The last, ragged tile has a predicate for the rows that there are not.
    Value isThere = arith::CmpIOp::create(
        builder, loc, arith::CmpIPredicate::sle, emitEnd(first), others.end);
    Value isFull = arith::AndIOp::create(builder, loc, tile->must, isThere);
    if (isWhole)
      isFull = arith::AndIOp::create(builder, loc, isFull, isWhole);
    return isFull;
  };
  auto yielded = questions.tiles->front().getTerminator()->getOperands();
  if (!matchPattern(yielded[0], m_One()) &&
      failed(emitTileClass(builder, loop, loop.getNeeded(), emitNeeded)))
    return failure();
  if (!matchPattern(yielded[1], m_Zero()) &&
      failed(emitTileClass(builder, loop, loop.getFull(), emitFull)))
    return failure();
  return success();
}
