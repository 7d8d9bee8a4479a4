//===- AffineBias.h - A bias of a tile, affine in the key -------*- C++ -*-===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_AFFINEBIAS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_AFFINEBIAS_H

#include "RegionVectorizer.h"
#include "attn/Analysis/KeyBias.h"

namespace mlir::attn {

/// Computes the operands of attn.affine_scores for a Q block.
class AffineBias {
public:
  /// `batch`, `head` and `query` are positions as the region sees them.
  AffineBias(OnlineAttentionOp op, KeyBias bias, TileValue batch,
             TileValue head, TileValue query, int64_t numQueries)
      : op(op), form(op.getScore()), bias(std::move(bias)), batch(batch),
        head(head), query(query), numQueries(numQueries) {}

  /// Where the builder stands, which is outside of the loop over tiles.
  LogicalResult emitSlope(OpBuilder &builder);
  Value getSlope() const { return slope; }
  /// The bias of the key at a position.
  FailureOr<Value> emitOffset(OpBuilder &builder, Value key);
  /// What products are multiplied by.
  double getFactor() { return bias.factor * op.getScale().convertToDouble(); }

private:
  FailureOr<RegionVectorizer> emitTerms(OpBuilder &builder, Value key);
  Value sumTerms(OpBuilder &builder, RegionVectorizer &values, double scale,
                 function_ref<TileValue(Value)> get);
  TileValue emitSlope(OpBuilder &builder, RegionVectorizer &values,
                      Value value);

  OnlineAttentionOp op;
  KeyForm form;
  KeyBias bias;
  TileValue batch, head, query;
  int64_t numQueries;
  Value slope;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_AFFINEBIAS_H
