//===- TileScores.h - Scores of a tile --------------------------*- C++ -*-===//
//
// What the scores of a tile are, wherever its keys come from: the order of
// factor, score and mask is that of the operation.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILESCORES_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILESCORES_H

#include "AffineBias.h"
#include "RegionVectorizer.h"
#include "TileBody.h"
#include "attn/Dialect/Attn/IR/AttnTile.h"

namespace mlir::attn {

/// What the score region of an attention tells before there is a tile.
struct ScoreForm {
  explicit ScoreForm(OnlineAttentionOp op);

  /// The bias that is affine in the key, if there is one.
  std::optional<KeyBias> bias;
  /// The scores in base 2 are `factor * value`. Without a region, the value is
  /// null and stands for the products.
  Value value;
  double factor = 1;
};

/// The pairs of a tile.
struct TilePairs {
  /// Positions in the whole, as the regions see them.
  TileValue batch, head, query, key;
  /// Which pairs there are, or null for all. Captures are read for no other.
  TileValue active;
  /// Which of them there are keys for: those before `keyEnd`, if it is not
  /// null. Then the keys follow each other.
  TileValue allowed;
  Value keyEnd;
  /// What products of each query are multiplied by, where no step of the
  /// softmax does that; or null.
  Value factor;
  /// The bias, if it is affine in the key, and keys follow each other; or null.
  AffineBias *bias = nullptr;
  /// Whether what a diagonal has is computed once for it. Then keys and queries
  /// follow each other.
  bool spreadsDiagonals = false;
  /// Whether the score reads captures only where the predicate, which is asked
  /// first then, allows a pair. That costs tiles that need no predicate.
  bool guardReads = false;
};

/// Scales products, which have the shape of `kind`, and applies score and mask.
/// The scores are to be multiplied by the factor of `form`.
FailureOr<Value> emitTileScores(OpBuilder &builder, OnlineAttentionOp op,
                                const ScoreForm &form,
                                RegionVectorizer &vectorizer,
                                const TilePairs &pairs, Value products,
                                TileKind kind);

/// What the probabilities of a tile are multiplied by, in the shape of `kind`,
/// which `products` have; for an attention that has weights.
FailureOr<Value> emitTileWeights(OpBuilder &builder, OnlineAttentionOp op,
                                 const ScoreForm &form,
                                 RegionVectorizer &vectorizer,
                                 const TilePairs &pairs, Value products,
                                 TileKind kind);

/// A loop over KV blocks from `lo` to below `hi`, whose `body` makes one
/// state of the first key of a tile and another one. It has no classes yet.
FailureOr<TileLoopOp>
emitKeyLoop(OpBuilder &builder, Location loc, Value lo, Value hi, int64_t step,
            TileState state,
            function_ref<FailureOr<TileState>(Value, TileState)> body);
/// The state after all tiles.
TileState getState(TileLoopOp loop);

/// The steps from scores to a new state: the softmax of what `emitScores`
/// makes, times the `factors` of rows unless they are null, times what
/// `emitWeights` makes where there are weights, and the product with what
/// `loadValues` loads.
FailureOr<TileState>
emitSoftmaxSteps(OpBuilder &builder, OnlineAttentionOp op,
                 const ScoreForm &form, TileState state,
                 function_ref<FailureOr<Value>()> emitScores,
                 function_ref<FailureOr<Value>()> emitWeights,
                 function_ref<Value()> loadValues, Value factors = {});

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_TILES_TILESCORES_H
