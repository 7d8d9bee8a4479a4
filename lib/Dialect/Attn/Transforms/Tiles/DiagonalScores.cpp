//===- DiagonalScores.cpp - What pairs of a diagonal share ----------------===//

#include "DiagonalScores.h"
#include "TileOps.h"
#include "attn/Analysis/Diagonals.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"

using namespace mlir;
using namespace mlir::attn;

LogicalResult mlir::attn::emitDiagonals(OpBuilder &builder,
                                        AttentionLikeOpInterface op,
                                        ArrayRef<TileValue> arguments,
                                        RegionVectorizer &vectorizer) {
  Diagonals diagonals(op);
  if (diagonals.values.empty())
    return success();
  Location loc = op->getLoc();
  int64_t numKeys = vectorizer.getNumKeys(),
          numQueries = vectorizer.getNumQueries(), count = numKeys + numQueries;
  // One pair stands for each diagonal: that of the query behind the last one,
  // and of the key that is as far from it.
  constexpr unsigned query = kNumScoreArgs - 2, key = query + 1;
  SmallVector<TileValue> ofDiagonals = {{}};
  llvm::append_range(ofDiagonals, arguments);
  Value behind = arith::AddIOp::create(builder, loc, ofDiagonals[query].start,
                                       createIndex(builder, loc, numQueries));
  ofDiagonals[query] = {behind};
  ofDiagonals[key] = {
      emitPositions(builder, loc, ofDiagonals[key].start, count),
      TileKind::Key};
  RegionVectorizer each(builder, loc, count, /*numQueries=*/1,
                        /*sites=*/nullptr);
  for (auto [argument, value] :
       llvm::zip_equal(op.getScore().getArguments(), ofDiagonals))
    if (value.value)
      each.set(argument, value);
  for (Operation *inner : diagonals.ops)
    if (failed(each.emit(*inner)))
      return failure();
  for (Value value : diagonals.values) {
    Value vector = each.broadcast(each.get(value), TileKind::Key);
    auto type =
        cast<VectorType>(vectorizer.getType(value.getType(), TileKind::Tile));
    vectorizer.setResult(value.getDefiningOp(),
                         {SpreadDiagonalsOp::create(builder, loc, type, vector),
                          TileKind::Tile});
  }
  return success();
}
