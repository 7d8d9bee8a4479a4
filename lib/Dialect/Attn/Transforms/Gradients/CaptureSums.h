//===- CaptureSums.h - Gradients of captures that workers share -*- C++ -*-===//
//
// Where one pass over all pairs gives all gradients, work tiles add to those of
// captures in memory that they share, in an order that varies. So sums are
// exact, or there is one addition to each element.
//
//===----------------------------------------------------------------------===//

#ifndef ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_CAPTURESUMS_H
#define ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_CAPTURESUMS_H

#include "Tiles/RegionVectorizer.h"
#include "attn/Dialect/Attn/IR/AttnGrad.h"

namespace mlir::attn {

/// What the adjoint adds to the gradient of a capture.
SmallVector<ContributeOp> getContributions(AttentionGradOp op, int64_t capture);

/// The gradient of a capture before it is rounded.
struct CaptureSum {
  int64_t capture;
  ScatterMode mode;
  /// A buffer, with the words of exact sums or f32, which is 0 at first.
  Value buffer;
};

/// Emits the buffers of all captures whose gradients are wanted.
SmallVector<CaptureSum> emitCaptureSums(OpBuilder &builder, AttentionGradOp op);

/// Says how the gradient of a capture is summed.
void remarkCaptureGradient(ContributeOp op, int64_t capture, StringRef form);

/// A tile of queries by keys.
struct ContributingTile {
  int64_t numRows, numColumns;
  /// The arguments of the adjoint for each diagonal, with i where it begins at
  /// the first key; without the score and its gradient.
  function_ref<SmallVector<TileValue>()> getDiagonals;
};

/// Whether a contribution adds to elements that are those of the work tile of
/// keys, whatever queries it meets: to one element, or to one for each key.
/// Heads, or batches, are those of the queries, of which it may meet several.
bool isOfWorkTile(ContributeOp op, bool hasManyBatches, bool hasManyHeads);

/// What the parts of the sums of columns become where such a contribution is
/// `active`.
Value emitCarriedSums(OpBuilder &builder, ContributeOp op, Value parts,
                      TileValue active, RegionVectorizer &vectorizer);

/// Adds these parts, which a loop over queries has carried. `arguments` are
/// those of the adjoint for the work tile; that of the query, the score and its
/// gradient may be null.
LogicalResult emitScatterOfSums(OpBuilder &builder, const CaptureSum &sum,
                                ContributeOp op, Value parts,
                                ArrayRef<TileValue> arguments);

/// Adds what a contribution is on a tile where `active` holds.
LogicalResult emitScatter(OpBuilder &builder, const CaptureSum &sum,
                          ContributeOp op, TileValue active,
                          RegionVectorizer &vectorizer,
                          const ContributingTile &tile);

/// Emits the loop that makes a gradient of its sums.
Value emitCaptureGradient(OpBuilder &builder, AttentionGradOp op,
                          const CaptureSum &sum);

} // namespace mlir::attn

#endif // ATTN_LIB_DIALECT_ATTN_TRANSFORMS_GRADIENTS_CAPTURESUMS_H
