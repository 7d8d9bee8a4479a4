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

  /// What products and slopes have in a tile.
  struct Slope {
    Value slope;
    /// vector<M> of i1, for which queries the bias is affine in the tile; null
    /// for all.
    Value where;
  };
  /// Computes the slope where the builder stands, outside of the loop over
  /// tiles, unless the bias has pieces.
  LogicalResult emitSlope(OpBuilder &builder);
  /// That of the tile of the keys `first` to `last`.
  FailureOr<Slope> emitSlope(OpBuilder &builder, Value first, Value last);
  /// The bias of the key at a position, without the terms of keys.
  FailureOr<Value> emitOffset(OpBuilder &builder, Value key);
  /// The terms of keys at the positions of a tile of `numKeys`, -inf where
  /// there is no key, from `end` on, if that is not null; null where the bias
  /// has none.
  FailureOr<Value> emitKeys(OpBuilder &builder, TileValue keys, int64_t numKeys,
                            Value end);
  /// What products are multiplied by.
  double getFactor() { return bias.factor * op.getScale().convertToDouble(); }

private:
  /// The terms for the first and the last key of a tile; without a last one
  /// there are no pieces.
  struct Ends {
    RegionVectorizer first;
    std::optional<RegionVectorizer> last;
    /// Between which of them a bias is affine, so far.
    TileValue where;
    llvm::DenseMap<Value, TileValue> slopes{};
  };
  FailureOr<RegionVectorizer> emitTerms(OpBuilder &builder,
                                        ArrayRef<KeyBias::Term> terms,
                                        TileValue key, int64_t numKeys = 1);
  Value sumTerms(OpBuilder &builder, RegionVectorizer &values,
                 ArrayRef<KeyBias::Term> terms, TileKind kind, double scale,
                 function_ref<TileValue(Value)> get);
  Value createZeros(OpBuilder &builder);
  Value sumSlopes(OpBuilder &builder, Ends &ends);
  TileValue emitSlope(OpBuilder &builder, Ends &ends, Value value);
  TileValue computeSlope(OpBuilder &builder, Ends &ends, Value value);
  TileValue emitPieceSlope(OpBuilder &builder, Ends &ends, Operation *piece);
  void requireSame(OpBuilder &builder, Ends &ends, TileValue first,
                   TileValue last);
  void requirePieces(OpBuilder &builder, Ends &ends, Value value,
                     llvm::SmallPtrSetImpl<Operation *> &known);
  TileValue emitSign(OpBuilder &builder, RegionVectorizer &values,
                     Operation *piece);

  OnlineAttentionOp op;
  KeyForm form;
  KeyBias bias;
  TileValue batch, head, query;
  int64_t numQueries;
  Value slope;
};

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_AFFINEBIAS_H
